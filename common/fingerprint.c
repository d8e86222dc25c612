/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the files that a job names, and hashes them. This runs as the user inside sbatch. It must be quick and must
 * never fail the submission. The same job must give the same result, however its first run has changed the
 * directory.
 */
#include "common/fingerprint.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL /* sbatch then loads no further library */
#include <xxhash.h>

#include "common/build_sources.h"
#include "common/fd.h"
#include "common/launches_internal.h"
#include "common/made_up.h"
#include "common/multi_prog.h"
#include "common/script_words.h"
#include "common/shells.h"

#define PATH_LOOKUPS_MAX 512
#define SUBMITIT	 "submitit.core._submit" /* the module that runs a function in a folder */
#define INNER_MAX	 8	     /* scripts that a script hands to a shell; workflow tools write one */
#define INNER_BYTES_MAX	 (64 * 1024) /* of each, as much as is normalised of a job script */
#define WORDS_SLOTS	 1024 /* power of two */

struct path_list {
	char **paths;
	size_t n, cap;
};

/* A word that was looked up, with its directory; 0: none. */
struct known_word {
	uint64_t hash;
	bool searched; /* was searched in PATH */
};

struct collector {
	const struct fingerprint_job *job;
	struct path_list outputs;
	struct path_list files; /* in order of their first occurrence, without duplicates */
	struct path_list sources; /* of programs that the job builds */
	struct path_list inner; /* scripts that were read, as the job script is */
	struct path_list pending; /* functions of submitit */
	bool many_pending; /* there are more, and readdir tells which come first */
	size_t lookups;
	size_t n_words;
	struct known_word words[WORDS_SLOTS];
	struct timespec start;
	XXH3_state_t *hash, *like; /* like: without size and content of bulk data files */
	bool in_bulk;
	uint64_t bytes_read, bulk_bytes;
	size_t n_hashed, n_data;
	uint8_t *buffer; /* FINGERPRINT_SAMPLE bytes */
	bool no_memory;
};

/* Sorted. Shell builtins, tools that every system has, and MPI launchers. The MPI library belongs to the node
 * class. */
static const char *const COMMON_TOOLS[] = {
	".", ":", "[", "[[", "alias", "awk", "basename", "bash", "bc", "bg", "break", "builtin", "bunzip2", "bzip2", "case",
	"cat", "cd", "chgrp", "chmod", "chown", "chrt", "clear", "command", "continue", "cp", "csh", "cut", "dash", "date", "dd",
	"declare", "df", "diff", "dirname", "disown", "do", "done", "du", "echo", "egrep", "elif", "else", "enable", "env",
	"esac", "eval", "exec", "exit", "export", "expr", "false", "fg", "fgrep", "fi", "file", "find", "flock", "for", "free",
	"function", "gawk", "getopts", "grep", "groups", "gunzip", "gzip", "hash", "head", "hostname", "id", "if", "in",
	"install", "ionice", "jobs", "join", "kill", "ksh", "ldd", "let", "ln", "local", "logname", "ls", "lscpu", "make", "mawk",
	"md5sum", "mkdir", "mktemp", "ml", "module", "more", "mpiexec", "mpiexec.hydra", "mpiexec.openmpi", "mpirun",
	"mpirun.openmpi", "mv", "nice", "nohup", "nproc", "numactl", "od", "orterun", "paste", "popd", "printenv", "printf", "prlimit",
	"prterun", "ps", "pushd", "pwd", "read", "readlink", "readonly", "realpath", "return", "rm", "rmdir", "rsync",
	"salloc", "sbatch", "sbcast", "scancel", "scontrol", "scp", "sed", "select", "seq", "set", "setsid", "sh", "sha256sum", "shift",
	"shopt", "sleep", "sort", "source", "split", "squeue", "srun", "ssh", "stat", "stdbuf", "stty", "sync", "tail", "tar",
	"taskset", "tee", "test", "then", "time", "timeout", "top", "touch", "tr", "trap", "true", "truncate", "tty", "type",
	"typeset", "uname", "uniq", "unlink", "unset", "until", "unxz", "unzip", "uptime", "wait", "wc", "which", "while",
	"who", "whoami", "xargs", "xz", "yes", "zcat", "zip", "zsh", "zstd", "{", "}",
};

static const char *const OUTPUT_OPTIONS[] = {
	"--error", "--log", "--log-file", "--logfile", "--out", "--output", "--output-file", "--output-filename", "-log",
	"-o", "-output", "-output-filename",
};

bool fingerprint_is_output_option(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(OUTPUT_OPTIONS) / sizeof(OUTPUT_OPTIONS[0]); i++)
		if (strncmp(word, OUTPUT_OPTIONS[i], len) == 0 && !OUTPUT_OPTIONS[i][len])
			return true;
	return false;
}

/* Commands that write, move or remove all their arguments. */
static const char *const WRITES_ALL[] = {"mkdir", "mktemp", "mv", "rm", "rmdir", "tee", "touch", "truncate", "unlink"};
/* Commands that write their last argument. */
static const char *const WRITES_LAST[] = {"cp", "install", "ln", "rsync", "scp"};

static const char *const NOT_INPUT_DIRS[] = {"/dev/", "/proc/", "/run/", "/sys/", "/tmp/", "/var/tmp/"};

static int compare_names(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

static bool is_common_tool(const char *word)
{
	return bsearch(word, COMMON_TOOLS, sizeof(COMMON_TOOLS) / sizeof(COMMON_TOOLS[0]), sizeof(COMMON_TOOLS[0]),
		       compare_names) != NULL;
}

static bool has_path(const struct path_list *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->paths[i], path) == 0)
			return true;
	return false;
}

/* Add a path to a list, which takes ownership of it. */
static void add_path(struct collector *c, struct path_list *list, char *path)
{
	if (!path || list->n >= FINGERPRINT_FILES_MAX || has_path(list, path)) {
		free(path);
		return;
	}
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 32;
		char **paths = realloc(list->paths, cap * sizeof(*paths));
		if (!paths) {
			c->no_memory = true;
			free(path);
			return;
		}
		list->paths = paths;
		list->cap = cap;
	}
	list->paths[list->n++] = path;
}

static void free_paths(struct path_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->paths[i]);
	free(list->paths);
	*list = (struct path_list){0};
}

static bool took_too_long(const struct collector *c)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - c->start.tv_sec) * 1000000000LL + (now.tv_nsec - c->start.tv_nsec) > FINGERPRINT_TIME_NS;
}

/* ---- what the job writes ---- */

static void add_output(struct collector *c, const char *dir, const char *name)
{
	if (name && name[0])
		add_path(c, &c->outputs, path_normal(dir, name));
}

/* cp SOURCE... DIR writes DIR/basename of each SOURCE. DIR may not exist yet, so this is assumed for any last
 * argument. */
static void add_copied(struct collector *c, const char *dir, const char *to, const char *from)
{
	char name[PATH_MAX];
	int n = snprintf(name, sizeof(name), "%s/%s", to, path_base(from));
	if (n > 0 && (size_t)n < sizeof(name))
		add_output(c, dir, name);
}

/* Add the outputs of one simple command, words[0..n). */
static void command_outputs(struct collector *c, char *const *dirs, const struct script_word *words, size_t n)
{
	const char *head = NULL;
	size_t last = n;
	for (size_t i = 0; i < n; i++) {
		const struct script_word *w = &words[i];
		const char *dir = dirs[w->dir], *eq = strchr(w->text, '=');
		if (w->flags & SCRIPT_WORD_HEAD)
			head = path_base(w->text);
		if (w->flags & SCRIPT_WORD_OPAQUE)
			continue;
		if (w->flags & SCRIPT_WORD_OUTPUT)
			add_output(c, dir, w->text);
		else if (head && !(w->flags & SCRIPT_WORD_HEAD) && WORD_LISTED(head, WRITES_ALL) && w->text[0] != '-')
			add_output(c, dir, w->text);
		else if (WORD_LISTED(w->text, OUTPUT_OPTIONS) && i + 1 < n && !(words[i + 1].flags & SCRIPT_WORD_OPAQUE))
			add_output(c, dir, words[i + 1].text);
		else if (head && strcmp(head, "srun") == 0 && strcmp(w->text, "-e") == 0 && i + 1 < n)
			add_output(c, dir, words[i + 1].text);
		else if (eq && w->text[0] == '-') {
			char option[32];
			size_t len = (size_t)(eq - w->text);
			if (len < sizeof(option)) {
				memcpy(option, w->text, len);
				option[len] = '\0';
				if (WORD_LISTED(option, OUTPUT_OPTIONS))
					add_output(c, dir, eq + 1);
			}
		} else if (head && strcmp(head, "dd") == 0 && strncmp(w->text, "of=", 3) == 0)
			add_output(c, dir, w->text + 3);
		if (!(w->flags & (SCRIPT_WORD_OUTPUT | SCRIPT_WORD_HEAD)) && w->text[0] != '-')
			last = i;
	}
	if (head && last < n && (WORD_LISTED(head, WRITES_LAST) || strcmp(head, "mv") == 0)) {
		add_output(c, dirs[words[last].dir], words[last].text);
		for (size_t i = 0; i < last; i++)
			if (!(words[i].flags & (SCRIPT_WORD_HEAD | SCRIPT_WORD_ASSIGN)) && words[i].text[0] != '-')
				add_copied(c, dirs[words[last].dir], words[last].text, words[i].text);
	}
}

static void script_outputs(struct collector *c, const struct script_words *w)
{
	for (size_t i = 0; i < w->n;) {
		size_t j = i;
		while (j < w->n && w->words[j].command == w->words[i].command)
			j++;
		command_outputs(c, w->dirs, w->words + i, j - i);
		i = j;
	}
}

/* ---- what the job reads ---- */

static bool is_regular(const char *path, bool executable)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	return !executable || access(path, X_OK) == 0;
}

/* The file of this name. Behind a symbolic link, ".." may lead elsewhere. A file that is not there keeps its name. */
static char *named_path(const char *dir, const char *name)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s%s%s", name[0] == '/' ? "" : dir, name[0] == '/' ? "" : "/", name);
	char *real = n > 0 && (size_t)n < sizeof(full) && !path_is_textual(dir, name) ? realpath(full, NULL) : NULL;
	return real ? real : path_normal(dir, name);
}

static bool is_not_input(const struct collector *c, const char *path)
{
	for (size_t i = 0; i < sizeof(NOT_INPUT_DIRS) / sizeof(NOT_INPUT_DIRS[0]); i++)
		if (strncmp(path, NOT_INPUT_DIRS[i], strlen(NOT_INPUT_DIRS[i])) == 0)
			return true;
	return has_path(&c->outputs, path);
}

/* Add a file. Returns true if the name is that of a file, whether or not the file counts. */
static bool add_file(struct collector *c, const char *dir, const char *name)
{
	char *path = named_path(dir, name);
	if (!path || is_not_input(c, path) || !is_regular(path, false)) {
		bool known = path && has_path(&c->outputs, path);
		free(path);
		return known;
	}
	add_path(c, &c->files, path);
	return true;
}

/* Add a command. Returns true if PATH was searched. */
static bool add_command(struct collector *c, const char *name)
{
	const char *path = c->job->lookup ? c->job->lookup("PATH") : NULL;
	if (!path || is_common_tool(name))
		return false;
	if (c->lookups++ >= PATH_LOOKUPS_MAX)
		return true;
	while (*path) {
		size_t len = strcspn(path, ":");
		char full[PATH_MAX];
		int n = snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, name);
		if (path[0] == '/' && n > 0 && (size_t)n < sizeof(full) && is_regular(full, true)) {
			char *normal = path_normal("/", full);
			if (normal && !is_not_input(c, normal))
				add_path(c, &c->files, normal);
			else
				free(normal);
			return true;
		}
		path += len + (path[len] == ':');
	}
	return true;
}

/* The entry of a word. Scripts repeat words, and each search costs a stat per directory of PATH. Returns NULL if
 * there are too many words. */
static struct known_word *word_slot(struct collector *c, const char *dir, const char *word, bool *again)
{
	uint64_t hash = XXH3_64bits_withSeed(word, strlen(word), XXH3_64bits(dir, strlen(dir))) | 1;
	size_t i = hash / 2 % WORDS_SLOTS;
	while (c->words[i].hash && c->words[i].hash != hash)
		i = (i + 1) % WORDS_SLOTS;
	*again = c->words[i].hash != 0;
	if (*again)
		return &c->words[i];
	if (c->n_words >= WORDS_SLOTS / 2)
		return NULL;
	c->n_words++;
	c->words[i].hash = hash;
	return &c->words[i];
}

static void add_word(struct collector *c, const char *dir, const char *word)
{
	const char *eq = strchr(word, '=');
	struct known_word *known;
	bool again;
	if (!word[0] || strlen(word) >= PATH_MAX)
		return;
	known = word_slot(c, dir, word, &again);
	if (again) {
		c->lookups += known->searched; /* repeated words count too, so the bound depends on the script only */
		return;
	}
	if (word[0] != '-' && add_file(c, dir, word))
		return;
	if (eq) {
		if (eq[1])
			add_file(c, dir, eq + 1);
		return;
	}
	if (word[0] != '-' && !strchr(word, '/') && word[strspn(word, "0123456789.+-")]) {
		bool searched = add_command(c, word);
		if (known)
			known->searched = searched;
	}
}

struct multi {
	struct collector *c;
	const char *dir;
};

static int multi_word(const char *text, void *arg)
{
	struct multi *m = arg;
	add_word(m->c, m->dir, text);
	return took_too_long(m->c);
}

/* The words of the file of srun --multi-prog. They name the programs. The file itself counts by content, so words
 * behind MULTI_PROG_WORDS_MAX count by their text. */
static void add_multi_prog(struct collector *c, const char *dir, const char *name)
{
	char *path = path_normal(dir, name);
	struct multi m = {c, dir};
	if (path && is_regular(path, false))
		multi_prog_each(path, multi_word, &m);
	free(path);
}

/* Words behind --multi-prog in one command: the file is one of them. */
static void script_multi_prog(struct collector *c, const struct script_words *w)
{
	uint32_t command = UINT32_MAX;
	for (size_t i = 0; i < w->n && !took_too_long(c); i++) {
		const struct script_word *word = &w->words[i];
		if (strcmp(word->text, "--multi-prog") == 0)
			command = word->command;
		else if (word->command == command && !(word->flags & (SCRIPT_WORD_OUTPUT | SCRIPT_WORD_OPAQUE)))
			add_multi_prog(c, w->dirs[word->dir], word->text);
	}
}

static void script_files(struct collector *c, const struct script_words *w)
{
	uint32_t last = UINT32_MAX;
	for (size_t i = 0; i < w->n; i++)
		if (is_launcher(w->words[i].text))
			last = w->words[i].command;
	for (size_t i = 0; i < w->n && w->words[i].command <= last && !took_too_long(c); i++)
		if (!(w->words[i].flags & (SCRIPT_WORD_OUTPUT | SCRIPT_WORD_OPAQUE)))
			add_word(c, w->dirs[w->words[i].dir], w->words[i].text);
}

/* ---- programs that the job builds ---- */

static void add_source(const char *path, void *arg)
{
	struct collector *c = arg;
	if (!is_not_input(c, path))
		add_path(c, &c->sources, strdup(path));
}

/* ---- submitit ---- */

/* 32 hex digits and ".pkl": a function with its arguments, until sbatch has returned the number of the job. */
static bool is_pending(const char *name)
{
	return strspn(name, "0123456789abcdef") == 32 && strcmp(name + 32, ".pkl") == 0;
}

/* The functions in the folder of submitit: the part of it without the number of the job. */
static void add_pending(struct collector *c, const char *dir, const char *folder)
{
	char *path = path_normal(dir, folder), *percent = path ? strchr(path, '%') : NULL;
	struct dirent *e;
	DIR *d;
	while (percent && percent > path && *percent != '/')
		percent--;
	if (percent)
		*percent = '\0';
	d = path ? opendir(path) : NULL;
	while (d && (e = readdir(d)) && !took_too_long(c)) {
		if (!is_pending(e->d_name))
			continue;
		c->many_pending |= c->pending.n == FINGERPRINT_FILES_MAX;
		add_path(c, &c->pending, path_normal(path, e->d_name));
	}
	if (d)
		closedir(d);
	free(path);
}

static void script_pending(struct collector *c, const struct script_words *w)
{
	for (size_t i = 1; i < w->n; i++)
		if (strcmp(w->words[i - 1].text, SUBMITIT) == 0 && w->words[i].command == w->words[i - 1].command &&
		    !(w->words[i].flags & SCRIPT_WORD_OPAQUE))
			add_pending(c, w->dirs[w->words[i].dir], w->words[i].text);
}

/* ---- scripts within the script ---- */

/* Is this a script of a shell that is run by its path? Launchers also look for a name without a slash in the directory. */
static bool is_shell_script(const struct script_words *w, const struct script_word *word, bool launched)
{
	char *path, head[256];
	ssize_t len = -1;
	int fd;
	if (word->text[0] == '-' || (!launched && !strchr(word->text, '/')) ||
	    (word->flags & (SCRIPT_WORD_OPAQUE | SCRIPT_WORD_OUTPUT)) || !(path = named_path(w->dirs[word->dir], word->text)))
		return false;
	fd = is_regular(path, true) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd >= 0) {
		len = pread(fd, head, sizeof(head), 0);
		close(fd);
	}
	free(path);
	return len > 0 && shell_runs(head, (size_t)len);
}

/*
 * The script that this command, words[0..n), runs by its path or hands to a shell; NULL: none, or its name is not known.
 * Options of a launcher or of env may have values. So the first word behind them that names a shell is taken for the shell,
 * and the first such script for the program.
 *
 * *near: it counts only below the work directory. A script that is run by its path, or read with `source`, may be of an
 * installation.
 */
static const struct script_word *inner_script(const struct collector *c, const struct script_words *w,
					      const struct script_word *words, size_t n, bool *near)
{
	static const char *const within[] = {".", "source"};
	bool launched, script = false;
	struct shell_use use;
	size_t i = 0, at;
	while (i < n && !(words[i].flags & SCRIPT_WORD_HEAD))
		i++;
	if (i == n)
		return NULL;
	launched = is_launcher(words[i].text);
	if (launched || shell_is_starter(words[i].text))
		while (i < n && !shell_is(words[i].text) && !(script = is_shell_script(w, &words[i], launched)) && !took_too_long(c))
			i++;
	else
		script = is_shell_script(w, &words[i], false);
	*near = script;
	if (script || i == n)
		return script ? &words[i] : NULL;
	*near = WORD_LISTED(words[i].text, within);
	if (!*near && !shell_is(words[i].text))
		return NULL;
	at = i + shell_script(words + i, n - i, &use);
	return at < n && !(words[at].flags & (SCRIPT_WORD_OPAQUE | SCRIPT_WORD_OUTPUT)) ? &words[at] : NULL;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* By any of its names: /home may be a link. */
static bool is_in_work_dir(const struct collector *c, const char *path)
{
	char real[PATH_MAX], dir[PATH_MAX];
	return is_below(path, c->job->work_dir) ||
	       (realpath(path, real) && realpath(c->job->work_dir, dir) && is_below(real, dir));
}

static void script_inner(struct collector *c, const struct script_words *w);

/*
 * Add the files that an inner script names, and scripts within it. Its arguments are not known. A
 * sourced script elsewhere sets up an environment, and a script elsewhere that is run by its path is a program. Their files
 * are not the job's input, and each word would cost a stat.
 */
static void add_inner(struct collector *c, const char *dir, const char *name, bool near)
{
	char *path = named_path(dir, name), *text = NULL;
	struct script_context ctx = {.work_dir = dir, .submit_dir = c->job->submit_dir ? c->job->submit_dir : c->job->work_dir,
				     .lookup = c->job->lookup};
	struct script_words w;
	struct stat st;
	if (!path || c->inner.n == INNER_MAX || has_path(&c->inner, path) ||
	    (near && !is_in_work_dir(c, path)) || !is_regular(path, false) ||
	    !(text = fd_read_file(path, INNER_BYTES_MAX, &st))) {
		free(path);
		return;
	}
	if (script_words_read(text, (size_t)st.st_size, &ctx, &w) == 0) {
		script_outputs(c, &w);
		script_files(c, &w);
		script_multi_prog(c, &w);
		script_pending(c, &w);
		add_path(c, &c->inner, path);
		path = NULL;
		script_inner(c, &w);
	}
	script_words_free(&w);
	free(text);
	free(path);
}

/* What each command builds, and the script that it runs. */
static void script_inner(struct collector *c, const struct script_words *w)
{
	for (size_t i = 0, j; i < w->n && !took_too_long(c); i = j) {
		const struct script_word *file;
		bool near;
		for (j = i; j < w->n && w->words[j].command == w->words[i].command; j++)
			;
		build_sources_each(w, i, j, add_source, c);
		file = inner_script(c, w, w->words + i, j - i, &near);
		if (file)
			add_inner(c, w->dirs[file->dir], file->text, near);
	}
}

/* ---- their hash ---- */

static bool is_elf(int fd)
{
	unsigned char magic[SELFMAG];
	return fd_read_at(fd, magic, sizeof(magic), 0) && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static void hash_piece(struct collector *c, char kind, const void *data, size_t len)
{
	uint8_t head[9] = {(uint8_t)kind};
	for (unsigned i = 0; i < 8; i++)
		head[1 + i] = (uint8_t)((uint64_t)len >> (8 * i));
	XXH3_128bits_update(c->hash, head, sizeof(head));
	XXH3_128bits_update(c->hash, data, len);
	if (c->in_bulk)
		return;
	XXH3_128bits_update(c->like, head, sizeof(head));
	XXH3_128bits_update(c->like, data, len);
}

static void hash_size(struct collector *c, uint64_t size)
{
	uint8_t le[8];
	for (unsigned i = 0; i < 8; i++)
		le[i] = (uint8_t)(size >> (8 * i));
	hash_piece(c, 's', le, sizeof(le));
}

/* Hash len bytes from `at`. If the file shrinks meanwhile, the bytes that are left count. */
static void hash_range(struct collector *c, int fd, uint64_t at, uint64_t len)
{
	if (c->bytes_read + len > FINGERPRINT_TOTAL_MAX)
		return;
	c->bytes_read += len;
	if (fd_read_at(fd, c->buffer, (size_t)len, at))
		hash_piece(c, 'c', c->buffer, (size_t)len);
}

static void hash_content(struct collector *c, int fd, uint64_t size)
{
	uint64_t head = size < FINGERPRINT_SAMPLE ? size : FINGERPRINT_SAMPLE;
	uint64_t tail = size - head < FINGERPRINT_SAMPLE ? size - head : FINGERPRINT_SAMPLE;
	hash_size(c, size);
	hash_range(c, fd, 0, head);
	if (tail)
		hash_range(c, fd, size - tail, tail);
}

static void hash_bulk(struct collector *c, int fd, uint64_t size)
{
	XXH3_128bits_update(c->like, "B", 1);
	c->in_bulk = true;
	hash_content(c, fd, size);
	c->in_bulk = false;
	c->bulk_bytes += size;
}

/*
 * Hashes an inner script that a workflow tool wrote, without the names that the tool made up: these differ in each job.
 * Files with such names count by content. A tool's script is known by its path, which has a made-up name too. Returns
 * false, and hashes nothing, if the file is no such script.
 */
static bool hash_inner(struct collector *c, int fd, const char *path, uint64_t size)
{
	char *text = (char *)c->buffer, *plain = text + INNER_BYTES_MAX;
	size_t n;
	if (size > INNER_BYTES_MAX || !has_path(&c->inner, path) ||
	    !made_up_hide(path, strlen(path), plain, 4 * INNER_BYTES_MAX) || !fd_read_at(fd, text, (size_t)size, 0))
		return false;
	n = made_up_hide(text, (size_t)size, plain, 4 * INNER_BYTES_MAX);
	if (n)
		hash_piece(c, 'i', plain, n);
	return n > 0;
}

static void hash_file(struct collector *c, const char *path)
{
	uint8_t id[64];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) { /* the file exists but is unreadable: its name still counts */
		if (stat(path, &st) == 0) {
			hash_size(c, (uint64_t)st.st_size);
			c->n_hashed++;
		}
		return;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		size_t id_len = fingerprint_build_id(fd, id, sizeof(id));
		bool data = !id_len && !(st.st_mode & S_IXUSR) && !is_elf(fd);
		if (id_len)
			hash_piece(c, 'b', id, id_len);
		else if (hash_inner(c, fd, path, (uint64_t)st.st_size))
			;
		else if (data && st.st_size >= FINGERPRINT_BULK)
			hash_bulk(c, fd, (uint64_t)st.st_size);
		else
			hash_content(c, fd, (uint64_t)st.st_size);
		c->n_hashed++;
		c->n_data += data;
	}
	close(fd);
}

/* A source is no input, so that the work directory counts in any case. */
static void hash_source(struct collector *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		hash_content(c, fd, (uint64_t)st.st_size);
		c->n_hashed++;
	}
	if (fd >= 0)
		close(fd);
}

/* Hash of size, first and last bytes. */
static uint64_t pending_hash(struct collector *c, int fd, uint64_t size)
{
	uint64_t head = size < FINGERPRINT_SAMPLE ? size : FINGERPRINT_SAMPLE, hash = size;
	uint64_t tail = size - head < FINGERPRINT_SAMPLE ? size - head : FINGERPRINT_SAMPLE;
	if (fd_read_at(fd, c->buffer, (size_t)head, 0))
		hash = XXH3_64bits_withSeed(c->buffer, (size_t)head, hash);
	if (tail && fd_read_at(fd, c->buffer, (size_t)tail, size - tail))
		hash = XXH3_64bits_withSeed(c->buffer, (size_t)tail, hash);
	return hash;
}

/* In any order, since the names are random. */
static void hash_pending(struct collector *c)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < c->pending.n && !took_too_long(c); i++) {
		int fd = open(c->pending.paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		struct stat st;
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
			sum += pending_hash(c, fd, (uint64_t)st.st_size);
		if (fd >= 0)
			close(fd);
	}
	if (c->pending.n)
		hash_piece(c, 'p', &sum, sizeof(sum));
}

static int hash_files(struct collector *c, struct errbuf *err)
{
	c->hash = XXH3_createState();
	c->like = XXH3_createState();
	c->buffer = malloc(FINGERPRINT_SAMPLE);
	if (!c->hash || !c->like || !c->buffer || c->no_memory)
		return err_set(err, "fingerprint: no memory");
	XXH3_128bits_reset(c->hash);
	XXH3_128bits_reset(c->like);
	for (size_t i = 0, n = c->files.n; i < n + c->sources.n; i++) {
		if (i < n)
			hash_file(c, c->files.paths[i]);
		else
			hash_source(c, c->sources.paths[i - n]);
		if (took_too_long(c))
			return err_set(err, "fingerprint: reading %zu of %zu files took longer than %d ms", i + 1, n + c->sources.n,
				       FINGERPRINT_TIME_NS / 1000000);
	}
	hash_pending(c);
	if (took_too_long(c))
		return err_set(err, "fingerprint: reading %zu functions took longer than %d ms", c->pending.n,
			       FINGERPRINT_TIME_NS / 1000000);
	return 0;
}

static int collect_words(struct collector *c, struct script_words *w, struct errbuf *err)
{
	const struct fingerprint_job *job = c->job;
	const struct script_context ctx = {.work_dir = job->work_dir, .submit_dir = job->submit_dir, .args = job->args,
					   .n_args = job->n_args, .lookup = job->lookup};
	if (script_words_read(job->script ? job->script : "", job->script ? job->script_len : 0, &ctx, w) < 0)
		return err_set(err, "fingerprint: no memory");
	add_output(c, job->work_dir, job->output);
	add_output(c, job->work_dir, job->error);
	script_outputs(c, w);
	if (job->input)
		add_file(c, job->work_dir, job->input);
	script_files(c, w);
	script_multi_prog(c, w);
	script_inner(c, w);
	script_pending(c, w);
	bool multi = false;
	for (size_t i = 0; i < job->n_args && !took_too_long(c); i++) {
		if (multi && job->args[i][0] != '-')
			add_multi_prog(c, job->work_dir, job->args[i]);
		multi |= !job->script && strcmp(job->args[i], "--multi-prog") == 0;
		if (!job->script && WORD_LISTED(job->args[i], OUTPUT_OPTIONS))
			i++;
		else
			add_word(c, job->work_dir, job->args[i]);
	}
	if (took_too_long(c))
		return err_set(err, "fingerprint: looking up the files took longer than %d ms", FINGERPRINT_TIME_NS / 1000000);
	if (c->many_pending)
		return err_set(err, "fingerprint: submitit has more than %d functions for jobs", FINGERPRINT_FILES_MAX);
	return 0;
}

static void write_out(const struct collector *c, char out[FINGERPRINT_LEN])
{
	XXH128_hash_t h = XXH3_128bits_digest(c->hash);
	int n = snprintf(out, FINGERPRINT_LEN, "v1:%016llx%016llx:%zu", (unsigned long long)h.high64, (unsigned long long)h.low64,
			 c->n_hashed);
	if (!c->bulk_bytes)
		return;
	h = XXH3_128bits_digest(c->like);
	snprintf(out + n, FINGERPRINT_LEN - (size_t)n, ":%016llx%016llx:%llu", (unsigned long long)h.high64,
		 (unsigned long long)h.low64, (unsigned long long)c->bulk_bytes);
}

int fingerprint_job(const struct fingerprint_job *job, char out[FINGERPRINT_LEN], struct errbuf *err)
{
	struct collector c = {.job = job};
	struct script_words words = {0};
	int rc = -1;
	clock_gettime(CLOCK_MONOTONIC, &c.start);
	if (collect_words(&c, &words, err) < 0 || hash_files(&c, err) < 0)
		goto done;
	if (!c.n_data)
		hash_piece(&c, 'd', job->work_dir, strlen(job->work_dir));
	write_out(&c, out);
	rc = (int)c.n_hashed;
done:
	script_words_free(&words);
	free_paths(&c.outputs);
	free_paths(&c.files);
	free_paths(&c.sources);
	free_paths(&c.inner);
	free_paths(&c.pending);
	XXH3_freeState(c.hash);
	XXH3_freeState(c.like);
	free(c.buffer);
	return rc;
}
