/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joins sends and arrivals of a 14-column trace into exchanges: an arrival takes the oldest message in flight with its
 * sender, receiver and tag. Bounded: of more than MATCH_OPEN_MAX messages in flight the oldest count as never received.
 */
#ifndef PRECEDENT_TRACE_COLUMNS14_MATCH_H
#define PRECEDENT_TRACE_COLUMNS14_MATCH_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/tiles/columns14.h"

#define MATCH_OPEN_MAX (1u << 17)

struct match;

struct match *match_create(void); /* NULL: no memory */
void match_destroy(struct match *m);
/* Half of an exchange, in order of time: 1 and the exchange that is complete now, or 0; -1: no memory. */
int match_add(struct match *m, const struct columns14_message *half, struct exchange *out);
/* A message in flight, the oldest first: 1, or 0 when there is none. At the end of the trace, and while match_full. */
int match_give_up(struct match *m, struct exchange *out);
int match_full(const struct match *m);
uint64_t match_unsent(const struct match *m); /* arrivals that no send was found for */

#endif
