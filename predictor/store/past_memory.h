/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs and drifts of a store in memory, ordered as store_past_read asks for them. Each answer is the answer of SQLite to the same
 * question, without a statement for each run. The store tells this copy of each run and each drift that it writes. What drops rows
 * or undoes a transaction drops the whole copy; SQLite answers from then on.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_PAST_MEMORY_H
#define PRECEDENT_PREDICTOR_STORE_PAST_MEMORY_H

#include "predictor/store/past.h"
#include "predictor/store/runs.h"

struct past_memory;
struct past_memory *past_memory_create(void); /* NULL if memory runs out */
void past_memory_destroy(struct past_memory *m); /* NULL is legal */

/* Return 0, or -1 if memory runs out: the copy is then no longer complete. */
int past_memory_run(struct past_memory *m, const struct store_run *r);
int past_memory_drift(struct past_memory *m, const char *key, const char *candidate, const struct drift *d);

/* As store_past_read; f has valid keys. */
int past_memory_read(const struct past_memory *m, const struct store_past_filter *f, struct store_past *out, size_t max);

#endif
