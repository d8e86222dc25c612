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
	return a->loop == b->loop && a->step == b->step && a->ratio == b->ratio && a->count == b->count &&
	       same_rule(&a->rule, &b->rule) && (a->step == STEP_UP || a->step == STEP_DOWN || same_rule(&a->second, &b->second));
}

uint32_t build_step_var(const struct build *b, const struct learnt_value *v)
{
	for (uint32_t i = 0; i < b->n_steps; i++)
		if (same_step(b->step[i].v, v))
			return b->step[i].var;
	return MODEL_NONE;
}

int build_steps_name(struct build *b)
{
	const struct runs *r = b->l->runs;
	char name[24];

	b->step = arena_alloc(b->l->arena, STEPS_MAX, sizeof(*b->step));
	if (!b->step)
		return -1;
	for (uint32_t i = 0; i < r->n_leaf; i++)
		for (uint32_t v = 0; v < r->leaf[i].n_value; v++) {
			const struct learnt_value *k = &b->l->value[i][v];

			if (k->kind != VALUE_STEPS || build_step_var(b, k) != MODEL_NONE || b->n_steps == STEPS_MAX ||
			    b->m->n_vars + b->l->n_doubts >= MODEL_MAX_NAMES)
				continue; /* one too many is not predicted */
			snprintf(name, sizeof(name), "step %u", b->n_steps + 1);
			b->m->var[b->m->n_vars] = (struct model_var){model_strdup(b->m, name), true, NULL};
			if (!b->m->var[b->m->n_vars].name)
				return -1;
			b->step[b->n_steps++] = (struct build_step){k, b->m->n_vars++};
		}
	return 0;
}

static struct model_stage *stages(struct build *b, struct model_fn *fn, uint32_t n)
{
	fn->stage = model_alloc(b->m, n, sizeof(*fn->stage));
	b->failed |= !fn->stage;
	fn->n_stages = fn->stage ? n : 0;
	for (uint32_t i = 0; i < fn->n_stages; i++) {
		fn->stage[i].term = model_alloc(b->m, 4, sizeof(*fn->stage[i].term));
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

void build_step_fn(struct build *b, struct build_graph *g, const struct learnt_value *v, uint32_t item, uint32_t var, bool again,
		   struct model_fn *fn)
{
	uint32_t counter = build_feature(b, g, MODEL_COUNT, g->counter_of[item]), on;
	bool powers = v->step == STEP_UP || v->step == STEP_DOWN;
	struct model_stage *s = stages(b, fn, powers ? 1 : 3);

	if (!s)
		return;
	if (powers && again) {
		add_monomial(s, v->step == STEP_UP ? (double)v->ratio : 1 / (double)v->ratio, 1, build_feature(b, g, MODEL_VAR, var), 0);
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
