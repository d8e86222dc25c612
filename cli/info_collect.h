/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over a trace: calls and seconds per class, function, call site and rank. */
#ifndef PRECEDENT_CLI_INFO_COLLECT_H
#define PRECEDENT_CLI_INFO_COLLECT_H

#include <stdint.h>

#include "trace/functions.h"
#include "trace/reader.h"

struct info_sum {
	uint64_t calls;
	double seconds;
};

struct info_site {
	uint64_t hash;   /* of the site, over all ranks */
	uint16_t fn;
	uint32_t rank, site; /* one place where it is defined */
	struct info_sum sum;
};

struct info_rank {
	double wall, compute, mpi, overhead; /* seconds */
	uint64_t events, polls;
};

struct info {
	uint32_t n_ranks, n_present;
	uint64_t events, polls, bytes_sent, messages, untimed;
	double wall;    /* longest rank */
	double compute; /* sums over ranks */
	struct info_sum cls[TC_N];
	struct info_sum fn[TRACE_FN_N];
	struct info_site *site;
	uint32_t n_site;
	struct info_rank *rank;
	uint64_t size_count[32]; /* sends by floor(log2(bytes)); [0] also holds empty ones */
};

int info_collect(const struct trace *t, struct info *out, struct errbuf *err);
void info_free(struct info *i);
/* Bytes that a send-like call hands over (0 for anything else). */
uint64_t info_sent_bytes(const struct trace_defs *d, uint32_t sym);

#endif
