/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simple conditions of patterns: tests of an event's parameters, which all patterns of its type share. Each is made
 * once, without a branch, and patterns know by one number whether theirs hold: see tests_of() in engine.c.
 */
#include "expert/compile/plan.h"

/* A comparison of a parameter, or a parameter that is true or not. */
static bool as_test(struct plan_test *t, const struct expr *e)
{
	static const uint8_t holds[] = {[EX_EQ - EX_EQ] = TEST_EQUAL, [EX_NE - EX_EQ] = TEST_LESS | TEST_MORE,
					[EX_LT - EX_EQ] = TEST_LESS, [EX_LE - EX_EQ] = TEST_LESS | TEST_EQUAL,
					[EX_GT - EX_EQ] = TEST_MORE, [EX_GE - EX_EQ] = TEST_MORE | TEST_EQUAL};
	const struct expr *f = e->kind == EX_NOT ? e->a : e;

	*t = (struct plan_test){.constant = true};
	if (f->kind == EX_FIELD) {
		t->slot = f->slot;
		t->holds = e->kind == EX_NOT ? TEST_EQUAL : TEST_LESS | TEST_MORE;
		return true;
	}
	if (e->kind < EX_EQ || e->kind > EX_GE || e->a->kind != EX_FIELD || e->a->type == RT_DOUBLE)
		return false;
	t->slot = e->a->slot;
	t->holds = holds[e->kind - EX_EQ];
	t->constant = e->b->kind == EX_INT || e->b->kind == EX_STRING || e->b->kind == EX_BOOLEAN;
	if (t->constant)
		t->k = e->b->v.integer;
	else
		t->other = e->b->slot;
	return t->constant || e->b->kind == EX_FIELD;
}

int plan_as_test(struct plan_test *t, const struct expr *e, struct memory *m)
{
	struct plan_test *other;

	if (as_test(t, e))
		return 1;
	if (e->kind != EX_OR || !as_test(t, e->a))
		return 0;
	other = memory_alloc(m, sizeof(*other));
	if (!other)
		return -1;
	if (!as_test(other, e->b))
		return 0;
	t->either = other;
	return 1;
}

/* Its kind. */
static int as_shared(struct plan_shared *s, bool *not, const struct plan_test *t)
{
	*s = (struct plan_shared){.slot = t->slot, .other = t->other};
	*not = false;
	if (!t->constant) {
		bool swap = t->holds == TEST_MORE || t->holds == (TEST_LESS | TEST_EQUAL);

		*not = t->holds & TEST_EQUAL && t->holds != TEST_EQUAL;
		if (t->holds == (TEST_LESS | TEST_MORE))
			*not = true;
		if (swap) {
			s->slot = t->other;
			s->other = t->slot;
		}
		return t->holds == TEST_EQUAL || t->holds == (TEST_LESS | TEST_MORE) ? SHARED_EQUAL : SHARED_LESS;
	}
	s->other = 0;
	s->least = t->k; /* equal, or not less */
	switch (t->holds) {
	case TEST_LESS | TEST_MORE:
		*not = true;
		break;
	case TEST_LESS:
	case TEST_MORE | TEST_EQUAL:
		*not = t->holds == TEST_LESS;
		s->width = (uint64_t)INT64_MAX - (uint64_t)t->k;
		break;
	case TEST_MORE:
	case TEST_LESS | TEST_EQUAL:
		*not = t->holds == TEST_MORE;
		s->least = INT64_MIN;
		s->width = (uint64_t)t->k - (uint64_t)INT64_MIN;
		break;
	}
	return SHARED_RANGE;
}

/* The bit of the first of that test's two among those of the type, made when there is none yet; -1: there are too many. */
static int find_one_test(struct plan_type *y, const struct plan_test *t)
{
	bool not;
	struct plan_shared s;
	uint32_t kind = (uint32_t)as_shared(&s, &not, t), i = 0;

	for (; i < y->n_test[kind]; i++) {
		const struct plan_shared *o = &y->test[kind][i];

		if (o->slot == s.slot && o->other == s.other && o->least == s.least && o->width == s.width &&
		    (y->not >> (i + kind * PLAN_MAX_TESTS) & 1) == not)
			break;
	}
	if (i == PLAN_MAX_TESTS)
		return -1;
	if (i == y->n_test[kind]) {
		y->test[kind][y->n_test[kind]++] = s;
		y->tests = true;
		y->not |= (uint64_t)not << (i + kind * PLAN_MAX_TESTS);
	}
	return (int)(i + kind * PLAN_MAX_TESTS);
}

/* The same for the test as a whole. */
static int find_test(struct plan_type *y, const struct plan_test *t)
{
	int a = find_one_test(y, t), b = t->either ? find_one_test(y, t->either) : a;
	uint64_t both;
	uint32_t i = 0;

	if (a < 0 || b < 0 || !t->either)
		return b < 0 ? b : a;
	both = 1ull << a | 1ull << b;
	while (i < y->n_either && y->either[i] != both)
		i++;
	if (i == PLAN_MAX_EITHER)
		return -1;
	if (i == y->n_either)
		y->either[y->n_either++] = both;
	return (int)(i + N_SHARED * PLAN_MAX_TESTS);
}

/* Bits of a kind no longer begin where there is room for all that there could be, but behind those of the kind before. */
static uint64_t closer(const struct plan_type *y, uint64_t tests)
{
	const uint64_t most = (1ull << PLAN_MAX_TESTS) - 1;
	uint64_t all = tests >> N_SHARED * PLAN_MAX_TESTS << y->shift[N_SHARED];

	for (uint32_t i = 0; i < N_SHARED; i++)
		all |= (tests >> i * PLAN_MAX_TESTS & most) << y->shift[i];
	return all;
}

/* Tests lie close together, and a few bytes of those that fail say which patterns are out. */
static int index_tests(struct plan *p, struct plan_type *y)
{
	for (uint32_t i = 0; i < N_SHARED; i++)
		y->shift[i + 1] = (uint8_t)(y->shift[i] + y->n_test[i]);
	y->not = closer(y, y->not);
	for (uint32_t i = 0; i < y->n_either; i++)
		y->either[i] = closer(y, y->either[i]);
	for (uint32_t i = 0; i < y->n_pattern; i++)
		y->need[i] = closer(y, y->need[i]);
	y->many = y->n_pattern > 64;
	if (y->many)
		return 0;
	y->all = y->n_pattern ? UINT64_MAX >> (64 - y->n_pattern) : 0;
	y->n_stops = (y->shift[N_SHARED] + y->n_either + 7) / 8;
	y->stops = memory_alloc(&p->mem, (y->n_stops + 1) * sizeof(*y->stops));
	if (!y->stops)
		return -1;
	for (uint32_t b = 0; b < y->n_stops; b++)
		for (uint64_t fails = 1; fails < 256; fails++)
			for (uint32_t i = 0; i < y->n_pattern; i++)
				y->stops[b][fails] |= (uint64_t)((y->need[i] >> 8 * b & fails) != 0) << i;
	return 0;
}

int plan_share_tests(struct plan *p, struct plan_type *y)
{
	y->need = memory_alloc(&p->mem, (y->n_pattern + 1) * sizeof(*y->need));
	for (int i = 0; i < N_SHARED; i++) {
		y->test[i] = memory_alloc(&p->mem, PLAN_MAX_TESTS * sizeof(**y->test));
		if (!y->test[i])
			return -1;
	}
	if (!y->need)
		return -1;
	for (uint32_t i = 0; i < y->n_pattern; i++) {
		struct plan_pattern *q = y->pattern[i];
		int n;

		y->need[i] = 0;
		while (q->n_shared < q->n_test && (n = find_test(y, &q->test[q->n_shared])) >= 0) {
			y->need[i] |= 1ull << n;
			q->n_shared++;
		}
		q->plain_pair = q->pair && !q->filter.ins && !q->uses.ins && q->n_shared == q->n_test;
	}
	return index_tests(p, y);
}
