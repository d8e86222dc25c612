/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware counters: see counters.h. */
#include "spank/tracer/counters.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/arch/arch.h"

#define TRIES 4

static const uint64_t event_of[TCOUNTER_N] = {
	[TCOUNTER_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS, [TCOUNTER_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
	[TCOUNTER_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES, [TCOUNTER_BRANCH_MISSES] = PERF_COUNT_HW_BRANCH_MISSES};

static struct perf_event_mmap_page *open_one(uint64_t event)
{
	struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = event,
				    .exclude_kernel = 1, .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct perf_event_mmap_page *p;

	if (fd < 0)
		return NULL;
	p = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	close(fd); /* the mapping keeps the event */
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, (size_t)sysconf(_SC_PAGESIZE), MADV_DONTFORK);
	if (p->cap_user_rdpmc)
		return p;
	munmap(p, (size_t)sysconf(_SC_PAGESIZE));
	return NULL;
}

/* Value = the kernel's part + the processor's part, read at the same time: see linux/perf_event.h. */
static bool counter_value(const struct counters *c, const volatile struct perf_event_mmap_page *p, uint64_t *value)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t seq = p->lock, index, width;
		uint64_t count;

		__asm__ __volatile__("" ::: "memory");
		index = p->index;
		count = (uint64_t)p->offset;
		width = p->pmc_width;
		if (!index || !p->cap_user_rdpmc || !width || width > 64)
			return false; /* the event is not on the processor now */
		count += (uint64_t)((int64_t)(c->read(index - 1) << (64 - width)) >> (64 - width));
		__asm__ __volatile__("" ::: "memory");
		if (p->lock == seq) {
			*value = count;
			return true;
		}
	}
	return false;
}

void counters_take(struct counters *c, uint64_t *out)
{
	memset(out, 0, TCOUNTER_N * sizeof(*out));
	for (int i = 0; i < TCOUNTER_N; i++) {
		uint64_t now;

		if (!(c->have & (1u << i)) || !counter_value(c, c->page[i], &now))
			continue;
		if (c->last[i] && now > c->last[i])
			out[i] = now - c->last[i];
		c->last[i] = now;
	}
}

void counters_open(struct counters *c)
{
	uint64_t none[TCOUNTER_N];

	*c = (struct counters){.read = arch_event_counter};
	for (int i = 0; i < TCOUNTER_N; i++) {
		c->page[i] = open_one(event_of[i]);
		c->have |= c->page[i] ? 1u << i : 0;
	}
	counters_take(c, none);
}

void counters_close(struct counters *c)
{
	for (int i = 0; i < TCOUNTER_N; i++)
		if (c->page[i])
			munmap(c->page[i], (size_t)sysconf(_SC_PAGESIZE));
	*c = (struct counters){0};
}
