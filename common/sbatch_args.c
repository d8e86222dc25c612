/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of sbatch command lines, by the options in sbatch(1) of Slurm 20.11 to 24.05. */
#include "common/sbatch_args.h"

#include <stdlib.h>
#include <string.h>

enum has_arg { ARG_NONE, ARG_REQUIRED, ARG_UNKNOWN };

#define DIRECTIVE_WORDS_MAX 4096

/* Options whose value must follow '='. */
static const char *const LONG_OPTIONAL[] = {
	"exclusive", "get-user-env", "nice", "no-kill", "propagate", "oversubscribe", "share", "requeue", "no-requeue",
};

static const char *const LONG_NONE[] = {
	"contiguous", "help", "hold", "ignore-pbs", "overcommit", "parsable", "quiet", "reboot", "spread-job", "stepmgr",
	"test-only", "usage", "use-min-nodes", "verbose", "version", "wait",
};

static const char *const LONG_REQUIRED[] = {
	"account", "acctg-freq", "array", "batch", "bb", "bbf", "begin", "chdir", "cluster", "cluster-constraint", "clusters",
	"comment", "constraint", "container", "container-id", "core-spec", "cores-per-socket", "cpu-freq", "cpus-per-gpu",
	"cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "error", "exclude", "export", "export-file",
	"extra", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket",
	"gpus-per-task", "gres", "gres-flags", "hint", "input", "job-name", "kill-on-invalid-dep", "licenses", "mail-type",
	"mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "network", "nodefile",
	"nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket",
	"open-mode", "output", "partition", "power", "predict", "prefer", "priority", "profile", "qos", "reservation",
	"signal", "sockets-per-node", "switches", "tasks-per-node", "thread-spec", "threads-per-core", "time", "time-min",
	"tmp", "tres-bind", "tres-per-task", "uid", "wait-all-nodes", "wckey", "workdir", "wrap",
};

static const char SHORT_REQUIRED[] = "AaBbCcDdeFGiJLMmNnopqStwx";

static bool table_find(const char *const *table, size_t n, const char *name, size_t len, const char **full)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(table[i], name, len) == 0) {
			if (table[i][len] == '\0') {
				*full = table[i];
				return true;
			}
			if (!*full)
				*full = table[i];
		}
	}
	return false;
}

#define TABLE(t) (t), sizeof(t) / sizeof((t)[0])

/* The option that `name` is or abbreviates; *full: its whole name. */
static enum has_arg long_option(const char *name, size_t len, const char **full)
{
	const char *required = NULL, *none = NULL, *optional = NULL;
	*full = NULL;
	if (table_find(TABLE(LONG_REQUIRED), name, len, &required)) {
		*full = required;
		return ARG_REQUIRED;
	}
	if (table_find(TABLE(LONG_NONE), name, len, &none) || table_find(TABLE(LONG_OPTIONAL), name, len, &optional))
		return ARG_NONE;
	if (none || optional)
		return ARG_NONE;
	*full = required;
	return required ? ARG_REQUIRED : ARG_UNKNOWN;
}

static void take_value(struct sbatch_args *args, const char *name, char letter, const char *value)
{
	if (letter == 'D' || (name && (strcmp(name, "chdir") == 0 || strcmp(name, "workdir") == 0)))
		args->chdir = value;
	else if (letter == 'i' || (name && strcmp(name, "input") == 0))
		args->input = value;
	else if (letter == 'o' || (name && strcmp(name, "output") == 0))
		args->output = value;
	else if (letter == 'e' || (name && strcmp(name, "error") == 0))
		args->error = value;
	else if (name && strcmp(name, "wrap") == 0)
		args->wrap = value;
}

/* Read argv[i], which starts with "--". Returns the number of words read. */
static size_t read_long(char *const *argv, size_t n, size_t i, bool (*is_script)(const char *), struct sbatch_args *args)
{
	const char *word = argv[i] + 2, *eq = strchr(word, '='), *full;
	enum has_arg kind = long_option(word, eq ? (size_t)(eq - word) : strlen(word), &full);
	if (eq) {
		if (kind == ARG_REQUIRED)
			take_value(args, full, 0, eq + 1);
		return 1;
	}
	if (kind == ARG_REQUIRED && i + 1 < n) {
		take_value(args, full, 0, argv[i + 1]);
		return 2;
	}
	if (kind == ARG_UNKNOWN && i + 1 < n && argv[i + 1][0] != '-' && !(is_script && is_script(argv[i + 1])))
		return 2;
	return 1;
}

/* Read argv[i], which starts with one '-'. Returns the number of words read. */
static size_t read_short(char *const *argv, size_t n, size_t i, struct sbatch_args *args)
{
	for (const char *p = argv[i] + 1; *p; p++) {
		if (!strchr(SHORT_REQUIRED, *p))
			continue;
		if (p[1]) {
			take_value(args, NULL, *p, p[1] == '=' ? p + 2 : p + 1);
			return 1;
		}
		if (i + 1 < n)
			take_value(args, NULL, *p, argv[i + 1]);
		return 2;
	}
	return 1;
}

void sbatch_args_read(char *const *argv, size_t n, bool (*is_script)(const char *word), struct sbatch_args *args)
{
	size_t i = 0;
	while (i < n) {
		const char *word = argv[i];
		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if (word[0] == '-' && word[1] == '-')
			i += read_long(argv, n, i, is_script, args);
		else if (word[0] == '-' && word[1])
			i += read_short(argv, n, i, args);
		else if (strcmp(word, ":") == 0)
			i++;
		else
			break;
	}
	if (i < n && !args->wrap) {
		args->script = argv[i];
		args->args = argv + i + 1;
		args->n_args = n - i - 1;
	}
}

/* Split one #SBATCH line into words, which are stored at *dst. Quotes protect blanks; an unquoted '#' ends the
 * line. */
static size_t split_line(const char *p, const char *end, char **dst, char **words, size_t room)
{
	size_t n = 0;
	while (p < end && n < room) {
		char quote = 0;
		while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
			p++;
		if (p == end || *p == '#')
			break;
		words[n++] = *dst;
		for (; p < end && (quote || (*p != ' ' && *p != '\t' && *p != '\r')); p++) {
			if (quote ? *p == quote : (*p == '"' || *p == '\''))
				quote = quote ? 0 : *p;
			else if (*p == '\\' && quote != '\'' && p + 1 < end)
				*(*dst)++ = *++p;
			else
				*(*dst)++ = *p;
		}
		*(*dst)++ = '\0';
	}
	return n;
}

char **sbatch_directives(const char *text, size_t len, size_t *n_words)
{
	static const char TAG[] = "#SBATCH";
	size_t n = 0, head = 0;
	/* Slurm reads directives up to the first line that is neither blank nor a comment. */
	while (head < len) {
		const char *line = text + head, *nl = memchr(line, '\n', len - head);
		size_t line_len = nl ? (size_t)(nl - line) + 1 : len - head, blank = 0;
		while (blank < line_len && strchr(" \t\r\n", line[blank]) && line[blank])
			blank++;
		if (blank < line_len && line[blank] != '#')
			break;
		head += line_len;
	}
	/* A word takes at most its own bytes and a NUL, for which the blank or tag before it makes room. */
	char **words = malloc((DIRECTIVE_WORDS_MAX + 1) * sizeof(*words) + head + 1), *dst;
	if (!words)
		return NULL;
	dst = (char *)(words + DIRECTIVE_WORDS_MAX + 1);
	for (size_t at = 0; at < head;) {
		const char *line = text + at, *nl = memchr(line, '\n', head - at);
		const char *end = nl ? nl : text + head;
		if ((size_t)(end - line) >= sizeof(TAG) && memcmp(line, TAG, sizeof(TAG) - 1) == 0)
			n += split_line(line + sizeof(TAG) - 1, end, &dst, words + n, DIRECTIVE_WORDS_MAX - n);
		at += (size_t)(end - line) + 1;
	}
	words[n] = NULL;
	*n_words = n;
	return words;
}
