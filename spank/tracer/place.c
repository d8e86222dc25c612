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

void place_begin(void)
{
	throttled_at_begin = throttled_ns();
}

void place_facts(struct trace_proc *p)
{
	uint64_t now = throttled_ns();
	cpu_set_t set;

	p->throttled_ns = now > throttled_at_begin ? now - throttled_at_begin : 0;
	if (sched_getaffinity(0, sizeof(set), &set) == 0) {
		p->processors = (uint32_t)CPU_COUNT(&set);
		p->processor_set = XXH3_64bits(&set, sizeof(set));
	}
}
