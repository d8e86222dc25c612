/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of times that were not kept one by one: per symbol the gaps before its calls and their durations, in
 * ticks, in bins of a quarter of an octave, with sums that are exact. A rank has HIST_SYMBOLS histograms of its own;
 * further symbols share one with all others of their function.
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
	uint32_t symbol;  /* shared: one of those that share it */
	bool shared;
	struct hist gap, duration;
};

struct hist_table {
	struct hist_entry *entry;
	uint32_t n, cap, n_own;
	uint32_t *of_symbol;  /* entry + 1 */
	uint32_t cap_symbol;
	uint32_t *of_fn;      /* entry + 1, of the symbols that share */
	uint32_t n_fn;
	uint64_t events;      /* added */
};

/* Bin 0 holds 0; 4 bins for each power of two; the last one holds what is longer. */
unsigned hist_bin(uint64_t ticks);
/* [lo, hi) of a bin. */
void hist_bounds(unsigned bin, double *lo, double *hi);

double hist_mean(const struct hist *h);
double hist_deviation(const struct hist *h);
/* q in 0..1, by interpolation inside the bin. */
double hist_quantile(const struct hist *h, double q);
/* into += h */
void hist_join(struct hist *into, const struct hist *h);

/* n_fn: number of functions. No memory is taken before the first event. */
void hist_table_init(struct hist_table *t, uint32_t n_fn);
void hist_table_free(struct hist_table *t);
/* -1 without memory. */
int hist_table_add(struct hist_table *t, uint32_t symbol, uint16_t fn, uint64_t gap, uint64_t duration);
/* One entry for each function instead of one for each symbol. -1 without memory: as it was. */
int hist_table_share(struct hist_table *t, const struct sigtable *sigs);
/* uv entries; each: uv symbol * 2 + shared, then for gap and duration uv n, f64 sum, f64 sum of squares, uv bins,
 * each uv bin, uv count. */
void hist_table_encode(const struct hist_table *t, struct buf *out);
/* Symbols must be below sigs->n. -1 on bad input, t freed. */
int hist_table_decode(struct rdbuf *in, const struct sigtable *sigs, uint32_t n_fn, struct hist_table *t,
		      struct errbuf *err);
/* The symbol's own histogram or the one that it shares; NULL when all its times are known. */
const struct hist_entry *hist_table_find(const struct hist_table *t, uint32_t symbol, uint16_t fn);

#endif
