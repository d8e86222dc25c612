/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switches above a host, by Slurm's variables: see spank/tracer/place.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "spank/tracer/cgroup.c"
#include "spank/tracer/place.c"

static void test_network(void **state)
{
	static const struct {
		const char *addr, *pattern, *host, *want; /* NULL: rejected */
	} table[] = {
		{"s2.s0.tux3", "switch.switch.node", "tux3", "s2.s0"},
		{"leaf-7.n1", "switch.node", "n1", "leaf-7"},
		{"s2.s0.tux3", "switch.switch.node", "tux3.example.org", "s2.s0"},
		{"s[0-1].s2.tux3", "switch.switch.node", "tux3", "s[0-1].s2"},
		{"tux3", "node", "tux3", NULL},                    /* no switches */
		{"s2.s0.tux3", "switch.node", "tux3", NULL},       /* wrong number of levels */
		{"s2.tux3", "switch.switch.node", "tux3", NULL},
		{"s2.s0.tux3", "switch.switch.node", "tux4", NULL}, /* another host */
		{"s2.s0.tux3", "switch.switch.node", "tux", NULL},
		{"s2.s0.tux3", "switch.switch.node", "", NULL},
		{"s2.s0.tux3", "switch.switch.node", NULL, NULL},
		{"s2.s0.tux3", "switch.switch.", "tux3", NULL},
		{"s2.s0.tux3", "switch.block.node", "tux3", NULL},
		{"s2.s0.tux3", NULL, "tux3", NULL},
		{NULL, "switch.node", "tux3", NULL},
		{"", "switch.node", "tux3", NULL},
		{".tux3", "switch.node", "tux3", NULL},
		{"s2..tux3", "switch.switch.node", "tux3", NULL},
		{".s2.tux3", "switch.switch.node", "tux3", NULL},
		{"s 2.tux3", "switch.node", "tux3", NULL},
		{"s\n2.tux3", "switch.node", "tux3", NULL},
		{"<b>.tux3", "switch.node", "tux3", NULL},
		{"0123456789abcde.n", "switch.node", "n", "0123456789abcde"}, /* 16 bytes including the NUL */
		{"0123456789abcdef.n", "switch.node", "n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char out[17];
		bool known;

		memset(out, 'x', sizeof(out));
		known = place_network(table[i].addr, table[i].pattern, table[i].host, out, sizeof(out) - 1);
		assert_int_equal(known, table[i].want != NULL);
		assert_string_equal(out, known ? table[i].want : "");
		assert_int_equal(out[16], 'x');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_network)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
