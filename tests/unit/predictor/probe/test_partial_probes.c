/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which probes precedentd allows to run the program itself: by PartialExecution, for all candidates and for single ones.
 * A script without the option leaves it to the job: see tests/cli/skeleton-probe.t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/follow_world.h"

static void assert_script(unsigned i, const char *candidate, const char *option)
{
	const char *script = w->submitted[i].script, *there = strstr(script, " --partial");
	char want[64];

	snprintf(want, sizeof(want), " --candidate %s ", candidate);
	assert_non_null(strstr(script, want));
	if (!option) {
		assert_null(there);
		return;
	}
	snprintf(want, sizeof(want), " --partial=%s --seconds ", option);
	assert_non_null(there);
	assert_memory_equal(there, want, strlen(want));
}

/* A job is traced on fast and probed on both candidates; source, other: the option in their scripts, or NULL. */
static void assert_options(const char *conf, const char *source, const char *other)
{
	char text[256];

	snprintf(text, sizeof(text), "Candidates=fast,slow:big\n%s", conf);
	conf_make(text);
	traced_job();
	assert_script(0, "fast", source);
	assert_non_null(strstr(w->submitted[0].script, " --source "));
	probe_end(500, "fast", 90, 20);
	assert_int_equal(w->n_submitted, 2);
	assert_script(1, "slow_big", other);
}

#define CASE(name, conf, source, other)       \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		assert_options(conf, source, other); \
	}

CASE(default, "", NULL, NULL)
CASE(off, "PartialExecution=off", NULL, NULL)
CASE(on, "PartialExecution=on", "on", "on")
CASE(never, "PartialExecution=never", "never", "never")
/* the traced one runs it as well, to compare */
CASE(one_on, "PartialExecution.slow:big=on", "on", "on")
CASE(partition_on, "PartialExecution.slow=on", "on", "on")
CASE(source_on, "PartialExecution.fast=on", "on", NULL)
CASE(one_never, "PartialExecution=on\nPartialExecution.slow:big=never", "on", "never")
/* who asks gets it on fast alone */
CASE(one_never_off, "PartialExecution.slow=never", NULL, "never")
CASE(one_off, "PartialExecution=never\nPartialExecution.fast=off\nPartialExecution.slow:big=off", NULL, NULL)
/* nothing to compare with */
CASE(source_never, "PartialExecution=on\nPartialExecution.fast=never", "never", "never")

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_default),	 T(test_off),	  T(test_on),	      T(test_never),
					   T(test_one_on),	 T(test_partition_on), T(test_source_on), T(test_one_never),
					   T(test_one_never_off), T(test_one_off), T(test_source_never)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
