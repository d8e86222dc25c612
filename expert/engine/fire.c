/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a rule does when it fires: new structures, states that change or go, members that belong to a composite event. */
#include <stdlib.h>
#include <string.h>

#include "expert/engine/engine_impl.h"

static void put_on_agenda(struct engine *e, struct entry *x)
{
	x->queued = true;
	x->also = NULL;
	if (e->agenda_tail)
		e->agenda_tail->also = x;
	else
		e->agenda = x;
	e->agenda_tail = x;
}

void engine_forget(struct engine *e, struct entry *x)
{
	const struct plan_type *t = &e->p->type[x->type];

	for (uint32_t i = 0; i < t->n_pattern && x->n_linked; i++)
		queues_remove(e, t->pattern[i], x);
}

/* x belongs to a composite event now: it waits no longer as a member. */
static void consume(struct engine *e, struct entry *x)
{
	const struct plan_type *t = &e->p->type[x->type];

	x->consumed = true;
	if (!x->n_linked)
		return;
	for (uint32_t i = 0; i < t->n_pattern && x->n_linked; i++)
		if (t->pattern[i]->waits)
			queues_remove(e, t->pattern[i], x);
}

/* ---- what it was made of ---- */

static struct entry *const *members(struct engine *e, const struct plan_rule *u, uint32_t *n)
{
	*n = u->group ? e->n_group : u->n_pattern;
	return u->group ? e->group : e->bound;
}

static bool any_untimed(struct entry *const *m, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (m[i]->untimed)
			return true;
	return false;
}

/* Returns whether times of any of them are not known. */
static inline bool set_attributes(union rules_value *v, struct entry *const *m, uint32_t n)
{
	int64_t start = m[0]->v[RA_START].i, finish = m[0]->v[RA_FINISH].i;
	bool untimed = m[0]->untimed;

	memcpy(v, m[0]->v, RA_N * sizeof(*v));
	for (uint32_t i = 1; i < n; i++) {
		start = m[i]->v[RA_START].i < start ? m[i]->v[RA_START].i : start;
		finish = m[i]->v[RA_FINISH].i > finish ? m[i]->v[RA_FINISH].i : finish;
		untimed |= m[i]->untimed;
	}
	v[RA_START].i = start;
	v[RA_FINISH].i = finish;
	return untimed;
}

/* ---- actions ---- */

static int text_failed(struct engine *e, const struct plan_rule *u)
{
	if (!e->frame.failed)
		return 0;
	return rules_error(e->p->rules, e->err, u->src->pos, "this rule makes too many different strings");
}

static int tell_finding(struct engine *e, const struct plan_rule *u, const struct plan_action *a)
{
	struct engine_finding f = {.type = e->p->rules->type[a->type], .rule = u,
				   .rule_number = (uint32_t)(u - e->p->rule), .action = a};
	uint32_t n;
	struct entry *const *m = members(e, u, &n);

	f.untimed = any_untimed(m, n);
	e->report.observations++;
	e->report.untimed_observations += f.untimed;
	if (!e->o.found)
		return 0;
	if (e->o.found(e->o.arg, e, &f, e->err))
		return -1;
	return text_failed(e, u);
}

static inline bool fill_values(struct engine *e, const struct plan_action *a, struct entry *const *m, uint32_t n,
			       union rules_value *v)
{
	bool untimed = set_attributes(v, m, n);
	const struct plan_copy *c = a->copy;

	if (a->n_copy + a->n_compute < a->n_param) /* optional ones */
		memset(v + RA_N, 0, a->n_param * sizeof(*v));
	for (uint32_t i = 0; i < a->n_copies; i++) {
		const struct plan_copies *s = &a->copies[i];
		const union rules_value *from = e->bound[s->pattern]->v;

		for (const struct plan_copy *stop = c + s->n_two; c < stop; c++)
			memcpy(&v[c->to], &from[c->from], 2 * sizeof(*v));
		for (const struct plan_copy *stop = c + s->n_one; c < stop; c++)
			v[c->to] = from[c->from];
	}
	for (uint32_t i = 0; i < a->n_compute; i++)
		v[a->src->set[a->compute[i]].slot] = engine_value(e, &a->value[a->compute[i]], e->bound);
	return untimed;
}

static int assert_entry(struct engine *e, const struct plan_rule *u, const struct plan_action *a)
{
	uint32_t n;
	struct entry *const *m = members(e, u, &n);
	struct entry *x = entry_create(e, a->type);

	if (!x)
		return -1;
	x->untimed = fill_values(e, a, m, n, x->v);
	put_on_agenda(e, x);
	if (text_failed(e, u) < 0)
		return -1;
	if (n == 2 && m[0]->depth + 1 < ENTRY_DEPTH && m[1]->depth + 1 < ENTRY_DEPTH) {
		entry_add_two(x, m);
		return 0;
	}
	return entry_add_members(e, x, m, n);
}

static void retract(struct engine *e, struct entry *x)
{
	if (x->gone)
		return;
	x->gone = true;
	if (x->n_member && x->n_member <= 2) /* the end of the cycle releases the entry and its members */
		for (uint32_t i = 0, n = x->member.in[0]->n_member; n <= 2 && i < n; i++)
			__builtin_prefetch(x->member.in[0]->member.in[i], 1);
	engine_forget(e, x);
}

static int modify(struct engine *e, const struct plan_rule *u, const struct plan_action *a, struct entry *x)
{
	union rules_value v[RULES_MAX_PARAMS];

	for (uint32_t i = 0; i < a->src->n_set; i++)
		v[i] = engine_value(e, &a->value[i], e->bound);
	if (text_failed(e, u) < 0)
		return -1;
	if (x->gone)
		return 0;
	if (!x->queued) {
		x->refs++; /* the agenda's reference; the entry stays in its queues, but no rule takes it until it is
			    * presented again */
		put_on_agenda(e, x);
	}
	for (uint32_t i = 0; i < a->src->n_set; i++)
		x->v[a->src->set[i].slot] = v[i];
	return 0;
}

static int act(struct engine *e, const struct plan_rule *u, const struct plan_action *a)
{
	switch (a->kind) {
	case AK_RETRACT:
		retract(e, e->bound[a->pattern]);
		return 0;
	case AK_MODIFY:
		return modify(e, u, a, e->bound[a->pattern]);
	default:
		if (a->tells)
			return tell_finding(e, u, a);
		return a->ignored ? 0 : assert_entry(e, u, a);
	}
}

/* ---- members ---- */

static void use_member(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	if (!p->shared)
		consume(e, x);
	else if (p->uses && --*entry_uses(p, x) == 0)
		queues_remove(e, p, x);
}

static void use_members(struct engine *e, const struct plan_rule *u)
{
	if (u->group) {
		for (uint32_t i = 0; i < e->n_group; i++) {
			if (!u->pattern[0].shared)
				consume(e, e->group[i]);
			else
				queues_remove(e, &u->pattern[0], e->group[i]);
		}
		return;
	}
	for (uint32_t i = 0; i < u->n_used; i++)
		use_member(e, &u->pattern[u->used[i]], e->bound[u->used[i]]);
}

/* ---- once per cycle ---- */

static int remember_fired(struct engine *e, uint64_t h)
{
	if (2 * (e->n_fired + 1) > e->cap_fired) {
		uint32_t cap = e->cap_fired ? 2 * e->cap_fired : 64;
		struct fired *t = calloc(cap, sizeof(*t));

		if (!t)
			return err_set(e->err, "no memory for what the rules remember");
		for (uint32_t i = 0; i < e->cap_fired; i++)
			if (e->fired[i].cycle == e->n_cycle) {
				uint32_t at = (uint32_t)e->fired[i].hash & (cap - 1);

				while (t[at].cycle)
					at = (at + 1) & (cap - 1);
				t[at] = e->fired[i];
			}
		free(e->fired);
		e->fired = t;
		e->cap_fired = cap;
	}
	for (uint32_t at = (uint32_t)h & (e->cap_fired - 1);; at = (at + 1) & (e->cap_fired - 1)) {
		if (e->fired[at].cycle != e->n_cycle) {
			e->fired[at] = (struct fired){.hash = h, .cycle = e->n_cycle};
			e->n_fired++;
			return 0;
		}
		if (e->fired[at].hash == h)
			return 1;
	}
}

/* 1: this combination has fired this rule in this cycle, in which no memory of a structure is used again. */
static int fired_before(struct engine *e, const struct plan_rule *u)
{
	uint64_t h = (uint64_t)(u - e->p->rule) + 1;

	for (uint32_t i = 0; i < u->n_pattern; i++) {
		h = (h ^ (uintptr_t)e->bound[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return remember_fired(e, h);
}

int engine_fire(struct engine *e, const struct plan_rule *u)
{
	if (u->once) {
		int before = fired_before(e, u);

		if (before)
			return before < 0 ? -1 : 0;
	}
	e->report.firings++;
	if (++e->cycle_firings > e->o.firings_max)
		return rules_error(e->p->rules, e->err, u->src->pos,
				   "more than %u rules fire for one event, this one last: do they assert without an end?",
				   e->o.firings_max);
	e->frame.member = e->group;
	e->frame.n_member = e->n_group;
	for (uint32_t i = 0; i < u->n_action; i++)
		if (act(e, u, &u->action[i]) < 0)
			return -1;
	use_members(e, u);
	return 0;
}
