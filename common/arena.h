/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is freed all at once, for data of many small arrays with one lifetime, such as a merged tree. Blocks
 * are zeroed.
 */
#ifndef PRECEDENT_COMMON_ARENA_H
#define PRECEDENT_COMMON_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_create(void); /* NULL if memory runs out */
void arena_destroy(struct arena *a); /* NULL is legal */
/* Allocate n elements of `size` bytes, zeroed and aligned for any type. Returns NULL only if memory runs out,
 * also for n == 0. */
void *arena_alloc(struct arena *a, size_t n, size_t size);
size_t arena_bytes(const struct arena *a);

#endif
