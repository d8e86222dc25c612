/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processors, limits and network position of a process: see place.h. A few small files are read once at the start
 * and once at the end of a run. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "spank/tracer/cgroup.h"
#include "spank/tracer/place.h"

#define MAX_PERIOD_US 1000000

/*
 * Throttled time of control groups. Kernels since 6.18 report less than the time for which tasks stood still
 * (measured: 1.04 s of 1.50 s). A second bound is the number of throttled periods times the rest of a period.
 */
struct stops {
	uint64_t told_ns; /* sum over all processors, as the kernel reports it */
	uint64_t rest_ns;
};

/* Values at MPI_Init. */
static struct stops stops_at_begin;
static char network_at_begin[PLACE_NETWORK];

/* For a limit of processor time: the rest of a period after all processors have used the limit up together. */
static uint64_t rest_ns(const struct cgroup *c, uint32_t processors)
{
	unsigned long long quota_us = 0, period_us = 0, used_us;
	char text[64];

	if (!cgroup_read(c, c->old ? "cpu.cfs_quota_us" : "cpu.max", text, sizeof(text)) ||
	    sscanf(text, "%llu %llu", &quota_us, &period_us) < (c->old ? 1 : 2) || text[0] == '-')
		return 0;
	if (c->old && (!cgroup_read(c, "cpu.cfs_period_us", text, sizeof(text)) || sscanf(text, "%llu", &period_us) != 1))
		return 0;
	used_us = quota_us / (processors ? processors : 1);
	return used_us < period_us && period_us <= MAX_PERIOD_US ? (period_us - used_us) * 1000 : 0;
}

/* Total of the process's group and its parents. */
static struct stops stops_now(uint32_t processors)
{
	static struct cgroup c; /* static, since the stack may be small */
	struct stops sum = {0};
	char stat[1024], *value;
	const char *key;

	if (!cgroup_find("cpu", &c))
		return sum;
	key = c.old ? "throttled_time " : "throttled_usec ";
	do {
		if (!cgroup_read(&c, "cpu.stat", stat, sizeof(stat)) || !(value = strstr(stat, key)))
			continue;
		sum.told_ns += strtoull(value + strlen(key), NULL, 10) * (c.old ? 1 : 1000);
		value = strstr(stat, "nr_throttled ");
		if (value)
			sum.rest_ns += strtoull(value + strlen("nr_throttled "), NULL, 10) * rest_ns(&c, processors);
	} while (cgroup_up(&c));
	return sum;
}

/* May the character be part of a switch name, or of Slurm's lists of names? */
static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-[],", c));
}

bool place_network(const char *addr, const char *pattern, const char *host, char *out, size_t size)
{
	size_t levels = 0, points = 0, len, host_len = host ? strcspn(host, ".") : 0;
	const char *last;

	out[0] = '\0';
	while (pattern && !strncmp(pattern, "switch.", 7)) {
		pattern += 7;
		levels++;
	}
	last = addr ? strrchr(addr, '.') : NULL;
	if (!levels || strcmp(pattern, "node") || !last)
		return false;
	len = (size_t)(last - addr);
	if (!len || len >= size || !host_len || strlen(last + 1) != host_len || strncmp(last + 1, host, host_len))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool point = addr[i] == '.';

		if (point ? i == 0 || i == len - 1 || addr[i - 1] == '.' : !is_name_char(addr[i]))
			return false;
		points += point;
	}
	if (points + 1 != levels)
		return false;
	memcpy(out, addr, len);
	out[len] = '\0';
	return true;
}

static uint32_t count_processors(cpu_set_t *set)
{
	return sched_getaffinity(0, sizeof(*set), set) == 0 ? (uint32_t)CPU_COUNT(set) : 0;
}

static uint64_t more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void place_begin(void)
{
	cpu_set_t set;

	stops_at_begin = stops_now(count_processors(&set));
	place_network(getenv("SLURM_TOPOLOGY_ADDR"), getenv("SLURM_TOPOLOGY_ADDR_PATTERN"), getenv("SLURMD_NODENAME"),
		      network_at_begin, sizeof(network_at_begin));
}

void place_facts(struct trace_proc *p)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t told_ns, left_ns;
	struct stops now;
	cpu_set_t set;

	p->processors = count_processors(&set);
	if (p->processors)
		p->processor_set = XXH3_64bits(&set, sizeof(set));
	now = stops_now(p->processors);
	told_ns = more(now.told_ns, stops_at_begin.told_ns);
	left_ns = more(now.rest_ns, stops_at_begin.rest_ns);
	p->throttled_ns = told_ns > left_ns ? told_ns : left_ns;
	p->host_processors = processors > 0 && processors < INT32_MAX ? (uint32_t)processors : 0;
	p->network = network_at_begin;
}
