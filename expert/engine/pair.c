/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that join two structures by one key, as most rules do: the two ends of a message, or an event and a state. One
 * key serves for two purposes: to look up the other structure, and to find this one later. Both keys have the same hash
 * and the same slot in the table, so the hash is computed once. Does the same as join.c, which handles rules of any
 * number of patterns.
 */
#include "expert/engine/keys.h"
#include "expert/engine/spill.h"

/* x waits in p, by the key k. */
static inline int wait_there(struct engine *e, const struct plan_pattern *p, struct entry *x, const struct key *k)
{
	return (p->passes ? queues_let_pass(e, p, x) : queues_insert_pair(e, p, x, k)) < 0 ? -1 : 1;
}

/* 1: that is a combination, and the rule has fired. */
static inline int try(struct engine *e, const struct plan_pattern *p, const struct plan_pattern *q, struct entry *x,
		      struct entry *y)
{
	const struct plan_step *s = p->step;

	if (engine_count_try(e, p) < 0)
		return -1;
	if (!engine_usable(q, y) || y == x)
		return 0;
	e->bound[p->pattern] = x;
	e->bound[s->pattern] = y;
	e->frame.bound = e->bound;
	if (s->rest && !eval(s->rest, &e->frame).i)
		return 0;
	return engine_fire(e, p->owner) < 0 ? -1 : 1;
}

/* Of several that may fit: those in that queue, or, where b is NULL, of all that k asks for. */
static __attribute__((noinline)) int join_several(struct engine *e, const struct plan_pattern *p, struct entry *x,
						  const struct bucket *b)
{
	const struct plan_pattern *q = p->partner;
	const struct key *k = &e->key;
	struct cursor c;
	struct entry *y;

	c.n = c.n_few = c.at = 0;
	if (b)
		cursor_add(&c, b, q->first_link + q->index->first_link);
	else
		cursor_ask(e, &c, q, q->index, k, k->any);
	if (e->q.failed)
		return err_set(e->err, "no memory for what the rules remember");
	while ((y = cursor_next(&c))) {
		int rv = try(e, p, q, x, y);

		if (rv < 0)
			return -1;
		if (rv && !engine_goes_on(p, x))
			return 0;
	}
	return wait_there(e, p, x, k);
}

/* Only events of this cycle can be asked for in q, and none has the key k. False: it must be looked for. */
static bool none_passes(const struct engine *e, const struct plan_pattern *q, const struct key *k)
{
	const struct plan_index *ix = q->index;

	if (e->q.asked_passing || e->q.n_waiting[q->number] || e->q.n_passing > CURSOR_FEW || !ix->plain || ix->n_wild)
		return false;
	for (uint32_t i = 0; i < e->q.n_passing; i++) {
		const struct passing *a = &e->q.passing[i];
		uint32_t n = 0;

		while (a->pattern == q && n < ix->n_key && a->entry->v[ix->slot[n]].i == k->part[n])
			n++;
		if (n == ix->n_key)
			return false;
	}
	return true;
}

int engine_join_pair(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	const struct plan_pattern *q = p->partner;
	bool in_file = q->spills && e->report.spilled, nobody = queues_nothing(e, q) && !in_file;
	struct key *k = &e->key;
	const struct bucket *b;
	int rv;

	if (nobody && p->passes)
		return wait_there(e, p, x, NULL);
	key_make(e, p, x, k);
	if (nobody)
		return wait_there(e, p, x, k);
	if (in_file && spill_ask(e, q, k) < 0)
		return -1;
	if (q->passes && none_passes(e, q, k))
		return wait_there(e, p, x, k);
	if (k->any || q->passes || e->q.held[q->index_number] != 1)
		return join_several(e, p, x, NULL);
	b = queues_find(&e->q, k, q->index_number << PLAN_MAX_WILDS); /* nobody leaves anything out */
	if (!b)
		return wait_there(e, p, x, k);
	if (b->n > 1)
		return join_several(e, p, x, b);
	rv = try(e, p, q, x, b->head); /* as most are: there is nothing to go on to */
	if (rv < 0)
		return -1;
	return rv && !engine_goes_on(p, x) ? 0 : wait_there(e, p, x, k);
}
