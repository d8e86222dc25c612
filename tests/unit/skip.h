/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends a test that cannot run here, with the reason. cmocka's skip() prints "not ok", which prove counts as a
 * failure. */
#ifndef PRECEDENT_TESTS_UNIT_SKIP_H
#define PRECEDENT_TESTS_UNIT_SKIP_H

#include <stdbool.h>
#include <stdlib.h>

/* Does an emulator run this program? It starts no other program of this architecture, and its own memory is measured. */
static inline bool is_emulated(void)
{
	const char *said = getenv("PRECEDENT_EMULATED"); /* by scripts/system-tree */

	return said && *said;
}

#define SKIP(why) \
	do { \
		print_message("# skipped %s: %s\n", __func__, why); \
		return; \
	} while (0)

#endif
