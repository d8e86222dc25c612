/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See json_out.h. */
#include <stdio.h>

#include "cli/ui/json_out.h"
#include "cli/ui/util.h"

int cli_print_json(json_t *o)
{
	int rc = !o || json_object_set_new(o, "schema", json_integer(JSON_SCHEMA)) < 0 || json_dumpf(o, stdout, JSON_INDENT(2)) < 0;

	putchar('\n');
	json_decref(o);
	return rc ? cli_fail("cannot write the JSON") : 0;
}
