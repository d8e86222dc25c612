/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs, drifts and groups of similar runs of a store in memory. Each answer is the answer of SQLite to the same question, without
 * a statement. Groups are here alone. SQLite has runs and drifts too, for other questions. No row is ever deleted.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_PAST_MEMORY_H
#define PRECEDENT_PREDICTOR_STORE_PAST_MEMORY_H

#include "predictor/estimate/ladder.h"
#include "predictor/store/past.h"
#include "predictor/store/runs.h"

struct past_memory;
struct past_memory *past_memory_create(void); /* NULL if memory runs out */
void past_memory_destroy(struct past_memory *m); /* NULL is legal */

/* Return 0, or -1 if memory runs out. */
int past_memory_run(struct past_memory *m, const struct store_run *r);
int past_memory_drift(struct past_memory *m, const char *key, const char *candidate, const struct drift *d);
int past_memory_group(struct past_memory *m, uint64_t id, const struct ladder_group *g);

/* As store_drift_get: *out stays as it is where there is none. */
int past_memory_drift_of(const struct past_memory *m, const char *key, const char *candidate, struct drift *out);
/* NULL: there is none. Valid until the next row is written. */
const struct ladder_group *past_memory_group_of(const struct past_memory *m, uint64_t id);
/* As store_past_read; f has valid keys. */
int past_memory_read(const struct past_memory *m, const struct store_past_filter *f, struct store_past *out, size_t max);

#endif
