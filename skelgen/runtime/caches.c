/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of caches and memory: see caches.h. */
#include "skelgen/runtime/caches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/arch/arch.h"

#define KIB 1024ull
#define MIB (1024ull * 1024)

#define USUAL_L1 (32 * KIB)
#define USUAL_L2 (1 * MIB)
#define MEM_MOST (64 * MIB)   /* but more than the last cache holds */
#define MEM_LEAST (16 * MIB)
#define MEM_EVER (1024 * MIB)
#define L3_MOST  (16 * MIB)
#define AMD_L3_MOST (32 * MIB) /* that a core of these processors reaches, as a rule */
#define SHARE    8    /* all ranks of a node use no more than this part of its memory */
#define MAX_CPUS 4096
#define MAX_L3   512

static uint64_t at_least(uint64_t v, uint64_t least)
{
	return v < least ? least : v;
}

static uint64_t at_most(uint64_t v, uint64_t most)
{
	return v > most ? most : v;
}

/* The first line of a file, without its end; false without one. */
static int read_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	int ok;

	if (f == NULL)
		return 0;
	ok = fgets(out, (int)size, f) != NULL;
	fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

/* "32K", "1024K", "16M". */
static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t v = strtoull(text, &end, 10);

	v *= *end == 'K' ? KIB : *end == 'M' ? MIB : *end == 'G' ? 1024 * MIB : 1;
	return v > (1ull << 40) ? 0 : v;
}

/* One cache of one processor; 0 when there are no more. */
static int read_cache(const char *root, int cpu, int index, struct caches *c, char (*seen)[64], int *n_seen)
{
	char path[512], text[64];
	int level;
	uint64_t size;

	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cache/index%d/level", root, cpu, index);
	if (!read_line(path, text, sizeof text))
		return 0;
	level = atoi(text);
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cache/index%d/type", root, cpu, index);
	if (!read_line(path, text, sizeof text) || strcmp(text, "Instruction") == 0)
		return 1;
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cache/index%d/size", root, cpu, index);
	if (!read_line(path, text, sizeof text))
		return 1;
	size = parse_size(text);
	if (level == 1)
		c->l1 = size;
	else if (level == 2)
		c->l2 = size;
	if (level != 3)
		return 1;
	c->l3 = size;
	snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", root, cpu, index);
	if (!read_line(path, text, sizeof text))
		return 1;
	for (int i = 0; i < *n_seen; i++)
		if (strcmp(seen[i], text) == 0)
			return 1;
	if (*n_seen < MAX_L3)
		memcpy(seen[(*n_seen)++], text, sizeof text);
	return 1;
}

static uint64_t limit_of(const char *root, const char *group, int unified)
{
	char path[4500], text[64];

	snprintf(path, sizeof path, "%s/fs/cgroup%s%s/memory.%s", root, unified ? "" : "/memory", group,
		 unified ? "max" : "limit_in_bytes");
	if (!read_line(path, text, sizeof text) || text[0] < '0' || text[0] > '9')
		return UINT64_MAX;
	return strtoull(text, NULL, 10);
}

/* Lines are "0::/group" of the unified hierarchy, "7:memory:/group" of the older one. */
uint64_t caches_memory_limit(const char *root, const char *self, uint64_t most)
{
	char line[4096];
	FILE *f = fopen(self, "re");

	if (f == NULL)
		return most;
	while (fgets(line, sizeof line, f) != NULL) {
		char *group = strchr(line, '/'), *slash;
		int unified = strncmp(line, "0::/", 4) == 0;

		if (group == NULL || (!unified && strstr(line, ":memory:/") == NULL))
			continue;
		group[strcspn(group, "\n")] = '\0';
		while ((slash = strrchr(group, '/')) != NULL) {
			most = at_most(most, limit_of(root, group, unified));
			*slash = '\0';
		}
	}
	fclose(f);
	return most;
}

uint64_t caches_l3_of(int amd, uint64_t told)
{
	return amd ? at_most(told, AMD_L3_MOST) : told;
}

void caches_read(const char *root, struct caches *out)
{
	char(*seen)[64] = calloc(MAX_L3, sizeof *seen);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE), cpus = sysconf(_SC_NPROCESSORS_CONF);
	int n_seen = 0;

	memset(out, 0, sizeof *out);
	for (int cpu = 0; seen != NULL && cpu < MAX_CPUS && cpu < (cpus > 0 ? cpus : 1); cpu++)
		for (int i = 0; i < 16 && read_cache(root, cpu, i, out, seen, &n_seen); i++)
			;
	free(seen);
#ifdef _SC_LEVEL1_DCACHE_SIZE
	if (out->l1 == 0 && sysconf(_SC_LEVEL1_DCACHE_SIZE) > 0)
		out->l1 = (uint64_t)sysconf(_SC_LEVEL1_DCACHE_SIZE);
	if (out->l2 == 0 && sysconf(_SC_LEVEL2_CACHE_SIZE) > 0)
		out->l2 = (uint64_t)sysconf(_SC_LEVEL2_CACHE_SIZE);
	if (out->l3 == 0 && sysconf(_SC_LEVEL3_CACHE_SIZE) > 0)
		out->l3 = caches_l3_of(arch_is_amd(), (uint64_t)sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
	out->n_l3 = n_seen > 0 ? n_seen : 1;
	out->memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 1024 * MIB;
	out->memory = caches_memory_limit(root, "/proc/self/cgroup", out->memory);
}

/* What of the last cache is one rank's. */
static uint64_t l3_share(const struct caches *c, int ranks)
{
	int sharing = (ranks + c->n_l3 - 1) / c->n_l3;

	return c->l3 / (uint64_t)(sharing > 0 ? sharing : 1);
}

/* A round over less than twice a cache may find a part of it there, so that a rank that has a large cache for itself needs more. */
static uint64_t memory_most(uint64_t share)
{
	return at_most(at_least(2 * share, MEM_MOST), MEM_EVER);
}

void caches_shape(const struct caches *c, int ranks, struct kernel_shape *out)
{
	uint64_t l1 = c->l1 > 0 ? c->l1 : USUAL_L1, l2 = c->l2 > 0 ? c->l2 : USUAL_L2, share = l3_share(c, ranks);

	*out = (struct kernel_shape){.vector_bits = 128};
	/* Half of a level leaves room for other data. Data of a level must not fit the level before. */
	out->bytes[LEVEL_L2] = at_most(at_least(l2 / 2, 4 * l1), l2 * 3 / 4);
	out->bytes[LEVEL_L3] = at_most(at_least(share / 2, l2 + l2 / 2), L3_MOST);
	out->bytes[LEVEL_MEM] = at_least(at_most(4 * share, memory_most(share)), MEM_LEAST);
	out->bytes[LEVEL_MEM] = at_least(out->bytes[LEVEL_MEM], at_most(4 * l2, MEM_MOST));
	for (int l = 0; l < LEVEL_N; l++)
		out->bytes[l] = at_least(out->bytes[l] / LEVEL_UNIT * LEVEL_UNIT, LEVEL_LEAST);
}

/* So that a round over it finds none of it in the last cache. */
static uint64_t memory_least(uint64_t share)
{
	return at_least(share + share / 2, MEM_LEAST);
}

void caches_shape_like(const struct caches *c, int ranks, const double want[LEVEL_N], struct kernel_shape *shape)
{
	uint64_t l1 = c->l1 > 0 ? c->l1 : USUAL_L1, l2 = c->l2 > 0 ? c->l2 : USUAL_L2, share = l3_share(c, ranks);
	const uint64_t least[LEVEL_N] = {[LEVEL_L2] = 2 * l1, [LEVEL_L3] = l2 + l2 / 2,
					 [LEVEL_MEM] = memory_least(share)},
		       most[LEVEL_N] = {[LEVEL_L2] = l2 * 3 / 4, [LEVEL_L3] = at_least(at_most(share * 3 / 4, L3_MOST), l2 + l2 / 2),
					[LEVEL_MEM] = memory_most(share)};

	for (int l = 0; l < LEVEL_N; l++) {
		if (!(want[l] > 0 && want[l] < 1e15))
			continue;
		shape->bytes[l] = at_most(at_least((uint64_t)want[l], least[l]), most[l]);
		shape->bytes[l] = at_least(shape->bytes[l] / LEVEL_UNIT * LEVEL_UNIT, LEVEL_LEAST);
	}
}

/* What each of so many ranks of this machine may use of its memory, bytes. */
static uint64_t caches_memory(const struct caches *c, int ranks)
{
	return c->memory / SHARE / (uint64_t)(ranks > 0 ? ranks : 1);
}

void caches_bound(const struct caches *c, int ranks, unsigned classes, struct kernel_shape *shape)
{
	uint64_t most = caches_memory(c, ranks);

	while (kernel_bytes(shape, classes) > most && shape->bytes[LEVEL_MEM] > LEVEL_LEAST)
		for (int l = 0; l < LEVEL_N; l++)
			if (l == LEVEL_MEM || shape->bytes[l] > shape->bytes[LEVEL_MEM])
				shape->bytes[l] = at_least(shape->bytes[l] / 2 / LEVEL_UNIT * LEVEL_UNIT, LEVEL_LEAST);
}
