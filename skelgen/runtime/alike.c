/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One calibration for all ranks on processors of one kind. */
#include "skelgen/runtime/alike.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FNV_BASIS   0xcbf29ce484222325ull
#define FNV_PRIME   0x100000001b3ull
#define ALIKE_MOST  1.3 /* slowest over quickest; neighbours on one host are off by up to 1.2 for seconds */

static uint64_t add(uint64_t h, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)bytes)[i]) * FNV_PRIME;
	return h;
}

uint64_t alike_kind(const char *cpuinfo, const struct caches *c, int ranks)
{
	uint64_t number[] = {c->l1, c->l2, c->l3, (uint64_t)c->n_l3, (uint64_t)ranks}, h = add(FNV_BASIS, number, sizeof number);
	FILE *f = fopen(cpuinfo, "re");
	char line[512];

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "model name", 10) == 0) {
			h = add(h, line, strlen(line));
			break;
		}
	if (f != NULL)
		fclose(f);
	return h;
}

/* Time of the blocks of c over that of the blocks of `mean`: the geometric mean of the ratios. */
static double slowness(const struct calibration *c, const struct calibration *mean)
{
	double sum = 0;

	for (int m = 0; m < c->n_mix; m++)
		for (int k = 0; k < BLOCK_POINTS; k++)
			sum += log(c->block_ns[m][k] / mean->block_ns[m][k]);
	return c->n_mix > 0 ? exp(sum / (c->n_mix * BLOCK_POINTS)) : 1;
}

/* to += c * weight, the times only. */
static void add_times(struct calibration *to, const struct calibration *c, double weight)
{
	to->call_ns += c->call_ns * weight;
	to->gap_ns += c->gap_ns * weight;
	for (int k = 0; k < CLASS_N; k++)
		for (int i = 0; i < CURVE_POINTS; i++)
			to->kernel[k].ns[i] += c->kernel[k].ns[i] * weight;
	for (int m = 0; m < c->n_mix; m++)
		for (int k = 0; k < BLOCK_POINTS; k++)
			to->block_ns[m][k] += c->block_ns[m][k] * weight;
	for (int m = 0; m < c->n_mix; m++)
		for (int k = 0; k < CLASS_N; k++)
			to->among[m][k] += c->among[m][k] * weight;
}

static void mean_of(struct calibration *mean, const struct calibration *all, const uint64_t *kind, int n, uint64_t which)
{
	int like = 0;

	for (int i = 0; i < n; i++)
		like += kind[i] == which;
	mean->call_ns = mean->gap_ns = 0;
	memset(mean->kernel, 0, sizeof mean->kernel);
	memset(mean->block_ns, 0, sizeof mean->block_ns);
	memset(mean->among, 0, sizeof mean->among);
	for (int i = 0; i < n; i++)
		if (kind[i] == which)
			add_times(mean, &all[i], 1.0 / like);
}

void alike_mean(struct calibration *all, const uint64_t *kind, int n)
{
	static struct calibration mean;

	for (int first = 0; first < n; first++) {
		double least = INFINITY, most = 0;
		int seen = 0;

		for (int i = 0; i < first && !seen; i++)
			seen = kind[i] == kind[first];
		if (seen)
			continue;
		mean = all[first];
		mean_of(&mean, all, kind, n, kind[first]);
		for (int i = first; i < n; i++)
			if (kind[i] == kind[first]) {
				double s = slowness(&all[i], &mean);

				least = fmin(least, s);
				most = fmax(most, s);
			}
		for (int i = first; i < n && most <= ALIKE_MOST * least; i++)
			if (kind[i] == kind[first])
				all[i] = mean;
	}
}
