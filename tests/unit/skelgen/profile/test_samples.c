/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples: the page, thinning, counters with a simulated processor, and parts of the cost model with known
 * answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/buf.h"
#include "skelgen/profile/loop_disasm.h"
#include "skelgen/profile/address_stride.h"
#include "skelgen/profile/cost_model.h"
#include "skelgen/profile/off_cpu.h"
#include "skelgen/profile/memset_copy.h"
#include "spank/tracer/counters.c"
#include "spank/tracer/sample_impl.h"
#include "trace/format/samples.h"

static const uint64_t cache[TSAMPLE_LEVELS] = {32u << 10, 1u << 20, 32u << 20};

/* ---- the page ---- */

static void fill(struct trace_samples *s, struct trace_sample *sample, struct trace_place *place, struct trace_code *code)
{
	*s = (struct trace_samples){.n = 4, .n_place = 2, .n_code = 2, .n_thread = 2, .period_ns = 4000000,
				    .cache = {1, 2, 3}, .counters = 1u << TCOUNTER_CYCLES, .sample = sample, .place = place,
				    .code = code};
	memset(sample, 0, 4 * sizeof(*sample));
	sample[0].flags = sample[3].flags = TSAMPLE_BORDER;
	for (int i = 1; i < 3; i++)
		sample[i] = (struct trace_sample){.event = 10u * (unsigned)i, .tick = 1000u * (unsigned)i, .thread = i == 2,
						  .place = (uint32_t)i - 1, .cpu_ns = 5, .delayed_ns = 6, .asleep_ns = 7,
						  .reg = {[0] = UINT64_MAX, [15] = (uint64_t)i << 60},
						  .counter = {[TCOUNTER_CYCLES] = 99}};
	sample[3].event = 20;
	sample[3].tick = 5000;
	place[0] = (struct trace_place){0, 0x1234};
	place[1] = (struct trace_place){1, UINT64_MAX};
	code[0] = (struct trace_code){0, 0x1200, 3, (uint8_t *)"abc"};
	code[1] = (struct trace_code){1, 0, 1, (uint8_t *)"d"};
}

static void test_page(void **state)
{
	struct trace_sample sample[4];
	struct trace_place place[2];
	struct trace_code code[2];
	struct trace_samples s, back;
	struct buf b = {0};
	struct errbuf err;

	(void)state;
	fill(&s, sample, place, code);
	trace_samples_encode(&s, &b);
	assert_false(b.failed);
	assert_int_equal(trace_samples_decode(b.data, b.len, &back, &err), 0);
	assert_int_equal(back.n, 4);
	assert_int_equal(back.period_ns, 4000000);
	assert_memory_equal(back.sample, sample, sizeof(sample));
	assert_int_equal(back.place[1].module, 1);
	assert_int_equal(back.place[1].offset, UINT64_MAX);
	assert_memory_equal(back.code[0].bytes, "abc", 3);
	trace_samples_free(&back);
	/* Cut anywhere, the page is rejected. */
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(trace_samples_decode(b.data, n, &back, &err), -1);
	/* With any bit flipped, the page is rejected or read within bounds. */
	for (size_t i = 0; i < 8 * b.len; i++) {
		b.data[i / 8] ^= (uint8_t)(1u << i % 8);
		if (trace_samples_decode(b.data, b.len, &back, &err) == 0)
			trace_samples_free(&back);
		b.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	/* A place that does not exist. */
	sample[2].place = 0;
	s.n_place = 1;
	sample[1].place = 0;
	buf_reset(&b);
	trace_samples_encode(&s, &b);
	assert_int_equal(trace_samples_decode(b.data, b.len, &back, &err), 0);
	trace_samples_free(&back);
	buf_free(&b);
}

/* ---- counters ---- */

static uint64_t false_value;

static uint64_t false_processor(uint32_t i)
{
	assert_int_equal(i, 4);
	return false_value;
}

static void test_counters(void **state)
{
	struct perf_event_mmap_page page = {.index = 5, .pmc_width = 48, .offset = 1000};
	struct counters c = {.have = 1u << TCOUNTER_CYCLES, .read = false_processor};
	uint64_t out[TCOUNTER_N];

	(void)state;
	page.cap_user_rdpmc = 1;
	c.page[TCOUNTER_CYCLES] = &page;
	false_value = 500;
	counters_take(&c, out); /* the first call: the start */
	assert_int_equal(out[TCOUNTER_CYCLES], 0);
	false_value = 750;
	counters_take(&c, out);
	assert_int_equal(out[TCOUNTER_CYCLES], 250);
	assert_int_equal(out[TCOUNTER_INSTRUCTIONS], 0);
	/* The processor's counter is negative if the kernel sets it to overflow. */
	page.offset = 1ll << 40;
	false_value = (1ull << 48) - 100;
	counters_take(&c, out);
	assert_int_equal(out[TCOUNTER_CYCLES], (1ull << 40) - 100 - 1750);
	/* Not on the processor: no count; a later count is complete. */
	page.index = 0;
	counters_take(&c, out);
	assert_int_equal(out[TCOUNTER_CYCLES], 0);
	/* The kernel updates the page all the time. */
	counters_open(&c);
	counters_close(&c);
	assert_int_equal(c.have, 0);
}

/* ---- sleep ---- */

static void test_sleep(void **state)
{
	struct trace_sample sample[41] = {{0}};
	struct trace_samples s = {.n = 41, .n_thread = 1, .sample = sample};
	double asleep[3] = {0};
	struct off_cpu *m;

	(void)state;
	/* 5 ms of work and 5 ms of sleep in turn, with a sample in the middle of each work. */
	for (int i = 1; i <= 40; i++)
		sample[i] = (struct trace_sample){.tick = (uint64_t)(10000000 * i - 7500000), .asleep_ns = i > 1 ? 5000000 : 0};
	m = off_cpu_create(&s, 1.0, 2);
	assert_non_null(m);
	for (int i = 0; i < 40; i++) {
		off_cpu_add(m, 0, 1e7 * i, 1e7 * i + 5e6);
		off_cpu_add(m, 1, 1e7 * i + 5e6, 1e7 * i + 1e7);
	}
	/* Another thread works 50 ms between two samples without sleep, which tells nothing. */
	off_cpu_add(m, 0, 4e8, 4.5e8);
	off_cpu_share(m, asleep);
	assert_true(asleep[1] > 0.75 * 39 * 5e6);
	assert_true(asleep[0] < 0.25 * 39 * 5e6);
	off_cpu_destroy(m);
}

/* Sleeps of 8 ms between unsuccessful tests are no block's: the sleep of 2 ms in the work of 4 ms is left. */
static void test_sleep_in_tests(void **state)
{
	struct trace_sample sample[41] = {{0}};
	struct trace_samples s = {.n = 41, .n_thread = 1, .sample = sample};
	double asleep[2] = {0};
	struct off_cpu *m;

	(void)state;
	for (int i = 1; i <= 40; i++) /* for a fifth of the time off the processor others had it */
		sample[i] = (struct trace_sample){.tick = 12000000ull * (uint64_t)i, .asleep_ns = 8400000, .delayed_ns = 2100000};
	m = off_cpu_create(&s, 1.0, 1);
	assert_non_null(m);
	for (int i = 0; i < 40; i++) {
		off_cpu_drop(m, 12e6 * i, 12e6 * i + 8e6);
		off_cpu_add(m, 0, 12e6 * i + 8e6, 12e6 * i + 12e6);
	}
	off_cpu_share(m, asleep);
	assert_float_equal(asleep[0], 40 * 2e6, 1e3);
	off_cpu_destroy(m);
}

static void test_sleep_of_threads(void **state)
{
	(void)state;
	/* A helper thread of the MPI library that works for 1 ms does not keep a sleeping rank awake. */
	assert_float_equal(off_cpu_part(400e6, 399e6, 1e6), 0.995, 1e-9);
	/* The first thread waits for a team that works all the time, or half of it. */
	assert_float_equal(off_cpu_part(400e6, 400e6, 8 * 400e6), 0, 1e-9);
	assert_float_equal(off_cpu_part(400e6, 400e6, 200e6), 0.5, 1e-9);
	assert_float_equal(off_cpu_part(0, 0, 0), 0, 1e-9);
}

/* ---- footprints ---- */

static uint64_t random_u64(uint64_t *r)
{
	*r ^= *r << 13, *r ^= *r >> 7, *r ^= *r << 17;
	return *r;
}

static void test_footprint(void **state)
{
	uint64_t a[400], r = 88172645463325252ull;
	double bytes;

	(void)state;
	for (int i = 0; i < 400; i++)
		a[i] = 0x7f0000000000 + random_u64(&r) % (64u << 20);
	bytes = address_footprint(a, 400, 64, false);
	assert_true(bytes > 60e6 && bytes < 74e6);
	for (int i = 0; i < 400; i++) /* two arrays far apart */
		a[i] = (i & 1 ? 0x7f0000000000 : 0x550000000000) + random_u64(&r) % (1u << 20);
	bytes = address_footprint(a, 400, 64, false);
	assert_true(bytes > 1.8e6 && bytes < 2.5e6);
	for (int i = 0; i < 400; i++) /* a few lines spread over megabytes */
		a[i] = (random_u64(&r) % 64) << 20;
	bytes = address_footprint(a, 400, 64, false);
	assert_true(bytes > 2000 && bytes < 8000);
	assert_true(address_footprint(a, 400, 64, true) == bytes);
	for (int i = 0; i < 400; i++) /* an array that is read in order, sampled at eighty places */
		a[i] = 0x7f0000000000 + (uint64_t)(i % 80) * 875;
	assert_true(address_footprint(a, 400, 64, false) < 10e3);
	bytes = address_footprint(a, 400, 64, true);
	assert_true(bytes > 68e3 && bytes < 72e3);
	for (int i = 0; i < 400; i++) /* strides through 32 MB: one sample in 40 comes where one was */
		a[i] = 0x7f0000000000 + (i % 40 ? random_u64(&r) % 58254 : 7) * 576;
	bytes = address_footprint(a, 400, 64, true);
	assert_true(bytes > 31e6 && bytes < 36e6);
	for (int i = 0; i < 400; i++) /* a copy of 3 MB, mostly sampled at page boundaries */
		a[i] = 0x7f0000000040 + random_u64(&r) % 750 * 4096 + (i % 4 ? 0 : random_u64(&r) % 4096);
	assert_true(address_footprint(a, 400, 64, false) < 1e6);
	bytes = address_footprint(a, 400, 4096, true);
	assert_true(bytes > 2.5e6 && bytes < 3.6e6);
	/* Heap and mappings are far apart, however few addresses there are. */
	a[0] = 0x555500001000;
	a[1] = 0x555500003000;
	a[2] = 0x7fff00002000;
	assert_true(address_footprint(a, 3, 64, false) < 1 << 20);
	assert_true(address_footprint(a, 1, 64, false) <= 64);
	assert_true(address_footprint(a, 0, 64, false) == 0);
}

/* ---- code ---- */

/* Classes of a loop of machine code of n bytes. Its samples are at its start, with registers set by step(i, reg). */
static void classes(const uint8_t *bytes, uint32_t n, void (*step)(uint32_t i, uint64_t *reg), struct cost_model_result *use,
		    struct loop_body *body)
{
	struct trace_code code = {0, 0, n, (uint8_t *)bytes};
	struct trace_samples s = {.n_code = 1, .code = &code};
	static uint64_t reg[200][TSAMPLE_REGS];
	struct loop_sample hit[200];

	for (uint32_t i = 0; i < 200; i++) {
		memset(reg[i], 0, sizeof(reg[i]));
		step(i, reg[i]);
		hit[i] = (struct loop_sample){0, reg[i]};
	}
	assert_int_equal(loop_body_find(&s, 0, 0, body), 0);
	assert_int_equal(cost_model(body, hit, 200, cache, false, NULL, use), 0);
}

static uint64_t range;

static void anywhere(uint32_t i, uint64_t *reg)
{
	uint64_t r = 88172645463325252ull * (i + 1);

	random_u64(&r);
	reg[0] = 0x7f0000000000 + random_u64(&r) % range / 64 * 64;
}

static void test_chase(void **state)
{
	static const uint8_t loop[] = {0x48, 0x8b, 0x00, 0xff, 0xc9, 0x75, 0xf9}; /* mov (rax), rax; dec ecx; jne */
	static const struct {
		uint64_t bytes;
		int cls;
	} at[] = {{256u << 10, CLASS_RANDOM_L2}, {8u << 20, CLASS_RANDOM_L3}, {1u << 30, CLASS_RANDOM_MEM}};
	struct loop_body *b = malloc(sizeof(*b));
	struct cost_model_result use;

	(void)state;
	assert_non_null(b);
	for (int i = 0; i < 3; i++) {
		range = at[i].bytes;
		classes(loop, sizeof(loop), anywhere, &use, b);
		assert_true(b->is_loop);
		assert_int_equal(b->n, 3);
		assert_true(use.share[at[i].cls] > 0.9);
		for (int l = 0; l < PROFILE_LEVELS; l++)
			/* With few lines, many are sampled twice, which alone gives their number. */
			assert_true(l == i ? fabs(use.bytes[l] / (double)range - 1) < (l == PROFILE_L2 ? 0.5 : 0.05) : use.bytes[l] == 0);
	}
	free(b);
}

static void test_stream_and_stride(void **state)
{
	/* add (rax), rdx; add $imm32, rax; dec ecx; jne */
	uint8_t loop[] = {0x48, 0x03, 0x10, 0x48, 0x05, 64, 0, 0, 0, 0xff, 0xc9, 0x75, 0xf3};
	struct loop_body *b = malloc(sizeof(*b));
	struct cost_model_result use;

	(void)state;
	assert_non_null(b);
	range = 1u << 30;
	classes(loop, sizeof(loop), anywhere, &use, b);
	assert_true(use.share[CLASS_STREAM_MEM] > 0.9);
	loop[6] = 4; /* 1088 bytes */
	classes(loop, sizeof(loop), anywhere, &use, b);
	assert_true(use.share[CLASS_STRIDE_MEM] > 0.9);
	range = 4096;
	classes(loop, sizeof(loop), anywhere, &use, b);
	assert_true(use.share[CLASS_INTEGER] > 0.9);
	free(b);
}

static void nothing(uint32_t i, uint64_t *reg)
{
	(void)i;
	(void)reg;
}

static void test_arithmetic(void **state)
{
	static const uint8_t scalar[] = {0xf2, 0x0f, 0x59, 0xc1, 0xf2, 0x0f, 0x58, 0xc2, 0xff, 0xc9, 0x75, 0xf4};
	/* The same from loaded values, into another register: iterations are independent. */
	static const uint8_t apart[] = {0xf2, 0x0f, 0x10, 0x00, 0xf2, 0x0f, 0x59, 0xc1, 0xf2, 0x0f, 0x58, 0xc2, 0xff, 0xc9, 0x75, 0xf0};
	static const uint8_t vector[] = {0x66, 0x0f, 0x59, 0xc1, 0x66, 0x0f, 0x58, 0xc2, 0xff, 0xc9, 0x75, 0xf4};
	static const uint8_t wide[] = {0xc5, 0xfd, 0x59, 0xc1, 0xc5, 0xfd, 0x58, 0xc2, 0xff, 0xc9, 0x75, 0xf4};
	static const uint8_t divide[] = {0xf2, 0x0f, 0x5e, 0xc1, 0xff, 0xc9, 0x75, 0xf8};
	static const uint8_t integer[] = {0x48, 0x0f, 0xaf, 0xc2, 0x48, 0x31, 0xd0, 0xff, 0xc9, 0x75, 0xf5};
	static const uint8_t broken[] = {0x06, 0x06, 0x06};
	struct trace_code code = {0, 0, sizeof(broken), (uint8_t *)broken};
	struct trace_samples s = {.n_code = 1, .code = &code};
	struct loop_body *b = malloc(sizeof(*b));
	struct cost_model_result use;

	(void)state;
	assert_non_null(b);
	classes(scalar, sizeof(scalar), nothing, &use, b);
	assert_true(use.share[CLASS_SCALAR_CHAIN] > 0.7);
	assert_true(use.share[CLASS_SCALAR] + use.share[CLASS_SCALAR_SHORT] < 0.1); /* hidden by latency */
	assert_true(use.vector == 0);
	classes(apart, sizeof(apart), nothing, &use, b);
	/* two values per branch */
	assert_true(use.share[CLASS_SCALAR_SHORT] > 0.5 && use.share[CLASS_SCALAR_CHAIN] < 0.01);
	classes(vector, sizeof(vector), nothing, &use, b);
	assert_true(use.share[CLASS_VECTOR] > 0.05 && use.share[CLASS_SCALAR_CHAIN] > 0.7);
	assert_true(use.vector == 16);
	classes(wide, sizeof(wide), nothing, &use, b);
	assert_true(use.share[CLASS_VECTOR] > 0.05 && use.share[CLASS_SCALAR_CHAIN] > 0.7);
	assert_true(use.vector == 32);
	classes(divide, sizeof(divide), nothing, &use, b);
	assert_true(use.share[CLASS_DIVIDE] > 0.9);
	classes(integer, sizeof(integer), nothing, &use, b);
	assert_true(use.share[CLASS_INTEGER] + use.share[CLASS_INTEGER_CHAIN] > 0.9 && use.share[CLASS_INTEGER_CHAIN] > 0.4);
	assert_int_equal(loop_body_find(&s, 0, 1, b), -1);
	assert_int_equal(loop_body_find(&s, 1, 1, b), -1);
	free(b);
}

/* for (...) { if (far) continue; work } is one loop wherever in it a sample lies, though two branches lead to its head. That branch
 * is mispredicted if both its ways are met, the more the rarer way is met. */
static void test_continue(void **state)
{
	/* add $4,rbx; cmp r15,rbx; je out; movsd (rbx),xmm0; comisd xmm0,xmm2; jbe head; mulsd xmm1,xmm0; addsd xmm0,xmm3; jmp head; ret */
	static const uint8_t loop[] = {0x48, 0x83, 0xc3, 4, 0x4c, 0x39, 0xfb, 0x74, 0x14, 0xf2, 0x0f, 0x10, 0x03, 0x66, 0x0f, 0x2f,
				       0xd0, 0x76, 0xed, 0xf2, 0x0f, 0x59, 0xc1, 0xf2, 0x0f, 0x58, 0xd8, 0xeb, 0xe3, 0xc3};
	static const uint64_t place[] = {0, 9, 19}, met[] = {4, 17, 23} /* places after long latencies */,
			      way[] = {0, 4, 7, 9, 13, 17};
	struct trace_code code = {0, 0, sizeof(loop), (uint8_t *)loop};
	struct trace_samples s = {.n_code = 1, .code = &code};
	struct loop_body *b = malloc(sizeof(*b));
	static uint64_t reg[90][TSAMPLE_REGS];
	struct loop_sample hit[90];
	struct cost_model_result use;
	double often;

	(void)state;
	assert_non_null(b);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(loop_body_find(&s, 0, place[i], b), 0);
		assert_true(b->is_loop);
		assert_int_equal(b->n, 9);
		assert_int_equal(b->op[0].offset, 0);
		assert_int_equal(b->op[8].offset, 27);
	}
	for (uint64_t i = 0; i < 90; i++) {
		reg[i][3] = 0x7f0000000000 + 4 * i;
		hit[i] = (struct loop_sample){met[i % 3], reg[i]};
	}
	assert_int_equal(cost_model(b, hit, 90, cache, false, NULL, &use), 0);
	assert_true(use.share[CLASS_BRANCH] > 0.5);
	often = use.share[CLASS_BRANCH];
	for (uint64_t i = 0; i < 90; i++)
		hit[i].offset = i % 45 ? way[i % 6] : met[2]; /* seldom near */
	assert_int_equal(cost_model(b, hit, 90, cache, false, NULL, &use), 0);
	assert_true(use.share[CLASS_BRANCH] > 0.05 && use.share[CLASS_BRANCH] < 0.5 * often);
	assert_int_equal(cost_model(b, hit, 15, cache, false, NULL, &use), 0); /* few samples say nothing of a branch */
	assert_true(use.share[CLASS_BRANCH] < 0.01);
	for (uint64_t i = 0; i < 90; i++)
		hit[i].offset = way[i % 6]; /* never */
	assert_int_equal(cost_model(b, hit, 90, cache, false, NULL, &use), 0);
	assert_true(use.share[CLASS_BRANCH] < 0.05);
	free(b);
}

/* An arm of the loop is placed before the loop's head and falls into it. It is one loop for samples at any place.
 * If code behind also leads there, that is an outer loop. */
static void test_arm_ahead(void **state)
{
	/* mulsd xmm1,xmm0 (14 times); addsd xmm0,xmm3; add $4,rbx; cmp r15,rbx; je out; head: movsd (rbx),xmm0; comisd xmm0,xmm2; jbe arm;
	 * addsd xmm0,xmm4; add $4,rbx; cmp r15,rbx; jne head; out: ret, or jmp arm */
	uint8_t loop[96] = {0}, rest[] = {0xf2, 0x0f, 0x58, 0xd8, 0x48, 0x83, 0xc3, 4, 0x4c, 0x39, 0xfb, 0x74, 0x17, 0xf2, 0x0f, 0x10, 0x03,
					  0x66, 0x0f, 0x2f, 0xd0, 0x76, 0xb1, 0xf2, 0x0f, 0x58, 0xe0, 0x48, 0x83, 0xc3, 4, 0x4c, 0x39, 0xfb,
					  0x75, 0xe9, 0xc3};
	static const uint64_t place[] = {0, 24, 60, 69, 77, 79, 90};
	struct trace_code code = {0, 0, 95, loop};
	struct trace_samples s = {.n_code = 1, .code = &code};
	struct loop_body *b = malloc(sizeof(*b));

	(void)state;
	assert_non_null(b);
	for (size_t i = 0; i < 14; i++)
		memcpy(loop + 4 * i, "\xf2\x0f\x59\xc1", 4);
	memcpy(loop + 56, rest, sizeof(rest));
	for (size_t i = 0; i < sizeof(place) / sizeof(*place); i++) {
		assert_int_equal(loop_body_find(&s, 0, place[i], b), 0);
		assert_true(b->is_loop);
		assert_int_equal(b->n, 25);
		assert_int_equal(b->op[0].offset, 0);
		assert_int_equal(b->op[24].offset, 90);
	}
	memcpy(loop + 92, "\xeb\xa2\xc3", 3);
	assert_int_equal(loop_body_find(&s, 0, 79, b), 0);
	assert_true(b->is_loop);
	assert_int_equal(b->op[0].offset, 69);
	free(b);
}

/* ---- fills and copies ---- */

#define STRING_HITS 200

/* The class that memset_copy gives to code at random places of a piece of `length` bytes. The piece lies anywhere
 * in `area`, and every `again`-th time at the previous place (0: never). Registers are those of rep; for loops dx
 * is the end. -1: not recognised. */
static int string_class(const uint8_t *bytes, uint32_t n, uint64_t length, uint64_t area, bool libc, uint32_t width, uint32_t again,
			struct cost_model_result *use)
{
	struct trace_code code = {0, 0, n, (uint8_t *)bytes};
	struct trace_samples s = {.n_code = 1, .code = &code};
	static uint64_t reg[STRING_HITS][TSAMPLE_REGS];
	struct loop_sample hit[STRING_HITS];
	struct loop_body *b = malloc(sizeof(*b));
	uint64_t r = 88172645463325252ull;
	int found = -1;

	assert_non_null(b);
	*use = (struct cost_model_result){0};
	for (uint32_t i = 0; i < STRING_HITS; i++) {
		uint64_t begin = random_u64(&r) % (area / length) * length, done = random_u64(&r) % length / 64 * 64;

		memset(reg[i], 0, sizeof(reg[i]));
		reg[i][1] = (length - done) / width;
		reg[i][7] = 0x7f0000000000 + begin + done;
		reg[i][6] = 0x7e0000000000 + begin + done;
		reg[i][2] = 0x7f0000000000 + begin + length;
		if (again && i && i % again == 0)
			memcpy(reg[i], reg[i - 1], sizeof(reg[i]));
		hit[i] = (struct loop_sample){0, reg[i]};
	}
	assert_int_equal(loop_body_find(&s, 0, 0, b), 0);
	if (memset_copy(b, hit, STRING_HITS, cache, libc, use) == 1)
		for (int c = 0; c < CLASS_N; c++) {
			assert_true(use->share[c] == 0 || use->share[c] == 1);
			found = use->share[c] == 1 ? c : found;
		}
	else
		for (int c = 0; c < CLASS_N; c++)
			assert_true(use->share[c] == 0);
	free(b);
	return found;
}

static void test_strings(void **state)
{
	static const uint8_t stosb[] = {0xf3, 0xaa, 0xc3}, movsb[] = {0xf3, 0xa4, 0xc3}, once[] = {0xaa, 0xc3};
	static const uint8_t stosq[] = {0xf3, 0x48, 0xab, 0xc3}, movsq[] = {0xf3, 0x48, 0xa5, 0xc3};
	static const uint8_t scasb[] = {0xf2, 0xae, 0xc3}, movsd[] = {0xf2, 0x0f, 0x10, 0x00, 0xc3};
	/* movaps xmm0, (rdi); add 16, rdi; cmp rdx, rdi; jb */
	static const uint8_t fill_loop[] = {0x0f, 0x29, 0x07, 0x48, 0x83, 0xc7, 0x10, 0x48, 0x39, 0xd7, 0x72, 0xf4};
	/* movups (rsi), xmm0; movaps xmm0, (rdi); add 16 to both; cmp rdx, rdi; jb */
	static const uint8_t copy_loop[] = {0x0f, 0x10, 0x06, 0x0f, 0x29, 0x07, 0x48, 0x83, 0xc6, 0x10,
					    0x48, 0x83, 0xc7, 0x10, 0x48, 0x39, 0xd7, 0x72, 0xed};
	/* The same with an addition of the loaded value. */
	static const uint8_t sum_loop[] = {0x0f, 0x10, 0x06, 0x0f, 0x58, 0xc1, 0x0f, 0x29, 0x07, 0x48, 0x83, 0xc6, 0x10,
					   0x48, 0x83, 0xc7, 0x10, 0x48, 0x39, 0xd7, 0x72, 0xea};
	const uint64_t k = 1 << 10, m = 1 << 20;
	struct cost_model_result use;

#define CLASS_OF(code, length, area, libc, width) string_class(code, sizeof(code), length, area, libc, width, 0, &use)
	(void)state;
	/* By cache level, with the size of the area; for a copy, of both areas. */
	assert_int_equal(CLASS_OF(stosb, 4 * k, 8 * k, false, 1), CLASS_FILL_L2);
	assert_true(use.bytes[PROFILE_L2] == 0);
	assert_int_equal(CLASS_OF(stosb, 128 * k, 256 * k, false, 1), CLASS_FILL_L2);
	assert_true(use.bytes[PROFILE_L2] > 200e3 && use.bytes[PROFILE_L2] < 300e3);
	assert_int_equal(CLASS_OF(stosb, 8 * m, 8 * m, true, 1), CLASS_FILL_L3);
	assert_true(use.bytes[PROFILE_L3] > 8e6 && use.bytes[PROFILE_L3] < 9e6);
	/* Half of a cache is evicted when the next piece begins. */
	assert_int_equal(CLASS_OF(stosb, 16 * m, 16 * m, true, 1), CLASS_FILL_MEM);
	assert_true(use.bytes[PROFILE_MEM] > 42e6 && use.bytes[PROFILE_MEM] < 48e6);
	assert_int_equal(CLASS_OF(stosq, 64 * m, 64 * m, false, 8), CLASS_FILL_MEM);
	assert_int_equal(CLASS_OF(movsb, 32 * k, 128 * k, false, 1), CLASS_COPY_L2);
	assert_int_equal(CLASS_OF(movsb, 64 * k, 4 * m, true, 1), CLASS_COPY_L3);
	assert_true(use.bytes[PROFILE_L3] > 8e6 && use.bytes[PROFILE_L3] < 9e6);
	assert_int_equal(CLASS_OF(movsq, 64 * k, 64 * m, false, 8), CLASS_COPY_MEM);
	/* Loops over vectors are recognised only in the C library and for long pieces. */
	assert_int_equal(CLASS_OF(fill_loop, 64 * k, 4 * m, true, 1), CLASS_FILL_L3);
	assert_int_equal(CLASS_OF(copy_loop, 64 * k, 256 * m, true, 1), CLASS_COPY_MEM);
	assert_int_equal(CLASS_OF(fill_loop, 64 * k, 4 * m, false, 1), -1);
	assert_int_equal(CLASS_OF(copy_loop, 1 * k, 4 * m, true, 1), -1);
	assert_int_equal(CLASS_OF(sum_loop, 64 * k, 4 * m, true, 1), -1);
	/* A single byte, a search, and a partial vector move are not recognised. */
	assert_int_equal(CLASS_OF(once, 64 * k, 4 * m, true, 1), -1);
	assert_int_equal(CLASS_OF(scasb, 64 * k, 4 * m, true, 1), -1);
	assert_int_equal(CLASS_OF(movsd, 64 * k, 4 * m, true, 1), -1);
#undef CLASS_OF
	/* A rank that loses the processor at a sample is sampled there again. */
	assert_int_equal(string_class(movsq, sizeof(movsq), 64 * k, 64 * m, false, 8, 20, &use), CLASS_COPY_MEM);
	assert_true(use.bytes[PROFILE_MEM] > 300e6);
	assert_int_equal(string_class(stosb, sizeof(stosb), 64 * m, 64 * m, false, 1, 20, &use), CLASS_FILL_MEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page),      cmocka_unit_test(test_counters),
		cmocka_unit_test(test_sleep), cmocka_unit_test(test_sleep_in_tests),
		cmocka_unit_test(test_sleep_of_threads), cmocka_unit_test(test_footprint),
		cmocka_unit_test(test_chase),     cmocka_unit_test(test_stream_and_stride),
		cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_continue),
		cmocka_unit_test(test_arm_ahead),
		cmocka_unit_test(test_strings),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
