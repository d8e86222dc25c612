/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's share of memory: see memory.h. */
#include "spank/tracer/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spank/tracer/cgroup.h"

/* the recorder takes 1/PART: programs do not fit their limits more closely */
#define PART 16

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Number of the launcher's processes on this node, if the launcher tells it. */
static uint64_t local_processes(void)
{
	static const char *const name[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE",
					   "SLURM_TASKS_PER_NODE"};

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		const char *text = getenv(name[i]);
		unsigned long n = text ? strtoul(text, NULL, 10) : 0;

		if (n)
			return n;
	}
	return 1;
}

/* The lowest limit of all control groups of the process. */
static uint64_t group_limit(void)
{
	static struct cgroup c; /* static, since the stack may be small */
	uint64_t limit = UINT64_MAX;
	char text[64], *end;

	if (!cgroup_find("memory", &c))
		return limit;
	do {
		unsigned long long v;

		if (!cgroup_read(&c, c.old ? "memory.limit_in_bytes" : "memory.max", text, sizeof(text)))
			continue;
		v = strtoull(text, &end, 10);
		if (end != text && v < (1ull << 62)) /* version 1 writes "none" as a number near 2^63 */
			limit = least(limit, v);
	} while (cgroup_up(&c));
	return limit;
}

/* Bytes left up to RLIMIT_AS or RLIMIT_DATA. */
static uint64_t left_of(int resource)
{
	unsigned long pages = 0;
	struct rlimit r;
	uint64_t used;
	FILE *f;

	if (getrlimit(resource, &r) || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	f = fopen("/proc/self/statm", "re");
	if (f) {
		if (fscanf(f, resource == RLIMIT_DATA ? "%*u %*u %*u %*u %*u %lu" : "%lu", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return r.rlim_cur > used ? r.rlim_cur - used : 0;
}

uint64_t memory_spare(void)
{
	uint64_t group = group_limit(), share = group == UINT64_MAX ? group : group / local_processes();
	uint64_t most = least(share, least(left_of(RLIMIT_AS), left_of(RLIMIT_DATA)));

	return most == UINT64_MAX ? most : most / PART;
}
