/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts that a batch script runs, as `bash step.sh 7` or `./step.sh 7`: see launches.h. Their launches count as if they
 * stood in the batch script. A script that would see another environment, or start in another directory, is not read.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/launches_internal.h"

static int doubt(struct launches *l, const char *why, const char *word)
{
	return err_set(l->why, "%s: %.200s", why, word);
}

/* ---- the command ---- */

/* The index of the script behind a shell and its options; n: there is none, or an option is not known. */
static size_t behind_shell(const struct script_word *words, size_t n)
{
	static const char *const plain[] = {"--login", "--noprofile", "--norc"};
	size_t i = 1;
	for (; i < n && words[i].text[0] == '-' && strcmp(words[i].text, "--") != 0; i++) {
		const char *t = words[i].text;
		bool valued = strcmp(t, "-o") == 0 && i + 1 < n && strcmp(words[i + 1].text, "pipefail") == 0;
		if (!valued && !WORD_LISTED(t, plain) && (!t[1] || t[1 + strspn(t + 1, "eluvx")]))
			return n;
		i += valued;
	}
	return i < n && strcmp(words[i].text, "--") == 0 ? i + 1 : i;
}

/* ---- the script ---- */

/* Where the script would see something else than the reader, it is not certain what it launches. */
static int may_read(struct launches *l, const struct script_word *head, const char *path)
{
	if (l->within)
		return doubt(l, "a script within a script within the script", head->text);
	if (head->joint != SCRIPT_JOINT_NEXT || head->dir != 0 || l->n_env)
		return doubt(l, "a script with a variable of its own, in another directory or on a condition", head->text);
	if (l->uncertain || l->moved || launches_is_output(l, path))
		return doubt(l, "a command before may change this script", head->text);
	return l->n_inner == LAUNCH_INNER_MAX ? doubt(l, "too many scripts within the script", head->text) : 0;
}

static int read_words(struct launches *l, const char *text, size_t len, char *const *args, size_t n_args, const char *name)
{
	const struct script_context ctx = {.work_dir = l->w.dirs[0], .submit_dir = l->job->submit_dir,
					   .args = args, .n_args = n_args, .lookup = l->job->lookup};
	struct script_words *w = &l->inner[l->n_inner++];
	if (script_words_read(text, len, &ctx, w) < 0)
		return err_set(l->why, "no memory");
	return w->plain && w->n_dirs == 1 ? 1 : doubt(l, "this script has more than simple commands", name);
}

#define ALL_OF_SCRIPT 0x80 /* tells a file that all launches of a script write from one that a launch writes */

/* words[0..n): the script and its arguments. */
static int take_words(struct launches *l, const struct script_word *words, size_t n, const char *text, size_t len)
{
	char **args = calloc(n, sizeof(*args));
	size_t n_args = 0;
	int rc = args ? 0 : err_set(l->why, "no memory");
	for (size_t i = 1; rc == 0 && i < n; i++) {
		struct script_word out = words[i];
		out.fd ^= ALL_OF_SCRIPT;
		if (out.flags & SCRIPT_WORD_OUTPUT)
			rc = launches_output(l, &out);
		else if (words[i].flags & (SCRIPT_WORD_OPAQUE | SCRIPT_WORD_SPLIT))
			rc = doubt(l, "not known before the job runs", words[i].text);
		else
			args[n_args++] = words[i].text;
	}
	if (rc == 0)
		rc = read_words(l, text, len, args, n_args, words[0].text);
	free(args);
	return rc;
}

int launches_inner(struct launches *l, const struct script_word *words, size_t n)
{
	static const char *const shells[] = {"bash",	    "dash",    "sh",		"/bin/bash",
					      "/bin/dash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"};
	bool shell = WORD_LISTED(words[0].text, shells);
	size_t at = shell ? behind_shell(words, n) : 0;
	struct stat st;
	char *path, *text;
	int rc = 0;
	if (at == n || (!shell && !strchr(words[0].text, '/')) ||
	    (words[at].flags & (SCRIPT_WORD_OPAQUE | SCRIPT_WORD_OUTPUT | SCRIPT_WORD_SPLIT)))
		return 0;
	path = path_normal(l->w.dirs[words[at].dir], words[at].text);
	text = path ? fd_read_file(path, LAUNCH_INNER_BYTES, &st) : NULL;
	/* Without the first line or the mode, the kernel runs another interpreter, or none. */
	if (text && (shell || ((st.st_mode & S_IXUSR) && launches_is_understood(text, (size_t)st.st_size))))
		rc = may_read(l, &words[0], path) < 0 ? -1 : take_words(l, words + at, n - at, text, (size_t)st.st_size);
	free(text);
	free(path);
	return rc;
}
