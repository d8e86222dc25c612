/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The proof of an excerpt: its pieces are the chosen segments of the run, call by call. The proof knows nothing of how the
 * excerpt was written.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_EXCERPT_CHECK_H
#define PRECEDENT_SKELGEN_PIECES_EXCERPT_CHECK_H

#include "common/errbuf.h"
#include "skelgen/pieces/cuts.h"

/*
 * On every rank, the excerpt must have these calls in this order, and no others:
 *     MPI_Init and MPI_Finalize of the run;
 *     all calls of each chosen segment, behind the border with the number of the piece.
 *         Each request slot of the run is one slot of the excerpt in the whole piece;
 *     between pieces, a subsequence of the calls that the run makes there, behind the border with the number of pieces.
 * chosen: by segment. Returns 0, or -1 with the rank and the first call that differs.
 */
int excerpt_check(const struct trace *t, const struct cuts *cuts, const bool *chosen, const struct trace *excerpt, struct errbuf *err);

#endif
