/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is submitted: jobs with their users, programs and inputs, from a model or from a trace in Standard Workload Format.
 *
 * The model: sizes, run times and arrivals as in Lublin and Feitelson, "The workload on parallel supercomputers: modeling
 * the characteristics of rigid jobs" (JPDC 63, 2003), with its parameters for batch jobs; requests as users make them after
 * Mu'alem and Feitelson (IEEE TPDS 12, 2001: the share of the request that is used is about uniform) and Tsafrir, Etsion
 * and Feitelson (JSSPP 2005: some twenty round values make nearly all requests, the longest permitted one is among the
 * most popular); and repetition, without which nothing could be learned (workload.c says how).
 */
#ifndef PRECEDENT_TESTS_BENCH_BACKFILL_WORKLOAD_H
#define PRECEDENT_TESTS_BENCH_BACKFILL_WORKLOAD_H

#include "predictor/replay/sim.h"
#include "predictor/replay/swf.h"

/* Of a job, beside struct sim_job. */
struct work_kind {
	uint32_t user;
	uint32_t program; /* of this user, size and request: a family */
	uint32_t input;	  /* a number of its own over all programs: an exact key */
	uint32_t array;	  /* number of the array's first job, from 1; 0: of no array */
	uint32_t task;	  /* its index */
};

struct workload {
	struct sim_job *jobs; /* owned, by submission */
	struct work_kind *kinds; /* owned */
	size_t n;
	uint32_t nodes;
	uint32_t users, programs, inputs; /* how many there are */
	double load;			  /* offered: node seconds by nodes and by the time over which they were submitted */
};

struct workload_conf {
	uint64_t seed;
	size_t jobs;
	uint32_t nodes;
	double load;
	double new_program; /* share of the jobs whose program has not run before */
	double same_input;  /* share of the repetitions that have the same input as well */
	double input_sigma; /* of the logarithm of the run time over the inputs of a program */
	double noise_sigma; /* the same over runs of the same input */
	double ask_most;    /* share of the programs for which the longest permitted time is asked */
	uint32_t window;    /* how many of the last jobs a repetition repeats one of */
	double arrays;	    /* share of the programs that are submitted as arrays */
};
extern const struct workload_conf workload_defaults;

int workload_generate(const struct workload_conf *conf, struct workload *out, struct errbuf *err);
/* From a trace: jobs without size or run time are left out, nodes 0: as the header says; one processor is one node. The
 * load is as it was. */
int workload_from_swf(const struct swf *swf, uint32_t nodes, struct workload *out, struct errbuf *err);
int workload_write_swf(const struct workload *w, FILE *f);
int workload_write_sacct(const struct workload *w, FILE *f);
void workload_free(struct workload *w);

/* The least round value, in minutes, that is not below; the longest permitted one when none is. */
uint32_t workload_round_request(double minutes);

/* Parts of the model, for tests. */
struct rng;
uint32_t lublin_nodes(struct rng *r, uint32_t machine);
int64_t lublin_run_s(struct rng *r, uint32_t nodes);
/* Arrival times: gaps in seconds of rush hour, stretched by `scale`, become times of the day by the daily cycle. */
void lublin_gaps(struct rng *r, double *gaps_s, size_t n);
void lublin_arrivals(const double *gaps_s, size_t n, double scale, int64_t *out_s);

#endif
