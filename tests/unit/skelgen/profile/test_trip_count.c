/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long rows are: loops that count in each way that compilers have, samples as they would fall on rows of known length. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/profile/trip_count.h"
#include "trace/format/samples.h"

#define HITS 400

/* movsd; mulsd; addsd; then the counter's step, what looks at it, and the branch. */
static const uint8_t work[] = {0xf2, 0x0f, 0x10, 0x16, 0xf2, 0x0f, 0x59, 0xc1, 0xf2, 0x0f, 0x58, 0xc2};

enum { AX, CX, DX, BX, R9 = 9 };

struct way {
	const char *what;
	uint8_t code[12];
	size_t len;
	uint8_t counter, end; /* registers; end 0xff: a number, */
	int64_t stop, step;   /* this one */
};

static const struct way ways[] = {
	{"add $1,%rax; cmp %rax,%r9; jne", {0x48, 0x83, 0xc0, 1, 0x49, 0x39, 0xc1, 0x75}, 8, AX, R9, 1000, 1},
	{"add $8,%rax; cmp %r9,%rax; jne", {0x48, 0x83, 0xc0, 8, 0x4c, 0x39, 0xc8, 0x75}, 8, AX, R9, 0x7f0000001000, 8},
	{"sub $1,%rax; test %eax,%eax; jg", {0x48, 0x83, 0xe8, 1, 0x85, 0xc0, 0x7f}, 7, AX, 0xff, 0, -1},
	{"sub $1,%ecx; jne", {0x83, 0xe9, 1, 0x75}, 4, CX, 0xff, 0, -1},
	{"add $1,%edx; cmp $77,%edx; jne", {0x83, 0xc2, 1, 0x83, 0xfa, 77, 0x75}, 7, DX, 0xff, 77, 1},
};

static struct loop_body body;
static struct loop_sample hit[HITS];
static uint64_t reg[HITS][TSAMPLE_REGS];

/* With this before it, of n bytes. */
static void decode_behind(const uint8_t *before, size_t n, const struct way *w)
{
	uint8_t bytes[96];
	struct trace_code code = {.offset = 0x1000, .bytes = bytes};
	struct trace_samples s = {.code = &code, .n_code = 1};

	memcpy(bytes, before, n);
	memcpy(bytes + n, work, sizeof(work));
	memcpy(bytes + n + sizeof(work), w->code, w->len);
	code.len = (uint32_t)(n + sizeof(work) + w->len + 1);
	bytes[code.len - 1] = (uint8_t)-(int)(code.len - n); /* to the head */
	assert_int_equal(loop_body_find(&s, 0, 0x1000 + n, &body), 0);
	assert_true(body.is_loop);
	assert_int_equal(body.op[body.n - 1].kind, OP_BRANCH);
}

static void decode(const struct way *w)
{
	decode_behind((const uint8_t[]){0x90}, 0, w);
}

/* Rows of which the first iterations take no time: the others are met alike. What lies above 32 bits is of no account where the
 * code looks at 32. */
static void meet(const struct way *w, double row)
{
	double met = row * trip_count_waits(row, body.n);

	for (int i = 0; i < HITS; i++) {
		int64_t left = (int64_t)(met * (i + 0.5) / HITS);

		memset(reg[i], 0, sizeof(reg[i]));
		reg[i][w->counter] = (uint64_t)(w->stop - w->step * left);
		if (w->end != 0xff)
			reg[i][w->end] = (uint64_t)w->stop;
		hit[i] = (struct loop_sample){body.op[i % (int)body.n].offset, reg[i]};
	}
}

static void test_rows(void **state)
{
	static const double rows[] = {20, 64, 300};

	(void)state;
	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++)
		for (size_t r = 0; r < 3; r++) {
			decode(&ways[w]);
			meet(&ways[w], rows[r]);
			if (fabs(trip_count(&body, hit, HITS) / rows[r] - 1) > 0.15)
				fail_msg("%s: %g for %g", ways[w].what, trip_count(&body, hit, HITS), rows[r]);
		}
}

static void test_not_known(void **state)
{
	static const struct way moved = {"test %rbx,%rbx; jne", {0x48, 0x85, 0xdb, 0x75}, 4, BX, 0xff, 0, -1},
				loaded = {"cmp (%rsi),%rax; jne", {0x48, 0x3b, 0x06, 0x75}, 4, AX, 0xff, 0, 1};

	(void)state;
	decode(&ways[0]);
	meet(&ways[0], 64);
	assert_true(trip_count(&body, hit, HITS) > 0);
	assert_true(trip_count(&body, hit, 3) == 0);
	assert_true(trip_count(&body, hit, 0) == 0);
	body.is_loop = false;
	assert_true(trip_count(&body, hit, HITS) == 0);
	decode(&moved); /* by nothing in the loop */
	meet(&moved, 64);
	assert_true(trip_count(&body, hit, HITS) == 0);
	decode(&loaded);
	meet(&loaded, 64);
	assert_true(trip_count(&body, hit, HITS) == 0);
	/* counters that are past their end, or nowhere near */
	decode(&ways[0]);
	for (int i = 0; i < HITS; i++)
		reg[i][AX] = (uint64_t)(i % 2 ? 1 : -1) << 62;
	assert_true(trip_count(&body, hit, HITS) == 0);
	/* and one that is always at the same */
	for (int i = 0; i < HITS; i++)
		reg[i][AX] = 990;
	assert_true(trip_count(&body, hit, HITS) == 0);
}

/* Where the code before a loop says what its counter begins with, few samples will do, wherever they lie. */
static void test_known(void **state)
{
	static const struct {
		uint8_t bytes[16], n, way;
		double row; /* 0: not known */
	} is[] = {
		{{0xb8, 1, 0, 0, 0, 0x0f, 0x1f, 0x40, 0}, 9, 0, 999},                                  /* mov $1,%eax; nopl */
		{{0x48, 0x89, 0xd8, 0xf2, 0x0f, 0x10, 0x0e}, 7, 1, 64},                                /* mov %rbx,%rax; movsd (%rsi),%xmm1 */
		{{0x48, 0x8d, 0x43, 16}, 4, 1, 62},                                                    /* lea 16(%rbx),%rax */
		{{0x48, 0x8d, 0x44, 0x0b, 16}, 5, 1, 61},                                              /* lea 16(%rbx,%rcx),%rax */
		{{0x48, 0x89, 0xd8}, 3, 2, 64},                                                        /* mov %rbx,%rax, downwards */
		{{0x31, 0xd2, 0x48, 0x85, 0xff, 0x74, 0x10}, 7, 4, 77},                                /* xor %edx,%edx; test; je */
		{{0x48, 0x89, 0xd8, 0xbb, 1, 0, 0, 0}, 8, 1, 0},                                       /* mov %rbx,%rax; mov $1,%ebx */
		{{0x48, 0x8b, 0x03}, 3, 1, 0},                                                         /* mov (%rbx),%rax */
		{{0xb8, 1, 0, 0, 0, 0xeb, 0}, 7, 0, 0},                                                /* mov $1,%eax; jmp */
		{{0x48, 0xc7, 0xc0, 0xb0, 4, 0, 0}, 7, 0, 0},                                          /* mov $1200,%rax: behind the end */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		const struct way *w = &ways[is[i].way];

		decode_behind(is[i].bytes, is[i].n, w);
		for (int k = 0; k < 4; k++) {
			memset(reg[k], 0, sizeof(reg[k]));
			reg[k][w->counter] = (uint64_t)(w->stop - w->step * k);
			reg[k][BX] = w->step == 8 ? (uint64_t)w->stop - 512 : 64;
			reg[k][CX] = 8;
			if (w->end != 0xff)
				reg[k][w->end] = (uint64_t)w->stop;
			hit[k] = (struct loop_sample){body.op[0].offset, reg[k]};
		}
		if (trip_count(&body, hit, 4) != is[i].row)
			fail_msg("%zu: %g for %g", i, trip_count(&body, hit, 4), is[i].row);
	}
}

static void test_waits(void **state)
{
	(void)state;
	assert_true(trip_count_waits(0, 10) == 1);
	for (double row = 1; row < 1e6; row *= 2) {
		assert_true(trip_count_waits(row, 10) > 0 && trip_count_waits(row, 10) < 1);
		assert_true(trip_count_waits(row, 10) < trip_count_waits(2 * row, 10));
	}
}

/* A loop around another: xor %eax,%eax; then the inner one's load, what ends it, and its branch; add $1,%rdx; cmp %rdx,%rcx; jne. */
static uint32_t decode_nest(const uint8_t *inner, size_t len)
{
	static const uint8_t first[] = {0x31, 0xc0}, last[] = {0x48, 0x83, 0xc2, 1, 0x48, 0x39, 0xd1, 0x75};
	uint8_t bytes[64];
	struct trace_code code = {.offset = 0x1000, .bytes = bytes};
	struct trace_samples s = {.code = &code, .n_code = 1};
	uint32_t n = 0, at;

	memcpy(bytes, first, sizeof(first));
	n += sizeof(first);
	memcpy(bytes + n, inner, len);
	n += (uint32_t)len;
	bytes[n] = (uint8_t)-(int)(len + 1);
	n++;
	memcpy(bytes + n, last, sizeof(last));
	n += sizeof(last);
	bytes[n] = (uint8_t)-(int)(n + 1);
	code.len = n + 1;
	assert_int_equal(loop_body_find(&s, 0, 0x1000, &body), 0);
	assert_true(body.is_loop);
	assert_int_equal(body.op[0].offset, 0x1000);
	at = loop_body_at(&body, 0x1000 + sizeof(first) + len - 1);
	assert_int_not_equal(at, UINT32_MAX);
	assert_int_equal(body.op[at].kind, OP_BRANCH);
	return at;
}

static void test_counted(void **state)
{
	static const uint8_t counted[] = {0xf2, 0x0f, 0x10, 0x16, 0x48, 0x83, 0xc0, 1, 0x49, 0x39, 0xc1, 0x75}, /* add $1,%rax; cmp %rax,%r9 */
			     list[] = {0x48, 0x8b, 0x1b, 0x48, 0x85, 0xdb, 0x75},                               /* mov (%rbx),%rbx; test */
			     sought[] = {0x48, 0x8b, 0x04, 0x0e, 0x49, 0x39, 0xc1, 0x75}; /* mov (%rsi,%rcx),%rax; cmp %rax,%r9 */
	uint32_t at;

	(void)state;
	at = decode_nest(counted, sizeof(counted));
	assert_true(trip_count_is_counted(&body, at, NULL));
	assert_true(trip_count_is_counted(&body, body.n - 1, NULL));
	body.op[at].target = body.op[at + 1].offset; /* forward */
	assert_false(trip_count_is_counted(&body, at, NULL));
	body.op[at].target = UINT64_MAX;
	assert_false(trip_count_is_counted(&body, at, NULL));
	at = decode_nest(list, sizeof(list));
	assert_false(trip_count_is_counted(&body, at, NULL));
	at = decode_nest(sought, sizeof(sought));
	assert_false(trip_count_is_counted(&body, at, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_counted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
