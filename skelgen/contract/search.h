/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exhaustive search for the parked bodies of a contraction, within a budget of steps for the whole stream. */
#ifndef PRECEDENT_SKELGEN_CONTRACT_SEARCH_H
#define PRECEDENT_SKELGEN_CONTRACT_SEARCH_H

#include "skelgen/contract/grammar.h"
#include "skelgen/contract/optimum.h"

struct search {
	bool off;
	uint64_t budget; /* steps left */
	struct optimum optimum;
	uint32_t *out; /* contracted text while it is written */
	uint32_t n_out;
};

/* Prepare for a stream of n events. Nothing to free on failure. */
int search_create(struct search *x, uint64_t n, bool off, struct errbuf *err);
void search_destroy(struct search *x);

/* Is a sequence of this length to be parked? */
bool search_wants(const struct search *x, uint32_t length);

/* Search a parked body after the bodies of the loops in it. Afterwards the body is done, or refused as too
 * expensive, or still parked because an inner body was refused. Returns 0, or -1 with err filled. */
int search_body(struct search *x, struct grammar *g, uint32_t body, struct errbuf *err);

#endif
