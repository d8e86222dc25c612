/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over a trace: calls and seconds per class, function, call site and rank; messages by size and pair. */
#ifndef PRECEDENT_CLI_INFO_COLLECT_H
#define PRECEDENT_CLI_INFO_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/trace/info_pairs.h"
#include "skelgen/merge/loops.h"
#include "trace/functions.h"
#include "trace/read/reader.h"

struct info_sum {
	uint64_t calls;
	double seconds;
};

struct info_site {
	uint64_t hash;   /* of the site, over all ranks */
	uint16_t fn;
	uint32_t rank, site; /* one place where it is defined */
	struct info_sum sum;
	uint64_t bytes;  /* of count and datatype of each call, summed up */
};

struct info_rank {
	bool present;
	double wall, compute, mpi, overhead; /* seconds */
	double paused;                       /* part of overhead: rare long pauses of the recorder */
	double polling;                      /* in unsuccessful tests: part of neither of the above */
	double state[TSTATE_N];              /* seconds */
	uint64_t events, untimed, polls;
};

struct info {
	uint32_t n_ranks, n_present;
	uint64_t events, polls, bytes_sent, messages, untimed;
	uint64_t dropped; /* events whose times are in histograms only */
	double wall;    /* longest rank */
	double compute, mpi, polling; /* sums over ranks */
	double overhead, paused;
	struct info_sum cls[TC_N];
	struct info_sum fn[TRACE_FN_N];
	struct info_site *site; /* the longest first */
	uint32_t n_site;
	struct info_rank *rank;
	uint64_t size_count[64]; /* messages by floor(log2(bytes)); [0] also holds empty ones */
	struct info_pairs pairs; /* most bytes first */
	struct loops loops;      /* of the rank that computes longest */
};

extern const char *const info_class_name[TC_N];

int info_collect(const struct trace *t, struct info *out, struct errbuf *err);
void info_free(struct info *i);
/* Bytes that count and datatype of a call stand for, or all its counts. */
uint64_t info_call_bytes(const struct trace_defs *d, uint32_t sym);

#endif
