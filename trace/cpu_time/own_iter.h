/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a rank with the times that are its own: gaps and calls without what it was ready and others had its
 * processor (run_own.h). Used where traced times become work that is done again: who has to wait for a processor there
 * waits anew, and who has one to itself does not.
 */
#ifndef PRECEDENT_TRACE_OWN_ITER_H
#define PRECEDENT_TRACE_OWN_ITER_H

#include "trace/read/reader.h"

struct own_iter;

/* NULL with the reason. Without samples all times are the rank's own. */
struct own_iter *own_iter_create(const struct trace *t, uint32_t rank, struct errbuf *err);
/* The same, but gaps have the unsuccessful tests before the call in them where these are work (poll_work.h). */
struct own_iter *own_iter_with_polls(const struct trace *t, uint32_t rank, struct errbuf *err);
/* As trace_iter_next, but ev's gap_ns and dur_ns are the rank's own. */
int own_iter_next(struct own_iter *it, struct trace_event *ev, bool *times_known);
/* ns of such tests in the gap of the event given last, nothing taken out. */
double own_iter_polled(const struct own_iter *it);
/* ns that were taken out of the gap of the event given last. */
double own_iter_delayed(const struct own_iter *it);
/* Of the event given last: entry and return as the rank's clock went, nothing taken out; its gap before that, likewise, without
 * unsuccessful tests. */
void own_iter_when(const struct own_iter *it, uint64_t *enter_ns, uint64_t *leave_ns, uint64_t *gap_ns);
void own_iter_destroy(struct own_iter *it);

#endif
