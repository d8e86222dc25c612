/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mixes of a trace's compute blocks: see compute_profile.h. */
#include "skelgen/profile/compute_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/profile/blocks.h"
#include "skelgen/profile/off_cpu.h"

#define TRUST_MIN 1.0    /* samples that the program's mean is worth beside a block's own */
#define TRUST_MAX 50.0
#define ALIKE     0.08   /* mixes that differ by less are one: sum of the differences of shares */
#define NOISE     0.02   /* of the wall time: less sleep, and less work of other threads, is noise */
#define WRONG     17.0   /* cycles of a mispredicted branch */
#define MISS      200.0  /* cycles of a miss of the last level */
#define IN_FLIGHT 5.0    /* of these at once */

/* The average of simulation codes: taken where nothing was sampled. */
const double compute_profile_default[CLASS_N] = {
	[CLASS_INTEGER] = 0.20, [CLASS_INTEGER_CHAIN] = 0.05, [CLASS_BRANCH] = 0.05, [CLASS_SCALAR] = 0.10,
	[CLASS_SCALAR_SHORT] = 0.05, [CLASS_SCALAR_CHAIN] = 0.10, [CLASS_VECTOR] = 0.10,
	[CLASS_DIVIDE] = 0.03, [CLASS_LIBM] = 0.02, [CLASS_STREAM_L2] = 0.08, [CLASS_STREAM_L3] = 0.05,
	[CLASS_STREAM_MEM] = 0.10, [CLASS_RANDOM_L2] = 0.03, [CLASS_RANDOM_L3] = 0.02, [CLASS_RANDOM_MEM] = 0.02,
};

static void mix_default(struct profile_mix *m)
{
	*m = (struct profile_mix){.threads = 1, .doubt = 1};
	memcpy(m->share, compute_profile_default, sizeof(m->share));
}

/* ---- from sums to a mix ---- */

static void shares_of(const struct profile_block *b, double *share)
{
	for (int c = 0; c < CLASS_N; c++)
		share[c] = b->n > 0 ? b->share[c] / b->n : 0;
}

/* Scale the shares of some classes to a sum of `part`, and the other shares to the rest. */
static void set_part(double *share, const uint8_t *cls, uint32_t n, double part)
{
	double now = 0;
	bool in[CLASS_N] = {false};

	for (uint32_t i = 0; i < n; i++) {
		now += share[cls[i]];
		in[cls[i]] = true;
	}
	if (now <= 0)
		share[cls[0]] = now = 1e-9;
	for (int c = 0; c < CLASS_N; c++)
		share[c] *= in[c] ? part / now : now < 1 ? (1 - part) / (1 - now) : 0;
}

/* Counters of branches and memory replace the estimate from the code. */
static void counters_apply(const struct profile_block *b, uint32_t have, double *share)
{
	static const uint8_t branch[] = {CLASS_BRANCH},
			     memory[] = {CLASS_STREAM_MEM, CLASS_RANDOM_MEM, CLASS_STRIDE_MEM};
	const double *v = b->counter;

	if (!(have >> TCOUNTER_CYCLES & 1) || v[TCOUNTER_CYCLES] <= 0)
		return;
	if (have >> TCOUNTER_CACHE_MISSES & 1)
		set_part(share, memory, 3, fmin(0.95, v[TCOUNTER_CACHE_MISSES] * MISS / IN_FLIGHT / v[TCOUNTER_CYCLES]));
	if (have >> TCOUNTER_BRANCH_MISSES & 1)
		set_part(share, branch, 1, fmin(0.95, v[TCOUNTER_BRANCH_MISSES] * WRONG / v[TCOUNTER_CYCLES]));
}

static struct profile_block sum_blocks(const struct profile_blocks *b)
{
	struct profile_block all = {0};

	for (uint32_t i = 0; i < b->n_leaf; i++) {
		const struct profile_block *k = &b->block[i];

		all.n += k->n;
		all.first += k->first;
		all.busy_ns += k->busy_ns;
		all.first_ns += k->first_ns;
		all.wall_ns += k->wall_ns;
		all.asleep_ns += k->asleep_ns;
		for (int c = 0; c < CLASS_N; c++)
			all.share[c] += k->share[c];
		for (int c = 0; c < TCOUNTER_N; c++)
			all.counter[c] += k->counter[c];
		for (int l = 0; l < PROFILE_LEVELS; l++) {
			all.bytes[l] += k->bytes[l];
			all.level[l] += k->level[l];
		}
		all.vector += k->vector;
		all.vectors += k->vectors;
		all.chain += k->chain;
		all.rows += k->rows;
	}
	return all;
}

/* How many samples the mean is worth: the more alike blocks are, beyond chance, the more (empirical Bayes). */
static double trust_of(const struct profile_blocks *b, const double *mean)
{
	double chance = 0, between = 0, n = 0, share[CLASS_N];

	for (int c = 0; c < CLASS_N; c++)
		chance += mean[c] * (1 - mean[c]);
	for (uint32_t i = 0; i < b->n_leaf; i++) {
		const struct profile_block *k = &b->block[i];
		double differ = 0;

		if (k->n < 2)
			continue;
		shares_of(k, share);
		for (int c = 0; c < CLASS_N; c++)
			differ += (share[c] - mean[c]) * (share[c] - mean[c]);
		between += k->n * (differ - chance / k->n);
		n += k->n;
	}
	between = n > 0 ? fmax(between / n, 1e-6) : 1;
	return fmin(TRUST_MAX, fmax(TRUST_MIN, chance / between));
}

static double threads_of(const struct profile_block *k)
{
	double others = k->busy_ns - k->first_ns;

	if (others <= NOISE * fmax(k->busy_ns, k->wall_ns) || k->wall_ns <= 0)
		return 1;
	/* The first thread may sleep while the others work. */
	if (k->busy_ns >= k->wall_ns || k->first_ns <= 0)
		return fmax(1, k->busy_ns / k->wall_ns);
	return 1 + others / k->first_ns;
}

static void mix_of(const struct profile_block *k, uint32_t counters, const double *mean, double trust, struct profile_mix *m)
{
	double share[CLASS_N], sum = 0;

	shares_of(k, share);
	if (k->n > 0)
		counters_apply(k, counters, share);
	for (int c = 0; c < CLASS_N; c++) {
		m->share[c] = (k->n * share[c] + trust * mean[c]) / (k->n + trust);
		sum += m->share[c];
	}
	for (int c = 0; c < CLASS_N; c++)
		m->share[c] /= sum;
	m->threads = threads_of(k);
	m->off_cpu = off_cpu_part(k->wall_ns, k->asleep_ns, k->busy_ns - k->first_ns);
	if (m->off_cpu < NOISE)
		m->off_cpu = 0;
	m->doubt = trust / (k->n + trust);
	m->n_sample = (uint64_t)k->n;
}

/* ---- as many mixes as there is room for ---- */

/* One thread is nothing like several, however few of the others: a block of one would get the start of a team. */
static double distance(const struct profile_mix *a, const struct profile_mix *b)
{
	double d = fabs(a->off_cpu - b->off_cpu) + 0.2 * fabs(a->threads - b->threads) +
		   ((a->threads > 1) != (b->threads > 1) ? 1 : 0);

	for (int c = 0; c < CLASS_N; c++)
		d += fabs(a->share[c] - b->share[c]) / 2;
	return d;
}

/* The mix of blocks that were not sampled: the program's mean, in full doubt. Made at the first need. */
static uint32_t unknown_mix(struct compute_profile *out, uint32_t *unknown)
{
	if (!*unknown && out->n_mix < PROFILE_MIXES_MAX) {
		*unknown = out->n_mix++;
		out->mix[*unknown] = out->mix[0];
		out->mix[*unknown].doubt = 1;
		out->mix[*unknown].n_sample = 0;
		out->mix[*unknown].threads = 1;
	}
	return *unknown;
}

/* m joins a mix, each with its weight: the time that it stands for. */
static void join(struct profile_mix *to, double *weight, const struct profile_mix *m, double w)
{
	double all = *weight + w, k = all > 0 ? w / all : 0;

	for (int c = 0; c < CLASS_N; c++)
		to->share[c] += k * (m->share[c] - to->share[c]);
	to->off_cpu += k * (m->off_cpu - to->off_cpu);
	to->threads += k * (m->threads - to->threads);
	to->doubt += k * (m->doubt - to->doubt);
	to->n_sample += m->n_sample;
	*weight = all;
}

struct order {
	uint32_t leaf;
	double ns;
};

static int by_time(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

static void assign(struct compute_profile *out, const struct profile_blocks *b, const struct order *o, double trust,
		   const double *mean)
{
	double weight[PROFILE_MIXES_MAX] = {0};
	uint32_t unknown = 0;

	for (uint32_t i = 0; i < out->n_leaf; i++) {
		const struct profile_block *k = &b->block[o[i].leaf];
		struct profile_mix m = {0};
		uint32_t best = 0;
		double near = INFINITY;

		if (k->n <= 0 && k->asleep_ns <= NOISE * k->wall_ns) {
			out->of_leaf[o[i].leaf] = unknown_mix(out, &unknown);
			continue;
		}
		mix_of(k, b->counters, mean, trust, &m);
		for (uint32_t c = 1; c < out->n_mix; c++)
			if (c != unknown && distance(&out->mix[c], &m) < near) {
				near = distance(&out->mix[c], &m);
				best = c;
			}
		if (near > ALIKE && out->n_mix < PROFILE_MIXES_MAX) {
			best = out->n_mix++;
			out->mix[best] = m;
			weight[best] = o[i].ns;
		} else {
			join(&out->mix[best], &weight[best], &m, o[i].ns);
		}
		out->of_leaf[o[i].leaf] = best;
	}
}

static double leaf_ns(const struct skel_tree *tree, const struct skel_times *times, uint32_t leaf)
{
	double ns = 0;

	for (uint32_t k = 0, n = rank_set_count(&tree->leaf[leaf]->ranks); k < n; k++)
		ns += times->leaf[leaf][k].gap_ns;
	return ns;
}

static int group(const struct skel_tree *tree, const struct skel_times *times, const struct profile_blocks *b,
		 struct compute_profile *out)
{
	struct profile_block all = sum_blocks(b);
	struct order *o = calloc(tree->n_leaf + 1u, sizeof(*o));
	double mean[CLASS_N], trust;

	if (!o)
		return -1;
	mix_of(&all, b->counters, compute_profile_default, TRUST_MIN, &out->mix[0]);
	/* Blocks sleep each for itself: who was not seen asleep is not. */
	out->mix[0].off_cpu = 0;
	for (int l = 0; l < PROFILE_LEVELS; l++)
		out->bytes[l] = all.level[l] > 0 ? all.bytes[l] / all.level[l] : 0;
	out->row = all.rows > 0 ? all.chain / all.rows : 0;
	out->vector_bits = all.vectors > 0 ? 8 * all.vector / all.vectors : 0;
	memcpy(mean, out->mix[0].share, sizeof(mean));
	trust = trust_of(b, mean);
	for (uint32_t i = 0; i < tree->n_leaf; i++)
		o[i] = (struct order){i, leaf_ns(tree, times, i)};
	qsort(o, tree->n_leaf, sizeof(*o), by_time);
	assign(out, b, o, trust, mean);
	free(o);
	out->source = b->counters >> TCOUNTER_CYCLES & 1 ? "counters" : "samples";
	return 0;
}

int compute_profile_collect(const struct skel_tree *tree, const struct skel_times *times, struct compute_profile *out, struct errbuf *err)
{
	struct profile_blocks b = {0};
	int rv = -1;

	memset(out, 0, sizeof(*out));
	out->source = "default";
	out->n_mix = 1;
	mix_default(&out->mix[0]);
	out->n_leaf = tree->n_leaf;
	out->of_leaf = calloc(tree->n_leaf + 1u, sizeof(*out->of_leaf));
	if (!out->of_leaf)
		return err_set(err, "no memory for the mixes of %u calls", tree->n_leaf);
	if (profile_blocks_collect(tree, &b, err) < 0)
		goto out;
	if (b.n_ranks && group(tree, times, &b, out) < 0) {
		err_set(err, "no memory for the mixes of %u calls", tree->n_leaf);
		goto out;
	}
	rv = 0;
out:
	profile_blocks_free(&b);
	if (rv < 0)
		compute_profile_free(out);
	return rv;
}

void compute_profile_free(struct compute_profile *m)
{
	free(m->of_leaf);
	m->of_leaf = NULL;
	m->n_leaf = 0;
}
