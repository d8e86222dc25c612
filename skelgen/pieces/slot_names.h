/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of request slots in an excerpt. Requests that a piece leaves open are completed in the next piece. The next piece may
 * have the same requests in other slots: a master that takes any of its receives posts that one again. In the excerpt, each
 * open request keeps the slot in which it was started.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_SLOT_NAMES_H
#define PRECEDENT_SKELGEN_PIECES_SLOT_NAMES_H

#include "common/errbuf.h"
#include "skelgen/pieces/call_roles.h"
#include "skelgen/pieces/cuts.h"
#include "trace/read/reader.h"

struct slot_names {
	uint32_t n_slot, cap;    /* of the rank */
	uint32_t *first;         /* by cut: index of its first open request in `open` */
	uint32_t *open;          /* slots of the open requests; in the same order at cuts of one state */
	uint32_t *name, *before; /* by slot: of the piece at hand, and of the piece before */
	bool *taken;             /* by name */
	bool same;               /* each slot is its own name */
};

/* Names of the rank's slots in the excerpt's first piece. Returns 0, or -1 without memory. */
int slot_names_begin(struct slot_names *s, const struct trace_rank *k, const struct call_roles *roles, const struct cuts *cuts, uint32_t rank,
		     struct errbuf *err);
/* The piece of segment `to` follows that of segment `from`. */
void slot_names_pass(struct slot_names *s, uint32_t from, uint32_t to);
/* Put names for the slots among the values of a call. value: of the symbol, changed in place. Returns whether there are slots. */
bool slot_names_put(const struct slot_names *s, const struct trace_defs *d, uint32_t sym, int64_t *value);
void slot_names_free(struct slot_names *s);

/* Are the values of this parameter request slots? Messages of MPI_Mprobe have slots of their own. */
bool slot_names_has(const struct sig_walk *w);

#endif
