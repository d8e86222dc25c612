/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signatures, written from the recorder's table and read back. The oracle are the values as they were interned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/format/sigs.h"
#include "trace/functions.h"

#define CALLS      3000
#define MAX_VALUES 256

struct call {
	uint16_t fn;
	uint32_t n;
	int64_t val[MAX_VALUES];
};

/* A random call of any function, with arrays of up to 5 values. */
static void make_call(uint64_t *seed, struct call *c)
{
	const struct trace_fn_info *fn;

	c->fn = (uint16_t)(syn_random(seed) % TRACE_FN_N);
	c->n = 0;
	fn = &trace_fn[c->fn];
	for (uint32_t i = 0; i < fn->n_param; i++) {
		uint64_t len = 1;

		if (trace_kind_is_array(fn->param[i].kind))
			c->val[c->n++] = (int64_t)(len = syn_random(seed) % 6);
		for (uint64_t k = 0; k < len; k++) /* what refers to a definition refers to none, or to the first one */
			c->val[c->n++] = trace_kind_is_amount(fn->param[i].kind)
						 ? (int64_t)syn_random(seed) >> syn_random(seed) % 64
						 : (int64_t)(syn_random(seed) % 2) - 1;
	}
}

static int encode_and_read(struct trace_defs *d, struct trace_defs *back)
{
	struct buf raw = {0};
	struct rdbuf in;
	struct errbuf err;
	int rv;

	trace_defs_encode(d, &raw);
	assert_false(raw.failed);
	in = (struct rdbuf){.data = raw.data, .len = raw.len};
	rv = trace_defs_decode(&in, 2, back, &err);
	buf_free(&raw);
	return rv;
}

static void assert_calls(const struct trace_defs *d, const struct call *call, uint32_t n)
{
	int64_t val[MAX_VALUES];

	assert_int_equal(d->sigs.n, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(d->sigs.sig[i].fn, call[i].fn);
		assert_int_equal(d->sigs.sig[i].site, 0);
		assert_int_equal(sig_values(d, i, NULL), call[i].n);
		assert_int_equal(sig_values(d, i, val), call[i].n);
		assert_memory_equal(val, call[i].val, call[i].n * sizeof *val);
	}
}

/* Values are the same in the recorder's table and in the table that is read. */
static void test_all_functions(void **state)
{
	struct syn *s = syn_create(2);
	struct trace_defs *d = &s->rank[0].defs, back;
	struct call *call = calloc(CALLS, sizeof *call);
	uint64_t seed = 11;
	uint32_t n = 0;

	(void)state;
	assert_non_null(call);
	syn_win(s, 0, 0, 64);
	syn_file(s, 0, 0, "f");
	syn_begin(s); /* a call site */
	sigtable_free(&d->sigs);
	while (n < CALLS) {
		make_call(&seed, &call[n]);
		n += sigtable_intern(&d->sigs, call[n].fn, 0, call[n].val, call[n].n) == n;
	}
	assert_calls(d, call, CALLS);
	assert_int_equal(encode_and_read(d, &back), 0);
	assert_calls(&back, call, CALLS);
	assert_int_equal(sigtable_intern(&back.sigs, call[0].fn, 0, call[0].val, call[0].n), UINT32_MAX);
	trace_defs_free(&back);
	free(call);
	syn_destroy(s);
}

/* Calls that differ in their amounts only share all other values. */
static void test_amounts_alone(void **state)
{
	struct syn *s = syn_create(2);
	struct trace_defs back;

	(void)state;
	syn_begin(s);
	for (int64_t n = 0; n < CALLS; n++)
		syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .count = n));
	assert_int_equal(encode_and_read(&s->rank[0].defs, &back), 0);
	for (uint32_t i = 0; i < back.sigs.n; i++) {
		assert_int_equal(sig_scalar(&back, i, TK_DST, -1), sig_scalar(&s->rank[0].defs, i, TK_DST, -1));
		assert_int_equal(sig_scalar(&back, i, TK_COUNT, -1), sig_scalar(&s->rank[0].defs, i, TK_COUNT, -1));
	}
	assert_int_equal(back.sigs.n_pool, CALLS);
	assert_true(back.sigs.n_rows < 2 * MAX_VALUES);
	trace_defs_free(&back);
	syn_destroy(s);
}

/* Equal signatures, which no recorder writes, would let a small file define any number of calls. */
static void test_equal_signatures_are_refused(void **state)
{
	struct syn *s = syn_create(2);
	struct trace_defs *d = &s->rank[0].defs, back;
	struct buf raw = {0};
	uint32_t at = 0;

	(void)state;
	syn_begin(s);
	for (int64_t n = 0; n < 3; n++)
		syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .count = 100 + n));
	syn_end(s);
	assert_int_equal(encode_and_read(d, &back), 0);
	sigs_encode(&back, &raw); /* only interned tables are written */
	assert_true(raw.failed);
	buf_free(&raw);
	trace_defs_free(&back);
	while (d->sigs.pool[at] != 102)
		at++;
	d->sigs.pool[at] = 100;
	assert_int_equal(encode_and_read(d, &back), -1);
	syn_destroy(s);
}

/* Ranks that list the same ranks share the list; small lists are their own. */
static void test_groups_are_shared(void **state)
{
	static const uint32_t half[20] = {39, 37, 35, 33, 31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1};
	struct syn *s = syn_create(40);
	const struct trace_defs *first;
	struct trace *t;

	(void)state;
	for (uint32_t r = 1; r < 40; r += 2)
		syn_comm(s, r, half, 20);
	syn_begin(s);
	syn_end(s);
	t = syn_open(s);
	first = &trace_get_rank(t, 1)->defs;
	for (uint32_t r = 0; r < 40; r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;

		assert_int_equal(d->comm[0].members.n, 40);
		assert_ptr_equal(d->comm[0].members.rank, first->comm[0].members.rank);
		for (uint32_t i = 0; i < 40; i++)
			assert_int_equal(d->comm[0].members.rank[i], i);
		assert_int_equal(d->comm[1].members.rank[0], r);
		assert_int_equal(d->n_comm, 2 + r % 2);
		if (r % 2 == 0)
			continue;
		assert_ptr_equal(d->comm[2].members.rank, first->comm[2].members.rank);
		assert_memory_equal(d->comm[2].members.rank, half, sizeof half);
	}
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_functions),
		cmocka_unit_test(test_amounts_alone),
		cmocka_unit_test(test_equal_signatures_are_refused),
		cmocka_unit_test(test_groups_are_shared),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
