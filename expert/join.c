/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Combinations around a structure that has just come: the patterns of its rule, filled one after the other. */
#include "expert/engine_impl.h"

/* Combinations that may be tried: some in one cycle, and on average of all. */
#define TRIES_FREE  (1ull << 24)
#define TRIES_EVENT 1024ull

struct join {
	struct engine *e;
	const struct plan_pattern *p; /* that of the structure that came */
	const struct plan_rule *rule;
	uint32_t n;                   /* patterns */
	uint8_t slot[RULES_MAX_PATTERNS]; /* in the order in which they are filled */
};

static int too_many(struct join *j)
{
	const struct rules_rule *src = j->rule->src;

	return rules_error(j->e->p->rules, j->e->err, src->pos,
			   "this rule tries too many combinations, %llu after %llu events: join its structures by equalities",
			   (unsigned long long)j->e->report.combinations, (unsigned long long)j->e->report.events);
}

/* May x still take part as that pattern? */
static bool usable(const struct plan_pattern *p, const struct entry *x)
{
	return !x->gone && !x->queued && !(p->waits && x->consumed);
}

/* How many of the filled patterns, from the first on, can still be used. */
static uint32_t usable_upto(const struct join *j, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct plan_pattern *p = &j->rule->pattern[j->slot[i]];
		const struct entry *x = j->e->bound[j->slot[i]];

		if (!usable(p, x) || (i && !queues_has(p, x)) || (i == 0 && p->uses.ins && x->uses[p->of_type] == 0))
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
	j->slot[n] = s->pattern;
	cursor_open(e, &c, p, s);
	if (e->q.failed)
		return err_set(e->err, "no memory for what the rules remember");
	while ((x = cursor_next(&c))) {
		int left;

		if (++e->report.combinations > TRIES_FREE + TRIES_EVENT * e->report.events)
			return too_many(j);
		if (!usable(p, x) || taken(j, n, x))
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

int engine_join(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	struct join j = {.e = e, .p = p, .rule = &e->p->rule[p->rule], .slot = {p->pattern}};

	j.n = j.rule->src->n_pattern;
	e->bound[p->pattern] = x;
	return fill(&j, 1) < 0 ? -1 : 0;
}
