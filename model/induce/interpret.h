/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpretation of a model: the calendar of events and the mailbox of Pekunov (cited in model.h). Every run is
 * bounded. A run that does not end is an error; the message says where the run was. Models with chance are run
 * repeatedly, and the times of the largest cluster are averaged.
 */
#ifndef PRECEDENT_MODEL_INDUCE_INTERPRET_H
#define PRECEDENT_MODEL_INDUCE_INTERPRET_H

#include "model/induce/model.h"

#define MODEL_STEPS_DEFAULT 1000000000ull

/* 0 where there is no bound but the default for steps. */
struct model_limits {
	uint64_t steps, events;
};

/* Called for each control point, in the order of passage. var: n_vars values, NaN for variables that are not known. A
 * return value other than 0 ends the run without an error. */
struct model_sink {
	int (*event)(void *arg, uint32_t point, double time_s, const double *var);
	void *arg;
};

/* MODEL_DOUBT + i: doubt i of the node. */
enum model_stop { MODEL_DONE, MODEL_STOPPED, MODEL_STEPS, MODEL_EVENTS, MODEL_LOST, MODEL_MEMORY, MODEL_DOUBT };
struct model_result {
	double time_s;
	double *var;	    /* n_vars, of the caller, or NULL */
	uint64_t *passages; /* n_points, of the caller, or NULL */
	uint64_t steps, events;
	uint32_t stop;	    /* enum model_stop */
	uint32_t graph, node; /* where it stopped, if it did not end */
};

/* One run from the beginning. sink and limits may be NULL. Returns -1 with the reason in three cases: the model refuses
 * the inputs, a node's next arc is not known or in doubt, or a limit is reached. */
int model_interpret(const struct model *m, const double *input, uint64_t seed, const struct model_limits *limits,
		    const struct model_sink *sink, struct model_result *out, struct errbuf *err);

/* Message of a run that stopped before its end; 0 for MODEL_DONE and MODEL_STOPPED. */
int model_stop_error(const struct model *m, const struct model_result *r, struct errbuf *err);

struct model_spread {
	double mean_s, lo_s, hi_s; /* of the largest cluster */
	uint32_t n, n_cluster;	   /* runs, and those in the cluster */
};
/* n runs with seeds seed, seed + 1, ...; a single one where nothing goes by chance. */
int model_interpret_often(const struct model *m, const double *input, uint64_t seed, uint32_t n,
			  const struct model_limits *limits, struct model_spread *out, struct errbuf *err);
/* Largest cluster of n > 0 times, which are sorted by it: cut where a gap is far wider than the mean one. */
void model_cluster(double *time_s, uint32_t n, struct model_spread *out);

#endif
