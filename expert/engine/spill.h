/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file for the events that have waited longest. Only events that wait for one other event by a key go to the file. An
 * example are messages whose partner has no trace. Memory keeps only the place in the file and a hash of the key. A
 * lookup of the key brings the oldest event back, before all events that came later. So the findings stay the same.
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
