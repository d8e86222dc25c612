/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unsuccessful tests that are part of a program's work. Most wait for a message, and take as long as it does: whoever repeats
 * the run waits anew. But a program may also look whether anything has come between two pieces of its work, and go on in any
 * case; then it makes as many tests as it has pieces, whatever comes, and over a network each of them takes longer than the
 * piece (RandomAccess of HPCC: 17 million tests, four fifths of its time). Where that is done, such tests end without that what
 * was tested for has come: the next call is another one, or completes a send that nobody had to wait for.
 * Tests before a message that did come may be of either kind. They are taken for what the others between the same two
 * collective calls are.
 */
#ifndef PRECEDENT_TRACE_POLL_WORK_H
#define PRECEDENT_TRACE_POLL_WORK_H

#include <stdbool.h>

#include "trace/read/reader.h"

/* Of one rank; all 0: none of its tests are work. */
struct poll_work {
	uint64_t *until; /* events up to until[i], exclusive, are of a kind: of waiting for even i, of work for odd i; ascending */
	uint32_t n, cap;
	uint32_t at;     /* where poll_work_is looks */
};

/* Reads the rank's times once, where its unsuccessful tests take enough of them to matter. -1 with the reason. */
int poll_work_find(const struct trace *t, uint32_t rank, struct poll_work *out, struct errbuf *err);
/* Are the unsuccessful tests before that event work? Events are asked for in ascending order. */
bool poll_work_is(struct poll_work *w, uint64_t event);
void poll_work_free(struct poll_work *w);

#endif
