/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends a test that cannot run here, with the reason. cmocka's skip() prints "not ok", which prove counts as a
 * failure. */
#ifndef PRECEDENT_TESTS_UNIT_SKIP_H
#define PRECEDENT_TESTS_UNIT_SKIP_H

#define SKIP(why) \
	do { \
		print_message("# skipped %s: %s\n", __func__, why); \
		return; \
	} while (0)

#endif
