/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has waited longest, in a file: of events that wait for one other event by a key (messages without a counterpart, of
 * a rank without a trace perhaps) only the place in the file and a hash of the key stay in memory. Who asks for
 * that key gets the oldest of them back, before all that came later, so that what is found is the same.
 */
#ifndef PRECEDENT_EXPERT_SPILL_H
#define PRECEDENT_EXPERT_SPILL_H

#include "expert/engine/engine_impl.h"

struct spill;

/* x leaves the working memory for the file. False: it cannot, and stays. */
bool spill_put(struct engine *e, struct entry *x);
/* The oldest that waits in the pattern for the key, if it is in the file, waits in memory again. -1 without memory. */
int spill_ask(struct engine *e, const struct plan_pattern *p, const struct key *k);
void spill_free(struct spill *s);

#endif
