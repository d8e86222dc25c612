/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The present estimate of a job that waits: the job_submit plugin would find the same one if the job were submitted now. The job's
 * key and the slowest place where it may run decide. Estimates of its kin are left out, since they depend on the array's indexes.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_PRESENT_H
#define PRECEDENT_PREDICTOR_STORE_PRESENT_H

#include "predictor/store/programs.h"

struct store_waiting {
	const char *key;
	uint32_t uid;
	const char *partitions, *features; /* as in the job: several with commas */
	bool array;
};

/*
 * Returns 1 with the estimate. Returns 0 if a place has none, if the program is to be traced again, or if the index of the array
 * matters. Returns -1 on error.
 */
int store_present(struct store *s, const struct precedent_conf *conf, const struct store_waiting *job, int64_t now,
		  struct store_estimate *out, struct errbuf *err);

#endif
