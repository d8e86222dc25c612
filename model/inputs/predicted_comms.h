/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Communicators of a predicted rank. A call that makes a communicator does not give the members; the first call that
 * uses the communicator does. So a first pass through the rank's calls collects the members. Then the communicators are
 * numbered as the tracer numbers them.
 */
#ifndef PRECEDENT_MODEL_INPUTS_PREDICTED_COMMS_H
#define PRECEDENT_MODEL_INPUTS_PREDICTED_COMMS_H

#include "model/inputs/pattern.h"

#define PREDICTED_COMMS_MAX 65536 /* made by a rank */

struct predicted_comm {
	uint32_t pattern;
	bool known;
	int64_t size, first, stride;
	uint64_t born, died; /* order of such calls; UINT64_MAX: never */
	int64_t index;
};
struct predicted_comms {
	const struct pattern_set *set;
	uint32_t rank, ranks, n, cap, next;
	uint64_t order;
	struct predicted_comm *made;
	uint32_t n_comm;
	struct trace_comm *comm; /* definitions, world and self first; members are malloced */
	bool failed;
};

void predicted_comms_begin(struct predicted_comms *c, const struct pattern_set *set, uint32_t rank, uint32_t ranks);
void predicted_comms_free(struct predicted_comms *c);
/* Let the first pass through a rank's calls tell c of communicators, and the second take their numbers from it. */
void predicted_comms_listen(struct predicted_comms *c, struct pattern_play *p);
void predicted_comms_answer(struct predicted_comms *c, struct pattern_play *p);
/* Between them. -1 with the reason. */
int predicted_comms_number(struct predicted_comms *c, struct errbuf *err);

/* Checks that all members of a communicator have it. First the communicators of every rank are added, then the check
 * runs. */
struct predicted_members {
	struct map seen;
	uint32_t cap;
	struct predicted_group {
		uint32_t n, size, rank;
	} *group;
};
int predicted_members_add(struct predicted_members *m, const struct predicted_comms *c, struct errbuf *err);
int predicted_members_check(const struct predicted_members *m, struct errbuf *err);
void predicted_members_free(struct predicted_members *m);

#endif
