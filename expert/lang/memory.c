/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a rule base: see memory.h. */
#include "expert/lang/memory.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"

#define BLOCK_SIZE (64u << 10)

struct memory_block {
	struct memory_block *next;
	size_t used, size;
	_Alignas(16) char data[];
};

void memory_init(struct memory *m, size_t limit)
{
	*m = (struct memory){.limit = limit};
}

void memory_free(struct memory *m)
{
	while (m->block) {
		struct memory_block *next = m->block->next;

		free(m->block);
		m->block = next;
	}
	m->used = 0;
}

void *memory_alloc(struct memory *m, size_t size)
{
	struct memory_block *b = m->block;
	void *p;

	if (size > m->limit || m->used + size > m->limit) {
		m->failed = true;
		return NULL;
	}
	size = (size + 15) & ~(size_t)15;
	if (!b || b->size - b->used < size) {
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		b = calloc(1, sizeof(*b) + room);
		if (!b) {
			m->failed = true;
			return NULL;
		}
		b->size = room;
		b->next = m->block;
		m->block = b;
	}
	p = b->data + b->used;
	b->used += size;
	m->used += size;
	return p;
}

char *memory_copy(struct memory *m, const char *text, size_t len)
{
	char *p = memory_alloc(m, len + 1);

	if (p)
		memcpy(p, text, len);
	return p;
}

int strings_init(struct strings *s, size_t limit)
{
	*s = (struct strings){.limit = limit};
	return strings_put(s, "", 0) == 0 ? 0 : -1;
}

void strings_free(struct strings *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->text[i]);
	free(s->text);
	free(s->len);
	hash_table_free(&s->number);
	*s = (struct strings){0};
}

static int make_room(struct strings *s)
{
	uint32_t cap_len = s->cap;

	return ARRAY_ROOM(s->len, cap_len, s->n + 1) != 0 || ARRAY_ROOM(s->text, s->cap, s->n + 1) != 0 ? -1 : 0;
}

uint32_t strings_put(struct strings *s, const char *text, size_t len)
{
	uint64_t hash = XXH3_64bits(text, len);
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&s->number, hash, at, i)
		if (s->len[i] == len && !memcmp(s->text[i], text, len))
			return i;
	if (s->bytes > s->limit || len > s->limit - s->bytes || s->n == UINT32_MAX / 4 || make_room(s) < 0)
		return UINT32_MAX;
	s->text[s->n] = malloc(len + 1);
	if (!s->text[s->n])
		return UINT32_MAX;
	if (hash_table_add(&s->number, hash, s->n) < 0) {
		free(s->text[s->n]);
		return UINT32_MAX;
	}
	memcpy(s->text[s->n], text, len);
	s->text[s->n][len] = '\0';
	s->len[s->n] = (uint32_t)len;
	s->bytes += len + 64;
	return s->n++;
}
