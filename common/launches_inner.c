/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts that a batch script runs, as `bash step.sh 7` or `./step.sh 7`: see launches.h. Their launches count as if they
 * stood in the batch script. A script that would see another environment, or start in another directory, is not read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/launches_internal.h"
#include "common/shells.h"

static int doubt(struct launches *l, const char *why, const char *word)
{
	return err_set(l->why, "%s: %.200s", why, word);
}

/* Where the script would see something else than the reader, it is not certain what it launches. */
static int may_read(struct launches *l, const struct script_word *head, const char *path, const struct stat *st)
{
	char folder[PATH_MAX];
	struct stat dir;
	if (l->within)
		return doubt(l, "a script within a script within the script", head->text);
	if (head->joint != SCRIPT_JOINT_NEXT || head->dir != 0 || l->n_env)
		return doubt(l, "a script with a variable of its own, in another directory or on a condition", head->text);
	snprintf(folder, sizeof(folder), "%.*s.", (int)(path_base(path) - path), path);
	if (l->uncertain || l->moved || launches_is_output(l, path, st) || launches_is_named(l, st) ||
	    stat(folder, &dir) != 0 || launches_is_named(l, &dir))
		return doubt(l, "a command before may change this script", head->text);
	return l->n_inner == LAUNCH_INNER_MAX ? doubt(l, "too many scripts within the script", head->text) : 0;
}

static int read_words(struct launches *l, const char *text, size_t len, char *const *args, size_t n_args, const char *name)
{
	const struct script_context ctx = {.work_dir = l->w.dirs[0], .submit_dir = l->job->submit_dir,
					   .args = args, .n_args = n_args, .lookup = l->job->lookup,
					   .modules = l->modules || l->login};
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
		else if (words[i].flags & SCRIPT_WORD_UNKNOWN)
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
	bool shell = shell_is(words[0].text);
	struct shell_use use = {0};
	size_t at = shell ? shell_script(words, n, &use) : 0;
	struct stat st;
	char *path, *text;
	int rc = 0;
	if (at == n || (shell ? !use.understood : !strchr(words[0].text, '/')) ||
	    (words[at].flags & (SCRIPT_WORD_UNKNOWN | SCRIPT_WORD_OUTPUT)) ||
	    !path_is_textual(l->w.dirs[words[at].dir], words[at].text))
		return 0;
	path = path_normal(l->w.dirs[words[at].dir], words[at].text);
	text = path ? fd_read_file(path, LAUNCH_INNER_BYTES, &st) : NULL;
	/* Without the first line or the mode, the kernel runs another interpreter, or none. */
	if (text && (shell || ((st.st_mode & S_IXUSR) && shell_line(text, (size_t)st.st_size, &use) && use.understood))) {
		l->login = use.login;
		rc = may_read(l, &words[0], path, &st) < 0
			     ? -1
			     : take_words(l, words + at, n - at, text, (size_t)st.st_size);
	}
	free(text);
	free(path);
	return rc;
}
