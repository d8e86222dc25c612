/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See multi_prog.h. */
#include "common/multi_prog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX 65536 /* srun itself reads 60,000 bytes at most */

/* Returns the text, or NULL. */
static char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = malloc(FILE_MAX + 1);
	size_t n = 0;
	ssize_t got = -1;
	while (fd >= 0 && text && n < FILE_MAX) {
		got = read(fd, text + n, FILE_MAX - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	if (!text || got != 0 || memchr(text, '\0', n)) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

int multi_prog_each(const char *path, int (*word)(const char *text, void *arg), void *arg)
{
	char *text = read_text(path), *line_save = NULL;
	int rc = text && !text[strcspn(text, "\\'\"")] ? 0 : -1;
	for (char *line = rc ? NULL : strtok_r(text, "\n", &line_save); line && rc == 0;
	     line = strtok_r(NULL, "\n", &line_save)) {
		char *save = NULL;
		for (char *w = strtok_r(line, " \t\r", &save); w && *w != '#' && rc == 0;
		     w = strtok_r(NULL, " \t\r", &save))
			rc = word(w, arg);
	}
	free(text);
	return rc;
}
