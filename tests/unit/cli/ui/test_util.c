/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/ui/util.h"

static void test_seconds(void **state)
{
	static const struct {
		double s;
		const char *text;
	} of[] = {{0, "0.000 s"}, {12.3456, "12.346 s"}, {1, "1.000 s"}, {0.9999996, "1.000 s"},
		  {0.9999994, "999.999 ms"}, {0.00125, "1.250 ms"}, {0.999996e-3, "1.000 ms"},
		  {0.99999e-3, "999.99 us"}, {3e-8, "0.03 us"}};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		assert_string_equal(cli_seconds(text, sizeof(text), of[i].s), of[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
