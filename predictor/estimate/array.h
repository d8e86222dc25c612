/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Past tasks of a job array, which is one submission of many indexes with one limit. If run times do not depend on the index,
 * all tasks are runs of one program. If they do, the limit must hold for the longest index, and only its runs are the history.
 * Until that index has run often enough there is no prediction. Pure.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_ARRAY_H
#define PRECEDENT_PREDICTOR_ESTIMATE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define ARRAY_LOOK	 256  /* the latest runs that are looked at */
#define ARRAY_RUNS_MIN	 3    /* whole ones before anything is said */
#define ARRAY_SPREAD_MAX 1.25 /* the slowest index takes at most so many times as long as the quickest: they are alike */
#define ARRAY_NO_INDEX	 UINT32_MAX

struct array_run {
	uint32_t index; /* ARRAY_NO_INDEX: the same program, not of an array */
	double actual_s;
	bool at_least; /* ended before its end */
};

enum array_word {
	ARRAY_NONE,    /* no array */
	ARRAY_ALIKE,
	ARRAY_LONGEST, /* the index matters */
	ARRAY_UNKNOWN,
};

struct array_view {
	enum array_word word;
	uint32_t longest;      /* of ARRAY_LONGEST */
	double least_s, most_s; /* means of the quickest and the slowest index; 0: none has run */
	struct errbuf why;     /* of ARRAY_UNKNOWN */
};

/* At most ARRAY_LOOK runs, the latest first. */
void array_judge(const struct array_run *runs, size_t n, struct array_view *out);

#endif
