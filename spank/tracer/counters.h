/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware counters of the thread that opened them, read without system calls. Only counters that any user may read
 * are used. Each event is opened and mapped, and its descriptor is closed again, so the program's descriptors do
 * not change. Most virtual machines have no counters.
 */
#ifndef PRECEDENT_SPANK_TRACER_COUNTERS_H
#define PRECEDENT_SPANK_TRACER_COUNTERS_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "trace/format/samples.h"

/* Reads the processor's counter i: rdpmc, or a replacement in tests. */
typedef uint64_t counters_reader(uint32_t i);

struct counters {
	uint32_t have;  /* a bit for each enum trace_counter */
	counters_reader *read;
	struct perf_event_mmap_page *page[TCOUNTER_N];
	uint64_t last[TCOUNTER_N];
};

void counters_open(struct counters *c);
void counters_close(struct counters *c);
/* Counts since the previous call; 0 for unknown ones. Safe in a signal handler. */
void counters_take(struct counters *c, uint64_t *out);

#endif
