/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rules found, gathered: problems of one name together, with the time they took, and the calls they are made of.
 * An observation is a problem when it has a string `name` and an int or time `duration` or `impact_time`; its texts are
 * those of the longest one.
 */
#ifndef PRECEDENT_EXPERT_REPORT_H
#define PRECEDENT_EXPERT_REPORT_H

#include "expert/engine.h"
#include "trace/reader.h"

/* A function and where it was called from. */
struct report_place {
	uint32_t function;      /* number of a string of the engine */
	uint64_t site_hash;     /* the same for all ranks */
	uint32_t rank, site;    /* one of them, and the site in its definitions */
	uint64_t n, duration_ns;
};

struct report_problem {
	uint32_t name;          /* number of a string of the engine */
	uint32_t id, kind;      /* the same; 0: not given */
	char *description, *advice; /* of the longest */
	uint64_t n, untimed;    /* found; of them without known times, which are not in the duration */
	uint64_t duration_ns, longest_ns;
	struct report_place *place;
	uint32_t n_place, cap_place;
};

struct report {
	const struct trace *t;  /* or NULL: then there are no places */
	struct report_problem *problem;
	uint32_t n_problem, cap_problem;
	uint64_t other;         /* observations that are no problems */
};

/* For struct engine_options: arg is a struct report. */
int report_found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err);
/* Longest first, places too. */
void report_sort(struct report *r);
void report_free(struct report *r);

#endif
