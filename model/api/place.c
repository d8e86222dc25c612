/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the spare core: see place.h. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model/api/place.h"
#include "model/api/ticks.h"

#define CPUS_MAX     8192
#define TASKS_MAX    100000 /* that are looked at */
#define SOON_NS	     1000000000u
#define LATER_NS     60000000000u
#define PF_KTHREAD   0x00200000ul
#define NICE_LOWEST  19

static pthread_mutex_t place_lock = PTHREAD_MUTEX_INITIALIZER;
static hwloc_topology_t topology; /* under place_lock */
static _Atomic int inside;	  /* threads that ask hwloc, or wait for that */
static _Atomic bool left_inside;

/* ---- choosing ---- */

static bool is_spare(hwloc_obj_t core, hwloc_const_cpuset_t allowed, hwloc_const_cpuset_t used)
{
	return core->cpuset && hwloc_bitmap_isincluded(core->cpuset, allowed) && !hwloc_bitmap_iszero(core->cpuset) &&
	       !hwloc_bitmap_intersects(core->complete_cpuset, used);
}

static bool is_near(hwloc_topology_t t, hwloc_obj_t core, hwloc_const_cpuset_t own)
{
	hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, core);

	return package && hwloc_bitmap_intersects(package->cpuset, own);
}

/* The turn-th spare core, near or anywhere; -1 with the number of them when there are not so many. */
static int core_at(hwloc_topology_t t, hwloc_const_cpuset_t allowed, hwloc_const_cpuset_t own, hwloc_const_cpuset_t used, bool near,
		   unsigned turn, unsigned *n, hwloc_cpuset_t out)
{
	int depth = hwloc_get_type_or_below_depth(t, HWLOC_OBJ_CORE);

	*n = 0;
	for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_depth(t, depth, core));) {
		if (!is_spare(core, allowed, used) || (near && !is_near(t, core, own)))
			continue;
		if ((*n)++ == turn)
			return hwloc_bitmap_copy(out, core->cpuset);
	}
	return -1;
}

int place_choose(hwloc_topology_t t, hwloc_const_cpuset_t allowed, hwloc_const_cpuset_t own, hwloc_const_cpuset_t used,
		 unsigned turn, hwloc_cpuset_t out)
{
	unsigned n;

	for (int near = 1; near >= 0; near--) {
		core_at(t, allowed, own, used, near, UINT32_MAX, &n, out);
		if (n)
			return core_at(t, allowed, own, used, near, turn % n, &n, out);
	}
	return -1;
}

/* ---- who is bound where ---- */

/* Kernel threads are bound to every processor there is, and count for nothing. */
static bool is_kernel(const char *pid)
{
	char path[64], text[512] = "", *end;
	unsigned long flags = 0;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	end = strrchr(text, ')');
	return !end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1 || (flags & PF_KTHREAD);
}

static void mask_read(const cpu_set_t *mask, hwloc_cpuset_t set)
{
	for (int cpu = 0; cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(CPUS_MAX), mask))
			hwloc_bitmap_set(set, (unsigned)cpu);
}

static void task_add(pid_t tid, cpu_set_t *mask, hwloc_cpuset_t set)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	int policy = sched_getscheduler(tid);

	/* Threads like ours get out of the way. */
	if (tid == gettid() || policy < 0 || (policy & ~SCHED_RESET_ON_FORK) == SCHED_IDLE)
		return;
	CPU_ZERO_S(size, mask);
	if (sched_getaffinity(tid, size, mask) == 0)
		mask_read(mask, set);
}

/* Where the threads of a process may run. */
static void process_read(const char *pid, cpu_set_t *mask, hwloc_cpuset_t set, unsigned *tasks)
{
	char path[64];
	const struct dirent *e;
	DIR *d;

	hwloc_bitmap_zero(set);
	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	d = opendir(path);
	if (!d)
		return;
	while ((e = readdir(d)) && (*tasks)++ < TASKS_MAX)
		if (e->d_name[0] != '.')
			task_add((pid_t)strtol(e->d_name, NULL, 10), mask, set);
	closedir(d);
}

/* What other processes are bound to, of the processors that are allowed here: not those that may run everywhere. */
static void others_read(hwloc_const_cpuset_t allowed, cpu_set_t *mask, hwloc_cpuset_t used)
{
	hwloc_cpuset_t set = hwloc_bitmap_alloc();
	DIR *d = opendir("/proc");
	const struct dirent *e;
	unsigned tasks = 0;

	while (set && d && (e = readdir(d)) && tasks < TASKS_MAX) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9' || strtol(e->d_name, NULL, 10) == getpid())
			continue;
		process_read(e->d_name, mask, set, &tasks);
		if (!hwloc_bitmap_iszero(set) && !hwloc_bitmap_isincluded(allowed, set) && !is_kernel(e->d_name))
			hwloc_bitmap_or(used, used, set);
	}
	if (d)
		closedir(d);
	hwloc_bitmap_free(set);
}

/* ---- going there ---- */

static void priority_lowest(void)
{
	struct sched_param param = {0};

	if (sched_setscheduler(0, SCHED_IDLE, &param) < 0)
		setpriority(PRIO_PROCESS, 0, NICE_LOWEST);
}

/* Loaded once: hwloc brings plugins, which bring libraries of their own. Only where there may be a spare core. */
static int topology_get(hwloc_topology_t *out)
{
	if (!topology) {
		hwloc_topology_t t;

		if (hwloc_topology_init(&t) < 0)
			return -1;
		if (hwloc_topology_load(t) < 0) {
			hwloc_topology_destroy(t);
			return -1;
		}
		topology = t;
	}
	*out = topology;
	return 0;
}

/* The processors that this process may use: asks for all processors, and the kernel grants the allowed ones. Afterwards
 * this thread may run on any of them. */
static int allowed_read(cpu_set_t *mask, hwloc_cpuset_t allowed)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);

	memset(mask, 0xff, size);
	if (sched_setaffinity(0, size, mask) < 0)
		return -1;
	CPU_ZERO_S(size, mask);
	if (sched_getaffinity(0, size, mask) < 0)
		return -1;
	mask_read(mask, allowed);
	return 0;
}

static void bind_to(hwloc_const_cpuset_t set, cpu_set_t *mask)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	unsigned cpu;

	CPU_ZERO_S(size, mask);
	hwloc_bitmap_foreach_begin(cpu, set)
		if (cpu < CPUS_MAX)
			CPU_SET_S(cpu, size, mask);
	hwloc_bitmap_foreach_end();
	sched_setaffinity(0, size, mask);
}

struct sets {
	hwloc_cpuset_t own, allowed, used, core;
	cpu_set_t *mask;
};

/* To the spare core, or else to where the program runs. */
static int bind_with(struct sets *s)
{
	hwloc_topology_t t;
	unsigned tasks = 0;

	process_read("self", s->mask, s->own, &tasks);
	if (hwloc_bitmap_iszero(s->own) || allowed_read(s->mask, s->allowed) < 0)
		return -1;
	if (!hwloc_bitmap_isincluded(s->allowed, s->own) && topology_get(&t) == 0) {
		hwloc_bitmap_copy(s->used, s->own);
		others_read(s->allowed, s->mask, s->used);
		if (place_choose(t, s->allowed, s->own, s->used, (unsigned)getpid(), s->core) == 0 &&
		    hwloc_set_cpubind(t, s->core, HWLOC_CPUBIND_THREAD) == 0)
			return hwloc_bitmap_first(s->core);
	}
	bind_to(s->own, s->mask);
	return -1;
}

static int bind_somewhere(void)
{
	struct sets s = {hwloc_bitmap_alloc(), hwloc_bitmap_alloc(), hwloc_bitmap_alloc(), hwloc_bitmap_alloc(), CPU_ALLOC(CPUS_MAX)};
	int core = -1;

	if (s.own && s.allowed && s.used && s.core && s.mask)
		core = bind_with(&s);
	CPU_FREE(s.mask);
	hwloc_bitmap_free(s.own);
	hwloc_bitmap_free(s.allowed);
	hwloc_bitmap_free(s.used);
	hwloc_bitmap_free(s.core);
	return core;
}

void place_forked(void)
{
	if (atomic_load(&inside))
		atomic_store(&left_inside, true);
	atomic_store(&inside, 0);
	pthread_mutex_init(&place_lock, NULL);
}

int place_look(struct place *p)
{
	uint64_t now = ticks_mono_ns();

	if (p->normal_priority)
		return -1;
	if (now < p->next_ns)
		return p->core;
	if (!p->looks)
		priority_lowest();
	atomic_fetch_add(&inside, 1);
	pthread_mutex_lock(&place_lock);
	p->core = atomic_load(&left_inside) ? -1 : bind_somewhere();
	pthread_mutex_unlock(&place_lock);
	atomic_fetch_sub(&inside, 1);
	p->next_ns = now + (p->looks++ ? LATER_NS : SOON_NS);
	return p->core;
}
