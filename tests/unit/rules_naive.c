/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rules_naive.h. */
#include "tests/unit/rules_naive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expert/compile/entry.h"

#define MAX_OF_TYPE 64 /* patterns */

struct thing {
	uint32_t type, depth;
	uint64_t seq, id;
	bool untimed, consumed, gone, queued;
	bool in[MAX_OF_TYPE];
	int64_t uses[MAX_OF_TYPE];
	struct thing **member;
	uint32_t n_member;
	union rules_value v[RA_N + RULES_MAX_PARAMS];
};

struct fired {
	uint64_t rule;
	uint64_t id[RULES_MAX_PATTERNS];
};

struct naive {
	const struct plan *p;
	struct thing **all;      /* ever made */
	uint64_t n_all;
	struct thing **agenda;
	uint64_t n_agenda, at;
	struct fired *fired;
	uint64_t n_fired;
	int64_t *found;
	uint64_t n_found;
	uint64_t next_seq;
	struct thing *bound[RULES_MAX_PATTERNS];
	struct thing **group;
	uint32_t n_group;
};

#define PUSH(array, n, value) \
	((array) = realloc((array), ((n) + 1) * sizeof(*(array))), (array)[(n)++] = (value))

struct naive *naive_create(const struct plan *p)
{
	struct naive *n = calloc(1, sizeof(*n));

	n->p = p;
	return n;
}

void naive_destroy(struct naive *n)
{
	for (uint64_t i = 0; i < n->n_all; i++) {
		free(n->all[i]->member);
		free(n->all[i]);
	}
	free(n->all);
	free(n->agenda);
	free(n->fired);
	free(n->found);
	free(n->group);
	free(n);
}

const int64_t *naive_found(const struct naive *n, uint64_t *count)
{
	*count = n->n_found;
	return n->found;
}

/* ---- expressions, as they were written ---- */

static union rules_value eval(struct naive *n, const struct expr *e, struct thing *const *bound);

static bool less(union rules_value a, union rules_value b, bool real)
{
	return real ? a.d < b.d : a.i < b.i;
}

static union rules_value eval_group(struct naive *n, const struct expr *e)
{
	const struct expr *key = e->n_arg ? e->arg[0] : NULL, *value = e->n_arg ? e->arg[e->n_arg - 1] : NULL;
	bool real = key && key->type == RT_DOUBLE, most = e->fn == EF_G_MAX || e->fn == EF_G_AT_MAX;
	union rules_value best = {0}, sum = {0};
	struct thing *best_of = NULL;
	int64_t count = 0;

	for (uint32_t i = 0; i < n->n_group; i++) {
		struct thing *one[1] = {n->group[i]};
		union rules_value v;

		if (e->where && !eval(n, e->where, one).i)
			continue;
		count++;
		v = key ? eval(n, key, one) : sum;
		if (real)
			sum.d += key ? v.d : 0;
		else
			sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)v.i);
		if (!best_of || (most ? less(best, v, real) : less(v, best, real))) {
			best = v;
			best_of = one[0];
		}
	}
	switch (e->fn) {
	case EF_G_COUNT: return (union rules_value){.i = count};
	case EF_G_SUM: return sum;
	case EF_G_MEAN: return (union rules_value){.d = count ? sum.d / (double)count : 0};
	case EF_G_AT_MIN:
	case EF_G_AT_MAX: return best_of ? eval(n, value, &best_of) : (union rules_value){0};
	default: return best;
	}
}

static union rules_value eval_call(struct naive *n, const struct expr *e, struct thing *const *bound)
{
	union rules_value v;

	if (e->fn >= EF_G_MIN)
		return eval_group(n, e);
	v = eval(n, e->arg[0], bound);
	if (e->fn == EF_ABS && e->type == RT_DOUBLE)
		v.d = fabs(v.d);
	else if (e->fn == EF_ABS && v.i < 0)
		v.i = (int64_t)(0 - (uint64_t)v.i);
	if ((e->fn == EF_INT || e->fn == EF_TIME) && e->arg[0]->type == RT_DOUBLE)
		v.i = v.d != v.d ? 0 : v.d <= -9.2e18 ? INT64_MIN : v.d >= 9.2e18 ? INT64_MAX : (int64_t)llround(v.d);
	for (uint8_t i = 1; i < e->n_arg; i++) {
		union rules_value w = eval(n, e->arg[i], bound);

		if (e->fn == EF_MIN ? less(w, v, e->type == RT_DOUBLE) : less(v, w, e->type == RT_DOUBLE))
			v = w;
	}
	return v;
}

static union rules_value eval_real(const struct expr *e, double a, double b)
{
	switch (e->kind) {
	case EX_EQ: return (union rules_value){.i = a == b};
	case EX_NE: return (union rules_value){.i = a != b};
	case EX_LT: return (union rules_value){.i = a < b};
	case EX_LE: return (union rules_value){.i = a <= b};
	case EX_GT: return (union rules_value){.i = a > b};
	case EX_GE: return (union rules_value){.i = a >= b};
	case EX_ADD: return (union rules_value){.d = a + b};
	case EX_SUB: return (union rules_value){.d = a - b};
	case EX_MUL: return (union rules_value){.d = a * b};
	default: return (union rules_value){.d = a / b};
	}
}

static int64_t eval_integer(const struct expr *e, int64_t a, int64_t b)
{
	switch (e->kind) {
	case EX_EQ: return a == b;
	case EX_NE: return a != b;
	case EX_LT: return a < b;
	case EX_LE: return a <= b;
	case EX_GT: return a > b;
	case EX_GE: return a >= b;
	case EX_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
	case EX_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
	case EX_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
	case EX_DIV: return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
	default: return b == 0 || b == -1 ? 0 : a % b;
	}
}

static union rules_value eval(struct naive *n, const struct expr *e, struct thing *const *bound)
{
	union rules_value a;

	switch (e->kind) {
	case EX_INT: case EX_BOOLEAN: case EX_STRING: return (union rules_value){.i = e->v.integer};
	case EX_DOUBLE: return (union rules_value){.d = e->v.real};
	case EX_FIELD: return bound[e->pattern]->v[e->slot];
	case EX_CALL: return eval_call(n, e, bound);
	case EX_TEMPLATE: return (union rules_value){0};
	case EX_AND: return (union rules_value){.i = eval(n, e->a, bound).i && eval(n, e->b, bound).i};
	case EX_OR: return (union rules_value){.i = eval(n, e->a, bound).i || eval(n, e->b, bound).i};
	default: break;
	}
	a = eval(n, e->a, bound);
	if (e->kind == EX_NOT)
		return (union rules_value){.i = !a.i};
	if (e->kind == EX_CONVERT)
		return (union rules_value){.d = (double)a.i};
	if (e->kind == EX_NEGATE && e->type == RT_DOUBLE)
		return (union rules_value){.d = -a.d};
	if (e->kind == EX_NEGATE)
		return (union rules_value){.i = (int64_t)(0 - (uint64_t)a.i)};
	if (e->a->type == RT_DOUBLE)
		return eval_real(e, a.d, eval(n, e->b, bound).d);
	return (union rules_value){.i = eval_integer(e, a.i, eval(n, e->b, bound).i)};
}

/* ---- what a rule does ---- */

static struct thing *make(struct naive *n, uint32_t type)
{
	struct thing *x = calloc(1, sizeof(*x));

	x->type = type;
	x->id = n->n_all;
	PUSH(n->all, n->n_all, x);
	return x;
}

static void queue(struct naive *n, struct thing *x)
{
	x->queued = true;
	PUSH(n->agenda, n->n_agenda, x);
}

static void take_out(struct naive *n, struct thing *x, bool of_members_only)
{
	const struct plan_type *t = &n->p->type[x->type];

	for (uint32_t i = 0; i < t->n_pattern; i++)
		if (!of_members_only || t->pattern[i]->waits)
			x->in[i] = false;
}

static void note_simple(struct naive *n, const struct thing *x)
{
	if (!x->n_member && n->p->type[x->type].src->builtin) {
		PUSH(n->found, n->n_found, x->v[RA_RANK].i);
		PUSH(n->found, n->n_found, x->v[RA_EVENT].i);
	}
	for (uint32_t i = 0; i < x->n_member; i++)
		note_simple(n, x->member[i]);
}

static void note(struct naive *n, uint32_t rule, const struct rules_action *a, struct thing *const *m, uint32_t n_m, bool untimed)
{
	PUSH(n->found, n->n_found, rule);
	PUSH(n->found, n->n_found, untimed);
	for (uint32_t i = 0; i < a->n_set; i++)
		if (n->p->rules->type[a->type]->param[a->set[i].slot - RA_N].type != RT_STRING)
			PUSH(n->found, n->n_found, eval(n, a->set[i].value, n->bound).i);
	for (uint32_t i = 0; i < n_m; i++)
		note_simple(n, m[i]);
}

static void assert_thing(struct naive *n, const struct rules_action *a, struct thing *const *m, uint32_t n_m, bool untimed)
{
	struct thing *x = make(n, a->type);

	x->untimed = untimed;
	memcpy(x->v, m[0]->v, RA_N * sizeof(*x->v));
	for (uint32_t i = 0; i < n_m; i++) {
		if (m[i]->v[RA_START].i < x->v[RA_START].i)
			x->v[RA_START] = m[i]->v[RA_START];
		if (m[i]->v[RA_FINISH].i > x->v[RA_FINISH].i)
			x->v[RA_FINISH] = m[i]->v[RA_FINISH];
		if (m[i]->depth + 1 < ENTRY_DEPTH) {
			x->depth = m[i]->depth + 1 > x->depth ? m[i]->depth + 1 : x->depth;
			PUSH(x->member, x->n_member, m[i]);
		}
	}
	for (uint32_t i = 0; i < a->n_set; i++)
		x->v[a->set[i].slot] = eval(n, a->set[i].value, n->bound);
	queue(n, x);
}

static void modify(struct naive *n, const struct rules_action *a, struct thing *x)
{
	union rules_value v[RULES_MAX_PARAMS];

	for (uint32_t i = 0; i < a->n_set; i++)
		v[i] = eval(n, a->set[i].value, n->bound);
	if (x->gone)
		return;
	if (!x->queued) {
		take_out(n, x, false);
		queue(n, x);
	}
	for (uint32_t i = 0; i < a->n_set; i++)
		x->v[a->set[i].slot] = v[i];
}

static void use(struct naive *n, const struct plan_pattern *p, struct thing *x, bool group)
{
	if (!p->shared) {
		x->consumed = true;
		take_out(n, x, true);
	} else if (group || (p->uses && --x->uses[p->of_type] == 0)) {
		x->in[p->of_type] = false;
	}
}

static bool fired_before(struct naive *n, uint32_t rule)
{
	struct fired f = {.rule = rule};

	for (uint32_t i = 0; i < n->p->rules->rule[rule]->n_pattern; i++)
		f.id[i] = n->bound[i]->id;
	for (uint64_t i = 0; i < n->n_fired; i++)
		if (!memcmp(&n->fired[i], &f, sizeof(f)))
			return true;
	PUSH(n->fired, n->n_fired, f);
	return false;
}

static void fire(struct naive *n, uint32_t rule)
{
	const struct rules_rule *u = n->p->rules->rule[rule];
	bool group = u->pattern[0].all, untimed = false;
	struct thing **m = group ? n->group : n->bound;
	uint32_t n_m = group ? n->n_group : u->n_pattern;

	if (n->p->rule[rule].once && fired_before(n, rule))
		return;
	for (uint32_t i = 0; i < n_m; i++)
		untimed |= m[i]->untimed;
	for (uint32_t i = 0; i < u->n_action; i++) {
		const struct rules_action *a = &u->action[i];

		if (a->kind == AK_MODIFY) {
			modify(n, a, n->bound[a->pattern]);
		} else if (a->kind == AK_RETRACT) {
			n->bound[a->pattern]->gone = true;
			take_out(n, n->bound[a->pattern], false);
		} else if (n->p->rules->type[a->type]->category == SC_OBSERVATION) {
			note(n, rule, a, m, n_m, untimed);
		} else {
			assert_thing(n, a, m, n_m, untimed);
		}
	}
	for (uint32_t i = 0; i < n_m; i++) {
		const struct plan_pattern *p = &n->p->rule[rule].pattern[group ? 0 : i];

		if (p->waits)
			use(n, p, m[i], group);
	}
}

/* ---- combinations ---- */

static bool usable(const struct plan_pattern *p, const struct thing *x)
{
	return !x->gone && !x->queued && !(p->waits && x->consumed);
}

static int by_seq(const void *a, const void *b)
{
	const struct thing *x = *(struct thing *const *)a, *y = *(struct thing *const *)b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* What waits in a pattern, oldest first. */
static struct thing **waiting(const struct naive *n, const struct plan_pattern *p, uint32_t *count)
{
	struct thing **w = NULL;

	*count = 0;
	for (uint64_t i = 0; i < n->n_all; i++)
		if (n->all[i]->type == p->type && n->all[i]->in[p->of_type])
			PUSH(w, *count, n->all[i]);
	if (w)
		qsort(w, *count, sizeof(struct thing *), by_seq);
	return w;
}

/* How many of those filled, in the order of `slot`, can go on. */
static uint32_t usable_upto(const struct naive *n, const struct plan_rule *u, const uint8_t *slot)
{
	for (uint32_t i = 0; i < u->src->n_pattern; i++) {
		const struct plan_pattern *p = &u->pattern[slot[i]];
		const struct thing *x = n->bound[slot[i]];

		if (!usable(p, x) || (i && !x->in[p->of_type]) || (!i && p->uses && !x->uses[p->of_type]))
			return i;
	}
	return u->src->n_pattern;
}

static uint32_t fill(struct naive *n, const struct plan_rule *u, const uint8_t *slot, uint32_t k)
{
	const struct plan_pattern *p = &u->pattern[slot[k]];
	uint32_t n_wait, left = k;
	struct thing **w;

	if (k == u->src->n_pattern) {
		if (u->src->where && !eval(n, u->src->where, n->bound).i)
			return k;
		fire(n, (uint32_t)(u - n->p->rule));
		return usable_upto(n, u, slot);
	}
	w = waiting(n, p, &n_wait);
	for (uint32_t i = 0; i < n_wait && left >= k; i++) {
		bool taken = false;

		for (uint32_t j = 0; j < k; j++)
			taken |= n->bound[slot[j]] == w[i];
		if (taken || !usable(p, w[i]) || !w[i]->in[p->of_type])
			continue;
		n->bound[slot[k]] = w[i];
		left = fill(n, u, slot, k + 1);
	}
	free(w);
	return left < k ? left : k;
}

static bool same_group(struct naive *n, const struct rules_pattern *src, struct thing *x, struct thing *y)
{
	for (uint32_t i = 0; i < src->n_by; i++)
		if (eval(n, src->by[i], &x).i != eval(n, src->by[i], &y).i)
			return false;
	return true;
}

static void join_group(struct naive *n, const struct plan_pattern *p, struct thing *x)
{
	const struct rules_pattern *src = &n->p->rule[p->rule].src->pattern[0];
	uint32_t n_wait;
	struct thing **w;
	int64_t all;

	x->in[p->of_type] = true;
	w = waiting(n, p, &n_wait);
	n->n_group = 0;
	for (uint32_t i = 0; i < n_wait; i++)
		if (same_group(n, src, x, w[i]))
			PUSH(n->group, n->n_group, w[i]);
	free(w);
	all = eval(n, src->all, &x).i;
	if (all >= 1 && all <= n->n_group)
		fire(n, p->rule);
	n->n_group = 0;
}

static void present(struct naive *n, const struct plan_pattern *p, struct thing *x)
{
	const struct plan_rule *u = &n->p->rule[p->rule];
	uint8_t slot[RULES_MAX_PATTERNS] = {p->pattern};

	if (p->waits && x->consumed)
		return;
	n->bound[p->pattern] = x;
	if (u->src->n_pattern == 1) {
		if (u->src->where && !eval(n, u->src->where, n->bound).i)
			return;
		if (u->src->pattern[0].all)
			join_group(n, p, x);
		else
			fire(n, p->rule);
		return;
	}
	if (p->uses) {
		x->uses[p->of_type] = eval(n, u->src->pattern[p->pattern].uses, n->bound).i;
		if (x->uses[p->of_type] <= 0)
			return;
	}
	for (uint32_t i = 1; i < u->src->n_pattern; i++)
		slot[i] = p->step[i - 1].pattern;
	fill(n, u, slot, 1);
	x->in[p->of_type] = usable(p, x) && !(p->uses && x->uses[p->of_type] <= 0);
}

void naive_event(struct naive *n, uint32_t type, const struct engine_simple *s, const union rules_value *param)
{
	struct thing *x = make(n, type);
	uint64_t first = n->n_all - 1;

	x->v[RA_START].i = (int64_t)s->start_ns;
	x->v[RA_FINISH].i = (int64_t)s->finish_ns;
	x->v[RA_RANK].i = s->rank;
	x->v[RA_SITE].i = s->site;
	x->v[RA_FUNCTION].i = s->function;
	x->v[RA_EVENT].i = s->event;
	x->untimed = s->untimed;
	memcpy(x->v + RA_N, param, n->p->rules->type[type]->n_param * sizeof(*param));
	n->n_agenda = n->at = n->n_fired = 0;
	queue(n, x);
	while (n->at < n->n_agenda) {
		const struct plan_type *t;

		x = n->agenda[n->at++];
		if (x->gone)
			continue;
		x->queued = false;
		x->seq = ++n->next_seq;
		t = &n->p->type[x->type];
		for (uint32_t i = 0; i < t->n_pattern && !x->gone && !x->queued; i++)
			present(n, t->pattern[i], x);
	}
	for (uint64_t i = first; i < n->n_all; i++) /* events that are no members live no longer */
		if (n->p->type[n->all[i]->type].src->category == SC_EVENT)
			for (uint32_t k = 0; k < n->p->type[n->all[i]->type].n_pattern; k++)
				n->all[i]->in[k] &= n->p->type[n->all[i]->type].pattern[k]->waits;
}
