/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates of one program, from all evidence in the store: the probes' records, the traced job's time, the model over inputs, and
 * the times of past runs.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_PROGRAM_ESTIMATE_H
#define PRECEDENT_PREDICTOR_LEARN_PROGRAM_ESTIMATE_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/learn/past_runs.h"
#include "predictor/learn/scaling_runs.h"
#include "predictor/store/programs.h"

struct program_estimates {
	unsigned n;	       /* candidates that have an estimate now */
	double source_mpi_s;   /* traced seconds in MPI programs, all traces */
	struct errbuf refused; /* the last refusal; "": none */
};

/* A run that has just ended: its candidate, and past runs that its learners have read. */
struct program_ended {
	const char *candidate;
	struct past_runs *runs;		    /* NULL: not read; used if it is of the program's user and family */
	const struct scaling_runs *members; /* of the program's kin on the candidate, since the last drift; NULL: not read */
};

/* Computes and stores the program's estimates. also: a candidate that needs no probe; NULL: none. */
int program_estimate(const struct daemon_env *env, const struct store_program *p, const struct program_ended *also, int64_t now,
		     struct program_estimates *out, struct errbuf *errp);

#endif
