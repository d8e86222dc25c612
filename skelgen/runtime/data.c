/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * skel.c.data: the values that no expression of rank and size gives. It is linked into the skeleton, as 64-bit words in
 * the byte order of the machine:
 *
 *   0 magic  1 version  2 ranks  3 gaps  4 varying calls  5 arrays  6 words in all  7 hash
 *   then the word offsets of: gap records, rank by rank; records of varying calls, rank by rank; arrays
 *   (an offset of 0: this rank has none).
 *   gap record:  executions, strata, then the mean gap of each stratum (double, ns)
 *   varying:     runs, values per variant, variants; per run its end (execution number) and its variant; then the
 *                values of each variant
 *   array:       length, then 32-bit integers, two to a word
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/runtime.h"

#define DATA_MAGIC   0x41544144424b5350ull
#define DATA_VERSION 1
#define DATA_HEADER  8

static struct {
	const uint64_t *word;
	uint64_t n_word;
	const uint64_t *gap, *vary, *array; /* of this rank; arrays are common */
	uint64_t n_gap, n_vary, n_array;
	uint64_t *vary_hint;                /* run that the last look-up found */
} data;

void skel_data_open(const struct skel_program *p, int rank)
{
	uint64_t ranks = (uint64_t)p->n_ranks, head;

	memset(&data, 0, sizeof data);
	data.word = p->data;
	data.n_word = (uint64_t)(p->data_end - p->data);
	if (data.n_word < DATA_HEADER || p->data[0] != DATA_MAGIC || p->data[1] != DATA_VERSION ||
	    p->data[2] != ranks || p->data[6] > data.n_word || p->data[7] != p->data_hash)
		skel_fail("skel.c.data does not belong to this skeleton: generate both again");
	data.n_gap = p->data[3];
	data.n_vary = p->data[4];
	data.n_array = p->data[5];
	head = DATA_HEADER + ranks * (data.n_gap + data.n_vary) + data.n_array;
	if (data.n_gap > UINT32_MAX || data.n_vary > UINT32_MAX || data.n_array > UINT32_MAX || head > data.n_word)
		skel_fail("skel.c.data is damaged: generate the skeleton again");
	data.gap = p->data + DATA_HEADER + (uint64_t)rank * data.n_gap;
	data.vary = p->data + DATA_HEADER + ranks * data.n_gap + (uint64_t)rank * data.n_vary;
	data.array = p->data + DATA_HEADER + ranks * (data.n_gap + data.n_vary);
	data.vary_hint = skel_alloc(data.n_vary + 1, sizeof *data.vary_hint);
}

void skel_data_close(void)
{
	free(data.vary_hint);
	memset(&data, 0, sizeof data);
}

static const uint64_t *record(uint64_t off, uint64_t least)
{
	if (off == 0 || off + least > data.n_word)
		skel_fail("skel.c.data has no record where the skeleton needs one");
	return data.word + off;
}

double skel_data_gap(int gap, uint64_t at)
{
	uint64_t off = (uint64_t)gap < data.n_gap ? data.gap[gap] : 0;
	const uint64_t *r;
	double ns;

	if (off == 0)
		return 0;
	r = record(off, 2);
	if (r[1] == 0)
		return 0;
	uint64_t s = r[1] == 1 || at >= r[0] ? r[1] - 1 : (uint64_t)((unsigned __int128)at * r[1] / r[0]);

	memcpy(&ns, r + 2 + s, sizeof ns);
	return ns;
}

const int64_t *skel_values(int id)
{
	uint64_t off = (uint64_t)id < data.n_vary ? data.vary[id] : 0;
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
	return record(data.array[k], 1);
}

const int *skel_array(int64_t k)
{
	return (const int *)(array_record(k) + 1);
}

int skel_length(int64_t k)
{
	return (int)array_record(k)[0];
}
