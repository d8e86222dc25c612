/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware counters of the thread that opened them, read without system calls. Only what the kernel lets everybody read:
 * each event is opened, its page mapped, and its descriptor closed again, so that the program's descriptors stay as they
 * were. A node without counters (most virtual machines) has none, and that is all.
 */
#ifndef PRECEDENT_SPANK_TRACER_COUNTERS_H
#define PRECEDENT_SPANK_TRACER_COUNTERS_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "trace/format/samples.h"

/* How the processor's counter i is read: rdpmc, or what a test puts in its place. */
typedef uint64_t counters_reader(uint32_t i);

struct counters {
	uint32_t have;  /* a bit for each enum trace_counter */
	counters_reader *read;
	struct perf_event_mmap_page *page[TCOUNTER_N];
	uint64_t last[TCOUNTER_N];
};

void counters_open(struct counters *c);
void counters_close(struct counters *c);
/* What each has counted since it was asked before; 0 where it cannot be told. Safe in a handler. */
void counters_take(struct counters *c, uint64_t *out);

#endif
