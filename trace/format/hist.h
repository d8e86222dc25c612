/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of times that were not kept one by one. Each symbol has a histogram of gaps and one of durations, in
 * ticks. A bin is a quarter of an octave wide; sums are exact. A rank has histograms for HIST_SYMBOLS symbols.
 * Further symbols share one histogram per function.
 */
#ifndef PRECEDENT_TRACE_HIST_H
#define PRECEDENT_TRACE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/sigtable.h"

#define HIST_SYMBOLS 1024u
#define HIST_OCTAVES 48
#define HIST_BINS    (1 + 4 * HIST_OCTAVES)

struct hist {
	uint64_t n;
	double sum, sum_squares;     /* ticks */
	uint64_t bin[HIST_BINS];
};

struct hist_entry {
	uint32_t symbol;  /* of a shared entry: one of its symbols */
	bool shared;
	struct hist gap, duration;
};

struct hist_table {
	struct hist_entry *entry;
	uint32_t n, cap, n_own;
	uint32_t *of_symbol;  /* entry + 1 */
	uint32_t cap_symbol;
	uint32_t *of_fn;      /* entry + 1, shared by further symbols of the function */
	uint32_t n_fn;
	uint64_t events;      /* events that were added */
};

/* Bin 0 holds 0. A power of two has four bins. The last bin also holds longer times. */
unsigned hist_bin(uint64_t ticks);
/* The interval [lo, hi) of a bin. */
void hist_bounds(unsigned bin, double *lo, double *hi);

double hist_mean(const struct hist *h);
double hist_deviation(const struct hist *h);
/* q: 0..1; interpolated inside the bin. */
double hist_quantile(const struct hist *h, double q);
/* Add h to `into`. */
void hist_join(struct hist *into, const struct hist *h);

/* n_fn: number of functions. Memory is allocated at the first event. */
void hist_table_init(struct hist_table *t, uint32_t n_fn);
void hist_table_free(struct hist_table *t);
/* Add an event's times. Returns 0 on success, -1 if memory runs out. */
int hist_table_add(struct hist_table *t, uint32_t symbol, uint16_t fn, uint64_t gap, uint64_t duration);
/* Replace the entries of symbols by one entry per function. Returns 0 on success; -1 if memory runs out, with *t
 * unchanged. */
int hist_table_share(struct hist_table *t, const struct sigtable *sigs);
/* Encoding: uv number of entries. An entry has uv symbol * 2 + shared, then the gap histogram and the duration
 * histogram. A histogram has uv n, f64 sum, f64 sum of squares, uv number of bins, and uv bin and uv count for
 * each bin. */
void hist_table_encode(const struct hist_table *t, struct buf *out);
/* Decode. Symbols must be below sigs->n. Returns 0 on success; -1 on bad input, with *t freed. */
int hist_table_decode(struct rdbuf *in, const struct sigtable *sigs, uint32_t n_fn, struct hist_table *t,
		      struct errbuf *err);
/* The symbol's own or shared histogram; NULL if all its times were kept. */
const struct hist_entry *hist_table_find(const struct hist_table *t, uint32_t symbol, uint16_t fn);

#endif
