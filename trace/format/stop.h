/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stopping a program at a known place. The stop file tells the tracer the places; the marks file holds the times at
 * which the ranks passed them. A place is a number of events of each rank. A hash over the calls before a place shows
 * whether the run follows the traced one. Both files are text, and read strictly:
 *
 *	precedent-stop 1                          precedent-marks 3
 *	ranks N marks M patience S                ranks N marks M
 *	rank R EVENT:HASH ... (M of them)         rank R BEFORE_NS INIT_NS T_NS:GAP_NS ... (M of them)
 *	end                                       end
 *
 * HASH covers all events before EVENT. The program stops at the last mark. T_NS counts from the return of MPI_Init,
 * without the recorder's own time, which is measured in the run. GAP_NS is the part of T_NS between calls.
 */
#ifndef PRECEDENT_TRACE_STOP_H
#define PRECEDENT_TRACE_STOP_H

#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/defs.h"

#define STOP_MARKS_MAX    16
#define STOP_FILE_NAME    "stop"    /* in the directory that PRECEDENT_STOP_AT names */
#define STOP_MARKS_NAME   "marks"
#define STOP_REFUSED_NAME "refused" /* one line: why there are no marks */

struct stop_rank {
	uint64_t event[STOP_MARKS_MAX], hash[STOP_MARKS_MAX];
};

struct stop_plan {
	uint32_t n_ranks, n_mark;
	uint32_t patience_s;    /* how long ranks wait for each other at the last mark */
	struct stop_rank *rank; /* all ranks, or one if only one was read */
};

struct marks_rank {
	uint64_t before_ns, init_ns; /* from process start to MPI_Init; in MPI_Init */
	uint64_t t_ns[STOP_MARKS_MAX], gap_ns[STOP_MARKS_MAX];
};

struct stop_marks {
	uint32_t n_ranks, n_mark;
	struct marks_rank *rank;
};

/* Hash of a call: function, call site and the parameters that do not depend on the order of arrival. */
uint64_t stop_key(const struct trace_defs *d, uint32_t sym);
/* Extend the hash of a sequence by one call. */
static inline uint64_t stop_hash_step(uint64_t h, uint64_t key)
{
	h = (h ^ key) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

void stop_plan_format(const struct stop_plan *p, struct buf *out);
/* only: the rank whose line is read; plan->rank then has one entry. UINT32_MAX: read all ranks. */
int stop_plan_parse(const char *text, size_t len, uint32_t only, struct stop_plan *out, struct errbuf *err);
void stop_plan_free(struct stop_plan *p);

void stop_marks_format(const struct stop_marks *m, struct buf *out);
int stop_marks_parse(const char *text, size_t len, struct stop_marks *out, struct errbuf *err);
void stop_marks_free(struct stop_marks *m);

#endif
