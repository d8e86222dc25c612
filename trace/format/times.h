/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page of times holds: two uv for each event, gap and duration; behind them what is in neither, for the
 * events that it comes before: uv events since the last of these, uv ticks in unsuccessful tests, uv ticks of the
 * recorder's own. All four together add up to the rank's clock.
 */
#ifndef PRECEDENT_TRACE_TIMES_H
#define PRECEDENT_TRACE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

struct times_one {
	uint64_t poll, own, gap, duration; /* ticks, in this order */
};

struct times_walk {
	struct rdbuf in, idle;
	uint64_t i, n;
	uint64_t next_idle;  /* event that the next of `idle` belongs to, UINT64_MAX: no more */
};

/* n: events of the page. -1: it holds fewer. */
int times_begin(struct times_walk *w, const uint8_t *raw, size_t len, uint64_t n);
/* 1 and the next event's times, 0 at the end (or where the page is malformed). */
int times_next(struct times_walk *w, struct times_one *t);

#endif
