/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of structures, rules as a whole, and the order in which composite events get their types: see check.h. */
#include "expert/lang/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum progress { TO_DO, BEGUN, DONE };

struct checker {
	struct rules *r;
	struct errbuf *err;
	uint8_t *progress; /* of rules */
};

static const char *nth_type(const void *arg, uint32_t i)
{
	const struct rules *r = arg;

	return r->type[i]->name;
}

static int unknown_type(struct checker *c, struct rules_pos pos, const char *name)
{
	char hint[RULES_MAX_NAME + 32];

	return rules_error(c->r, c->err, pos, "there is no structure '%.60s'%s", name,
			   check_suggest(hint, sizeof(hint), name, nth_type, c->r->n_type, c->r));
}

/* ---- patterns ---- */

static int find_types(struct checker *c, struct rules_rule *u)
{
	for (uint32_t i = 0; i < u->n_pattern; i++) {
		struct rules_pattern *p = &u->pattern[i];
		const struct rules_struct *t = rules_find(c->r, p->type_name);

		if (!t)
			return unknown_type(c, p->pos, p->type_name);
		p->type = t->id;
		if (t->category == SC_OBSERVATION)
			return rules_error(c->r, c->err, p->pos, "'%s' is an observation: rules make them, and do not look at them",
					   t->name);
		if (p->all)
			p->waits = true;
		if (p->waits && t->category != SC_EVENT)
			return rules_error(c->r, c->err, p->pos, "'%s' is a state; only events can be members", t->name);
		if (u->form == RF_PROBLEM && t->category != SC_EVENT)
			return rules_error(c->r, c->err, p->pos, "'%s' is a state; problems are declared for events", t->name);
		for (uint32_t k = 0; k < i; k++)
			if (p->name && !strcmp(p->name, u->pattern[k].name))
				return rules_error(c->r, c->err, p->pos, "two structures of this rule are called '%s'", p->name);
	}
	return 0;
}

static int check_pattern(struct checker *c, struct rules_rule *u, uint32_t i)
{
	struct rules_pattern *p = &u->pattern[i];
	struct check_scope s = {.r = c->r, .err = c->err, .rule = u, .only = (int)i};

	if (p->uses && check_expr_as(&s, &p->uses, RT_INT, "a number of composite events") < 0)
		return -1;
	if (!p->all)
		return 0;
	if (u->n_pattern != 1)
		return rules_error(c->r, c->err, p->pos, "a group stands alone in its rule; join it as a composite event");
	if (check_expr_as(&s, &p->all, RT_INT, "a number of events") < 0)
		return -1;
	for (uint32_t k = 0; k < p->n_by; k++)
		if (check_expr(&s, p->by[k]) < 0)
			return -1;
	return 0;
}

/* ---- actions ---- */

static int check_set(struct checker *c, struct check_scope *s, const struct rules_struct *t, struct rules_action *a, uint32_t i)
{
	struct rules_set *set = &a->set[i];
	char what[2 * RULES_MAX_NAME];
	int slot = rules_slot(t, set->name);

	if (slot < 0)
		return rules_error(c->r, c->err, set->pos, "'%s' has no parameter '%.60s'", t->name, set->name);
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(a->set[k].name, set->name))
			return rules_error(c->r, c->err, set->pos, "'%s' is given twice", set->name);
	set->slot = (uint16_t)slot;
	snprintf(what, sizeof(what), "a value of type %s for '%.60s'", rules_type_name(t->param[slot - RA_N].type), set->name);
	return check_expr_as(s, &set->value, t->param[slot - RA_N].type, what);
}

static int check_complete(struct checker *c, const struct rules_struct *t, const struct rules_action *a)
{
	for (uint32_t i = 0; i < t->n_param; i++) {
		bool given = t->param[i].optional;

		for (uint32_t k = 0; k < a->n_set; k++)
			given |= a->set[k].slot == RA_N + i;
		if (!given)
			return rules_error(c->r, c->err, a->pos, "'%s' of '%s' is not given", t->param[i].name, t->name);
	}
	return 0;
}

/* The parameters of a composite event are those that its declaration gives. */
static int infer_params(struct checker *c, struct check_scope *s, struct rules_struct *t, struct rules_action *a)
{
	t->param = memory_alloc(&c->r->mem, (a->n_set + 1) * sizeof(*t->param));
	if (!t->param)
		return rules_error(c->r, c->err, t->pos, "no memory");
	for (uint32_t i = 0; i < a->n_set; i++) {
		struct rules_set *set = &a->set[i];

		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(a->set[k].name, set->name))
				return rules_error(c->r, c->err, set->pos, "'%s' has two parameters '%s'", t->name, set->name);
		if (check_expr(s, set->value) < 0)
			return -1;
		t->param[i] = (struct rules_param){.name = set->name, .type = set->value->type, .pos = set->pos};
		set->slot = (uint16_t)(RA_N + i);
	}
	t->n_param = a->n_set;
	return 0;
}

static int find_target(struct checker *c, const struct rules_rule *u, struct rules_action *a)
{
	for (uint32_t i = 0; i < u->n_pattern; i++)
		if (!strcmp(u->pattern[i].name, a->name)) {
			const struct rules_struct *t = c->r->type[u->pattern[i].type];

			a->pattern = (uint8_t)i;
			if (t->category == SC_STATE)
				return 0;
			return rules_error(c->r, c->err, a->pos, "'%s' is an event; only states can be %s", a->name,
					   a->kind == AK_RETRACT ? "retracted" : "modified");
		}
	return rules_error(c->r, c->err, a->pos, "there is no structure '%.60s' in this rule", a->name);
}

static int check_action(struct checker *c, struct rules_rule *u, uint32_t i)
{
	struct check_scope s = {.r = c->r, .err = c->err, .rule = u, .only = -1, .group = u->pattern[0].all != NULL};
	struct rules_action *a = &u->action[i];
	struct rules_struct *t;

	if (a->kind == AK_ASSERT) {
		const struct rules_struct *found = rules_find(c->r, a->name);

		if (!found)
			return unknown_type(c, a->pos, a->name);
		t = c->r->type[found->id];
		a->type = t->id;
		if (t->builtin && t->category == SC_EVENT)
			return rules_error(c->r, c->err, a->pos, "'%s' comes from the trace; rules cannot make it", t->name);
		if (u->form == RF_COMPOSITE)
			return infer_params(c, &s, t, a);
	} else {
		if (find_target(c, u, a) < 0)
			return -1;
		for (uint32_t k = 0; k < i; k++)
			if (u->action[k].kind != AK_ASSERT && u->action[k].pattern == a->pattern)
				return rules_error(c->r, c->err, a->pos, "'%s' is retracted or modified twice", a->name);
		t = c->r->type[u->pattern[a->pattern].type];
	}
	for (uint32_t k = 0; k < a->n_set; k++)
		if (check_set(c, &s, t, a, k) < 0)
			return -1;
	return a->kind == AK_ASSERT ? check_complete(c, t, a) : 0;
}

/* ---- rules ---- */

static int check_rule(struct checker *c, uint32_t i);

/* Composite events have their types before the rules that look at them. */
static int types_before(struct checker *c, const struct rules_rule *u)
{
	for (uint32_t i = 0; i < u->n_pattern; i++) {
		const struct rules_struct *t = c->r->type[u->pattern[i].type];

		if (t->composite && check_rule(c, t->rule) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < u->n_action && u->form != RF_COMPOSITE; i++) {
		const struct rules_struct *t = u->action[i].kind == AK_ASSERT ? rules_find(c->r, u->action[i].name) : NULL;

		if (t && t->composite && check_rule(c, t->rule) < 0)
			return -1;
	}
	return 0;
}

static int check_rule(struct checker *c, uint32_t i)
{
	struct rules_rule *u = c->r->rule[i];
	struct check_scope s = {.r = c->r, .err = c->err, .rule = u, .only = -1};

	if (c->progress[i] == DONE)
		return 0;
	if (c->progress[i] == BEGUN)
		return rules_error(c->r, c->err, u->pos, "the composite event '%s' is a member of itself", u->comment);
	c->progress[i] = BEGUN;
	if (find_types(c, u) < 0 || types_before(c, u) < 0)
		return -1;
	for (uint32_t k = 0; k < u->n_pattern; k++)
		if (check_pattern(c, u, k) < 0)
			return -1;
	if (u->where && check_expr_as(&s, &u->where, RT_BOOLEAN, "a condition") < 0)
		return -1;
	for (uint32_t k = 0; k < u->n_action; k++)
		if (check_action(c, u, k) < 0)
			return -1;
	c->progress[i] = DONE;
	return 0;
}

int rules_check(struct rules *r, struct errbuf *err)
{
	struct checker c = {.r = r, .err = err, .progress = calloc(r->n_rule + 1ull, 1)};
	int rv = c.progress ? 0 : err_set(err, "no memory");

	for (uint32_t i = 0; i < r->n_rule && rv == 0; i++)
		rv = check_rule(&c, i);
	free(c.progress);
	return rv;
}
