/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traced times of windows: see series_traced() in series_collect.h. */
#include <math.h>

#include "skelgen/timing/gap_record.h"
#include "skelgen/timing/series_collect.h"

/* What the skeleton scales the gaps of each rank with (emit/lower_gap.c). */
struct scales {
	double of_rank[SKEL_SERIES_RANKS];
};

/* Gaps of a rank in iterations [a, b). */
static double gaps_between(const struct skel_loop_series *l, uint32_t rank, uint64_t a, uint64_t b)
{
	double sum = 0;

	for (uint64_t end, k; a < b; a = end) {
		k = a / l->stats.group;
		end = (k + 1) * l->stats.group < b ? (k + 1) * l->stats.group : b;
		sum += (double)(end - a) * l->gap[rank][k];
	}
	return sum;
}

static void scales_find(const struct skel_loop_series *l, const struct sampled_plan *p, struct scales *out)
{
	for (uint32_t r = 0; r < l->n_gap; r++) {
		double sampled = 0;

		for (int i = 0; i < p->n; i++) {
			uint64_t first = p->w[i].first + p->w[i].warm;

			sampled += (double)p->w[i].stands / p->w[i].run * gaps_between(l, r, first, first + p->w[i].run);
		}
		out->of_rank[r] = gap_scale(gaps_between(l, r, 1, l->total), sampled);
	}
}

/* How much longer the slowest rank computes in an iteration when gaps are scaled. */
static double scaling_adds(const struct skel_loop_series *l, const struct scales *s, uint64_t element)
{
	double traced = 0, scaled = 0;

	for (uint32_t r = 0; r < l->n_gap; r++) {
		traced = fmax(traced, l->gap[r][element]);
		scaled = fmax(scaled, s->of_rank[r] * l->gap[r][element]);
	}
	return scaled - traced;
}

/* Time of iterations [a, b). scales: of the gaps, or NULL. */
static double time_between(const struct skel_loop_series *l, bool spikes, const struct scales *scales, uint64_t a,
			   uint64_t b)
{
	double sum = 0;

	for (uint64_t end, k; a < b; a = end) {
		k = a / l->stats.group;
		end = (k + 1) * l->stats.group < b ? (k + 1) * l->stats.group : b;
		sum += (double)(end - a) * (l->x[k] - (spikes ? 0 : l->stats.spike_over[k]));
		sum += scales != NULL ? (double)(end - a) * scaling_adds(l, scales, k) : 0;
	}
	return sum;
}

void series_traced(const struct skel_loop_series *l, struct sampled_plan *p)
{
	bool spikes = p->spikes.known == 0;
	struct scales s;

	scales_find(l, p, &s);
	p->traced_ns = time_between(l, spikes, NULL, 1, l->total);
	for (int i = 0; i < p->n; i++) {
		uint64_t first = p->w[i].first + p->w[i].warm;

		p->w[i].traced_ns = time_between(l, spikes, &s, first, first + p->w[i].run);
	}
}
