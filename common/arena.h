/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is freed all at once: a merged tree is thousands of small arrays with one life. Blocks come zeroed.
 */
#ifndef PRECEDENT_COMMON_ARENA_H
#define PRECEDENT_COMMON_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_create(void); /* NULL without memory */
void arena_destroy(struct arena *a); /* NULL is legal */
/* n elements of `size` bytes, zeroed, aligned for any type; never NULL for n == 0, NULL without memory. */
void *arena_alloc(struct arena *a, size_t n, size_t size);
size_t arena_bytes(const struct arena *a);

#endif
