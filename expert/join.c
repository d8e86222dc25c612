/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Combinations around a structure that has just come: the patterns of its rule, filled one after the other. */
#include "expert/engine_impl.h"

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

		if (!engine_usable(p, x) || (i && !p->passes && !queues_has(p, x)) || (i == 0 && p->uses.ins && *entry_uses(p, x) == 0))
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

/* Fill pattern number n (in order). Returns how many of those filled before can go on, or -1. */
static int fill(struct join *j, uint32_t n)
{
	struct engine *e = j->e;
	const struct plan_step *s;
	const struct plan_pattern *p;
	struct cursor c;
	struct entry *x;

	if (n == j->n)
		return engine_fire(e, j->p->rule) < 0 ? -1 : (int)usable_upto(j, n);
	s = &j->p->step[n - 1];
	p = &j->rule->pattern[s->pattern];
	cursor_open(e, &c, p, s);
	if (e->q.failed)
		return err_set(e->err, "no memory for what the rules remember");
	while ((x = cursor_next(&c))) {
		int left;

		if (engine_count_try(e, p) < 0)
			return -1;
		if (!engine_usable(p, x) || taken(j, n, x))
			continue;
		e->bound[s->pattern] = x;
		e->frame.bound = e->bound;
		if (s->rest.ins && !code_run(&s->rest, &e->frame).i)
			continue;
		left = fill(j, n + 1);
		if (left < (int)n)
			return left;
	}
	return (int)n;
}

/* Only events of this cycle can be the next ones, and none of them has the key that x asks for: as is mostly so when a
 * state is presented again. False: it must be looked for. */
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
	return fill(&j, 1) < 0 ? -1 : 0;
}

int engine_join(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	return nobody_fits(e, p, &e->p->rule[p->rule], x) ? 0 : join(e, p, x);
}
