/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of the store share: a directory of their own for each test, a store in it, rows to put
 * there.
 */
#ifndef PRECEDENT_TESTS_UNIT_STORE_FIXTURE_H
#define PRECEDENT_TESTS_UNIT_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/store/programs.h"

#define KEY1   "0123456789abcdef0123456789abcdef"
#define KEY2   "00000000000000000000000000000001"
#define KEY3   "ffffffffffffffffffffffffffffffff"
#define FAMILY "fedcba9876543210fedcba9876543210"
#define NOW    1700000000

static char dir[64], path[96];
static struct errbuf err;

static uint64_t random_state = 88172645463325252ULL;

__attribute__((unused)) static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/precedent-store.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/precedent.db", dir);
	err.text[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
	char name[128];

	(void)state;
	chmod(dir, 0700);
	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
		unlink(name);
	}
	return rmdir(dir);
}

static struct store *must_open(unsigned flags)
{
	struct store *s = NULL;

	if (store_open(path, flags, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void ok(int rv)
{
	if (rv < 0)
		fail_msg("%s", err.text);
}

__attribute__((unused)) static struct store_program program(const char *key, enum program_state state, int64_t updated)
{
	struct store_program p = {.uid = 1000,
				  .state = state,
				  .reason = "why",
				  .name = "melt",
				  .source_job = 17,
				  .source_candidate = "fast",
				  .source_elapsed_s = 190.5,
				  .n_traces = 2,
				  .mpi_s = 180.25,
				  .nodes = 2,
				  .tasks = 32,
				  .created = NOW,
				  .updated = updated,
				  .retrace_at = 5};

	strcpy(p.key, key);
	strcpy(p.family, FAMILY);
	return p;
}

#endif
