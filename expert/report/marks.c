/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See marks.h. */
#include "expert/report/marks.h"

#include <stdlib.h>

#include "common/array.h"

#define FIRST_SLOTS (1u << 10)
#define EVENT_BITS  36
#define RANK_BITS   21
#define BLOCK_BITS  3 /* events of a block */

void marks_free(struct problem_marks *m)
{
	free(m->slot);
	free(m->mark);
	*m = (struct problem_marks){0};
}

/* Of its block; 0: it has none. */
static uint64_t key_of(uint32_t rank, uint64_t event)
{
	if (rank >> RANK_BITS || event >> EVENT_BITS)
		return 0;
	return ((uint64_t)rank << (EVENT_BITS - BLOCK_BITS) | event >> BLOCK_BITS) + 1;
}

static uint8_t event_in_block(uint64_t event)
{
	return event & ((1u << BLOCK_BITS) - 1);
}

/* The block's slot, or the empty one where it belongs. */
static struct marks_block *block_at(const struct problem_marks *m, uint64_t key)
{
	/* Four blocks of a rank in a row stand together, too. */
	uint64_t h = (key >> 2) * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(h >> 32) << 2 | (key & 3);; i++) {
		struct marks_block *b = &m->slot[i & (m->n_slot - 1)];

		if (b->key == key || !b->key)
			return b;
	}
}

static bool grow_slots(struct problem_marks *m)
{
	struct problem_marks bigger = {.n_slot = m->n_slot ? 2 * m->n_slot : FIRST_SLOTS};

	bigger.slot = calloc(bigger.n_slot, sizeof(*bigger.slot));
	if (!bigger.slot)
		return false;
	for (uint32_t i = 0; i < m->n_slot; i++)
		if (m->slot[i].key)
			*block_at(&bigger, m->slot[i].key) = m->slot[i];
	free(m->slot);
	m->slot = bigger.slot;
	m->n_slot = bigger.n_slot;
	return true;
}

static struct problem_mark *mark_of(const struct problem_marks *m, const struct marks_block *b, uint32_t problem, uint64_t event)
{
	for (uint32_t i = b->first; i; i = m->mark[i - 1].next)
		if (m->mark[i - 1].problem == problem && m->mark[i - 1].event == event_in_block(event))
			return &m->mark[i - 1];
	return NULL;
}

/* -1: there is no room for it. */
static int add_mark(struct problem_marks *m, uint32_t problem, uint32_t rank, uint64_t event, uint64_t ns)
{
	uint64_t key = problem < MARKS_PROBLEMS ? key_of(rank, event) : 0;
	struct problem_mark *mark;
	struct marks_block *b;

	if (!key || (2 * m->n_block >= m->n_slot && !grow_slots(m)))
		return -1;
	b = block_at(m, key);
	mark = mark_of(m, b, problem, event);
	if (mark) {
		mark->ns += ns;
		return 0;
	}
	if (m->n >= MARKS_MAX || ARRAY_ROOM(m->mark, m->cap, m->n + 1) != 0)
		return -1;
	m->n_block += !b->key;
	m->mark[m->n++] = (struct problem_mark){.ns = ns, .next = b->first, .problem = (uint8_t)problem, .event = event_in_block(event)};
	*b = (struct marks_block){.key = key, .first = m->n};
	return 0;
}

void marks_add(struct problem_marks *m, uint32_t problem, uint32_t rank, int64_t event, uint64_t ns)
{
	m->full |= event >= 0 && add_mark(m, problem, rank, (uint64_t)event, ns) < 0;
}

/* NULL: nothing is marked there. */
static const struct marks_block *block_of(const struct problem_marks *m, uint32_t rank, uint64_t event)
{
	uint64_t key = key_of(rank, event);
	const struct marks_block *b = key && m->n ? block_at(m, key) : NULL;

	return b && b->key ? b : NULL;
}

const struct problem_mark *marks_find(const struct problem_marks *m, uint32_t problem, uint32_t rank, uint64_t event)
{
	const struct marks_block *b = block_of(m, rank, event);

	return b ? mark_of(m, b, problem, event) : NULL;
}

uint64_t marks_problems(const struct problem_marks *m, uint32_t rank, uint64_t event)
{
	const struct marks_block *b = block_of(m, rank, event);
	uint64_t all = 0;

	for (uint32_t i = b ? b->first : 0; i; i = m->mark[i - 1].next)
		if (m->mark[i - 1].event == event_in_block(event))
			all |= 1ull << m->mark[i - 1].problem;
	return all;
}
