/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The declared number of instructions per unit of each kernel, against executed instructions: a child runs units in
 * single steps. The program's own loops may execute no more instructions per nanosecond than these numbers allow.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "skelgen/runtime/kernel.c"
#include "skelgen/runtime/kernel_core.c"
#include "skelgen/runtime/kernel_memory.c"
#include "skelgen/runtime/kernel_own.c"
#include "skelgen/runtime/kernel_vector.c"

#define UNITS 48 /* half of the vector kernel's cycle */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__) || !defined(__OPTIMIZE__)
#define AS_BUILT 0
#else
#define AS_BUILT 1
#endif

/* Single steps of the child until it ends; -1 if it cannot be traced. */
static long steps_until_exit(pid_t child)
{
	long n = 0;
	int status;

	for (;;) {
		if (waitpid(child, &status, 0) != child)
			return -1;
		if (WIFEXITED(status))
			return WEXITSTATUS(status) == 0 ? n : -1;
		if (WIFSIGNALED(status))
			return -1;
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return -1;
		}
		n++;
	}
}

static long steps_of(struct kernel *k, int c, uint64_t units)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		kernel_run(k, c, 1); /* binds functions at the first call */
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		raise(SIGSTOP);
		kernel_run(k, c, units);
		_exit(0);
	}
	return steps_until_exit(child);
}

/* Instructions without the constant part of a call. */
static double instructions(struct kernel *k, int c)
{
	long few = steps_of(k, c, UNITS), many = steps_of(k, c, 2 * UNITS);

	return few < 0 || many < 0 ? NAN : (double)(many - few) / UNITS;
}

static void test_units_have_as_many(void **unused)
{
	static const int widths[] = {128, 256, 512};
	unsigned all = 0;

	(void)unused;
	if (!AS_BUILT)
		skip(); /* sanitizers, or no optimisation: other instructions */
	for (int c = 0; c < CLASS_OWN_0; c++)
		all |= 1u << c;
	for (int w = 0; w < 3; w++) {
		struct kernel_shape s = {.bytes = {24576, 98304, 393216}, .vector_bits = widths[w], .packed = 8};
		struct kernel *k = kernel_create(&s, all);

		assert_non_null(k);
		for (int c = 0; c < CLASS_OWN_0; c++) {
			double told = kernel_instructions(k, c), found;

			if (told <= 0 || (w > 0 && c != CLASS_VECTOR))
				continue;
			found = instructions(k, c);
			if (isnan(found))
				skip(); /* ptrace is not allowed here */
			if (fabs(found / told - 1) > 0.1)
				fail_msg("%s, %d bits: a unit has %.1f instructions, not %.0f", kernel_name(c), kernel_vector_bits(k), found, told);
		}
		kernel_destroy(k);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_have_as_many),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
