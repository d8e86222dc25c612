/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many nodes are planned to be free, from now on for ever: a step function, of what runs until its limit and of what
 * has been promised to waiting jobs.
 */
#ifndef PRECEDENT_PREDICTOR_REPLAY_PROFILE_H
#define PRECEDENT_PREDICTOR_REPLAY_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

struct profile_step {
	int64_t from_s; /* to the next step's; the last one lasts for ever */
	int64_t free;
};

struct profile {
	struct profile_step *steps; /* owned; ascending, no two neighbours alike */
	size_t n, room;
};

/* So many nodes free from now on; the memory is kept for the next one. */
int profile_reset(struct profile *p, int64_t now, int64_t nodes, struct errbuf *err);
void profile_free(struct profile *p);
/* Nodes more (or less) from from_s to before to_s. */
int profile_add(struct profile *p, int64_t from_s, int64_t to_s, int64_t nodes, struct errbuf *err);
/* Nodes more from from_s on for ever; from_s is not before the last step. */
int profile_append(struct profile *p, int64_t from_s, int64_t nodes, struct errbuf *err);
/* Forget what was before now. */
void profile_trim(struct profile *p, int64_t now);

/* The first moment from now on from which so many nodes are free for so long; INT64_MAX when they never are. */
int64_t profile_find(const struct profile *p, int64_t now, int64_t length_s, int64_t nodes);

#endif
