/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a flow that may be procedures. A region is entered at one node from several nodes, and left to several nodes.
 * It is left from one node, its exit, or with early returns from several nodes.
 */
#ifndef PRECEDENT_MODEL_INDUCE_REGION_H
#define PRECEDENT_MODEL_INDUCE_REGION_H

#include <stdbool.h>

#include "model/induce/topology.h"

struct region {
	uint32_t entry, n;
	uint32_t *node; /* entry first */
	uint8_t *has;	/* by node of the flow */
};

int region_create(struct region *r, const struct topology *t);
void region_free(struct region *r);
void region_copy(struct region *to, const struct region *from, const struct topology *t);

/* Room for the search of early returns. */
struct region_search {
	uint32_t *stack;
	uint8_t *inner, *place, *passed; /* by node */
	bool end;			 /* a call returns to the end of the program */
};
int region_search_create(struct region_search *s, const struct topology *t);
void region_search_free(struct region_search *s);

/* Fills the region of r->entry that is left from the exit alone. False if there is none. */
bool region_grow(const struct topology *t, struct region *r, uint32_t exit);
/* The same for a region that is left from the exit and from other nodes. */
bool region_grow_early(const struct topology *t, struct region *r, uint32_t exit, struct region_search *s);

#endif
