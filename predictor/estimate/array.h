/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job array is one submission of many indexes, with one limit: what past tasks say of it. Where how long they take does not
 * hang on the index they are runs of one program; where it does, the limit has to hold for the longest, whose own runs are
 * the history, and nothing is said as long as that has not run often enough. Pure.
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
