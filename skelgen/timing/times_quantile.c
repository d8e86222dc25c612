/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of gaps, and the quantiles that are made of them: see times_quantile.h. */
#include "skelgen/timing/times_quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/array.h"

#define RESERVOIR  4096u
#define AGREE      0.02 /* shares within 2 % of their mean are one, */
#define AGREE_NS   10.0 /* and shares within so many nanoseconds */

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	uint64_t z = *state;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Means of equal shares of v[n] in ascending order; a value on a border belongs to both sides in part. */
static void shares(float *v, uint32_t n, float out[SKEL_QUANTILES])
{
	double width = (double)n / SKEL_QUANTILES;

	qsort(v, n, sizeof *v, by_value);
	for (int q = 0; q < SKEL_QUANTILES; q++) {
		double lo = q * width, hi = (q + 1) * width, sum = 0;

		for (uint32_t i = (uint32_t)lo; i < n && i < hi; i++)
			sum += v[i] * (fmin(i + 1.0, hi) - fmax(i, lo));
		out[q] = (float)(sum / width);
	}
}

static int stratum_finish(struct gap_draw *d)
{
	if (d->mean == NULL) {
		d->mean = malloc(SKEL_STRATA * sizeof *d->mean);
		if (d->mean == NULL)
			return -1;
		for (int s = 0; s < SKEL_STRATA; s++)
			d->mean[s][0] = -1;
	}
	if (d->n > 0)
		shares(d->gap, d->n, d->mean[d->stratum]);
	d->n = 0;
	d->seen = 0;
	return 0;
}

int gap_draw_add(struct gap_draw *d, uint32_t stratum, double gap_ns)
{
	uint64_t at;

	if (stratum != d->stratum) {
		if (stratum_finish(d) != 0)
			return -1;
		d->stratum = stratum;
	}
	d->seen++;
	if (d->n < RESERVOIR) {
		if (ARRAY_ROOM(d->gap, d->cap, d->n + 1) != 0)
			return -1;
		d->gap[d->n++] = (float)gap_ns;
		return 0;
	}
	at = next_random(&d->random) % d->seen;
	if (at < RESERVOIR)
		d->gap[at] = (float)gap_ns;
	return 0;
}

/* Means of equal shares of a histogram, relative to its mean; all 1 of an empty one. */
static void histogram_shape(const struct hist *h, float out[SKEL_QUANTILES])
{
	double width = (double)h->n / SKEL_QUANTILES, sum = 0, seen = 0;
	double share[SKEL_QUANTILES] = {0};

	for (unsigned b = 0; b < HIST_BINS; b++) {
		double lo, hi, n = (double)h->bin[b];

		hist_bounds(b, &lo, &hi);
		for (double from = seen; n > 0 && from < seen + n;) {
			int q = (int)fmin(from / width, SKEL_QUANTILES - 1);
			double to = q == SKEL_QUANTILES - 1 ? seen + n : fmin(seen + n, (q + 1) * width);
			double middle = lo + (hi - lo) * ((from + to) / 2 - seen) / n;

			share[q] += b == 0 ? 0 : (to - from) * middle;
			if (!(to > from))
				break;
			from = to;
		}
		seen += n;
	}
	for (int q = 0; q < SKEL_QUANTILES; q++)
		sum += share[q];
	for (int q = 0; q < SKEL_QUANTILES; q++)
		out[q] = sum > 0 ? (float)(share[q] * SKEL_QUANTILES / sum) : 1;
}

/* Give the shares the mean that is known. */
static void scale_to(float v[SKEL_QUANTILES], double mean)
{
	double sum = 0;

	for (int q = 0; q < SKEL_QUANTILES; q++)
		sum += v[q];
	for (int q = 0; q < SKEL_QUANTILES; q++)
		v[q] = sum > 0 ? (float)(v[q] * mean * SKEL_QUANTILES / sum) : (float)mean;
}

static bool agree(const float v[SKEL_QUANTILES], double mean)
{
	return v[SKEL_QUANTILES - 1] - v[0] <= fmax(AGREE * mean, AGREE_NS);
}

/* All strata as one. */
static void pool(struct gap_draw *d, float out[SKEL_QUANTILES])
{
	float all[SKEL_STRATA * SKEL_QUANTILES];
	uint32_t n = 0;

	for (int s = 0; s < SKEL_STRATA; s++)
		for (int q = 0; d->mean[s][0] >= 0 && q < SKEL_QUANTILES; q++)
			all[n++] = d->mean[s][q];
	if (n > 0)
		shares(all, n, out);
	else
		for (int q = 0; q < SKEL_QUANTILES; q++)
			out[q] = 1;
}

static void draw_empty(struct gap_draw *d)
{
	free(d->mean);
	d->mean = NULL;
	d->n = d->stratum = 0;
	d->seen = d->given_up = 0;
}

int gap_draw_close(struct gap_draw *d, const struct hist_table *given_up, uint16_t fn, struct arena *arena,
		   struct skel_leaf_time *lt)
{
	const struct hist_entry *e = 2 * d->given_up > lt->timed ? hist_table_find(given_up, d->symbol, fn) : NULL;
	float v[SKEL_STRATA][SKEL_QUANTILES], common[SKEL_QUANTILES];
	bool differ = false;

	if (stratum_finish(d) != 0)
		return -1;
	if (e != NULL)
		histogram_shape(&e->gap, common);
	else
		pool(d, common);
	for (uint32_t s = 0; s < lt->n_stratum; s++) {
		bool own = e == NULL && lt->n_stratum > 1 && d->mean[s][0] >= 0;

		memcpy(v[s], own ? d->mean[s] : common, sizeof v[s]);
		scale_to(v[s], lt->stratum_ns[s]);
		differ |= !agree(v[s], lt->stratum_ns[s]);
	}
	draw_empty(d);
	if (!differ)
		return 0;
	lt->quantile_ns = arena_alloc(arena, lt->n_stratum, sizeof *lt->quantile_ns);
	if (lt->quantile_ns == NULL)
		return -1;
	memcpy(lt->quantile_ns, v, lt->n_stratum * sizeof *v);
	lt->n_quantile = SKEL_QUANTILES;
	return 0;
}

void gap_draw_free(struct gap_draw *d)
{
	free(d->gap);
	free(d->mean);
	memset(d, 0, sizeof *d);
}
