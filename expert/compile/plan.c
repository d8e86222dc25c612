/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions to filters and indexes: see plan.h. */
#include "expert/compile/plan.h"

#include <stdlib.h>
#include <string.h>

/* After RULES_MAX_DEPTH of them an `and` is no longer split: each level of nesting adds one more at most. */
#define MAX_CONJUNCTS (2 * RULES_MAX_DEPTH + 8)
#define PLAN_MAX_MEMORY (256u << 20)

enum kind { CJ_EQUAL, CJ_WILD, CJ_OTHER };

/* A condition between two `and`s. */
struct conjunct {
	const struct expr *e;
	const struct expr *a, *b;  /* of an equality; of a wildcard one, a is the side that may be any */
	int64_t any;
	uint32_t vars, vars_a, vars_b; /* bits of patterns */
	enum kind kind;
};

struct planner {
	struct plan *p;
	struct conjunct cj[MAX_CONJUNCTS];
	uint32_t n_cj;
	struct plan_rule *rule;
	bool failed;               /* no memory for the code of an expression */
};

static uint32_t vars_of(const struct expr *e)
{
	uint32_t v = e->kind == EX_FIELD ? 1u << e->pattern : 0;

	if (e->a)
		v |= vars_of(e->a);
	if (e->b)
		v |= vars_of(e->b);
	if (e->where)
		v |= vars_of(e->where);
	for (uint8_t i = 0; i < e->n_arg; i++)
		v |= vars_of(e->arg[i]);
	return v;
}

static bool same(const struct expr *a, const struct expr *b)
{
	return a->kind == EX_FIELD && b->kind == EX_FIELD && a->pattern == b->pattern && a->slot == b->slot;
}

static bool is_equality(const struct expr *e)
{
	return e->kind == EX_EQ && e->a->type != RT_DOUBLE;
}

/* x == y between patterns */
static bool as_equal(struct conjunct *c, const struct expr *e)
{
	if (!is_equality(e))
		return false;
	c->a = e->a;
	c->b = e->b;
	c->vars_a = vars_of(e->a);
	c->vars_b = vars_of(e->b);
	return c->vars_a && c->vars_b && !(c->vars_a & c->vars_b);
}

/* x == y or x == ANY, in any order; x a parameter */
static bool as_wild(struct conjunct *c, const struct expr *e)
{
	for (int i = 0; e->kind == EX_OR && i < 4; i++) {
		const struct expr *eq = i & 1 ? e->b : e->a, *any = i & 1 ? e->a : e->b, *x, *k;

		if (!is_equality(any) || !as_equal(c, eq))
			continue;
		x = i & 2 ? any->b : any->a;
		k = i & 2 ? any->a : any->b;
		if (k->kind == EX_NEGATE && k->a->kind == EX_INT)
			c->any = -k->a->v.integer;
		else if (k->kind == EX_INT || k->kind == EX_STRING || k->kind == EX_BOOLEAN)
			c->any = k->v.integer;
		else
			continue;
		if (same(x, c->b)) {
			const struct expr *swap = c->a;
			uint32_t vars = c->vars_a;

			c->a = c->b;
			c->b = swap;
			c->vars_a = c->vars_b;
			c->vars_b = vars;
		}
		if (same(x, c->a))
			return true;
	}
	return false;
}

static void split(struct planner *k, const struct expr *e)
{
	struct conjunct *c;

	if (e->kind == EX_AND && k->n_cj < RULES_MAX_DEPTH) {
		split(k, e->a);
		split(k, e->b);
		return;
	}
	c = &k->cj[k->n_cj++];
	*c = (struct conjunct){.e = e, .vars = vars_of(e)};
	c->kind = as_equal(c, e) ? CJ_EQUAL : as_wild(c, e) ? CJ_WILD : CJ_OTHER;
	c->e = e;
}

static void *plan_room(struct planner *k, size_t n, size_t size)
{
	return memory_alloc(&k->p->mem, (n ? n : 1) * size);
}

/* NULL: no expression. */
static const struct code *code_of(struct planner *k, const struct expr *e)
{
	const struct code *c = e ? code_compile(e, &k->p->mem) : NULL;

	k->failed |= e && !c;
	return c;
}

/* The conjunction of the conditions in `set`; NULL if the set is empty. */
static const struct code *join_all(struct planner *k, const bool *set)
{
	const struct expr *all = NULL;
	struct expr and[MAX_CONJUNCTS];

	for (uint32_t i = 0; i < k->n_cj; i++) {
		if (!set[i])
			continue;
		and[i] = (struct expr){.kind = EX_AND, .type = RT_BOOLEAN, .a = (struct expr *)all, .b = (struct expr *)k->cj[i].e};
		all = all ? &and[i] : k->cj[i].e;
	}
	return code_of(k, all);
}

static struct plan_value value_of(struct planner *k, const struct expr *e)
{
	if (e->kind == EX_FIELD)
		return (struct plan_value){.field = true, .pattern = e->pattern, .slot = e->slot};
	return (struct plan_value){.code = code_of(k, e)};
}

/* ---- one look-up ---- */

/* Which sides of a conjunct are here (only pattern p) and there (only what is known)? 1: a here, 2: b here, 0: neither. */
static int side_here(const struct conjunct *c, uint32_t p, uint32_t known)
{
	if (c->kind == CJ_OTHER)
		return 0;
	if (c->vars_a == 1u << p && !(c->vars_b & ~known))
		return 1;
	if (c->vars_b == 1u << p && !(c->vars_a & ~known))
		return 2;
	return 0;
}

/* The slots of a key whose parts are all parameters. */
static void set_slots(struct plan_index *x)
{
	uint32_t n = 0;

	x->plain = true;
	for (uint32_t i = 0; i < x->n_key; i++) {
		x->plain &= x->key[i].field;
		x->slot[n++] = x->key[i].slot;
	}
	for (uint32_t i = 0; i < x->n_wild; i++) {
		x->plain &= x->wild[i].here.field;
		x->slot[n++] = x->wild[i].here.slot;
	}
	x->quick = x->plain && x->n_wild <= 1;
}

/* An index of the pattern by these conjuncts, made when there is none yet. */
static int find_index(struct planner *k, struct plan_pattern *p, const uint32_t *key, uint32_t n_key, const uint32_t *wild,
		      uint32_t n_wild, uint32_t known)
{
	struct plan_index *x, *grown;

	for (uint32_t i = 0; i < p->n_index; i++) {
		x = &p->index[i];
		if (x->n_key == n_key && x->n_wild == n_wild && !memcmp(x->conjuncts, key, n_key * sizeof(*key)) &&
		    !memcmp(x->conjuncts + n_key, wild, n_wild * sizeof(*wild)))
			return (int)i;
	}
	grown = plan_room(k, p->n_index + 1, sizeof(*x));
	if (!grown)
		return -1;
	if (p->n_index)
		memcpy(grown, p->index, p->n_index * sizeof(*x));
	p->index = grown;
	x = &grown[p->n_index];
	x->n_key = n_key;
	x->n_wild = n_wild;
	x->n_link = 1;
	x->number = x->seed = k->p->n_index++;
	x->first_link = p->n_link * (uint32_t)LINK_VALUES;
	memcpy(x->conjuncts, key, n_key * sizeof(*key));
	memcpy(x->conjuncts + n_key, wild, n_wild * sizeof(*wild));
	for (uint32_t i = 0; i < n_key; i++) {
		const struct conjunct *c = &k->cj[key[i]];

		x->key[i] = value_of(k, side_here(c, p->pattern, known) == 1 ? c->a : c->b);
	}
	for (uint32_t i = 0; i < n_wild; i++) {
		const struct conjunct *c = &k->cj[wild[i]];

		x->wild[i].stored = side_here(c, p->pattern, known) == 1;
		x->wild[i].any = c->any;
		if (!x->wild[i].stored)
			x->n_link *= 2;
		x->wild[i].here = value_of(k, x->wild[i].stored ? c->a : c->b);
	}
	p->n_link += x->n_link;
	set_slots(x);
	return (int)p->n_index++;
}

static int make_step(struct planner *k, struct plan_step *s, uint8_t pattern, uint32_t known, bool *used)
{
	struct plan_pattern *p = &k->rule->pattern[pattern];
	uint32_t key[PLAN_MAX_KEYS], wild[PLAN_MAX_WILDS], n_key = 0, n_wild = 0;
	bool now[MAX_CONJUNCTS] = {false};

	s->pattern = pattern;
	s->index = -1;
	for (uint32_t i = 0; i < k->n_cj; i++) {
		const struct conjunct *c = &k->cj[i];
		int here = used[i] ? 0 : side_here(c, pattern, known);

		if (here && c->kind == CJ_EQUAL && n_key < PLAN_MAX_KEYS) {
			s->key[n_key] = value_of(k, here == 1 ? c->b : c->a);
			key[n_key++] = i;
			used[i] = true;
		} else if (here && c->kind == CJ_WILD && n_wild < PLAN_MAX_WILDS) {
			s->wild[n_wild] = value_of(k, here == 1 ? c->b : c->a);
			wild[n_wild++] = i;
			used[i] = true;
		} else if (!used[i] && !(c->vars & ~(known | 1u << pattern))) {
			now[i] = used[i] = true;
		}
	}
	if (n_key + n_wild) {
		s->index = find_index(k, p, key, n_key, wild, n_wild, known);
		if (s->index < 0)
			return -1;
		s->quick = p->index[s->index].plain && !n_wild && n_key <= PLAN_QUICK_KEYS;
		for (uint32_t i = 0; i < n_key; i++)
			s->quick &= s->key[i].field;
	} else {
		p->scanned = true;
	}
	s->rest = join_all(k, now);
	return 0;
}

/* The pattern of which most is known. */
static uint8_t next_pattern(const struct planner *k, uint32_t known)
{
	uint32_t n = k->rule->src->n_pattern, best = 0;
	uint8_t found = 0;

	for (uint8_t p = 0; p < n; p++) {
		uint32_t score = 1;

		if (known & 1u << p)
			continue;
		for (uint32_t i = 0; i < k->n_cj; i++)
			score += side_here(&k->cj[i], p, known) ? (k->cj[i].kind == CJ_EQUAL ? 2 : 1) : 0;
		if (score > best) {
			best = score;
			found = p;
		}
	}
	return found;
}

static int make_steps(struct planner *k, struct plan_pattern *p)
{
	uint32_t n = k->rule->src->n_pattern, known = 1u << p->pattern;
	bool used[MAX_CONJUNCTS];

	p->step = plan_room(k, n, sizeof(*p->step));
	if (!p->step)
		return -1;
	for (uint32_t i = 0; i < k->n_cj; i++)
		used[i] = !(k->cj[i].vars & (k->cj[i].vars - 1)); /* filters */
	for (uint32_t i = 0; i + 1 < n; i++) {
		uint8_t next = next_pattern(k, known);

		if (make_step(k, &p->step[i], next, known, used) < 0)
			return -1;
		known |= 1u << next;
	}
	return 0;
}

/* ---- a rule ---- */

/* A comparison of a parameter with a constant, or a parameter that is true or not. */
static bool as_range(struct plan_range *t, const struct expr *e)
{
	const struct expr *f = e->kind == EX_NOT ? e->a : e;
	uint8_t kind = e->kind == EX_NOT ? EX_EQ : EX_NE;
	int64_t k = 0;

	if (f->kind != EX_FIELD) {
		f = e->a;
		if (e->kind < EX_EQ || e->kind > EX_GE || f->kind != EX_FIELD || f->type == RT_DOUBLE ||
		    (e->b->kind != EX_INT && e->b->kind != EX_STRING && e->b->kind != EX_BOOLEAN))
			return false;
		kind = e->kind;
		k = e->b->v.integer;
	}
	t->slot = f->slot;
	t->least = kind == EX_LT || kind == EX_LE ? INT64_MIN : kind == EX_NE || kind == EX_GT ? (int64_t)((uint64_t)k + 1) : k;
	switch (kind) {
	case EX_EQ: t->width = 0; return true;
	case EX_NE: t->width = UINT64_MAX - 1; return true;
	case EX_LT: t->width = (uint64_t)k - (uint64_t)INT64_MIN - 1; return k != INT64_MIN;
	case EX_LE: t->width = (uint64_t)k - (uint64_t)INT64_MIN; return true;
	case EX_GT: t->width = (uint64_t)INT64_MAX - (uint64_t)k - 1; return k != INT64_MAX;
	default: t->width = (uint64_t)INT64_MAX - (uint64_t)k; return true;
	}
}

/* A comparison of two parameters. */
static bool as_test(struct plan_test *t, const struct expr *e)
{
	static const uint8_t holds[] = {[EX_EQ - EX_EQ] = TEST_EQUAL, [EX_NE - EX_EQ] = TEST_LESS | TEST_MORE,
					[EX_LT - EX_EQ] = TEST_LESS, [EX_LE - EX_EQ] = TEST_LESS | TEST_EQUAL,
					[EX_GT - EX_EQ] = TEST_MORE, [EX_GE - EX_EQ] = TEST_MORE | TEST_EQUAL};

	if (e->kind < EX_EQ || e->kind > EX_GE || e->a->kind != EX_FIELD || e->b->kind != EX_FIELD || e->a->type == RT_DOUBLE)
		return false;
	*t = (struct plan_test){.slot = e->a->slot, .other = e->b->slot, .holds = holds[e->kind - EX_EQ]};
	return true;
}

/* May the value be counted as a division by zero? Such a condition is not evaluated where one before it fails. */
static bool may_divide(const struct expr *e)
{
	bool any = e->kind == EX_DIV || e->kind == EX_MOD;

	any = any || (e->a && may_divide(e->a)) || (e->b && may_divide(e->b));
	for (uint8_t i = 0; i < e->n_arg && !any; i++)
		any = may_divide(e->arg[i]);
	return any;
}

/* Makes tests of the simple conditions. They are tested before all others, up to the first condition that may divide. */
static int make_filter(struct planner *k, struct plan_pattern *p)
{
	bool set[MAX_CONJUNCTS] = {false};
	struct plan_range *range = plan_room(k, k->n_cj, sizeof(*range));
	struct plan_test *test = plan_room(k, k->n_cj, sizeof(*test));
	bool in_order = false;

	if (!range || !test)
		return -1;
	p->range = range;
	p->test = test;
	for (uint32_t i = 0; i < k->n_cj; i++) {
		if (k->cj[i].vars != 1u << p->pattern && (k->cj[i].vars || p->pattern))
			continue;
		in_order = in_order || may_divide(k->cj[i].e);
		if (!in_order && as_range(range, k->cj[i].e))
			range++;
		else if (!in_order && as_test(test, k->cj[i].e))
			test++;
		else
			set[i] = true;
	}
	p->range_end = range;
	p->test_end = test;
	p->filter = join_all(k, set);
	return 0;
}

/* Of a group: the key is in `by`. */
static int make_group(struct planner *k, struct plan_pattern *p, const struct rules_pattern *src)
{
	struct plan_index *x = plan_room(k, 1, sizeof(*x));

	if (!x)
		return -1;
	p->all = code_of(k, src->all);
	x->n_key = src->n_by;
	x->n_link = 1;
	x->number = x->seed = k->p->n_index++;
	x->first_link = p->n_link++ * (uint32_t)LINK_VALUES;
	for (uint32_t i = 0; i < src->n_by; i++)
		x->key[i] = value_of(k, src->by[i]);
	set_slots(x);
	p->index = x;
	p->n_index = 1;
	return 0;
}

static int make_pattern(struct planner *k, uint32_t rule, uint8_t i)
{
	struct plan_pattern *p = &k->rule->pattern[i];
	const struct rules_pattern *src = &k->rule->src->pattern[i];

	p->rule = rule;
	p->type = src->type;
	p->pattern = i;
	p->waits = src->waits;
	p->shared = src->shared;
	p->is_state = k->p->rules->type[src->type]->category == SC_STATE;
	p->keeps = k->rule->src->n_pattern > 1 || src->all;
	p->passes = k->p->rules->type[src->type]->category == SC_EVENT && !src->waits && !src->all;
	p->number = k->p->n_pattern++;
	p->owner = k->rule;
	if (p->waits)
		k->rule->used[k->rule->n_used++] = i;
	p->uses = code_of(k, src->uses);
	return make_filter(k, p);
}

/* The parameter that the i-th value of the action takes over from the pattern, and the one after it, do they lie side by
 * side here and there? */
static bool two_copies(const struct plan_action *a, uint32_t i, uint8_t pattern)
{
	const struct plan_value *v = &a->value[i];

	return i + 1 < a->src->n_set && v[1].field && v[1].pattern == pattern && v[1].slot == v->slot + 1 &&
	       a->src->set[i + 1].slot == a->src->set[i].slot + 1;
}

/* What it takes over from that pattern. */
static void make_copies(struct plan_action *a, uint8_t pattern, struct plan_copy **at)
{
	struct plan_copies *c = &a->copies[a->n_copies];

	*c = (struct plan_copies){.pattern = pattern};
	for (int two = 1; two >= 0; two--)
		for (uint32_t i = 0; i < a->src->n_set; i++) {
			bool both;

			if (!a->value[i].field || a->value[i].pattern != pattern)
				continue;
			both = two_copies(a, i, pattern);
			if (both == two) {
				*(*at)++ = (struct plan_copy){.from = a->value[i].slot, .to = a->src->set[i].slot};
				c->n_two += (uint8_t)two;
				c->n_one += (uint8_t)!two;
			}
			i += both;
		}
	a->n_copy += 2u * c->n_two + c->n_one;
	a->n_copies += c->n_two || c->n_one;
}

/* Values of the action. Values that are only copied are ordered by pattern. */
static int make_values(struct planner *k, struct plan_action *a)
{
	struct plan_copy *at;

	a->value = plan_room(k, a->src->n_set, sizeof(*a->value));
	a->copies = plan_room(k, k->rule->n_pattern + 1ull, sizeof(*a->copies));
	a->copy = at = plan_room(k, a->src->n_set, sizeof(*a->copy));
	a->compute = plan_room(k, a->src->n_set, sizeof(*a->compute));
	if (!a->value || !a->copies || !a->copy || !a->compute)
		return -1;
	for (uint32_t i = 0; i < a->src->n_set; i++) {
		const struct plan_value *v = &a->value[i];

		a->value[i] = value_of(k, a->src->set[i].value);
		if (!v->field)
			a->compute[a->n_compute++] = i;
	}
	for (uint8_t p = 0; p < k->rule->n_pattern; p++)
		make_copies(a, p, &at);
	return 0;
}

static int make_actions(struct planner *k)
{
	const struct rules_rule *src = k->rule->src;

	k->rule->n_pattern = src->n_pattern;
	k->rule->n_action = src->n_action;
	k->rule->group = src->pattern[0].all;
	k->rule->action = plan_room(k, src->n_action, sizeof(*k->rule->action));
	if (!k->rule->action)
		return -1;
	for (uint32_t i = 0; i < src->n_action; i++) {
		struct plan_action *a = &k->rule->action[i];

		a->src = &src->action[i];
		a->kind = a->src->kind;
		a->pattern = a->src->pattern;
		a->type = a->src->type;
		if (a->src->kind == AK_ASSERT) {
			a->tells = k->p->rules->type[a->type]->category == SC_OBSERVATION;
			a->n_param = k->p->rules->type[a->type]->n_param;
		}
		if (make_values(k, a) < 0)
			return -1;
	}
	return 0;
}

/* Do the two patterns ask for each other by the same conditions, and by nothing else? */
static void find_pair(struct plan_rule *u)
{
	struct plan_pattern *p = u->pattern, *q = &u->pattern[1];

	if (u->src->n_pattern != 2 || p->scanned || q->scanned || p->n_index != 1 || q->n_index != 1 ||
	    p->index->n_key != q->index->n_key || p->index->n_wild != q->index->n_wild ||
	    memcmp(p->index->conjuncts, q->index->conjuncts, sizeof(p->index->conjuncts)))
		return;
	p->pair = q->pair = true;
	p->plain_pair = !p->filter && !p->uses;
	q->plain_pair = !q->filter && !q->uses;
	p->partner = q;
	q->partner = p;
	p->spills = q->spills = p->waits && q->waits && !p->shared && !q->shared && !p->step->rest && !q->step->rest;
	q->index->seed = p->index->seed;
}

static int make_rule(struct plan *p, uint32_t i)
{
	struct planner k = {.p = p, .rule = &p->rule[i]};
	const struct rules_rule *src = p->rules->rule[i];

	k.rule->src = src;
	k.rule->pattern = plan_room(&k, src->n_pattern, sizeof(*k.rule->pattern));
	if (!k.rule->pattern)
		return -1;
	if (src->where)
		split(&k, src->where);
	for (uint8_t n = 0; n < src->n_pattern; n++)
		if (make_pattern(&k, i, n) < 0)
			return -1;
	if (src->pattern[0].all)
		return make_group(&k, &k.rule->pattern[0], &src->pattern[0]) < 0 || make_actions(&k) < 0 || k.failed ? -1 : 0;
	for (uint8_t n = 0; n < src->n_pattern; n++)
		if (make_steps(&k, &k.rule->pattern[n]) < 0)
			return -1;
	for (uint8_t n = 0; n < src->n_pattern; n++)
		k.rule->pattern[n].n_link += k.rule->pattern[n].scanned;
	find_pair(k.rule);
	return make_actions(&k) < 0 || k.failed ? -1 : 0;
}

/* ---- all ---- */

static void mark_modified(struct plan *p)
{
	bool modified[RULES_MAX_STRUCTS] = {false};

	for (uint32_t i = 0; i < p->rules->n_rule; i++) {
		const struct rules_rule *u = p->rules->rule[i];

		for (uint32_t a = 0; a < u->n_action; a++)
			if (u->action[a].kind == AK_MODIFY)
				modified[u->pattern[u->action[a].pattern].type] = true;
	}
	for (uint32_t i = 0; i < p->rules->n_rule; i++)
		for (uint32_t n = 0; n < p->rule[i].n_pattern; n++)
			p->rule[i].once |= modified[p->rules->rule[i]->pattern[n].type];
}

static bool has_tests(const struct plan_pattern *p)
{
	return p->range != p->range_end || p->test != p->test_end;
}

/* States that stand in one pattern whenever they stand in the other, and are asked for by the same parameters there. */
static bool alike(const struct plan_pattern *a, const struct plan_pattern *b)
{
	if (!a->is_state || a->pair || b->pair || a->scanned || b->scanned || has_tests(a) || has_tests(b) || a->filter || b->filter ||
	    a->n_index != b->n_index || !a->n_index)
		return false;
	for (uint32_t i = 0; i < a->n_index; i++) {
		const struct plan_index *x = &a->index[i], *y = &b->index[i];

		if (!x->plain || !y->plain || x->n_wild || y->n_wild || x->n_key != y->n_key ||
		    memcmp(x->slot, y->slot, x->n_key * sizeof(*x->slot)))
			return false;
	}
	return true;
}

/* Sets the place of q among the links of its type: the place of an earlier pattern that is alike, or a new one. */
static void place_links(struct plan_type *y, struct plan_pattern *q)
{
	for (uint32_t i = 0; i < y->n_pattern; i++) {
		const struct plan_pattern *p = y->pattern[i];

		if (p->alias || !alike(p, q))
			continue;
		q->alias = true;
		q->number = p->number;
		q->first_link = p->first_link;
		q->last_link = p->last_link;
		for (uint32_t n = 0; n < q->n_index; n++) {
			q->index[n].number = p->index[n].number;
			q->index[n].seed = p->index[n].seed;
		}
		return;
	}
	q->first_link = y->n_slot + y->n_link * (uint32_t)LINK_VALUES;
	y->n_link += q->n_link;
	q->last_link = y->n_slot + (y->n_link - 1) * (uint32_t)LINK_VALUES;
}

static void set_size(struct plan_type *y)
{
	size_t n = sizeof(struct entry) + y->n_slot * sizeof(union rules_value) + y->n_link * sizeof(struct link) +
		   y->n_use * sizeof(union rules_value);

	y->n_line = (uint32_t)((n + ENTRY_LINE - 1) / ENTRY_LINE);
}

static int make_types(struct plan *p)
{
	uint32_t *count = calloc(p->rules->n_type + 1ull, sizeof(*count));
	int rv = count ? 0 : -1;

	for (uint32_t i = 0; rv == 0 && i < p->rules->n_rule; i++)
		for (uint32_t n = 0; n < p->rule[i].n_pattern; n++)
			count[p->rule[i].pattern[n].type]++;
	for (uint32_t t = 0; rv == 0 && t < p->rules->n_type; t++) {
		struct plan_type *y = &p->type[t];

		y->src = p->rules->type[t];
		y->n_slot = rules_n_slot(y->src);
		y->is_event = y->src->category == SC_EVENT;
		y->pattern = memory_alloc(&p->mem, (count[t] + 1) * sizeof(*y->pattern));
		rv = y->pattern ? 0 : -1;
	}
	/* What comes is taken for the last of several alike: so the older one is the first of them. */
	for (uint32_t i = 0; rv == 0 && i < p->rules->n_rule; i++)
		for (uint32_t n = p->rule[i].n_pattern; n-- > 0;) {
			struct plan_pattern *q = &p->rule[i].pattern[n];
			struct plan_type *y = &p->type[q->type];

			q->of_type = y->n_pattern;
			q->use = y->n_use;
			y->n_use += q->uses != NULL;
			q->index_number = q->n_index ? q->index->number : 0;
			place_links(y, q);
			y->pattern[y->n_pattern++] = q;
			if (!y->looks_first && q->n_index == 1 && q->index->plain && (q->pair || !q->step))
				y->looks_first = q;
		}
	free(count);
	for (uint32_t t = 0; rv == 0 && t < p->rules->n_type; t++) {
		struct plan_type *y = &p->type[t];

		for (uint32_t i = 0; i < y->n_pattern; i++) /* uses are behind all links */
			y->pattern[i]->use += y->n_slot + y->n_link * (uint32_t)LINK_VALUES;
		for (uint32_t i = 0; i < y->n_pattern; i++)
			for (uint32_t n = 0; n < y->pattern[i]->n_index; n++)
				y->pattern[i]->index[n].begin = PLAN_KEY_BEGIN(y->pattern[i]->index[n].seed, 0);
		set_size(y);
	}
	for (uint32_t i = 0; rv == 0 && i < p->rules->n_rule; i++)
		for (uint32_t n = 0; n < p->rule[i].n_action; n++) {
			struct plan_action *a = &p->rule[i].action[n];

			a->ignored = a->src->kind == AK_ASSERT && !p->type[a->type].n_pattern;
		}
	return rv;
}

struct plan *plan_create(const struct rules *r, struct errbuf *err)
{
	struct plan *p = calloc(1, sizeof(*p));

	if (!p) {
		err_set(err, "no memory");
		return NULL;
	}
	p->rules = r;
	memory_init(&p->mem, PLAN_MAX_MEMORY);
	p->rule = memory_alloc(&p->mem, (r->n_rule + 1) * sizeof(*p->rule));
	p->type = memory_alloc(&p->mem, (r->n_type + 1) * sizeof(*p->type));
	for (uint32_t i = 0; p->rule && p->type && i < r->n_rule; i++)
		if (make_rule(p, i) < 0)
			p->mem.failed = true;
	if (!p->rule || !p->type || p->mem.failed || make_types(p) < 0) {
		err_set(err, "the rules need more than %u MiB of memory", PLAN_MAX_MEMORY >> 20);
		plan_destroy(p);
		return NULL;
	}
	mark_modified(p);
	return p;
}

void plan_destroy(struct plan *p)
{
	if (!p)
		return;
	memory_free(&p->mem);
	free(p);
}
