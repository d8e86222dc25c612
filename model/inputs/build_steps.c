/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that go with the counter of a loop, as variables of the model's own: see build_impl.h. */
#include <stdio.h>
#include <string.h>

#include "model/inputs/build_impl.h"

#define STEPS_MAX 64

static bool same_rule(const struct rule *a, const struct rule *b)
{
	if (a->n != b->n || a->den != b->den || memcmp(a->num, b->num, (a->n + 1) * sizeof(*a->num)))
		return false;
	for (uint32_t k = 0; k < a->n; k++)
		if (a->f[k] != b->f[k] || a->g[k] != b->g[k] || a->h[k] != b->h[k])
			return false;
	return true;
}

static bool same_step(const struct learnt_value *a, const struct learnt_value *b)
{
	if (a->step == STEP_CYCLE || b->step == STEP_CYCLE)
		return a == b;
	return a->loop == b->loop && a->step == b->step && a->ratio == b->ratio && a->count == b->count &&
	       same_rule(&a->rule, &b->rule) && (a->step == STEP_UP || a->step == STEP_DOWN || a->step == STEP_ONCE || same_rule(&a->second, &b->second));
}

uint32_t build_step_var(const struct build *b, const struct learnt_value *v)
{
	for (uint32_t i = 0; i < b->n_steps; i++)
		if (same_step(b->step[i].v, v))
			return b->step[i].var;
	return MODEL_NONE;
}

static int name_step(struct build *b, const struct learnt_value *k)
{
	struct model_var *var = &b->m->var[b->m->n_vars];
	char name[24];

	if (k->kind != VALUE_STEPS || build_step_var(b, k) != MODEL_NONE || b->n_steps == STEPS_MAX ||
	    b->m->n_vars + b->l->n_doubts >= MODEL_MAX_NAMES)
		return 0; /* one too many is not predicted */
	snprintf(name, sizeof(name), k->step < STEP_ROUND ? "step %u" : "until %u", b->n_steps + 1);
	*var = (struct model_var){model_strdup(b->m, name), true, NULL};
	b->step[b->n_steps++] = (struct build_step){k, b->m->n_vars++};
	return var->name ? 0 : -1;
}

int build_steps_name(struct build *b)
{
	const struct runs *r = b->l->runs;

	b->step = arena_alloc(b->l->arena, STEPS_MAX, sizeof(*b->step));
	if (!b->step)
		return -1;
	for (uint32_t i = 0; i < r->n_loop; i++)
		if (name_step(b, &b->l->loop[i].due) < 0)
			return -1;
	for (uint32_t i = 0; i < r->n_leaf; i++) {
		if (name_step(b, &b->l->leaf[i].due) < 0)
			return -1;
		for (uint32_t v = 0; v < r->leaf[i].n_value; v++)
			if (name_step(b, &b->l->value[i][v]) < 0)
				return -1;
	}
	return 0;
}

static struct model_stage *stages(struct build *b, struct model_fn *fn, uint32_t n)
{
	fn->stage = model_alloc(b->m, n, sizeof(*fn->stage));
	b->failed |= !fn->stage;
	fn->n_stages = fn->stage ? n : 0;
	for (uint32_t i = 0; i < fn->n_stages; i++) {
		fn->stage[i].term = model_alloc(b->m, RUNS_CYCLE, sizeof(*fn->stage[i].term)); /* a rule has three terms */
		if (!fn->stage[i].term) {
			b->failed = true;
			return NULL;
		}
	}
	return fn->stage;
}

static void add_monomial(struct model_stage *s, double coef, uint32_t n, uint32_t x, uint32_t y)
{
	s->term[s->n_terms++] = (struct model_term){.coef = coef, .n_x = n, .x = {x, y}};
}

/* 1 while the iteration that is entered is not the last, else 0: is (counter + 1) mod count above 0? */
static uint32_t goes_on(struct build *b, struct build_graph *g, uint32_t counter, uint32_t count)
{
	uint32_t next = build_pair(b, g, MODEL_RING, counter, build_input(b, g, count));

	return build_feature(b, g, MODEL_SIGN, next);
}

/* Of the values that come again and again, the one whose turn it is. */
static void cycle_fn(struct build *b, struct build_graph *g, const struct learnt_value *v, uint32_t counter, struct model_stage *s)
{
	uint32_t n = (uint32_t)v->ratio, turn = build_pair(b, g, MODEL_MOD, counter, n);

	for (uint32_t k = 0; k < n; k++) {
		build_rule_terms(b, g, &v->cycle[k], &s[k]);
		add_monomial(&s[n], 1, 2, build_pair(b, g, MODEL_IS, turn, k), MODEL_STAGE | k);
	}
}

/* The iteration in a round, or of all, less the one in which the call is made. */
static void due_fn(struct build *b, struct build_graph *g, const struct learnt_value *v, uint32_t counter, struct model_stage *s)
{
	const struct rule *period = &v->second;
	uint32_t at = counter;

	if (v->step == STEP_ROUND && period->n)
		at = build_pair(b, g, MODEL_MODF, counter, build_input(b, g, period->f[0]));
	else if (v->step == STEP_ROUND && period->num[0] > 1)
		at = build_pair(b, g, MODEL_MOD, counter, (uint32_t)period->num[0]);
	build_rule_terms(b, g, &v->rule, &s[0]);
	add_monomial(&s[1], 1, 1, at, 0);
	add_monomial(&s[1], -1, 1, MODEL_STAGE | 0, 0);
}

void build_step_fn(struct build *b, struct build_graph *g, const struct learnt_value *v, uint32_t item, uint32_t var, bool again,
		   struct model_fn *fn)
{
	uint32_t counter = build_feature(b, g, MODEL_COUNT, g->counter_of[item]), on;
	bool powers = v->step == STEP_UP || v->step == STEP_DOWN;
	uint32_t n = v->step == STEP_CYCLE ? (uint32_t)v->ratio + 1 : v->step >= STEP_ROUND ? 2 : powers ? 1 : 3;
	struct model_stage *s = stages(b, fn, n);

	if (!s)
		return;
	if (powers && again) {
		add_monomial(s, v->step == STEP_UP ? (double)v->ratio : 1 / (double)v->ratio, 1, build_feature(b, g, MODEL_VAR, var), 0);
		return;
	}
	if (v->step == STEP_CYCLE) {
		cycle_fn(b, g, v, counter, s);
		return;
	}
	if (v->step >= STEP_ROUND) {
		due_fn(b, g, v, counter, s);
		return;
	}
	build_rule_terms(b, g, &v->rule, &s[0]);
	if (powers)
		return;
	build_rule_terms(b, g, &v->second, &s[1]);
	if (v->step == STEP_EVEN) {
		add_monomial(&s[2], 1, 1, MODEL_STAGE | 0, 0);
		add_monomial(&s[2], 1, 2, counter, MODEL_STAGE | 1);
		return;
	}
	on = goes_on(b, g, counter, v->count);
	add_monomial(&s[2], 1, 1, MODEL_STAGE | 1, 0);
	add_monomial(&s[2], 1, 2, on, MODEL_STAGE | 0);
	add_monomial(&s[2], -1, 2, on, MODEL_STAGE | 1);
}
