/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See lab.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/induce/value.h"
#include "tests/bench/model/lab.h"

static double clock_s(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

double lab_now_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

double lab_cpu_s(void)
{
	return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double lab_median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double lab_random(uint64_t *seed)
{
	return model_random(seed);
}

int lab_directory(char *dir, size_t size, struct errbuf *err)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(dir, size, "%s/precedent-model.XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (n < 0 || (size_t)n >= size)
		return err_set(err, "the name of the temporary directory is too long");
	return mkdtemp(dir) ? 0 : err_set(err, "%s: %s", dir, strerror(errno));
}

void lab_directory_remove(const char *dir)
{
	static const char *const names[] = {"model.c", "model.h", "model.so"};
	char path[512];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}
