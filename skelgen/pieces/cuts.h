/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Consistent cuts of a run. A cut is one place in the calls of each rank. No message, request or collective begins before
 * the cut and ends after it. The calls between two cuts can run alone.
 * If call_roles.open_requests is set, sends and receives may be open at a cut. At all cuts the same ones are open then. The
 * receives get messages in the same order.
 * If call_roles.under_way is set, messages may be under way at a cut: on each channel equally many at all cuts (under_way.h).
 * If no window is locked exclusively, a rank waits for nobody in MPI_Win_lock_all. Then windows may be locked so at a
 * cut, others at each cut (kept.h).
 *
 * A cut begins as a moment. The calls that the moment parts are then moved in front of the cut, until none is parted.
 * Source: Chandy and Lamport, "Distributed snapshots", ACM TOCS 3(1), 1985, for the condition.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_CUTS_H
#define PRECEDENT_SKELGEN_PIECES_CUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/pieces/call_roles.h"
#include "trace/read/reader.h"

struct cuts {
	uint32_t n, n_ranks;
	uint64_t *at; /* [cut * n_ranks + rank]: the rank's first call behind the cut; does not fall with the cut */
	uint64_t *moment_ns; /* by cut: the moment that it began as; does not fall */
	uint64_t *state;     /* by cut: of open requests and epochs (of windows, split file accesses); 0: none */
	bool under_way; /* messages are under way at all cuts */
	bool longer;  /* behind a cut, a receive may get a longer message than in the run */
};

/* Cuts at or soon after the given moments (ns on the common time line, rising). There may be fewer than moments, or none.
 * All cuts have the same open epochs and requests, and equally many messages under way. roles: by rank.
 * Returns 0, or -1 with the reason. */
int cuts_find(const struct trace *t, const struct call_roles *roles, const uint64_t *moment_ns, uint32_t n, struct cuts *out,
	      struct errbuf *err);
/* Puts cuts that another call found into stretches of more than long_ns without a cut. A run may have requests open
 * in one part and none in another. end_ns: of the run. No messages may be under way at the cuts. Returns 0, or -1
 * without memory. */
int cuts_fill(struct cuts *c, const struct cuts *others, double long_ns, double end_ns, struct errbuf *err);
/* Must the segment run? It opens or closes requests or epochs that are open at a cut, or has the first or the last
 * messages under way. */
bool cuts_must_run(const struct cuts *c, uint32_t segment);
void cuts_free(struct cuts *c);
/* Moments at which a run of `n_ranks`, 1 or more, can be cut. A cut of many ranks takes much memory. */
uint32_t cuts_most(uint32_t n_ranks);

/* Number of cuts at or before the rank's call: the segment that the call is in. */
uint32_t cuts_segment(const struct cuts *c, uint32_t rank, uint64_t event);

#endif
