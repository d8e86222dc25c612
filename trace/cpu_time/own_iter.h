/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Iterates over the events of a rank with the rank's own times. Time in which the rank was ready to run while its
 * processor served others is taken out of gaps and calls (run_own.h). Skeletons need own times. When a skeleton
 * repeats the work on a shared processor, it waits for the processor anew.
 */
#ifndef PRECEDENT_TRACE_OWN_ITER_H
#define PRECEDENT_TRACE_OWN_ITER_H

#include "trace/read/reader.h"

struct own_iter;

/* Create an iterator. If the rank has no samples, all times count as own. Returns NULL on error (err says why). */
struct own_iter *own_iter_create(const struct trace *t, uint32_t rank, struct errbuf *err);
/* Like own_iter_create, but a gap includes the unsuccessful tests before its call if they are work (poll_work.h). */
struct own_iter *own_iter_with_polls(const struct trace *t, uint32_t rank, struct errbuf *err);
/* Like trace_iter_next, but ev->gap_ns and ev->dur_ns are the rank's own times. */
int own_iter_next(struct own_iter *it, struct trace_event *ev, bool *times_known);
/*
 * Skip events before this one, which the rank has. An earlier event may be the next, so that this one's delay is known.
 * Returns the number of the next event. Skipped events are not in own_iter_elapsed. Takes the time to decode a page.
 */
uint64_t own_iter_skip(struct own_iter *it, uint64_t event);
/* Unsuccessful tests in the gap of the event given last that count as work, ns, delay included. */
double own_iter_polled(const struct own_iter *it);
/* Unsuccessful tests before the event given last that are no work, ns, without delay. */
double own_iter_vain(const struct own_iter *it);
/* Delay that was taken out of the gap of the event given last, ns. */
double own_iter_delayed(const struct own_iter *it);
/* Delay that was taken out of all events so far, of gaps and calls, ns. */
double own_iter_lost(const struct own_iter *it);
/* Sum of the calls and gaps of all threads that were given so far, by the clock: ns, delay included, without MPI_Init and
 * unsuccessful tests. Events of unknown times count as the mean. */
double own_iter_elapsed(const struct own_iter *it);
/* Entry, return and gap of the event given last, by the rank's clock, delay included. The gap excludes
 * unsuccessful tests. */
void own_iter_when(const struct own_iter *it, uint64_t *enter_ns, uint64_t *leave_ns, uint64_t *gap_ns);
/* When the rank left the call before the event given last, by its clock, ns: then come unsuccessful tests and the gap. */
uint64_t own_iter_begin(const struct own_iter *it);
void own_iter_destroy(struct own_iter *it);

#endif
