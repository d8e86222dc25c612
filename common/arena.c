/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arena: see arena.h. Chunks double up to a bound; a large block gets a chunk of its own. */
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/arena.h"

#define FIRST_CHUNK ((size_t)16 << 10)
#define MAX_CHUNK   ((size_t)1 << 20)

struct chunk {
	struct chunk *next;
	size_t size, used;
	alignas(max_align_t) unsigned char data[];
};

struct arena {
	struct chunk *chunk; /* the first chunk is being filled */
	size_t next_size, bytes;
};

struct arena *arena_create(void)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (a)
		a->next_size = FIRST_CHUNK;
	return a;
}

void arena_destroy(struct arena *a)
{
	if (!a)
		return;
	for (struct chunk *c = a->chunk, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

static struct chunk *add_chunk(struct arena *a, size_t size)
{
	struct chunk *c = calloc(1, sizeof(*c) + size);

	if (!c)
		return NULL;
	c->size = size;
	a->bytes += size;
	return c;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct chunk *c = a->chunk;
	size_t want;
	void *p;

	if (size && n > (SIZE_MAX / 2) / size)
		return NULL;
	want = (n * size + align) & ~(align - 1);
	if (!c || c->size - c->used < want) {
		bool own = want > a->next_size / 4;

		c = add_chunk(a, own ? want : a->next_size);
		if (!c)
			return NULL;
		if (own && a->chunk) {
			c->next = a->chunk->next;
			a->chunk->next = c;
		} else {
			c->next = a->chunk;
			a->chunk = c;
		}
		if (!own && a->next_size < MAX_CHUNK)
			a->next_size *= 2;
	}
	p = c->data + c->used;
	c->used += want;
	return p;
}

size_t arena_bytes(const struct arena *a)
{
	return a->bytes;
}
