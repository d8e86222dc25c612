/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See place.h. A few small files are read once at either end of a run. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "spank/tracer/place.h"

#define LEVELS        16 /* of control groups */
#define MAX_PERIOD_US 1000000

/*
 * How long control groups were stopped. Kernels since 6.18 tell less time than tasks stood still (measured: 1.04 s of 1.50 s):
 * periods that a limit cut short, with what was left of each, are the other bound.
 */
struct stops {
	uint64_t told_ns; /* over all processors, as the kernel says */
	uint64_t rest_ns;
};

static struct stops stops_at_begin;

/* What the file holds, as far as it fits, with a zero behind; false: it cannot be read. */
static bool slurp(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The path of our group, behind "0::" (version 2) or behind "cpu," (version 1, which sets *old). */
static char *group_path(char *text, bool *old)
{
	char *save, *found = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		if (names + 1 == path && !found) {
			found = path + 1;
		} else if (!strncmp(names + 1, "cpu,", 4) || !strncmp(names + 1, "cpu:", 4)) {
			*old = true;
			return path + 1;
		}
	}
	return found;
}

/* Of a limit on processor time: what of a period is left when it is used up by all processors at once. */
static uint64_t rest_ns(const char *dir, bool old, uint32_t processors)
{
	unsigned long long quota_us = 0, period_us = 0, used_us;
	char file[4500], text[64];

	snprintf(file, sizeof(file), "%s/%s", dir, old ? "cpu.cfs_quota_us" : "cpu.max");
	if (!slurp(file, text, sizeof(text)) || sscanf(text, "%llu %llu", &quota_us, &period_us) < (old ? 1 : 2) || text[0] == '-')
		return 0;
	snprintf(file, sizeof(file), "%s/cpu.cfs_period_us", dir);
	if (old && (!slurp(file, text, sizeof(text)) || sscanf(text, "%llu", &period_us) != 1))
		return 0;
	used_us = quota_us / (processors ? processors : 1);
	return used_us < period_us && period_us <= MAX_PERIOD_US ? (period_us - used_us) * 1000 : 0;
}

/* In all, of our group and those above it. */
static struct stops stops_now(uint32_t processors)
{
	char text[8192], path[4096], dir[4200], file[4300], stat[1024], *group;
	struct stops sum = {0};
	bool old = false;
	const char *key;

	if (!slurp("/proc/self/cgroup", text, sizeof(text)) || !(group = group_path(text, &old)) || strlen(group) >= sizeof(path))
		return sum;
	memcpy(path, group, strlen(group) + 1);
	key = old ? "throttled_time " : "throttled_usec ";
	for (int i = 0; i < LEVELS; i++) {
		char *slash = strrchr(path, '/'), *value;

		snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s%s", old ? "/cpu" : "", path);
		snprintf(file, sizeof(file), "%s/cpu.stat", dir);
		if (slurp(file, stat, sizeof(stat)) && (value = strstr(stat, key))) {
			sum.told_ns += strtoull(value + strlen(key), NULL, 10) * (old ? 1 : 1000);
			value = strstr(stat, "nr_throttled ");
			if (value)
				sum.rest_ns += strtoull(value + strlen("nr_throttled "), NULL, 10) * rest_ns(dir, old, processors);
		}
		if (!slash || path[0] == '\0')
			break;
		*slash = '\0';
	}
	return sum;
}

/* Names, and lists of them as Slurm writes them. */
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
}

void place_facts(struct trace_proc *p)
{
	static char network[PLACE_NETWORK]; /* until the facts are written, once */
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
	place_network(getenv("SLURM_TOPOLOGY_ADDR"), getenv("SLURM_TOPOLOGY_ADDR_PATTERN"), getenv("SLURMD_NODENAME"), network,
		      sizeof(network));
	p->network = network;
}
