/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a rule base. All pieces live as long as the rule base and are freed at once; their sum is bounded. Strings
 * are kept once each, so that equal strings have equal numbers. The caller checks for NULL; `failed` stays set.
 */
#ifndef PRECEDENT_EXPERT_MEMORY_H
#define PRECEDENT_EXPERT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_table.h"

struct memory_block;

struct memory {
	struct memory_block *block;
	size_t used, limit; /* bytes given out; the most that may be */
	bool failed;
};

void memory_init(struct memory *m, size_t limit);
void memory_free(struct memory *m);
/* Zeroed, aligned for anything. */
void *memory_alloc(struct memory *m, size_t size);
char *memory_copy(struct memory *m, const char *text, size_t len); /* NUL added */

/* Strings by number, from 0 on; number 0 is "". */
struct strings {
	char **text;
	uint32_t *len;
	uint32_t n, cap;
	struct hash_table number; /* by text */
	size_t bytes, limit;
};

int strings_init(struct strings *s, size_t limit);
void strings_free(struct strings *s);
/* The number of that string; UINT32_MAX without memory or past the limit. */
uint32_t strings_put(struct strings *s, const char *text, size_t len);
static inline const char *strings_get(const struct strings *s, uint64_t i)
{
	return i < s->n ? s->text[i] : "";
}

#endif
