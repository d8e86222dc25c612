/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept calls: an excerpt makes them although their segment is left out. They make communicators, windows, files and
 * persistent requests that a later piece may use, or free such objects. An epoch of MPI_Win_lock_all is such an
 * object, too.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_KEPT_H
#define PRECEDENT_SKELGEN_PIECES_KEPT_H

#include "common/errbuf.h"
#include "skelgen/pieces/call_roles.h"
#include "skelgen/pieces/cuts.h"

struct kept {
	uint64_t *event; /* rising */
	uint64_t n, cap;
};

/* roles: by rank. chosen: by segment. Returns the kept calls by rank, or NULL without memory. */
struct kept *kept_find(const struct trace *t, const struct call_roles *roles, const struct cuts *cuts, const bool *chosen,
		       struct errbuf *err);
void kept_free(struct kept *k, uint32_t n_ranks);

#endif
