/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases of a leaf, and its values in skel.c.data: see leaf.h. */
#include "skelgen/emit/leaf.h"

#include <stdlib.h>
#include <string.h>

/* Without resolved wildcards the cases are the variants of the tree. */
static int cases_from_variants(struct leaf_ctx *c, uint32_t index, struct leaf_rank *r)
{
	const struct skel_leaf_rank *lr = &c->leaf->by_rank[index];

	r->n_case = lr->n_variant - lr->optional;
	r->n_run = lr->n_run;
	r->kase = calloc(lr->n_variant, sizeof *r->kase);
	r->run_case = calloc(lr->n_run, sizeof *r->run_case);
	r->run_end = calloc(lr->n_run, sizeof *r->run_end);
	if (r->kase == NULL || r->run_case == NULL || r->run_end == NULL)
		return -1;
	for (uint32_t v = 0; v < r->n_case; v++) {
		struct call_match m = skel_call_match(NULL, c->leaf, index, 0, r->d, lr->variant[v]);

		r->kase[v] = (struct leaf_case){lr->variant[v], m.source, m.tag};
	}
	/* The case of a left-out execution is never used. */
	for (uint32_t i = 0; i < lr->n_run; i++)
		r->run_case[i] = lr->run_variant[i] < r->n_case ? lr->run_variant[i] : 0;
	memcpy(r->run_end, lr->run_end, lr->n_run * sizeof *r->run_end);
	return 0;
}

static uint32_t case_number(struct leaf_rank *r, struct leaf_case k)
{
	for (uint32_t i = 0; i < r->n_case; i++)
		if (r->kase[i].sym == k.sym && r->kase[i].source == k.source && r->kase[i].tag == k.tag)
			return i;
	r->kase[r->n_case] = k;
	return r->n_case++;
}

/* A run of equal cases ends where the variant changes, and where a wildcard gets another message. */
static int cases_from_wildcards(struct leaf_ctx *c, uint32_t index, struct leaf_rank *r)
{
	const struct skel_leaf_rank *lr = &c->leaf->by_rank[index];
	const struct wildcard_runs *w = &c->e->tree->wildcards->leaf[c->leaf->leaf_id][index];
	uint32_t most = lr->n_run + w->n + 1, vi = 0, wi = 0;
	uint64_t at = 0;

	r->kase = calloc(most, sizeof *r->kase);
	r->run_case = calloc(most, sizeof *r->run_case);
	r->run_end = calloc(most, sizeof *r->run_end);
	if (r->kase == NULL || r->run_case == NULL || r->run_end == NULL)
		return -1;
	while (at < lr->n_occ && vi < lr->n_run) {
		uint32_t sym = lr->variant[lr->run_variant[vi]], k;
		struct call_match m = {0, 0};
		uint64_t end = lr->run_end[vi];

		if (sym != SKEL_NOTHING)
			m = skel_call_match(c->e->tree->wildcards, c->leaf, index, at, r->d, sym);
		while (wi < w->n && w->run[wi].end <= at)
			wi++;
		if (wi < w->n && w->run[wi].end < end)
			end = w->run[wi].end;
		if (sym != SKEL_NOTHING)
			k = case_number(r, (struct leaf_case){sym, m.source, m.tag});
		else
			k = r->n_run > 0 ? r->run_case[r->n_run - 1] : 0;
		if (r->n_run > 0 && r->run_case[r->n_run - 1] == k)
			r->n_run--;
		r->run_case[r->n_run] = k;
		r->run_end[r->n_run++] = end;
		at = end;
		if (at >= lr->run_end[vi])
			vi++;
	}
	return 0;
}

int leaf_ctx_open(struct leaf_ctx *c, struct emit *e, const struct skel_node *leaf)
{
	bool wild = e->tree->wildcards->leaf != NULL && e->tree->wildcards->leaf[leaf->leaf_id] != NULL;
	uint32_t index = 0;

	memset(c, 0, sizeof *c);
	c->e = e;
	c->leaf = leaf;
	c->n_rank = rank_set_count(&leaf->ranks);
	c->rank = calloc(c->n_rank + 1u, sizeof *c->rank);
	if (c->rank == NULL)
		return -1;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), index++) {
		struct leaf_rank *lr = &c->rank[index];

		lr->rank = r;
		lr->d = skel_defs(e->tree, r);
		if ((wild ? cases_from_wildcards(c, index, lr) : cases_from_variants(c, index, lr)) != 0) {
			leaf_ctx_close(c);
			return -1;
		}
		c->n_case += lr->n_case;
	}
	return 0;
}

void leaf_ctx_close(struct leaf_ctx *c)
{
	for (uint32_t i = 0; c->rank != NULL && i < c->n_rank; i++) {
		free(c->rank[i].kase);
		free(c->rank[i].run_case);
		free(c->rank[i].run_end);
	}
	for (uint32_t i = 0; i < c->n_col; i++)
		free(c->col[i]);
	for (uint32_t i = 0; c->e != NULL && i < c->e->n_made; i++)
		free(c->e->made[i]);
	if (c->e != NULL) {
		free(c->e->made);
		c->e->made = NULL;
		c->e->n_made = 0;
	}
	free(c->col);
	free(c->rank);
	memset(c, 0, sizeof *c);
}

int64_t *leaf_ctx_values(const struct leaf_ctx *c, uint32_t n)
{
	struct emit *e = c->e;
	int64_t *v = calloc(n + 1u, sizeof *v), **p = realloc(e->made, (e->n_made + 1) * sizeof *p);

	if (p != NULL)
		e->made = p;
	if (v == NULL || p == NULL) {
		e->no_memory = true;
		free(v);
		return NULL;
	}
	e->made[e->n_made++] = v;
	return v;
}

uint32_t leaf_ctx_store(struct leaf_ctx *c)
{
	uint32_t vary = emit_data_new_vary(c->e->data), base = 0;

	for (uint32_t i = 0; i < c->n_rank; i++) {
		struct leaf_rank *r = &c->rank[i];
		int64_t *rows = calloc((size_t)r->n_case * c->n_col + 1, sizeof *rows);

		if (rows == NULL) {
			c->e->no_memory = true;
			return vary;
		}
		for (uint32_t k = 0; k < r->n_case; k++)
			for (uint32_t j = 0; j < c->n_col; j++)
				rows[(size_t)k * c->n_col + j] = c->col[j][base + k];
		emit_data_vary(c->e->data, vary, r->rank, r->run_end, r->run_case, r->n_run, rows, r->n_case, c->n_col);
		base += r->n_case;
		free(rows);
	}
	return vary;
}

uint32_t leaf_ctx_column(struct leaf_ctx *c, int64_t *value)
{
	int64_t **p;

	for (uint32_t j = 0; j < c->n_col; j++)
		if (memcmp(c->col[j], value, c->n_case * sizeof *value) == 0) {
			free(value);
			return j;
		}
	p = realloc(c->col, (c->n_col + 1) * sizeof *p);
	if (p == NULL) {
		free(value);
		c->e->no_memory = true;
		return 0;
	}
	c->col = p;
	c->col[c->n_col] = value;
	return c->n_col++;
}
