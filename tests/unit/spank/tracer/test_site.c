/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call sites: every stack has its own, and one that was seen before is found without unwinding, also where a function is
 * called from many places at the same depth. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "spank/tracer/site.h"

#define PLACES 20

static uintptr_t lo, hi;
static int unwound;

static __attribute__((noinline)) uint32_t call(void)
{
	struct site_cached *at;
	int slow = 0;
	uint32_t s = site_of((uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(), lo, hi, &at, &slow);

	unwound += slow;
	assert_true(slow == (at == NULL));
	return s;
}

static __attribute__((noinline)) uint32_t middle(void)
{
	uint32_t s = call();

	__asm__ volatile("");
	return s;
}

/* Twenty calls from different places; the operand keeps the compiler from making one of them. */
#define PLACE(k)                                          \
	case k:                                           \
		s = CALLEE;                               \
		__asm__ volatile("" : : "i"(__LINE__ + k)); \
		break;
#define PLACES_OF                                                                                                      \
	PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7) PLACE(8) PLACE(9) PLACE(10) PLACE(11)    \
	PLACE(12) PLACE(13) PLACE(14) PLACE(15) PLACE(16) PLACE(17) PLACE(18) PLACE(19)

#define CALLEE middle()
static __attribute__((noinline)) uint32_t outer(int k)
{
	uint32_t s = 0;

	switch (k) {
		PLACES_OF
	}
	return s;
}
#undef CALLEE

#define CALLEE outer(inner)
static __attribute__((noinline)) uint32_t outermost(int k, int inner)
{
	uint32_t s = 0;

	switch (k) {
		PLACES_OF
	}
	return s;
}

/* Places in turn, then any. All stacks end in the same call of a loop, which the compiler must not split: hence `volatile`. */
static uint32_t visit(unsigned n, unsigned i)
{
	unsigned x = (i + 1) * 2654435761u;

	return i < n ? i : (x >> 8) % n;
}

static void test_many_places_at_one_depth(void **unused)
{
	uint32_t first[PLACES] = {0};

	(void)unused;
	unwound = 0;
	for (volatile unsigned i = 0; i < 10000; i++) {
		uint32_t k = visit(PLACES, i), s = outer((int)k);

		if (i < PLACES)
			first[k] = s;
		assert_int_equal(s, first[k]);
		assert_int_equal(unwound, i < PLACES ? i + 1 : PLACES);
	}
	for (int k = 0; k < PLACES; k++)
		for (int i = 0; i < k; i++)
			assert_true(first[i] != first[k]);
}

/* More than a chain holds: unwound again and again, but never taken for another; what is called in a row is found. */
static void test_more_than_are_kept(void **unused)
{
	static uint32_t first[PLACES * PLACES];
	const unsigned n = PLACES * PLACES;

	(void)unused;
	_Static_assert(PLACES * PLACES > SITE_CHAIN, "too few");
	for (volatile unsigned i = 0; i < 20000; i++) {
		uint32_t k = i < 19000 ? visit(n, i) : 77, s;

		if (i == 19001)
			unwound = 0;
		s = outermost((int)(k / PLACES), (int)(k % PLACES));
		if (i < n)
			first[k] = s;
		assert_int_equal(s, first[k]);
	}
	assert_int_equal(unwound, 0);
	for (unsigned k = 0; k < n; k++)
		for (unsigned i = 0; i < k; i++)
			assert_true(first[i] != first[k]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_places_at_one_depth),
		cmocka_unit_test(test_more_than_are_kept),
	};
	pthread_attr_t a;
	size_t size;
	void *base;

	if (pthread_getattr_np(pthread_self(), &a) != 0 || pthread_attr_getstack(&a, &base, &size) != 0)
		return 1;
	pthread_attr_destroy(&a);
	lo = (uintptr_t)base;
	hi = lo + size;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
