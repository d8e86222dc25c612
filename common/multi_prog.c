/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See multi_prog.h. */
#include "common/multi_prog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL /* sbatch then loads no further library */
#include <xxhash.h>

#define FILE_MAX 65536 /* srun itself reads 60,000 bytes at most */
#define SEEN_SLOTS (4 * MULTI_PROG_WORDS_MAX)

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

struct reading {
	int (*word)(const char *text, void *arg);
	void *arg;
	uint64_t seen[SEEN_SLOTS]; /* hashes of words; 0: free */
	unsigned n;
	bool more;
};

/* Is the word met for the first time, within the bound? */
static bool is_new(struct reading *r, const char *word)
{
	uint64_t hash = XXH3_64bits(word, strlen(word)) | 1;
	size_t i = hash / 2 % SEEN_SLOTS;
	while (r->seen[i] && r->seen[i] != hash)
		i = (i + 1) % SEEN_SLOTS;
	if (r->seen[i])
		return false;
	if (r->n == MULTI_PROG_WORDS_MAX) {
		r->more = true;
		return false;
	}
	r->n++;
	r->seen[i] = hash;
	return true;
}

/* One line without its ranks: the program, or all words. */
static int read_line(struct reading *r, char *line, bool program_alone)
{
	char *save = NULL, *w = strtok_r(line, " \t\r", &save);
	int rc = 0;
	if (!w || *w == '#')
		return 0;
	while (rc == 0 && (w = strtok_r(NULL, " \t\r", &save)) && *w != '#') {
		if (is_new(r, w))
			rc = r->word(w, r->arg);
		if (program_alone)
			break;
	}
	return rc;
}

static int read_lines(struct reading *r, char *text, bool programs_alone)
{
	char *save = NULL;
	int rc = 0;
	for (char *line = strtok_r(text, "\n", &save); line && rc == 0; line = strtok_r(NULL, "\n", &save))
		rc = read_line(r, line, programs_alone);
	return rc;
}

int multi_prog_each(const char *path, int (*word)(const char *text, void *arg), void *arg)
{
	char *text = read_text(path), *copy = text ? strdup(text) : NULL;
	struct reading *r = calloc(1, sizeof(*r));
	int rc = -1;
	if (copy && r && !text[strcspn(text, "\\'\"")]) {
		r->word = word;
		r->arg = arg;
		rc = read_lines(r, copy, true);
		if (rc == 0)
			rc = read_lines(r, text, false);
		if (rc == 0 && r->more)
			rc = MULTI_PROG_MORE;
	}
	free(r);
	free(copy);
	free(text);
	return rc;
}
