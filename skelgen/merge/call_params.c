/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of a merged leaf as functions of the rank: see call_params.h. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/merge/call_params.h"
#include "skelgen/tree/param.h"
#include "trace/functions.h"

/* Arrays above this length get no tables: their values are in the definitions already. */
#define TABLE_ARRAY_MAX 64

struct value {
	const int64_t *val;
	uint32_t n;
};

struct fit {
	const struct trace *t;
	struct arena *a;
	struct skel_node *leaf;
	uint32_t n_rank, n_param;
	uint32_t *rank;
	struct value *value;      /* [n_rank][n_param], of the first variant */
	bool *varies;             /* [n_param] */
	uint32_t *place[2], *n_places[2]; /* by basis */
	bool has_comm_place;
	int64_t *scratch;
};

static int fit_alloc(struct fit *f)
{
	size_t n = f->n_rank;

	f->rank = calloc(n, sizeof(*f->rank));
	f->value = calloc(n * f->n_param + 1, sizeof(*f->value));
	f->varies = calloc(f->n_param + 1u, sizeof(*f->varies));
	f->scratch = calloc(n, sizeof(*f->scratch));
	for (int b = 0; b < 2; b++) {
		f->place[b] = calloc(n, sizeof(*f->place[b]));
		f->n_places[b] = calloc(n, sizeof(*f->n_places[b]));
		if (!f->place[b] || !f->n_places[b])
			return -1;
	}
	return f->rank && f->value && f->varies && f->scratch ? 0 : -1;
}

static void fit_free(struct fit *f)
{
	free(f->rank);
	free(f->value);
	free(f->varies);
	free(f->scratch);
	for (int b = 0; b < 2; b++) {
		free(f->place[b]);
		free(f->n_places[b]);
	}
}

/* Values of one rank; a parameter that differs between its variants varies. */
static void read_rank(struct fit *f, uint32_t index)
{
	const struct trace_defs *d = &trace_get_rank(f->t, f->rank[index])->defs;
	const struct skel_leaf_rank *lr = &f->leaf->by_rank[index];
	struct value *v = f->value + (size_t)index * f->n_param;

	for (uint32_t k = 0; k < lr->n_variant - lr->optional; k++) {
		struct sig_walk w;

		sig_walk_begin(&w, d, lr->variant[k]);
		for (uint32_t i = 0; i < f->n_param && sig_walk_next(&w); i++) {
			if (k == 0)
				v[i] = (struct value){w.val, w.n};
			else if (v[i].n != w.n || memcmp(v[i].val, w.val, w.n * sizeof(*w.val)))
				f->varies[i] = true;
		}
	}
	if (lr->n_variant > 1)
		f->leaf->varies = true;
}

static void read_places(struct fit *f)
{
	uint32_t n_ranks = trace_n_ranks(f->t);

	f->has_comm_place = true;
	for (uint32_t i = 0; i < f->n_rank; i++) {
		const struct trace_defs *d = &trace_get_rank(f->t, f->rank[i])->defs;
		int64_t comm = sig_scalar(d, f->leaf->by_rank[i].variant[0], TK_COMM, TRACE_NULL);

		f->place[RB_WORLD][i] = f->rank[i];
		f->n_places[RB_WORLD][i] = n_ranks;
		if (comm <= 0 || comm_place(d, comm, f->rank[i], &f->place[RB_COMM][i], &f->n_places[RB_COMM][i]) < 0)
			f->has_comm_place = false;
	}
}

static bool is_peer(uint8_t kind)
{
	return kind == TK_DST || kind == TK_SRC || kind == TK_ASRC || kind == TK_ASRCS || kind == TK_ROOT;
}

static struct rank_points points(const struct fit *f, uint8_t basis)
{
	return (struct rank_points){f->n_rank, f->place[basis], f->n_places[basis], f->scratch};
}

/* One element. 1: it would need a table and may not have one. */
static int fit_element(struct fit *f, uint8_t kind, bool table, struct rank_fn *out)
{
	struct rank_points world = points(f, RB_WORLD), comm = points(f, RB_COMM);

	if (is_peer(kind) && f->has_comm_place && rank_fn_fit_form(&comm, RB_COMM, out) == 0)
		return 0;
	if (rank_fn_fit_form(&world, RB_WORLD, out) == 0)
		return 0;
	return table ? rank_fn_table(&world, f->a, out) : 1;
}

static int fit_param(struct fit *f, uint32_t i)
{
	struct skel_param *p = &f->leaf->param[i];
	uint8_t kind = trace_fn[f->leaf->fn].param[i].kind;
	uint32_t n = f->value[i].n;

	p->fitted = !f->varies[i];
	if (!p->fitted)
		return 0;
	for (uint32_t r = 1; r < f->n_rank; r++)
		if (f->value[(size_t)r * f->n_param + i].n != n)
			return 0;
	p->fn = arena_alloc(f->a, n, sizeof(*p->fn));
	if (!p->fn)
		return -1;
	for (uint32_t k = 0; k < n; k++) {
		int rv;

		for (uint32_t r = 0; r < f->n_rank; r++)
			f->scratch[r] = f->value[(size_t)r * f->n_param + i].val[k];
		rv = fit_element(f, kind, n <= TABLE_ARRAY_MAX, &p->fn[k]);
		if (rv < 0)
			return -1;
		if (rv > 0) {
			p->fn = NULL;
			return 0;
		}
	}
	p->n = n;
	return 0;
}

int leaf_params_fit(const struct trace *t, struct arena *a, struct skel_node *leaf)
{
	struct fit f = {.t = t, .a = a, .leaf = leaf, .n_rank = rank_set_count(&leaf->ranks),
			.n_param = trace_fn[leaf->fn].n_param};
	uint32_t i = 0;
	int rv = -1;

	leaf->n_param = f.n_param;
	leaf->param = arena_alloc(a, f.n_param, sizeof(*leaf->param));
	if (!leaf->param || fit_alloc(&f) < 0)
		goto out;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r))
		f.rank[i++] = r;
	for (i = 0; i < f.n_rank; i++)
		read_rank(&f, i);
	read_places(&f);
	for (i = 0; i < f.n_param; i++)
		if (fit_param(&f, i) < 0)
			goto out;
	rv = 0;
out:
	fit_free(&f);
	return rv;
}
