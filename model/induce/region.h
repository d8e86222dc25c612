/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a flow that may be procedures. A region is entered at one node from several nodes, and control returns from it to
 * several nodes. Without early returns only the exit node has arcs out of the region. With early returns other nodes have
 * such arcs too.
 */
#ifndef PRECEDENT_MODEL_INDUCE_REGION_H
#define PRECEDENT_MODEL_INDUCE_REGION_H

#include <stdbool.h>

#include "model/induce/topology.h"

struct region {
	uint32_t entry, n;
	uint32_t most;	/* nodes */
	uint32_t *node; /* entry first */
	uint8_t *has;	/* by node of the flow */
};

int region_create(struct region *r, const struct topology *t);
void region_free(struct region *r);
void region_copy(struct region *to, const struct region *from, const struct topology *t);

/* Room for a search in one flow. */
struct region_search {
	uint32_t *first, *pred; /* nodes with arcs to v: pred[first[v]] .. pred[first[v + 1] - 1] */
	uint8_t *around;	/* by node: reached from the beginning without the entry */
	size_t work;		/* arcs that may still be looked at for early returns */
	/* of one pair of an entry and an exit */
	uint32_t *stack, *list, *passed, n_inner, pass;
	uint8_t *inner, *place; /* by node */
	bool end;		/* a call returns to the end of the program */
};
/* work: arcs that may be looked at for early returns. When they are used up, no more early returns are found. */
int region_search_create(struct region_search *s, const struct topology *t, size_t work);
void region_search_free(struct region_search *s);

/* Prepares for the regions of an entry; false if it has none. */
bool region_may_enter(const struct topology *t, struct region_search *s, uint32_t entry);
/* Fills the region of r->entry that is left from the exit alone. False if there is none with at most r->most nodes. */
bool region_grow(const struct topology *t, struct region *r, uint32_t exit, const struct region_search *s);
/* The same for a region that is left from the exit and from other nodes. */
bool region_grow_early(const struct topology *t, struct region *r, uint32_t exit, struct region_search *s);

#endif
