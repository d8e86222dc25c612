/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Combinations around a structure that has just come: the patterns of its rule, filled one after the other. */
#include "expert/engine/keys.h"

struct join {
	struct engine *e;
	const struct plan_pattern *p; /* that of the structure that came */
	const struct plan_rule *rule;
	uint32_t n;                   /* patterns */
	uint8_t slot[RULES_MAX_PATTERNS]; /* in the order in which they are filled */
};

int engine_too_many(struct engine *e, const struct plan_pattern *p)
{
	return rules_error(e->p->rules, e->err, e->p->rule[p->rule].src->pos,
			   "this rule tries too many combinations, %llu after %llu events: join its structures by equalities",
			   (unsigned long long)e->report.combinations, (unsigned long long)e->report.events);
}

/* How many of the filled patterns, from the first on, can still be used. */
static uint32_t usable_upto(const struct join *j, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct plan_pattern *p = &j->rule->pattern[j->slot[i]];
		struct entry *x = j->e->bound[j->slot[i]];

		if (!engine_usable(p, x) || (i && !p->passes && !queues_has(p, x)) || (i == 0 && p->uses && *entry_uses(p, x) == 0))
			return i;
	}
	return n;
}

static bool taken(const struct join *j, uint32_t n, const struct entry *x)
{
	for (uint32_t i = 0; i < n; i++)
		if (j->e->bound[j->slot[i]] == x)
			return true;
	return false;
}

/* The one event of this cycle that has what the step asks for. False: there are several, or it is not so simple. */
static inline bool only_passing(const struct engine *e, const struct plan_pattern *p, const struct plan_step *s,
				const struct plan_index *ix, struct entry **x)
{
	const struct queues *q = &e->q;
	bool one = true;

	*x = NULL;
	if (q->asked_passing || q->n_waiting[p->number] || q->n_passing > CURSOR_FEW)
		return false;
	for (uint32_t i = 0; i < q->n_passing; i++) {
		struct entry *y = q->passing[i].entry;
		uint32_t n = 0;

		if (q->passing[i].pattern != p)
			continue;
		while (n < ix->n_key && y->v[ix->slot[n]].i == e->bound[s->key[n].pattern]->v[s->key[n].slot].i)
			n++;
		if (n < ix->n_key)
			continue;
		one = !*x;
		*x = y;
	}
	return one;
}

/* The one structure that has what a quick step asks for, or NULL. False: there are several, or it is not so simple. */
static inline bool only_one(const struct engine *e, const struct plan_pattern *p, const struct plan_step *s, struct entry **x)
{
	const struct plan_index *ix = &p->index[s->index];
	const struct queues *q = &e->q;
	uint64_t h = ix->begin;
	int64_t part[BUCKET_PARTS];
	uint32_t hash, mask = q->n_slot - 1;

	if (p->passes)
		return only_passing(e, p, s, ix, x);
	*x = NULL;
	if (!q->n_waiting[p->number])
		return true;
	for (uint32_t i = 0; i < ix->n_key; i++) {
		part[i] = e->bound[s->key[i].pattern]->v[s->key[i].slot].i;
		h += key_mix(part[i], i);
	}
	hash = key_end(h);
	for (uint32_t at = hash & mask; q->slot[at].number; at = (at + 1) & mask) {
		const struct bucket *b;
		uint32_t n = 0;

		if (q->slot[at].hash != hash)
			continue;
		b = queues_bucket(q, q->slot[at].number);
		while (n < ix->n_key && b->part[n] == part[n])
			n++;
		if (n < ix->n_key || b->index != ix->number << PLAN_MAX_WILDS)
			continue;
		*x = b->head;
		return b->n == 1;
	}
	return true;
}

static int fill_pattern(struct join *j, uint32_t n);

/* x may be pattern number n (in order): go on from there. As fill_pattern(). */
static inline int fill_with(struct join *j, const struct plan_pattern *p, const struct plan_step *s, uint32_t n, struct entry *x)
{
	struct engine *e = j->e;

	if (engine_count_try(e, p) < 0)
		return -1;
	if (!engine_usable(p, x) || taken(j, n, x))
		return (int)n;
	e->bound[s->pattern] = x;
	e->frame.bound = e->bound;
	if (s->rest && !eval(s->rest, &e->frame).i)
		return (int)n;
	if (n + 1 == j->n)
		return engine_fire(e, j->rule) < 0 ? -1 : (int)usable_upto(j, n + 1);
	return fill_pattern(j, n + 1);
}

/* All that may fit. As fill_pattern(). */
static __attribute__((noinline)) int fill_several(struct join *j, const struct plan_pattern *p, const struct plan_step *s, uint32_t n)
{
	struct engine *e = j->e;
	struct cursor c;
	struct entry *x;

	cursor_open(e, &c, p, s);
	if (e->q.failed)
		return err_set(e->err, "no memory for what the rules remember");
	while ((x = cursor_next(&c))) {
		int left = fill_with(j, p, s, n, x);

		if (left < (int)n)
			return left;
	}
	return (int)n;
}

/* Fill pattern number n (in order). Returns how many of those filled before can go on, or -1. */
static int fill_pattern(struct join *j, uint32_t n)
{
	struct engine *e = j->e;
	const struct plan_step *s;
	const struct plan_pattern *p;
	struct entry *x;
	int left;

	s = &j->p->step[n - 1];
	p = &j->rule->pattern[s->pattern];
	if (e->q.failed || !s->quick || !only_one(e, p, s, &x))
		return fill_several(j, p, s, n);
	if (!x)
		return (int)n;
	left = fill_with(j, p, s, n, x);
	return left < (int)n ? left : (int)n;
}

/* Returns true if nothing can fit, false if a lookup is needed. True: only events of this cycle can be next, and none
 * of them has the key of x. This is the usual case when a state is presented again. */
static bool nobody_fits(const struct engine *e, const struct plan_pattern *p, const struct plan_rule *u, const struct entry *x)
{
	const struct plan_step *s = p->step;
	const struct plan_pattern *q = &u->pattern[s->pattern];
	const struct plan_index *ix = s->index < 0 ? NULL : &q->index[s->index];

	if (!ix || !q->passes || e->q.asked_passing || e->q.n_waiting[q->number] || e->q.n_passing > CURSOR_FEW || !ix->plain ||
	    ix->n_wild || !s->key->field)
		return false;
	for (uint32_t i = 0; i < e->q.n_passing; i++) /* the first part of the key says most */
		if (e->q.passing[i].pattern == q && e->q.passing[i].entry->v[ix->slot[0]].i == x->v[s->key->slot].i)
			return false;
	return true;
}

static __attribute__((noinline)) int join(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	struct join j = {.e = e, .p = p, .rule = &e->p->rule[p->rule]};

	j.n = j.rule->n_pattern;
	for (uint32_t i = 1; i < j.n && i < RULES_MAX_PATTERNS; i++)
		j.slot[i] = p->step[i - 1].pattern;
	j.slot[0] = p->pattern;
	e->bound[p->pattern] = x;
	return fill_pattern(&j, 1) < 0 ? -1 : 0;
}

int engine_join(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	return nobody_fits(e, p, &e->p->rule[p->rule], x) ? 0 : join(e, p, x);
}
