/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See gap_record.h. */
#include "skelgen/timing/gap_record.h"

#include <math.h>
#include <stdlib.h>

#include "skelgen/timing/times.h"

#define GAPS_MOST   (1u << 23) /* of all ranks and calls: 32 MiB */
#define LEAST_SHARE 1e-5       /* of a rank's time: as for quantiles */
#define LEAST_NS    1000       /* mean gap: who waits for whom is not decided by gaps that are shorter than a message takes */

/* Where there are no more executions than strata, each has its own already. */
static bool is_wanted(const struct skel_leaf_time *t, double wall_ns)
{
	bool differ = t->n_stratum > 1 || t->n_quantile > 1 || t->entry != NULL;

	return differ && t->n > SKEL_STRATA && t->gap_ns >= LEAST_SHARE * wall_ns && t->gap_ns >= LEAST_NS * (double)t->made;
}

/* Calls `use` of all wanted records, until it returns not 0. */
static int records_each(const struct skel_tree *tree, const struct skel_times *times,
			int (*use)(void *arg, uint32_t leaf, uint32_t index, uint64_t n), void *arg)
{
	for (uint32_t i = 0; i < tree->n_leaf; i++) {
		const struct rank_set *set = &tree->leaf[i]->ranks;
		uint32_t k = 0;

		for (uint32_t r = rank_set_first(set); r != UINT32_MAX; r = rank_set_next(set, r), k++)
			if (is_wanted(&times->leaf[i][k], times->rank_wall_ns[r]) && use(arg, i, k, times->leaf[i][k].n) != 0)
				return -1;
	}
	return 0;
}

static int record_count(void *arg, uint32_t leaf, uint32_t index, uint64_t n)
{
	uint64_t *sum = arg;

	(void)leaf;
	(void)index;
	*sum += n;
	return *sum > GAPS_MOST ? -1 : 0;
}

static int record_make(void *arg, uint32_t leaf, uint32_t index, uint64_t n)
{
	struct gap_records *r = arg;
	float *gap = malloc(n * sizeof *gap);

	r->of_leaf[leaf][index] = gap;
	for (uint64_t i = 0; gap != NULL && i < n; i++)
		gap[i] = NAN;
	return gap != NULL ? 0 : -1;
}

int gap_records_make(const struct skel_tree *tree, const struct skel_times *times, struct gap_records *out, struct errbuf *err)
{
	uint64_t n = 0;

	*out = (struct gap_records){.n_leaf = 0};
	if (records_each(tree, times, record_count, &n) != 0 || n == 0)
		return 0;
	out->of_leaf = calloc(tree->n_leaf, sizeof *out->of_leaf);
	out->n_rank = calloc(tree->n_leaf, sizeof *out->n_rank);
	if (out->of_leaf == NULL || out->n_rank == NULL)
		goto no_memory;
	for (out->n_leaf = 0; out->n_leaf < tree->n_leaf; out->n_leaf++) {
		uint32_t i = out->n_leaf, ranks = rank_set_count(&tree->leaf[i]->ranks);

		out->n_rank[i] = ranks;
		out->of_leaf[i] = calloc(ranks + 1u, sizeof *out->of_leaf[i]);
		if (out->of_leaf[i] == NULL)
			goto no_memory;
	}
	if (records_each(tree, times, record_make, out) == 0)
		return 0;
no_memory:
	gap_records_free(out);
	return err_set(err, "no memory for the gaps of %u calls", tree->n_leaf);
}

void gap_records_free(struct gap_records *r)
{
	for (uint32_t i = 0; i < r->n_leaf; i++) {
		for (uint32_t k = 0; k < r->n_rank[i]; k++)
			free(r->of_leaf[i][k]);
		free(r->of_leaf[i]);
	}
	free(r->of_leaf);
	free(r->n_rank);
	*r = (struct gap_records){.n_leaf = 0};
}

int gap_records_begin(void *records, uint32_t rank, struct errbuf *err)
{
	const struct gap_records *r = records;

	(void)rank;
	(void)err;
	return r->of_leaf != NULL;
}

void gap_records_call(void *records, const struct timed_walk *w)
{
	const struct gap_records *r = records;
	float *gap = r->of_leaf[w->leaf->leaf_id][w->index];

	if (gap != NULL && w->known)
		gap[w->occ] = (float)w->ev.gap_ns;
}

const float *gap_record_of(const struct gap_records *r, const struct skel_times *times, uint32_t leaf_id, uint32_t index)
{
	const struct skel_leaf_time *t = &times->leaf[leaf_id][index];
	const float *gap = r->of_leaf != NULL ? r->of_leaf[leaf_id][index] : NULL;
	uint64_t known = 0;

	for (uint64_t i = 0; gap != NULL && i < t->n; i++)
		known += !isnan(gap[i]);
	return known > 0 && known == t->made ? gap : NULL;
}
