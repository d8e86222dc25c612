/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of times hold two uv for each event: gap and duration. Behind these come times that belong to no event:
 * unsuccessful tests and the recorder's own time. Each such entry has uv events since the previous entry, uv ticks
 * in unsuccessful tests and uv ticks of the recorder. An entry lies before its event. All four times together add
 * up to the rank's clock.
 */
#ifndef PRECEDENT_TRACE_TIMES_H
#define PRECEDENT_TRACE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

struct times_one {
	uint64_t poll, own, gap, duration; /* ticks, in order of time */
};

struct times_walk {
	struct rdbuf in, idle;
	uint64_t i, n;
	uint64_t next_idle;  /* event that the next entry of `idle` lies before; UINT64_MAX: no more entries */
};

/* n: number of events in the page. Returns 0 on success, -1 if the page has fewer events. */
int times_begin(struct times_walk *w, const uint8_t *raw, size_t len, uint64_t n);
/* Returns 1 and the next event's times; 0 at the end or if the page is malformed. */
int times_next(struct times_walk *w, struct times_one *t);

#endif
