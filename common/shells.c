/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See shells.h. */
#include "common/shells.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 255 /* Linux reads no more of the first line */

bool shell_is(const char *path)
{
	static const char *const names[] = {"ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "ksh93", "mksh",
					    "posh", "rbash", "sh", "tcsh", "yash", "zsh"};
	return WORD_LISTED(path_base(path), names);
}

bool shell_is_starter(const char *path)
{
	static const char *const names[] = {"chrt", "command", "env", "flock", "ionice", "nice", "nohup", "numactl",
					    "prlimit", "setsid", "stdbuf", "taskset", "time", "timeout", "xargs"};
	return WORD_LISTED(path_base(path), names);
}

/* Shells whose scripts the reader of words understands. A shell of the same name elsewhere is another program. */
static bool is_of_system(const char *path)
{
	static const char *const names[] = {"ash", "bash", "dash", "sh"};
	size_t dir = (size_t)(path_base(path) - path);
	return WORD_LISTED(path_base(path), names) &&
	       (dir == 0 || (dir == 5 && !strncmp(path, "/bin/", 5)) || (dir == 9 && !strncmp(path, "/usr/bin/", 9)));
}

/* Options of one word. Returns how many words they take; 0: no script follows. */
static size_t long_option(const char *word, struct shell_use *use)
{
	static const char *const plain[] = {"--login", "--noprofile", "--norc"};
	static const char *const others[] = {"--noediting", "--posix", "--restricted", "--verbose"};
	static const char *const valued[] = {"--init-file", "--rcfile"};
	use->login |= strcmp(word, "--login") == 0;
	if (WORD_LISTED(word, plain))
		return 1;
	use->understood = false;
	return WORD_LISTED(word, others) ? 1 : WORD_LISTED(word, valued) ? 2 : 0;
}

static size_t short_options(const char *word, const char *next, struct shell_use *use)
{
	size_t known = 1 + strspn(word + 1, "eluvx");
	bool valued = strpbrk(word, "oO") != NULL; /* -o pipefail */
	if (strpbrk(word, "cs"))
		return 0;
	use->login |= strchr(word, 'l') != NULL;
	if (word[0] != '-' || !word[1] || (valued ? strcmp(word + known, "o") || strcmp(next, "pipefail") : word[known]))
		use->understood = false;
	return valued ? 2 : 1;
}

size_t shell_script(const struct script_word *words, size_t n, struct shell_use *use)
{
	size_t i = 1;
	*use = (struct shell_use){.understood = is_of_system(words[0].text)};
	while (i < n && (words[i].text[0] == '-' || words[i].text[0] == '+')) {
		const char *t = words[i].text;
		size_t takes;
		if (strcmp(t, "--") == 0) {
			i++;
			break;
		}
		takes = t[0] == '-' && t[1] == '-' ? long_option(t, use)
						     : short_options(t, i + 1 < n ? words[i + 1].text : "", use);
		if (!takes)
			return n;
		i += takes;
	}
	return i < n ? i : n;
}

/* The kernel hands all that follows the interpreter over as one word: a second option is none. */
static bool is_understood_line(char *const *words, size_t n, struct shell_use *use)
{
	bool env = strcmp(words[0], "/usr/bin/env") == 0 || strcmp(words[0], "/bin/env") == 0;
	struct script_word w[3] = {{.text = words[env ? 1 : 0]}, {.text = words[1]}, {.text = words[1]}};
	size_t i;
	if (n > 2 || (env ? n != 2 || strchr(words[1], '/') : words[0][0] != '/'))
		return false;
	if (env || n == 1)
		return is_of_system(w[0].text);
	w[2].text = words[0]; /* any name of a script */
	i = shell_script(w, 3, use);
	return use->understood && i == 2 && strcmp(words[1], "--") != 0;
}

bool shell_line(const char *head, size_t len, struct shell_use *use)
{
	char line[LINE_MAX_BYTES + 1], *words[4] = {"", "", "", ""}, *save = NULL;
	const char *end = memchr(head, '\n', len);
	size_t n = 0, size = end ? (size_t)(end - head) : len;
	bool shell = false, found = false;
	*use = (struct shell_use){0};
	if (len < 2 || memcmp(head, "#!", 2) != 0)
		return false;
	snprintf(line, sizeof(line), "%.*s", (int)(size < LINE_MAX_BYTES ? size : LINE_MAX_BYTES) - 2, head + 2);
	bool odd = size >= LINE_MAX_BYTES || strchr(line, '\r'); /* the kernel reads something else */
	for (char *w = strtok_r(line, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
		if (n < 4)
			words[n] = w;
		n++;
		if (found || w[0] == '-' || strchr(w, '=') || shell_is_starter(w))
			continue;
		found = true;
		shell = shell_is(w);
	}
	if (!shell)
		return false;
	use->understood = !odd && is_understood_line(words, n, use);
	return true;
}

bool shell_runs(const char *head, size_t len)
{
	struct shell_use use;
	if (len >= 2 && memcmp(head, "#!", 2) == 0)
		return shell_line(head, len, &use);
	return len > 0 && !memchr(head, '\0', len < 256 ? len : 256);
}
