/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of launches share: real directories. `here` and `there` hold the same files by content.
 * `other` has another input under the same name, `rebuilt` another program.
 */
#ifndef PRECEDENT_TESTS_UNIT_COMMON_LAUNCHES_WORLD_H
#define PRECEDENT_TESTS_UNIT_COMMON_LAUNCHES_WORLD_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/launches.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static char root[64] = "/tmp/test_launches.XXXXXX", path_variable[128], environment_value[32];

/* Takes the place of the C library's: no load of the machine takes time from a search, only what a test adds here. */
static int64_t clock_ns;

int clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){.tv_sec = clock_ns / 1000000000, .tv_nsec = clock_ns % 1000000000};
	return 0;
}

static const char *lookup(const char *name)
{
	if (strcmp(name, "GIVEN") == 0)
		return environment_value[0] ? environment_value : NULL;
	if (strcmp(name, "HOME") == 0)
		return root;
	return strcmp(name, "PATH") == 0 ? path_variable : NULL;
}

static const char *in(const char *dir)
{
	static char path[4][128];
	static unsigned turn;
	char *p = path[turn++ % 4];
	snprintf(p, 128, "%s/%s", root, dir);
	return p;
}

static void put(const char *dir, const char *name, const char *data, size_t len, mode_t mode)
{
	char path[256];
	int fd;
	snprintf(path, sizeof(path), "%s/%s/%s", root, dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void text(const char *dir, const char *name, const char *data)
{
	put(dir, name, data, strlen(data), 0644);
}

/* Programs of the system with build ids of their own. */
static void program(const char *dir, const char *name, const char *from)
{
	static char data[4 * 1024 * 1024];
	FILE *f = fopen(from, "r");
	size_t n;
	assert_non_null(f);
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	put(dir, name, data, n, 0755);
}

static int setup(void **state)
{
	static const char *const DIRS[] = {"here", "there",    "other",	    "rebuilt",	  "flat",
					   "bin",  "here/sub", "other/sub", "rebuilt/sub",
					   "loose"};
	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(path_variable, sizeof(path_variable), "relative:%s/bin:/usr/bin:/bin", root);
	for (size_t i = 0; i < N(DIRS); i++)
		if (mkdir(in(DIRS[i]), 0755) != 0)
			return -1;
	for (size_t i = 0; i < 5; i++) {
		program(DIRS[i], "prog", i == 3 ? "/bin/cat" : "/bin/true");
		program(DIRS[i], "tool", "/bin/false");
		text(DIRS[i], "in.dat", i == 2 ? "1 2 4\n" : "1 2 3\n");
		text(DIRS[i], "more.dat", "7\n");
		if (i == 4)
			continue;
		text(DIRS[i], "multi.conf", "# programs by rank\n0 ./prog in.dat %t\n1-3 ./tool %o\n");
		put(DIRS[i], "wrapper", "#!/bin/sh\n./prog in.dat\n", 24, 0755);
	}
	program("bin", "installed", "/bin/ls");
	program("bin", "make", "/bin/ls");
	return 0;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

/* "": none. */
static const char *of(const char *dir, const char *script)
{
	static char out[16][LAUNCHES_LEN];
	static unsigned turn;
	char *h = out[turn++ % 16];
	struct errbuf why;
	const struct fingerprint_job job = {
	    .script = script, .script_len = strlen(script), .work_dir = in(dir), .lookup = lookup};
	if (launches_of(&job, h, &why) < 0)
		return "";
	assert_true(strlen(h) == 35 && !strncmp(h, "v1:", 3) && strspn(h + 3, "0123456789abcdef") == 32);
	return h;
}

static const char BASE[] = "#!/bin/sh\nmpirun -n 4 ./prog in.dat 5\n";

#endif
