/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds skel.c.data, whose layout is described in runtime/data.h. */
#ifndef PRECEDENT_SKELGEN_EMIT_DATA_H
#define PRECEDENT_SKELGEN_EMIT_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skelgen/profile/compute_profile.h"
#include "skelgen/runtime/sampled.h"

struct emit_data;

struct emit_data *emit_data_create(uint32_t n_ranks);
void emit_data_destroy(struct emit_data *d);

/* Number of a new gap or varying call. */
uint32_t emit_data_new_gap(struct emit_data *d);
uint32_t emit_data_new_vary(struct emit_data *d);
/* Number of this array; the same for equal ones. */
uint32_t emit_data_array(struct emit_data *d, const int64_t *v, uint32_t n);

/* Gaps of one rank: n_slot values of each of n_stratum strata, in the order in which they are to be used. */
struct emit_gap_values {
	uint64_t n_occ;
	uint32_t mix, n_stratum, n_slot;
	uint64_t period; /* executions 0, period, ... have gaps of their own; 0: none has */
	uint32_t entry_stratum, entry_slot;
	const double *ns;
};

void emit_data_gap(struct emit_data *d, uint32_t gap, uint32_t rank, const struct emit_gap_values *v);
/* Bytes of all gaps so far, with the offsets of the ranks. */
uint64_t emit_data_gap_bytes(const struct emit_data *d);
/* All mixes, once. Without them there is one, of equal shares. */
void emit_data_mixes(struct emit_data *d, const struct compute_profile *m);
/* The windows of a loop, by its number in the source. */
void emit_data_windows(struct emit_data *d, uint32_t loop, const struct sampled_plan *p);
/* n_run runs (end, row); then n_row rows of n_col values. */
void emit_data_vary(struct emit_data *d, uint32_t vary, uint32_t rank, const uint64_t *run_end,
		    const uint32_t *run_row, uint32_t n_run, const int64_t *rows, uint32_t n_row, uint32_t n_col);

/* The finished words, malloced, of which word 7 is the hash of the others (with 0 in its place); NULL without memory
 * (also at any time before). */
uint64_t *emit_data_finish(struct emit_data *d, size_t *n_words);

#endif
