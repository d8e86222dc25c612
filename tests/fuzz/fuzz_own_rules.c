/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes rules about functions of the program. An error names the file and a line; a rule's name in a trace reads back. */
#include <stdlib.h>
#include <string.h>

#include "cli/trace/own_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct own_rules r;
	struct errbuf err = {0};
	char text[2 * TRACE_OWN_TEXT];

	if (own_rules_parse("f", (const char *)data, size, &r, &err) < 0) {
		if (strncmp(err.text, "f:", 2))
			abort();
		return 0;
	}
	for (uint32_t i = 0; i < r.n; i++) {
		struct trace_own_name n;

		if (!trace_own_name(own_rule_text(&r.rule[i], text, sizeof(text)), &n) || strcmp(n.name, r.rule[i].name) ||
		    n.n[0] + n.n[1] != r.rule[i].n_value)
			abort();
	}
	own_rules_free(&r);
	return 0;
}
