/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Simpler predictors for the same runs, from the data that were known at each submission. One predicts the mean of the last two
 * runs of the same user (Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions rather than user
 * runtime estimates", IEEE TPDS 18(6), 2007). Another predicts the mean of the last two runs of the same job. The request and
 * the perfect prediction need no computing.
 */
#ifndef PRECEDENT_PREDICTOR_ACCURACY_BASELINE_H
#define PRECEDENT_PREDICTOR_ACCURACY_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

struct baseline_run {
	uint64_t key[2]; /* who the job is; 0, 0: nobody knows */
	uint32_t jobid;	 /* settles which of two runs that ended in the same second was the later one */
	uint32_t uid;
	int64_t submit_time, end_time; /* end 0: not ended, teaches nobody */
	double elapsed_s;
};

struct baseline {
	double user_s; /* mean of the user's last two runs that had ended before; of one where there was but one; 0: none */
	double key_s;  /* the same of the runs of the same key */
};

/* out[i] for each run, in the order of runs. A run that ended in the second of the submission had not ended before it.
 * O(n log n). -1: no memory. */
int baseline_compute(const struct baseline_run *runs, size_t n, struct baseline *out, struct errbuf *errp);

/* A key of 32 hex digits as two numbers; 0, 0 for anything else. */
void baseline_key(const char *text, uint64_t key[2]);

#endif
