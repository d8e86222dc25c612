/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text built piece by piece: the same as from snprintf, also if it does not fit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/append.h"

#define GUARD 0x5a

/* Append everything to buffers of every size, and compare with snprintf. */
static void test_as_snprintf(void **state)
{
	static const uint64_t numbers[] = {0, 7, 10, 99, 100, UINT32_MAX, UINT64_MAX};
	static const double reals[] = {0, 0.5, 1.5, 2.5, 0.49999, 1e17, 1e18, 1e300, -3.5, -0.0, NAN, INFINITY};
	char want[1024], got[1024];

	(void)state;
	for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		for (size_t r = 0; r < sizeof(reals) / sizeof(reals[0]); r++) {
			int all = snprintf(want, sizeof(want), "a=%llu b=%03llu c=%.0f", (unsigned long long)numbers[n],
					   (unsigned long long)numbers[n], reals[r]);

			for (size_t size = 0; size < (size_t)all + 3; size++) {
				size_t len = 0;

				memset(got, GUARD, sizeof(got));
				append_text(got, size, &len, "a=");
				append_number(got, size, &len, numbers[n]);
				append_text(got, size, &len, " b=");
				append_padded(got, size, &len, numbers[n], 3);
				append_text(got, size, &len, " c=");
				append_rounded(got, size, &len, reals[r]);
				assert_int_equal(len, all);
				assert_int_equal(got[size], GUARD);
				if (size) {
					assert_memory_equal(got, want, size - 1 < len ? size - 1 : len + 1);
					assert_int_equal(strlen(got), size - 1 < len ? size - 1 : len);
				}
			}
		}
	}
}

static void test_padding_ends_at_twenty_digits(void **state)
{
	char got[64];
	size_t len = 0;

	(void)state;
	append_padded(got, sizeof(got), &len, 5, 1000);
	assert_string_equal(got, "00000000000000000005");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_snprintf),
		cmocka_unit_test(test_padding_ends_at_twenty_digits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
