/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stopping a program at a known place: what the tracer is told (the stop file) and what it tells (the marks).
 * A place is a number of events of each rank; what led there is known by a hash over the calls, so that a run which is
 * not the traced one is noticed. Both files are text, and read strictly:
 *
 *	precedent-stop 1                          precedent-marks 3
 *	ranks N marks M patience S                ranks N marks M
 *	rank R EVENT:HASH ... (M of them)         rank R BEFORE_NS INIT_NS T_NS:GAP_NS ... (M of them)
 *	end                                       end
 *
 * HASH is of all events before EVENT. The last mark is where the program stops. T_NS counts from the return of MPI_Init,
 * without what the recorder itself took, as it measured that there; GAP_NS is what of it lay between calls.
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
#define STOP_REFUSED_NAME "refused" /* why there are no marks: a line */

struct stop_rank {
	uint64_t event[STOP_MARKS_MAX], hash[STOP_MARKS_MAX];
};

struct stop_plan {
	uint32_t n_ranks, n_mark;
	uint32_t patience_s;    /* how long ranks wait for each other at the last mark */
	struct stop_rank *rank; /* of all, or of one when read for one */
};

struct marks_rank {
	uint64_t before_ns, init_ns; /* process start to MPI_Init; in it */
	uint64_t t_ns[STOP_MARKS_MAX], gap_ns[STOP_MARKS_MAX];
};

struct stop_marks {
	uint32_t n_ranks, n_mark;
	struct marks_rank *rank;
};

/* What is hashed of a call: function, call site, parameters that do not depend on who came first. */
uint64_t stop_key(const struct trace_defs *d, uint32_t sym);
/* Hash of a sequence, one more call. */
static inline uint64_t stop_hash_step(uint64_t h, uint64_t key)
{
	h = (h ^ key) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

void stop_plan_format(const struct stop_plan *p, struct buf *out);
/* only: the rank whose line is wanted, all others are passed over (plan->rank has one entry); UINT32_MAX: all. */
int stop_plan_parse(const char *text, size_t len, uint32_t only, struct stop_plan *out, struct errbuf *err);
void stop_plan_free(struct stop_plan *p);

void stop_marks_format(const struct stop_marks *m, struct buf *out);
int stop_marks_parse(const char *text, size_t len, struct stop_marks *out, struct errbuf *err);
void stop_marks_free(struct stop_marks *m);

#endif
