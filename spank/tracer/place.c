/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See place.h. A few small files are read once at either end of a run. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "spank/tracer/place.h"

#define LEVELS 16 /* of control groups */

static uint64_t throttled_at_begin;

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

/* In all, of our group and those above it. */
static uint64_t throttled_ns(void)
{
	char text[8192], path[4096], file[4400], stat[1024], *group;
	uint64_t sum = 0;
	bool old = false;
	const char *key;

	if (!slurp("/proc/self/cgroup", text, sizeof(text)) || !(group = group_path(text, &old)) || strlen(group) >= sizeof(path))
		return 0;
	memcpy(path, group, strlen(group) + 1);
	key = old ? "throttled_time " : "throttled_usec ";
	for (int i = 0; i < LEVELS; i++) {
		char *slash = strrchr(path, '/'), *value;

		snprintf(file, sizeof(file), "/sys/fs/cgroup%s%s/cpu.stat", old ? "/cpu" : "", path);
		if (slurp(file, stat, sizeof(stat)) && (value = strstr(stat, key)))
			sum += strtoull(value + strlen(key), NULL, 10) * (old ? 1 : 1000);
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

void place_begin(void)
{
	throttled_at_begin = throttled_ns();
}

void place_facts(struct trace_proc *p)
{
	static char network[PLACE_NETWORK]; /* until the facts are written, once */
	uint64_t now = throttled_ns();
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	p->throttled_ns = now > throttled_at_begin ? now - throttled_at_begin : 0;
	if (sched_getaffinity(0, sizeof(set), &set) == 0) {
		p->processors = (uint32_t)CPU_COUNT(&set);
		p->processor_set = XXH3_64bits(&set, sizeof(set));
	}
	p->host_processors = processors > 0 && processors < INT32_MAX ? (uint32_t)processors : 0;
	place_network(getenv("SLURM_TOPOLOGY_ADDR"), getenv("SLURM_TOPOLOGY_ADDR_PATTERN"), getenv("SLURMD_NODENAME"), network,
		      sizeof(network));
	p->network = network;
}
