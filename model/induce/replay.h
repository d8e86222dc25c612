/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A learnt model on the runs that it was learnt from. Rules can contradict each other in a way that only a whole
 * run shows: for example, a procedure that was taken out of a flow does not know what its caller decides.
 */
#ifndef PRECEDENT_MODEL_INDUCE_REPLAY_H
#define PRECEDENT_MODEL_INDUCE_REPLAY_H

#include "model/induce/journal.h"
#include "model/induce/model.h"

/* Runs, without the run `without` (UINT32_MAX: all), for which the model says other control points. Runs that the model
 * refuses do not count. A model that goes by chance has none. */
uint32_t replay_count(const struct model *m, const struct journal *j, uint32_t without);
/* Marks the last node before each departure as one that does not know where to go: the model refuses such runs. */
int replay_mark(struct model *m, const struct journal *j, uint32_t without, struct errbuf *err);

#endif
