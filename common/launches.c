/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See launches.h. This runs as the user inside sbatch, within the time of a fingerprint. */
#include "common/launches.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/build_sources.h"
#include "common/launches_internal.h"
#include "common/shells.h"

/* ---- lists, compared with base names ---- */

/* They change neither files nor what is launched. */
static const char *const HARMLESS[] = {
    ":",	"date",	  "df", "echo", "free", "groups", "hostname", "id",	"ls",	"lscpu", "nproc",
    "printenv", "printf", "ps", "pwd",	"sync", "true",	  "uname",    "uptime", "wait", "who",	 "whoami"};

/* Parts of the shell that can change what is launched, and commands that run what is not in the script. */
static const char *const NOT_UNDERSTOOD[] = {
    ".",	"[",	   "[[",       "alias",	   "bg",      "break",	 "builtin", "case",    "command", "continue",
    "coproc",	"declare", "disown",   "do",	   "done",    "elif",	 "else",    "enable",  "env",	  "esac",
    "eval",	"exec",	   "fg",       "fi",	   "for",     "function", "getopts", "hash",   "if",	  "jobs",
    "kill",	"let",	   "local",    "mapfile",  "parallel", "popd",	 "pushd",   "read",    "readarray", "readonly",
    "return",	"select",  "shift",    "shopt",	   "source",  "ssh",	 "sudo",    "test",    "then",	  "times",
    "trap",	"type",	   "typeset",  "unalias",  "unset",   "until",	 "while",   "xargs",   "{",	  "}",
};

/* They change how the shell works, or which program or library is found. */
static const char *const VARIABLES[] = {"BASHOPTS", "BASH_ENV",	  "CDPATH", "ENV", "HOME",     "IFS",
					"LD_AUDIT", "LD_PRELOAD", "PATH",   "PWD", "SHELLOPTS"};

/* Options with a directory where the program runs, or a file that names programs. */
static const char *const ELSEWHERE[] = {"--app", "--appfile", "--chdir", "--configfile", "--wd", "--wdir",
					"-D",	 "-app",      "-chdir",	 "-configfile",	 "-wd",	 "-wdir"};

/* Tools of every system: their names count, their files do not. */
static const char *const SYSTEM[] = {"cat", "chmod", "cp",    "ln",	"mkdir", "mv",
				     "rm",  "sleep", "touch", "ulimit", "umask"};

/* They run what other words say, as shells do. */
static const char *const RUNNERS[] = {"env", "parallel", "ssh", "sudo", "submitit.core._submit", "xargs"};

/* Tools of the system that change no content of a file. */
static const char *const CHANGE_NONE[] = {"cat", "chmod", "mkdir", "sleep", "touch", "ulimit", "umask"};

static int doubt(struct launches *l, const char *why, const char *word)
{
	return err_set(l->why, "%s: %.200s", why, word);
}

/* ---- the hash ---- */

void launches_piece(struct launches *l, char kind, const void *data, size_t len)
{
	uint8_t head[9] = {(uint8_t)kind};
	for (unsigned i = 0; i < 8; i++)
		head[1 + i] = (uint8_t)((uint64_t)len >> (8 * i));
	XXH3_128bits_update(l->hash, head, sizeof(head));
	XXH3_128bits_update(l->hash, data, len);
}

static void hash_text(struct launches *l, char kind, const char *text)
{
	launches_piece(l, kind, text, strlen(text));
}

const char *launches_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);
	if (strncmp(dir, path, n) != 0)
		return NULL;
	return path[n] == '\0' ? "" : path[n] == '/' ? path + n + 1 : n == 1 ? path + 1 : NULL;
}

/* ---- one word of a launch ---- */

/* An input may name files beside it. Below the directories of the job it counts with its folders, elsewhere with its
 * folder's files. */
static int hash_place(struct launches *l, const char *dir, const char *path)
{
	const char *here = launches_below(dir, path), *below = here ? here : launches_below(l->w.dirs[0], path);
	if (!below)
		return launches_folder(l, path);
	hash_text(l, here ? 'w' : 'W', below);
	return 0;
}

static int hash_regular(struct launches *l, const char *dir, const char *path, const char *word)
{
	struct launch_file file;
	if (launches_file(l, path, &file) < 0)
		return -1;
	if (file.shell_script)
		return doubt(l, "a script of a shell is launched", word);
	l->n_programs += file.program;
	l->n_data += file.data;
	l->built &= !file.program || (file.elf && strchr(word, '/') && launches_is_built(path));
	return file.data ? hash_place(l, dir, path) : 0;
}

/* The value of a word or of an option: a file, a directory, or text. */
static int hash_value(struct launches *l, const char *dir, const char *value)
{
	char *path = path_normal(dir, value);
	struct stat st;
	int rc = 0;
	if (!path || value[0] == '~' || !path_is_textual(dir, value)) {
		free(path);
		return doubt(l, "not understood in a launch", value);
	}
	if (stat(path, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
		const char *rest = strchr(value, '/') ? launches_below(dir, path) : NULL;
		hash_text(l, 't', rest ? rest : value);
	} else if (S_ISDIR(st.st_mode)) {
		hash_text(l, 'd', path);
		l->n_folders++;
		launches_name(l, &st);
	} else {
		launches_name(l, &st);
		rc = hash_regular(l, dir, path, value);
	}
	free(path);
	return rc;
}

/* A word without a slash can be a program in PATH. Returns 1 if it is one. */
static int hash_in_path(struct launches *l, const char *dir, const char *word)
{
	const char *path = l->job->lookup ? l->job->lookup("PATH") : NULL;
	while (path && *path) {
		size_t len = strcspn(path, ":");
		char full[PATH_MAX];
		struct stat st;
		int n = snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, word);
		if (n > 0 && (size_t)n < sizeof(full) && stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(full, X_OK) == 0) {
			hash_text(l, 'p', word);
			if (l->modules)
				return 1;
			return hash_regular(l, dir, full, word) < 0 ? -1 : 1;
		}
		path += len + (path[len] == ':');
	}
	return 0;
}

static bool may_be_command(const char *word)
{
	return word[0] != '-' && !strchr(word, '/') && !strchr(word, '=') &&
	       word[strspn(word, "0123456789.,:+-")];
}

int launches_word(struct launches *l, const char *dir, const char *word)
{
	const char *eq = strchr(word, '=');
	char option[32];
	struct stat st;
	snprintf(option, sizeof(option), "%.*s", (int)(eq ? eq - word : 31), word);
	if (word[0] == '~' || shell_is(word) || WORD_LISTED(path_base(word), RUNNERS) || WORD_LISTED(option, ELSEWHERE))
		return doubt(l, "not understood in a launch", word);
	if (may_be_command(word)) {
		char *here = path_normal(dir, word);
		bool file = here && stat(here, &st) == 0 && S_ISREG(st.st_mode);
		bool program = file && (st.st_mode & S_IXUSR);
		int rc = file && !program ? 0 : hash_in_path(l, dir, word);
		free(here);
		if (rc)
			return rc < 0 ? -1 : program ? doubt(l, "is in the directory and in PATH", word) : 0;
	}
	if (eq) {
		launches_piece(l, 'o', word, (size_t)(eq - word));
		return hash_value(l, dir, eq + 1);
	}
	return hash_value(l, dir, word);
}

/* ---- one launch ---- */

static bool is_certain(const struct script_word *w)
{
	return !(w->flags & (SCRIPT_WORD_SPLIT | SCRIPT_WORD_MODULE)) &&
	       (!(w->flags & SCRIPT_WORD_OPAQUE) || (w->flags & SCRIPT_WORD_SLURM));
}

/* The current directory of a launch. If the script names no input, its files count in the end. */
static int hash_dir(struct launches *l, uint16_t dir)
{
	const char *path = l->w.dirs[dir], *rest = launches_below(l->w.dirs[0], path);
	bool again = false;
	if (dir)
		hash_text(l, rest ? 'c' : 'C', rest ? rest : path);
	for (size_t i = 0; i < l->n_dirs; i++)
		again |= l->dirs[i] == dir;
	if (again)
		return 0;
	if (l->n_dirs == LAUNCH_DIRS_MAX)
		return doubt(l, "too many directories", path);
	l->dirs[l->n_dirs++] = dir;
	return 0;
}

static int hash_head(struct launches *l, const char *dir, const char *word)
{
	bool launcher = is_launcher(word);
	int rc;
	if ((launcher || WORD_LISTED(word, SYSTEM)) && !strchr(word, '/')) {
		hash_text(l, 'h', word);
		return 0;
	}
	if (strchr(word, '/'))
		rc = launches_word(l, dir, word);
	else
		rc = shell_is(word) || WORD_LISTED(word, NOT_UNDERSTOOD) ? doubt(l, "not understood", word)
									      : hash_in_path(l, dir, word);
	if (!strchr(word, '/') && rc == 0)
		return doubt(l, "is no program that is known", word);
	if (launcher)
		l->n_programs = l->n_before;
	return rc < 0 ? -1 : 0;
}

/* words[i] of a launch: may a file that it names be an input of the program? The files of tools of the system, files of
 * the launcher, and outputs are none. */
static bool may_be_input(const struct launches *l, const struct script_word *words, size_t i)
{
	const char *word = words[i].text, *before = i ? words[i - 1].text : "";
	return l->n_programs > l->n_before && !WORD_LISTED(words[0].text, SYSTEM) &&
	       !fingerprint_is_output_option(word, strcspn(word, "=")) &&
	       !fingerprint_is_output_option(before, strlen(before));
}

/* words[0..n): a launch, from the word of its program or launcher on. */
static int hash_launch(struct launches *l, const struct script_word *words, size_t n)
{
	const char *dir = l->w.dirs[words[0].dir];
	bool multi = false, folder = false, onto = false, srun = strcmp(path_base(words[0].text), "srun") == 0;
	if (l->uncertain)
		return doubt(l, "the command before may change a file", words[0].text);
	hash_text(l, 'L', l->conditional ? "&&" : ";");
	for (size_t i = 0; i < l->n_env; i++)
		hash_text(l, l->exported[i] ? 'e' : 'm', l->env[i]);
	if (hash_dir(l, words[0].dir) < 0)
		return -1;
	l->n_before = l->n_programs;
	l->built = is_launcher(words[0].text);
	for (size_t i = 0; i < n; i++) {
		const struct script_word *w = &words[i];
		size_t n_data = l->n_data, n_folders = l->n_folders;
		if (launches_in_time(l) < 0)
			return -1;
		if (w->flags & SCRIPT_WORD_OUTPUT) { /* a later launch may read it */
			if (launches_output(l, w) < 0)
				return -1;
			continue;
		}
		if (!is_certain(w) || (srun && strncmp(w->text, "-D", 2) == 0))
			return doubt(l, "not known before the job runs", w->text);
		if ((i ? launches_word(l, dir, w->text) : hash_head(l, dir, w->text)) < 0)
			return -1;
		if (!may_be_input(l, words, i))
			l->n_data = n_data;
		/* The last word of cp says where to, unless an option does (-t). */
		onto |= w->text[0] == '-' && strchr(w->text, 't');
		folder |= l->n_folders > n_folders && (i + 1 < n || onto || !WORD_LISTED(words[0].text, SYSTEM));
		if (multi && w->text[0] != '-' && launches_multi_prog(l, dir, w->text) < 0)
			return -1;
		multi |= srun && strcmp(w->text, "--multi-prog") == 0;
	}
	if (l->n_programs == l->n_before && !WORD_LISTED(words[0].text, SYSTEM))
		return doubt(l, "its program is not known", words[0].text);
	/* Ranks of MPI programs write results. Any other command may write a script that the next one runs, or copy files
	 * from a folder. */
	l->moved |= !l->built && !WORD_LISTED(words[0].text, CHANGE_NONE);
	l->uncertain |= build_word(words, n) != NULL;
	l->uncertain |= !l->built && folder && strcmp(words[0].text, "rm") != 0 && !WORD_LISTED(words[0].text, CHANGE_NONE);
	l->limited |= strcmp(words[0].text, "ulimit") == 0 || strcmp(words[0].text, "umask") == 0;
	l->n_launches++;
	return 0;
}

/* ---- commands ---- */

/* Slurm exports variables of these names in some jobs, and they are not set where sbatch runs. */
static bool may_be_exported(const char *name)
{
	static const char *const STARTS[] = {"CUDA_", "GPU_",    "HIP_",  "HOSTNAME", "NEURON_",
					     "NVIDIA_", "OMP_",	 "ONEAPI_", "ROCR_", "TMPDIR",	 "ZE_"};
	for (size_t i = 0; i < sizeof(STARTS) / sizeof(STARTS[0]); i++)
		if (strncmp(name, STARTS[i], strlen(STARTS[i])) == 0)
			return true;
	return false;
}

/* Does the program see this variable? A variable that is not exported is the shell's own. */
static bool is_seen(const struct launches *l, const char *text, size_t len)
{
	char name[64];
	if (len >= sizeof(name))
		return true;
	memcpy(name, text, len);
	name[len] = '\0';
	return strncmp(name, "SLURM_", 6) == 0 || (l->job->lookup && l->job->lookup(name));
}

/* The place of the variable in env; n_env: none. */
static size_t find_variable(const struct launches *l, const char *text, size_t len)
{
	size_t i = 0;
	while (i < l->n_env && strncmp(l->env[i], text, len + 1) != 0)
		i++;
	return i;
}

static int assign(struct launches *l, const struct script_word *w, bool exported)
{
	size_t len = strcspn(w->text, "="), at = find_variable(l, w->text, len);
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)(len < 63 ? len : 63), w->text);
	if (WORD_LISTED(name, VARIABLES))
		return doubt(l, "this variable changes what is found", name);
	if (exported && (w->flags & (SCRIPT_WORD_SPLIT | SCRIPT_WORD_MODULE)))
		return doubt(l, "its value may be split", name);
	exported = exported || is_seen(l, w->text, len);
	/* A variable stays exported. A module may have exported a variable of this name. */
	if (!exported && !l->modules && !may_be_exported(name) && at == l->n_env)
		return 0;
	if (((w->flags & SCRIPT_WORD_OPAQUE) && !(w->flags & SCRIPT_WORD_SLURM)) || (w->flags & SCRIPT_WORD_MODULE))
		return doubt(l, "its value is not known before the job runs", name);
	if (at == LAUNCH_ENV_MAX)
		return doubt(l, "too many variables", name);
	l->env[at] = w->text;
	l->exported[at] |= exported;
	l->n_env += at == l->n_env;
	return 0;
}

static int export_all(struct launches *l, const struct script_word *words, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!(words[i].flags & SCRIPT_WORD_ASSIGN) || assign(l, &words[i], true) < 0)
			return doubt(l, "export", words[i].text);
	return 0;
}

static int change_dir(struct launches *l, const struct script_word *words, size_t n)
{
	struct stat st;
	char *path;
	bool there;
	if (n != 2 || (words[1].flags & (SCRIPT_WORD_UNKNOWN | SCRIPT_WORD_OUTPUT)) ||
	    !words[1].text[0])
		return doubt(l, "cd to an unknown place", n > 1 ? words[1].text : "");
	path = path_normal(l->w.dirs[words[0].dir], words[1].text);
	there = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	free(path);
	return there ? 0 : doubt(l, "cd to a place that is not there", words[1].text);
}

static int set_options(struct launches *l, const struct script_word *words, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const char *t = words[i].text;
		bool option = (t[0] == '-' || t[0] == '+') && t[1] && !t[1 + strspn(t + 1, "euxvo")];
		bool name = i > 1 && strchr(words[i - 1].text, 'o') && words[i - 1].text[0] != 'o' &&
			    (!strcmp(t, "pipefail") || !strcmp(t, "errexit") || !strcmp(t, "nounset") ||
			     !strcmp(t, "xtrace"));
		if ((!option && !name) || (words[i].flags & SCRIPT_WORD_OPAQUE))
			return doubt(l, "set", t);
	}
	return n > 1 ? 0 : doubt(l, "set", "");
}

/* A harmless command that writes a file may change an input of a later launch. */
static int harmless(struct launches *l, const struct script_word *words, size_t n)
{
	if (strcmp(words[0].text, "printf") == 0 && n > 1 && strncmp(words[1].text, "-v", 2) == 0)
		return doubt(l, "sets a variable", words[0].text);
	for (size_t i = 0; i < n; i++)
		if ((words[i].flags & SCRIPT_WORD_OUTPUT) && strcmp(words[i].text, "/dev/null") != 0)
			l->uncertain = true;
	return 0;
}

/* /usr/bin/time, and its options without a value. Returns the index of the program behind it; n: there is
 * none. */
static size_t behind_time(const struct script_word *words, size_t n, size_t i)
{
	if (strcmp(words[i].text, "/usr/bin/time") != 0)
		return i;
	for (i++; i < n && (!strcmp(words[i].text, "-v") || !strcmp(words[i].text, "-p")); i++)
		;
	return i < n && (strchr(words[i].text, '/') || is_launcher(words[i].text)) ? i : n;
}

static bool is_exit(const char *head)
{
	return strcmp(head, "exit") == 0;
}

/* The command's name behind assignments. Variables in front of a launch count as the others, if no launch
 * comes later. */
static int read_head(struct launches *l, const struct script_word *words, size_t n, size_t *head)
{
	size_t i = 0;
	while (i < n && (words[i].flags & SCRIPT_WORD_ASSIGN))
		i++;
	*head = i;
	if (l->last_prefixed && i < n)
		l->uncertain = true;
	for (size_t k = 0; k < i; k++)
		if (assign(l, &words[k], i < n) < 0)
			return -1;
	l->last_prefixed |= i && i < n;
	if (i < n && !(words[i].flags & SCRIPT_WORD_HEAD))
		return doubt(l, "redirection before the command", words[i].text);
	return 0;
}

static int take_commands(struct launches *l);

/* The launches of the last inner script, as if they stood here. Variables and modules that the script sets do not outlive it. */
static int take_inner(struct launches *l)
{
	struct script_words outer = l->w;
	bool modules = l->modules, limited = l->limited;
	int rc;
	l->modules |= l->login;
	l->limited = false;
	l->w = l->inner[l->n_inner - 1];
	l->within = true;
	rc = take_commands(l);
	l->within = l->ended = l->last_prefixed = false;
	l->after_inner = true;
	l->modules = modules;
	l->uncertain |= l->limited; /* its limits end with it */
	l->limited = limited;
	memset(l->exported, 0, sizeof(l->exported));
	l->n_env = 0;
	l->w = outer;
	return rc;
}

static int take_head(struct launches *l, const struct script_word *words, size_t n, bool after_launch)
{
	const char *head = words[0].text;
	uint8_t joint = words[0].joint;
	bool after_inner = l->after_inner;
	int inner;
	l->after_inner = false;
	l->in_launch = false;
	if (joint == SCRIPT_JOINT_OR && !is_exit(head) && strcmp(head, "true") != 0 &&
	    strcmp(head, "echo") != 0)
		return doubt(l, "runs only if another command fails", head);
	if (joint == SCRIPT_JOINT_PIPE) {
		if (!after_launch || after_inner || strcmp(head, "tee") != 0)
			return doubt(l, "a pipe", head);
		l->in_launch = true;
		return launches_tee(l, words, n);
	}
	if (!is_certain(&words[0]))
		return doubt(l, "not known before the job runs", head);
	if (is_exit(head)) {
		if (l->within && !(n == 2 && strcmp(words[1].text, "0") == 0))
			return doubt(l, "exit with another status than 0 in a script within the script", head);
		l->ended = joint == SCRIPT_JOINT_NEXT;
		return joint == SCRIPT_JOINT_AND ? doubt(l, "exit on a condition", "&&") : 0;
	}
	if (WORD_LISTED(head, HARMLESS))
		return harmless(l, words, n);
	if (strcmp(head, "module") == 0 || strcmp(head, "ml") == 0) {
		l->modules = true;
		return harmless(l, words, n);
	}
	if (strcmp(head, "export") == 0)
		return export_all(l, words, n);
	if (strcmp(head, "cd") == 0)
		return change_dir(l, words, n);
	if (strcmp(head, "set") == 0)
		return set_options(l, words, n);
	inner = launches_inner(l, words, n);
	if (inner)
		return inner < 0 ? -1 : take_inner(l);
	l->in_launch = true;
	return hash_launch(l, words, n);
}

/* words[0..n): one command. */
static int take_command(struct launches *l, const struct script_word *words, size_t n)
{
	bool after_launch = l->in_launch;
	size_t head;
	if (words[0].joint != SCRIPT_JOINT_PIPE)
		l->conditional = words[0].joint == SCRIPT_JOINT_AND && (l->conditional || after_launch);
	if (read_head(l, words, n, &head) < 0)
		return -1;
	if (head == n) {
		l->in_launch = false;
		return words[0].joint == SCRIPT_JOINT_NEXT
			   ? 0
			   : doubt(l, "a variable set on a condition", words[0].text);
	}
	head = behind_time(words, n, head);
	if (head == n)
		return doubt(l, "nothing is timed", words[0].text);
	return take_head(l, words + head, n - head, after_launch);
}

static int take_commands(struct launches *l)
{
	for (size_t i = 0, j; i < l->w.n && !l->ended; i = j) {
		for (j = i; j < l->w.n && l->w.words[j].command == l->w.words[i].command; j++)
			;
		if (take_command(l, l->w.words + i, j - i) < 0 || launches_in_time(l) < 0)
			return -1;
	}
	return 0;
}

static int read_script(struct launches *l)
{
	const struct fingerprint_job *job = l->job;
	struct script_context ctx = {.work_dir = job->work_dir,
				     .submit_dir = job->submit_dir,
				     .args = job->args,
				     .n_args = job->n_args,
				     .lookup = job->lookup};
	struct shell_use use = {0};
	if (!job->script || job->input)
		return err_set(l->why,
			       job->input ? "the script's input is redirected" : "there is no script");
	if (job->script_len > 1 && memcmp(job->script, "#!", 2) == 0 &&
	    (!shell_line(job->script, job->script_len, &use) || !use.understood))
		return err_set(l->why, "the script is not for a shell that is understood");
	l->modules = ctx.modules = use.login;
	if (script_words_read(job->script, job->script_len, &ctx, &l->w) < 0)
		return err_set(l->why, "no memory");
	if (!l->w.plain)
		return err_set(l->why, "the script has more than simple commands");
	return 0;
}

static int any_launch(struct launches *l)
{
	return l->n_launches ? 0 : err_set(l->why, "nothing is launched");
}

int launches_of(const struct fingerprint_job *job, char out[LAUNCHES_LEN], struct errbuf *why)
{
	struct launches *l = calloc(1, sizeof(*l));
	int rc = -1;
	if (!l)
		return err_set(why, "no memory");
	l->job = job;
	l->why = why;
	l->hash = XXH3_createState();
	l->buffer = malloc(FINGERPRINT_SAMPLE);
	clock_gettime(CLOCK_MONOTONIC, &l->start);
	if (!l->hash || !l->buffer) {
		err_set(why, "no memory");
		goto done;
	}
	XXH3_128bits_reset(l->hash);
	hash_text(l, 'v', "launches-2");
	if (read_script(l) == 0 && take_commands(l) == 0 && any_launch(l) == 0 && launches_outputs(l) == 0 &&
	    (l->n_data || launches_dirs(l) == 0)) {
		XXH128_hash_t h = XXH3_128bits_digest(l->hash);
		snprintf(out, LAUNCHES_LEN, "v1:%016llx%016llx", (unsigned long long)h.high64,
			 (unsigned long long)h.low64);
		rc = 0;
	}
done:
	script_words_free(&l->w);
	for (size_t i = 0; i < l->n_inner; i++)
		script_words_free(&l->inner[i]);
	XXH3_freeState(l->hash);
	free(l->buffer);
	free(l);
	return rc;
}
