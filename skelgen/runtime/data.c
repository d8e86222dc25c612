/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads skel.c.data, which is linked into the skeleton: see data.h. */
#include "skelgen/runtime/data.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/runtime.h"

static struct {
	const uint64_t *word;
	uint64_t n_word;
	const uint64_t *gap, *vary, *array, *mix; /* tables of all ranks; mixes */
	uint64_t n_gap, n_vary, n_array, n_mix, rank;
	uint32_t *visit;                    /* by gap and kind: executions so far */
	uint64_t *vary_hint;                /* run that the last look-up found */
} data;

void skel_data_open(const struct skel_program *p, int rank)
{
	uint64_t ranks = (uint64_t)p->n_ranks, gaps, varies, head;

	memset(&data, 0, sizeof data);
	data.word = p->data;
	data.n_word = (uint64_t)(p->data_end - p->data);
	if (data.n_word < DATA_HEADER || p->data[0] != DATA_MAGIC || p->data[1] != DATA_VERSION ||
	    p->data[2] != ranks || p->data[6] > data.n_word || p->data[7] != p->data_hash)
		skel_fail("skel.c.data does not belong to this skeleton: generate both again");
	data.n_gap = p->data[3];
	data.n_vary = p->data[4];
	data.n_array = p->data[5];
	data.n_mix = p->data[8];
	gaps = data_table(ranks * data.n_gap);
	varies = data_table(ranks * data.n_vary);
	head = DATA_HEADER + gaps + varies + data_table(data.n_array) + DATA_MIX * data.n_mix;
	if (data.n_gap > UINT32_MAX || data.n_vary > UINT32_MAX || data.n_array > UINT32_MAX ||
	    data.n_mix > UINT32_MAX || data.n_mix == 0 || head > data.n_word)
		skel_fail("skel.c.data is damaged: generate the skeleton again");
	data.rank = (uint64_t)rank;
	data.gap = p->data + DATA_HEADER;
	data.vary = data.gap + gaps;
	data.array = data.vary + varies;
	data.mix = data.array + data_table(data.n_array);
	data.visit = skel_alloc(2 * data.n_gap + 1, sizeof *data.visit);
	data.vary_hint = skel_alloc(data.n_vary + 1, sizeof *data.vary_hint);
}

void skel_data_close(void)
{
	free(data.vary_hint);
	free(data.visit);
	memset(&data, 0, sizeof data);
}

static const uint64_t *record(uint64_t off, uint64_t least)
{
	if (off == 0 || off + least > data.n_word)
		skel_fail("skel.c.data has no record where the skeleton needs one");
	return data.word + off;
}

double skel_data_gap(int gap, uint64_t at, int *mix)
{
	uint64_t number = (uint64_t)gap, first = 0, strata, s;
	uint64_t off = number < data.n_gap ? data_offset(data.gap, data.rank * data.n_gap + number) : 0;
	uint32_t n_stratum, n_slot;
	const uint64_t *r;
	bool enters;
	double ns;

	*mix = 0;
	if (off == 0)
		return 0;
	r = record(off, DATA_GAP);
	enters = r[3] != 0 && at % r[3] == 0;
	strata = enters ? r[4] : r[1];
	if (enters)
		first = (r[1] & UINT32_MAX) * (r[1] >> 32);
	n_stratum = (uint32_t)strata;
	n_slot = (uint32_t)(strata >> 32);
	*mix = r[2] < data.n_mix ? (int)r[2] : 0;
	if (n_stratum == 0 || n_slot == 0)
		return 0;
	s = first + data_stratum(at, r[0], n_stratum) * n_slot;
	if (n_slot > 1)
		s += data.visit[2 * gap + enters]++ % n_slot;
	memcpy(&ns, r + DATA_GAP + s, sizeof ns);
	return ns;
}

void skel_data_rewind(void)
{
	memset(data.visit, 0, 2 * (size_t)data.n_gap * sizeof *data.visit);
}

const uint64_t *skel_data_windows(uint64_t *n_words)
{
	uint64_t off = data.word[9];

	if (off == 0)
		return NULL;
	if (off >= data.n_word)
		skel_fail("skel.c.data is damaged: generate the skeleton again");
	*n_words = data.n_word - off;
	return data.word + off;
}

const double *skel_data_mixes(int *n)
{
	*n = (int)data.n_mix;
	return (const double *)data.mix;
}

const int64_t *skel_values(int id)
{
	uint64_t off = (uint64_t)id < data.n_vary ? data_offset(data.vary, data.rank * data.n_vary + (uint64_t)id) : 0;
	const uint64_t *r = record(off, 3), *run = r + 3;
	uint64_t n_run = r[0], i = data.vary_hint[id];

	if (n_run == 0)
		skel_fail("skel.c.data has no values for call %d", id);
	if (i > 0 && run[2 * (i - 1)] > skel_position)
		i = 0;
	if (run[2 * i] <= skel_position) {
		uint64_t lo = i, hi = n_run - 1; /* first run that ends after the position */

		while (lo < hi) {
			uint64_t mid = lo + (hi - lo) / 2;

			if (run[2 * mid] <= skel_position)
				lo = mid + 1;
			else
				hi = mid;
		}
		i = lo;
	}
	data.vary_hint[id] = i;
	return (const int64_t *)(run + 2 * n_run + run[2 * i + 1] * r[1]);
}

static const uint64_t *array_record(int64_t k)
{
	if (k < 0 || (uint64_t)k >= data.n_array)
		skel_fail("skel.c.data has no array %lld", (long long)k);
	return record(data_offset(data.array, (uint64_t)k), 1);
}

const int *skel_array(int64_t k)
{
	return (const int *)(array_record(k) + 1);
}

int skel_length(int64_t k)
{
	return (int)array_record(k)[0];
}
