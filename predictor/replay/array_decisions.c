/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See array_decisions.h. */
#include "common/array.h"
#include "predictor/replay/array_decisions.h"

static uint64_t hash_of(const struct stream *s, size_t job)
{
	return s->about[job].array_job * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing (Knuth, TAOCP 3, 6.4) */
}

static bool is_same(const struct stream *s, size_t a, size_t b)
{
	return s->about[a].array_job == s->about[b].array_job && s->jobs[a].submit_s == s->jobs[b].submit_s &&
	       s->jobs[a].request_min == s->jobs[b].request_min && s->about[a].nodes == s->about[b].nodes;
}

const struct array_decision *array_decisions_find(const struct array_decisions *d, const struct stream *s, size_t job)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&d->of_array, hash_of(s, job), at, i)
		if (is_same(s, d->list[i].job, job))
			return &d->list[i];
	return NULL;
}

int array_decisions_add(struct array_decisions *d, const struct stream *s, const struct array_decision *of)
{
	if (d->n && s->jobs[d->list[0].job].submit_s != s->jobs[of->job].submit_s) {
		hash_table_clear(&d->of_array);
		d->n = 0;
	}
	if (ARRAY_ROOM(d->list, d->room, d->n + 1) < 0 || hash_table_add(&d->of_array, hash_of(s, of->job), d->n) < 0)
		return -1;
	d->list[d->n++] = *of;
	return 0;
}

void array_decisions_free(struct array_decisions *d)
{
	free(d->list);
	hash_table_free(&d->of_array);
	*d = (struct array_decisions){0};
}
