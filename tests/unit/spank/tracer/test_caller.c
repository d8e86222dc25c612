/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of library functions, found on the stack. The test knows which of its functions calls. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <cmocka.h>

#include "common/arch/arch.h"
#include "spank/tracer/caller.h"

#if ARCH_SAMPLES

static volatile double sink;
static volatile unsigned looks;
static volatile unsigned inside, right; /* looks in a library; of these, in the function that runs */
static volatile int which;
static uint64_t stack_hi;

extern const char __executable_start[], etext[];

static __attribute__((noipa)) double first(int i)
{
	return jn(30 + i % 8, 3.5 + i % 5) + 1;
}

static __attribute__((noipa)) double second(int i)
{
	return lgamma(2.5 + i % 9) * 2;
}

/* Ends with a jump, in every build: the call on the stack is that of the test. */
static __attribute__((noipa, optimize("O2"))) double third(double x)
{
	return lgamma(x);
}

static __attribute__((noipa)) void call_third(int i)
{
	sink += third(2.5 + i % 9);
}

/* Is the address in the function? The next one begins behind it. */
static bool is_in(uint64_t at, uintptr_t f)
{
	const uintptr_t all[] = {(uintptr_t)first, (uintptr_t)second, (uintptr_t)third, (uintptr_t)call_third};
	uintptr_t end = f + 256;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] > f && all[i] < end)
			end = all[i];
	return at > f && at <= end;
}

static void on_look(int no, siginfo_t *info, void *context)
{
	const uintptr_t f[] = {(uintptr_t)first, (uintptr_t)second, (uintptr_t)call_third};
	const ucontext_t *u = context;
	uint64_t pc = (uint64_t)u->uc_mcontext.gregs[ARCH_UCONTEXT_PC];
	uint64_t at = caller_find(pc, (uint64_t)u->uc_mcontext.gregs[ARCH_UCONTEXT_SP], stack_hi);

	(void)no;
	(void)info;
	looks++;
	if (pc >= (uintptr_t)__executable_start && pc < (uintptr_t)etext) {
		right += at != 0; /* the program's own code has no caller */
		return;
	}
	inside++;
	right += is_in(at, f[which]);
}

static void test_calls_are_found(void **state)
{
	const struct itimerval often = {{0, 4000}, {0, 4000}}, never = {{0, 0}, {0, 0}};
	struct sigaction a = {.sa_sigaction = on_look, .sa_flags = SA_SIGINFO | SA_RESTART};

	(void)state;
	caller_begin();
	stack_hi = (uintptr_t)__builtin_frame_address(0) + 64;
	assert_int_equal(sigaction(SIGVTALRM, &a, NULL), 0);
	for (which = 0; which < 3; which++) {
		looks = inside = right = 0;
		setitimer(ITIMER_VIRTUAL, &often, NULL);
		for (int i = 0; inside < 10; i++)
			if (which == 2)
				call_third(i);
			else
				sink += which ? second(i) : first(i);
		setitimer(ITIMER_VIRTUAL, &never, NULL);
		assert_int_equal(right, inside);
	}
}

/* Any word may be on a stack: each address in and around the code of the program is looked at. */
static void test_any_word(void **state)
{
	uint64_t word[4] = {0, UINT64_MAX, 0, 1}, sp = (uintptr_t)word;

	(void)state;
	caller_begin();
	for (uint64_t at = (uintptr_t)__executable_start - 64; at < (uintptr_t)etext + 64; at++) {
		uint64_t found;

		word[2] = at;
		found = caller_find((uintptr_t)&malloc, sp, sp + sizeof(word));
		assert_true(!found || found == at);
	}
	assert_int_equal(caller_find(0, sp, sp), 0);
	assert_int_equal(caller_find(0, sp + 4, sp + sizeof(word)), 0);
}

#define PAGE 4096u

/* A fiber's stack may end before the thread's stack: nothing is mapped behind it, or nothing that can be read. */
static void test_fiber(void **state)
{
	char *stack = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t sp = (uintptr_t)stack + PAGE - 64, hi = sp + 3 * PAGE;
	uint64_t at = (uintptr_t)__executable_start, found;

	(void)state;
	assert_ptr_not_equal(stack, MAP_FAILED);
	caller_begin();
	/* Some address behind a call out of the program. */
	for (; at < (uintptr_t)etext && !caller_find((uintptr_t)&malloc, (uintptr_t)&at, (uintptr_t)(&at + 1)); at++)
		;
	assert_true(at < (uintptr_t)etext);
	memcpy(stack + 2 * PAGE - 8, &at, sizeof(at));
	for (int way = 0; way < 2; way++) {
		char *hole = stack + 2 * PAGE;

		assert_int_equal(way ? munmap(hole, PAGE) : mprotect(hole, PAGE, PROT_NONE), 0);
		found = caller_find((uintptr_t)&malloc, sp, hi); /* in the second page */
		assert_int_equal(found, at);
		found = caller_find((uintptr_t)&malloc, (uintptr_t)hole, hi);
		assert_int_equal(found, 0);
		memset(stack + PAGE, 0, PAGE);
		found = caller_find((uintptr_t)&malloc, sp, hi);
		assert_int_equal(found, 0);
		memcpy(stack + 2 * PAGE - 8, &at, sizeof(at));
	}
	munmap(stack, 4 * PAGE);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if ARCH_SAMPLES
		cmocka_unit_test(test_calls_are_found),
		cmocka_unit_test(test_any_word),
		cmocka_unit_test(test_fiber),
#endif
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return sizeof(tests) ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
