/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See catalogue.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/catalogue.h"

#define MAGIC 0x950412deu

struct header {
	uint32_t magic, revision, n, ids, texts; /* ids, texts: offsets of tables of n entries */
};

struct entry {
	uint32_t length, offset;
};

struct catalogue {
	char *data;
	size_t size;
	const struct entry *ids, *texts;
	uint32_t n;
};

static const struct entry *table(const struct catalogue *c, uint32_t offset)
{
	const bool inside = offset % sizeof(uint32_t) == 0 && offset <= c->size && c->n <= (c->size - offset) / sizeof(struct entry);
	return inside ? (const struct entry *)(const void *)(c->data + offset) : NULL;
}

/* All strings lie in the file and end with a NUL. */
static bool strings_valid(const struct catalogue *c, const struct entry *e)
{
	for (uint32_t i = 0; e && i < c->n; i++)
		if (e[i].offset >= c->size || e[i].length >= c->size - e[i].offset || c->data[e[i].offset + e[i].length] != '\0')
			return false;
	return e != NULL;
}

static bool catalogue_valid(struct catalogue *c)
{
	const struct header *h = (const struct header *)(const void *)c->data;

	if (c->size < sizeof(*h) || h->magic != MAGIC || h->revision >> 16)
		return false;
	c->n = h->n;
	c->ids = table(c, h->ids);
	c->texts = table(c, h->texts);
	return strings_valid(c, c->ids) && strings_valid(c, c->texts);
}

struct catalogue *catalogue_open(const char *path)
{
	struct catalogue *c = calloc(1, sizeof(*c));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (c && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		c->size = (size_t)st.st_size;
		c->data = mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (c->data == MAP_FAILED)
			c->data = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (c && c->data && catalogue_valid(c))
		return c;
	catalogue_close(c);
	return NULL;
}

const char *catalogue_text(const struct catalogue *c, const char *text)
{
	uint32_t low = 0, high = c->n; /* msgfmt sorts the ids */

	while (low < high) {
		const uint32_t i = low + (high - low) / 2;
		const int order = strcmp(text, c->data + c->ids[i].offset);

		if (order == 0)
			return c->data + c->texts[i].offset;
		if (order < 0)
			high = i;
		else
			low = i + 1;
	}
	return text;
}

void catalogue_close(struct catalogue *c)
{
	if (c && c->data)
		munmap(c->data, c->size);
	free(c);
}
