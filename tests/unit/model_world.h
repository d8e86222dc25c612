/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models of simulated runs for tests: learnt from traces, written, read again, and asked. */
#ifndef PRECEDENT_TESTS_MODEL_WORLD_H
#define PRECEDENT_TESTS_MODEL_WORLD_H

#include "model/inputs/foresee.h"
#include "tests/unit/synthetic.h"

#define WORLD_RUNS 18
#define WORLD_WHY  200

struct world {
	struct runs runs;
	struct learnt learnt;
	struct run_times times;
	struct model *model;
	struct errbuf err;
};

/* Of n runs with variables K and I. -1 with the reason, else a model that was written and read again. The traces belong
 * to the world, also after -1. */
int world_learn(struct world *w, uint32_t dims, struct trace *const *trace, const double *k, const double *i, uint32_t n);
void world_forget(struct world *w);
/* What the model says of a run beside its trace, which is closed: -1 with the reason when it is refused. */
int world_ask(struct world *w, struct trace *t, uint32_t ranks, double k, double i, struct foresee_difference *out);
/* Every rank makes the calls that were predicted, with every value. */
void world_exact(struct world *w, struct trace *t, uint32_t ranks, double k, double i);
/* Seconds that a run takes, by the model; on so many processors, 0: as many as the runs had. why[WORLD_WHY], or NULL: what is
 * said of ranks that are more than these, "" for nothing. */
double world_seconds(struct world *w, uint32_t ranks, uint32_t processors, double k, double i, char *why);
/* Every bit of every event of every rank is the same, interpreted and compiled. */
void world_compiled(struct world *w, uint32_t ranks, double k, double i);
/* It is refused, with these words. */
void world_refused(struct world *w, struct trace *t, uint32_t ranks, double k, double i, const char *words);

#endif
