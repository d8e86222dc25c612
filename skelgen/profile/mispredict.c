/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ways of branches by where samples lie: see mix_guess.h. */
#include "skelgen/profile/mispredict.h"

#include <math.h>
#include <stdlib.h>

#define BRANCHES 4   /* that are looked for: those met most */
#define ROUNDS   2   /* as what one is found to do depends on the others */
#define BLUR     0.1 /* of the samples: they may lie anywhere */
#define TRUST    100 /* samples: a processor in rough strokes explains no more of where many lie than it does of so many */
#define FORETOLD 20  /* times as likely as each degree of chance, before any sample: most branches by data mostly go one way */

/* That are tried: how often it is taken, and how much of that is random. */
static const double rates[] = {0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98};
static const double wilds[] = {0, 0.25, 0.5, 0.75, 1};

#define WILDS (sizeof(wilds) / sizeof(*wilds))
#define RATES (sizeof(rates) / sizeof(*rates))

struct search {
	const struct mix_retire *r;
	const uint32_t *heat;
	const double *chance; /* how wild at most */
	double *met, *often, weight; /* of a sample */
};

/* Logarithm of how likely the samples are with the rates as they stand. */
static double likelihood(struct search *s)
{
	double cycles = mix_retire(s->r, false, s->met, s->often), sum = 0, all = 0;
	uint32_t n = s->r->b->n;

	for (uint32_t i = 0; i < n; i++)
		all += s->met[i];
	for (uint32_t i = 0; i < n && all > 0 && cycles > 0; i++)
		sum += s->heat[i] * log((1 - BLUR) * s->met[i] / all + BLUR / n);
	return sum;
}

/* The mean of all that is tried, each by how likely it is. */
static void find_rate(struct search *s, uint32_t branch)
{
	double is[RATES][WILDS], most = -INFINITY, sum = 0, rate = 0, wild = 0;

	for (size_t k = 0; k < RATES; k++)
		for (size_t j = 0; j < WILDS; j++) {
			is[k][j] = -INFINITY;
			if (wilds[j] > s->chance[branch])
				continue;
			s->r->taken[branch] = rates[k];
			s->r->wild[branch] = wilds[j];
			is[k][j] = s->weight * likelihood(s) + (wilds[j] > 0 ? 0 : log(FORETOLD));
			most = fmax(most, is[k][j]);
		}
	for (size_t k = 0; k < RATES; k++)
		for (size_t j = 0; j < WILDS; j++) {
			double weight = exp(is[k][j] - most);

			sum += weight;
			rate += weight * rates[k];
			wild += weight * wilds[j];
		}
	s->r->taken[branch] = rate / sum;
	s->r->wild[branch] = wild / sum;
}

/* The branches by data with most samples at them and behind them; the others are left to the rates that they have. */
static uint32_t choose(const struct mix_retire *r, const uint32_t *heat, uint32_t *branch)
{
	uint64_t met[BRANCHES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->b->n; i++) {
		uint64_t now = heat[i] + (i + 1 < r->b->n ? heat[i + 1] : 0);
		uint32_t at;

		if (!r->by_data[i])
			continue;
		for (at = n; at > 0 && met[at - 1] < now; at--)
			if (at < BRANCHES) {
				met[at] = met[at - 1];
				branch[at] = branch[at - 1];
			}
		if (at == BRANCHES)
			continue;
		met[at] = now;
		branch[at] = i;
		n += n < BRANCHES;
	}
	return n;
}

double mix_guess(const struct mix_retire *r, const uint32_t *heat, const double *chance, double *often)
{
	double *met = calloc(r->b->n + 1u, sizeof(*met)), cycles, foretold, most = 0, samples = 0;
	struct search s = {r, heat, chance, met, often, 0};
	uint32_t branch[BRANCHES], n;

	if (!met)
		return -1;
	for (uint32_t i = 0; i < r->b->n; i++)
		samples += heat[i];
	s.weight = TRUST / (TRUST + samples);
	n = choose(r, heat, branch);
	for (int round = 0; round < (n > 1 ? ROUNDS : 1); round++)
		for (uint32_t i = 0; i < n; i++)
			find_rate(&s, branch[i]);
	foretold = mix_retire(r, true, met, often);
	cycles = mix_retire(r, false, met, often);
	for (uint32_t i = 0; i < r->b->n; i++)
		most = fmax(most, often[i]);
	for (uint32_t i = 0; i < r->b->n; i++)
		often[i] /= most;
	free(met);
	return fmax(0, 1 - foretold / cycles);
}
