/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See marks.h. */
#include "expert/marks.h"

#include <stdlib.h>

#define FIRST_SLOTS (1u << 12)
#define EVENT_BITS  36
#define RANK_BITS   21

void marks_free(struct problem_marks *m)
{
	free(m->slot);
	*m = (struct problem_marks){0};
}

/* 0: it has no key. */
static uint64_t key_of(uint32_t problem, uint32_t rank, uint64_t event)
{
	if (problem >= MARKS_PROBLEMS || rank >> RANK_BITS || event >> EVENT_BITS)
		return 0;
	return ((uint64_t)problem << (EVENT_BITS + RANK_BITS) | (uint64_t)rank << EVENT_BITS | event) + 1;
}

/* Its slot, or the empty one where it belongs. */
static struct problem_mark *place(const struct problem_marks *m, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(h >> 32);; i++) {
		struct problem_mark *s = &m->slot[i & (m->n_slot - 1)];

		if (s->key == key || !s->key)
			return s;
	}
}

static bool grow(struct problem_marks *m)
{
	struct problem_marks bigger = {.n = m->n, .n_slot = m->n_slot ? 2 * m->n_slot : FIRST_SLOTS, .full = m->full};

	bigger.slot = m->n < MARKS_MAX ? calloc(bigger.n_slot, sizeof(*bigger.slot)) : NULL;
	if (!bigger.slot)
		return false;
	for (uint32_t i = 0; i < m->n_slot; i++)
		if (m->slot[i].key)
			*place(&bigger, m->slot[i].key) = m->slot[i];
	free(m->slot);
	*m = bigger;
	return true;
}

void marks_add(struct problem_marks *m, uint32_t problem, uint32_t rank, int64_t event, uint64_t ns)
{
	uint64_t key = event < 0 ? 0 : key_of(problem, rank, (uint64_t)event);
	struct problem_mark *s;

	if (!key || (2 * m->n >= m->n_slot && !grow(m))) {
		m->full |= event >= 0;
		return;
	}
	s = place(m, key);
	m->n += !s->key;
	s->key = key;
	s->ns += ns;
}

const struct problem_mark *marks_find(const struct problem_marks *m, uint32_t problem, uint32_t rank, uint64_t event)
{
	uint64_t key = key_of(problem, rank, event);
	const struct problem_mark *s = key && m->n ? place(m, key) : NULL;

	return s && s->key ? s : NULL;
}
