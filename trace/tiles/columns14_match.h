/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joins sends and arrivals of a 14-column trace to messages. An arrival takes the oldest message in flight with its
 * sender, receiver and tag. At most MATCH_OPEN_MAX messages are in flight; older ones count as never received.
 */
#ifndef PRECEDENT_TRACE_COLUMNS14_MATCH_H
#define PRECEDENT_TRACE_COLUMNS14_MATCH_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/tiles/columns14.h"

#define MATCH_OPEN_MAX (1u << 17)

struct match;

struct match *match_create(void); /* NULL if memory runs out */
void match_destroy(struct match *m);
/* Add a send or an arrival, in order of time. Returns 1 and the completed message, 0 if none is complete, -1 if
 * memory runs out. */
int match_add(struct match *m, const struct columns14_message *half, struct exchange *out);
/* Take the oldest message in flight. Returns 1, or 0 if there is none. Called at the end of the trace and while
 * match_full is true. */
int match_give_up(struct match *m, struct exchange *out);
int match_full(const struct match *m);
uint64_t match_unsent(const struct match *m); /* number of arrivals without a send */

#endif
