/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds unsuccessful tests that are part of a program's work. Most unsuccessful tests wait for a message. A
 * repetition of the run waits anew, so these tests are no work. But a program may also poll once after each piece
 * of its work and go on in any case. Then the number of tests depends on the work, not on the messages. Over a
 * network each test may take longer than its piece of work. An example is RandomAccess of HPCC: 17 million tests
 * take four fifths of its time.
 *
 * Polling of the second kind ends without a message: the next call is no successful test or completes a small send.
 * Unsuccessful tests before a successful one may be of either kind. All unsuccessful tests between two collective
 * calls are taken for one kind, by their total times.
 */
#ifndef PRECEDENT_TRACE_POLL_WORK_H
#define PRECEDENT_TRACE_POLL_WORK_H

#include <stdbool.h>

#include "trace/read/reader.h"

/* The tests of one rank. All 0: no tests are work. */
struct poll_work {
	/* ascending; events before until[i] (and not before until[i - 1]) wait for even i and work for odd i */
	uint64_t *until;
	uint32_t n, cap;
	uint32_t at;     /* search position of poll_work_is */
};

/* Classify the unsuccessful tests of a rank in one pass over its times. Ranks with few unsuccessful tests are not
 * read. Returns 0 on success, -1 on error (err says why). */
int poll_work_find(const struct trace *t, uint32_t rank, struct poll_work *out, struct errbuf *err);
/* Do the unsuccessful tests before this event count as work? Calls must come in ascending order of events. */
bool poll_work_is(struct poll_work *w, uint64_t event);
void poll_work_free(struct poll_work *w);

#endif
