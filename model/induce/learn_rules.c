/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time and data rules of every arc. A variable that is not determined on one arc is not known at all, and rules that
 * look at it are learnt again without it. See learn_impl.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/learn_impl.h"

#define NEAR_REL 0.05 /* a data rule that is not exact misses at most this much of the variable's deviation */
#define EXACT_ALL_REL 1e-9

/* Rows of one arc. */
struct arc_rows {
	struct learner *l;
	const struct learn_graph *g;
	const struct learn_node *n;
	uint32_t graph, node, arc; /* of the node */
	size_t n_rows;
	uint32_t *row;	 /* of the node's table */
	uint32_t n_cols; /* that may be looked at */
	double *col[FIT_COLS_MAX];
	uint32_t feature[FIT_COLS_MAX];
	uint32_t *group;
	double *y, *block;
};

static void rows_free(struct arc_rows *a)
{
	free(a->row);
	free(a->group);
	free(a->block);
}

static int rows_collect(struct arc_rows *a)
{
	const struct rules_table *t = &a->n->t;
	size_t n = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		a->n_rows += t->label[i] == a->arc;
	a->row = malloc((a->n_rows + 1) * sizeof(*a->row));
	a->group = malloc((a->n_rows + 1) * sizeof(*a->group));
	a->block = malloc((a->n_rows + 1) * (t->n_cols + 1ull) * sizeof(*a->block));
	if (!a->row || !a->group || !a->block)
		return err_set(a->l->err, "no memory for the rows of an arc");
	a->y = a->block;
	for (size_t i = 0; i < t->n_rows; i++)
		if (t->label[i] == a->arc) {
			a->row[n] = (uint32_t)i;
			a->group[n++] = t->run[i];
		}
	return 0;
}

/* Columns without labels, and without variables that are not known. */
static void columns_take(struct arc_rows *a)
{
	const struct rules_table *t = &a->n->t;
	const struct model_feature *f = a->g->f.feature;

	a->n_cols = 0;
	for (uint32_t c = 0; c < t->n_cols; c++) {
		uint32_t x = t->feature[c];
		double *col = a->block + (a->n_cols + 1ull) * a->n_rows;

		if (t->kind[c] & RULES_LABEL || (f[x].op == MODEL_VAR && !a->l->m->var[f[x].a].known))
			continue;
		for (size_t i = 0; i < a->n_rows; i++)
			col[i] = t->col[c][a->row[i]];
		a->col[a->n_cols] = col;
		a->feature[a->n_cols++] = x;
	}
}

/* var: whose values are fitted; MODEL_NONE: times are. */
static int fit_chosen_rows(struct arc_rows *a, uint32_t var, struct model_fn *out, struct fit_quality *q)
{
	struct fit_table t = {a->n_rows, a->n_cols, a->col, a->feature, a->group, NULL};

	for (uint32_t c = 0; c < a->n_cols; c++) {
		const struct model_feature *f = &a->g->f.feature[a->feature[c]];

		if (f->op == MODEL_VAR && f->a == var)
			t.own = &a->feature[c];
	}
	return fit_function(&t, a->y, var == MODEL_NONE, a->l->m, out, q, a->l->err);
}

static const struct journal_run *run_of(const struct arc_rows *a, size_t i)
{
	return &a->l->j->run[a->group[i]];
}

static int time_learn(struct arc_rows *a, struct model_arc *arc)
{
	struct fit_quality q;
	bool some = false;

	for (size_t i = 0; i < a->n_rows; i++) {
		const struct journal_run *run = run_of(a, i);
		uint32_t out = a->n->row_out[a->row[i]];

		a->y[i] = run->time_s[a->n->row_next[a->row[i]]] - (out == MODEL_NONE ? 0 : run->time_s[out]);
		some |= a->y[i] != 0;
	}
	if (!some)
		return 0;
	if (fit_chosen_rows(a, MODEL_NONE, &arc->time, &q) < 0)
		return -1;
	arc->time_error_s = q.error;
	return 0;
}

/* ---- data ---- */

static double column_value(const struct arc_rows *a, uint32_t feature, size_t row)
{
	for (uint32_t c = 0; c < a->n_cols; c++)
		if (a->feature[c] == feature)
			return a->col[c][row];
	return NAN;
}

static double value_at(const struct arc_rows *a, const struct model_fn *fn, size_t row)
{
	double done[MODEL_MAX_STAGES], sum = 0;

	for (uint32_t s = 0; s < fn->n_stages; s++) {
		sum = 0;
		for (uint32_t k = 0; k < fn->stage[s].n_terms; k++) {
			const struct model_term *t = &fn->stage[s].term[k];
			double p = t->coef;

			for (uint32_t i = 0; i < t->n_x; i++)
				p = p * (t->x[i] & MODEL_STAGE ? done[t->x[i] & ~MODEL_STAGE] : column_value(a, t->x[i], row));
			sum = sum + p;
		}
		done[s] = sum;
	}
	return sum;
}

/* Whether what fits the chosen rows fits all of them. */
static bool fits_all_rows(const struct arc_rows *a, const struct model_fn *fn, const struct fit_quality *q)
{
	double allowed = q->exact ? EXACT_ALL_REL * fmax(q->scale, 1e-300) : INFINITY;

	for (size_t i = 0; i < a->n_rows && isfinite(allowed); i++)
		if (!(fabs(value_at(a, fn, i) - a->y[i]) <= allowed))
			return false;
	return true;
}

static const char *point_name(const struct arc_rows *a, uint32_t node)
{
	uint32_t point = node == MODEL_END ? MODEL_NONE : a->g->flow.node[node].point;

	return point != MODEL_NONE ? a->l->j->point[point] : node == 0 ? "the beginning" : "a call";
}

static int not_known(struct arc_rows *a, uint32_t v, const struct fit_quality *q)
{
	struct model_var *var = &a->l->m->var[v];
	uint32_t to = a->g->topo.arc[a->g->topo.first[a->node] + a->arc].to;
	char text[512];

	snprintf(text, sizeof(text),
		 "from %.100s to %.100s (%zu times) nothing that is known gives it: the best function misses by %.3g where it "
		 "deviates by %.3g",
		 point_name(a, a->node), point_name(a, to), a->n_rows, q->error, q->deviation);
	var->known = false;
	var->reason = model_strdup(a->l->m, text);
	return var->reason ? 1 : err_set(a->l->err, "no memory for a reason");
}

static bool looks_at(const struct learn_graph *g, const struct model_fn *fn, uint32_t v)
{
	for (uint32_t s = 0; s < fn->n_stages; s++)
		for (uint32_t k = 0; k < fn->stage[s].n_terms; k++)
			for (uint32_t i = 0; i < fn->stage[s].term[k].n_x; i++) {
				uint32_t x = fn->stage[s].term[k].x[i];

				if (!(x & MODEL_STAGE) && g->f.feature[x].op == MODEL_VAR && g->f.feature[x].a == v)
					return true;
			}
	return false;
}

static bool looks_at_unknown(const struct learner *l, const struct learn_graph *g, const struct model_fn *fn)
{
	for (uint32_t v = 0; v < l->j->n_vars; v++)
		if (!l->m->var[v].known && looks_at(g, fn, v))
			return true;
	return false;
}

/* The rule that another arc of the node has for the variable, where it holds here as well: then both are one assignment
 * of the program. */
static int data_shared(const struct arc_rows *a, uint32_t v, struct model_data *d)
{
	const struct model_node *n = &a->l->m->graph[a->graph].node[a->node];

	for (uint32_t k = 0; k < n->n_arcs; k++)
		for (uint32_t i = 0; k != a->arc && i < n->arc[k].n_data; i++) {
			const struct model_data *other = &n->arc[k].data[i];
			struct fit_quality q = {.exact = true};

			if (other->var != v || looks_at_unknown(a->l, a->g, &other->fn))
				continue;
			for (size_t r = 0; r < a->n_rows; r++)
				q.scale = fmax(q.scale, fabs(a->y[r]));
			if (!fits_all_rows(a, &other->fn, &q))
				continue;
			*d = *other;
			if (model_fn_copy(a->l->m, &other->fn, &d->fn) < 0)
				return err_set(a->l->err, "no memory for data rules");
			return 1;
		}
	return 0;
}

/* 0: there is a rule, or none is needed; 1: the variable is not known; -1. */
static int data_learn(struct arc_rows *a, uint32_t v, struct model_data *d, bool *needed)
{
	uint32_t n_vars = a->l->j->n_vars;
	struct fit_quality q;
	int shared;

	*needed = false;
	for (size_t i = 0; i < a->n_rows; i++) {
		const struct journal_run *run = run_of(a, i);
		uint32_t out = a->n->row_out[a->row[i]];

		a->y[i] = run->var[(size_t)a->n->row_next[a->row[i]] * n_vars + v];
		*needed |= a->y[i] != (out == MODEL_NONE ? 0 : run->var[(size_t)out * n_vars + v]);
	}
	if (!*needed)
		return 0;
	shared = data_shared(a, v, d);
	if (shared)
		return shared < 0 ? -1 : 0;
	if (fit_chosen_rows(a, v, &d->fn, &q) < 0)
		return -1;
	if (!fits_all_rows(a, &d->fn, &q) || (!q.exact && !(q.error <= NEAR_REL * q.deviation)))
		return not_known(a, v, &q);
	d->var = v;
	d->error = q.error;
	if (!d->fn.stage[0].n_terms) { /* the constant 0 */
		d->fn.stage[0].term[0] = (struct model_term){0};
		d->fn.stage[0].n_terms = 1;
	}
	return 0;
}

/* What has to be learnt of an arc: all at first, then what looks at variables that have turned out not to be known. */
static int arc_data(struct arc_rows *a, struct model_arc *arc, bool first, bool *lost)
{
	const struct learner *l = a->l;
	struct model_data *old = arc->data;
	uint32_t n_old = arc->n_data;

	arc->n_data = 0;
	arc->data = model_alloc(l->m, l->j->n_vars, sizeof(*arc->data));
	if (!arc->data)
		return err_set(l->err, "no memory for data rules");
	for (uint32_t v = 0, k = 0; v < l->j->n_vars; v++) {
		struct model_data *d = &arc->data[arc->n_data];
		bool had = k < n_old && old[k].var == v, needed = had;
		int rc = 0;

		if (!l->m->var[v].known) {
			k += had;
			continue;
		}
		if (had)
			*d = old[k++];
		if (first || (had && looks_at_unknown(l, a->g, &d->fn))) {
			columns_take(a);
			rc = data_learn(a, v, d, &needed);
		}
		if (rc < 0)
			return -1;
		*lost |= rc;
		arc->n_data += needed && !rc;
	}
	return 0;
}

static bool arc_is_stale(const struct arc_rows *a, const struct model_arc *arc)
{
	bool stale = looks_at_unknown(a->l, a->g, &arc->time);

	for (uint32_t i = 0; i < arc->n_data; i++)
		stale |= !a->l->m->var[arc->data[i].var].known || looks_at_unknown(a->l, a->g, &arc->data[i].fn);
	return stale;
}

static int arc_learn(struct learner *l, uint32_t graph, uint32_t node, uint32_t arc, bool first, bool *lost)
{
	struct arc_rows a = {.l = l, .g = &l->g[graph], .n = &l->g[graph].node[node], .graph = graph, .node = node, .arc = arc};
	struct model_arc *out = &l->m->graph[graph].node[node].arc[arc];
	int rc = -1;

	if (out->to == MODEL_END || (graph && !node))
		return 0;
	if (!first && !arc_is_stale(&a, out))
		return 0;
	if (rows_collect(&a) < 0)
		goto out;
	if (l->j->n_vars && arc_data(&a, out, first, lost) < 0)
		goto out;
	if (first || looks_at_unknown(l, a.g, &out->time)) {
		columns_take(&a);
		if (time_learn(&a, out) < 0)
			goto out;
	}
	rc = 0;
out:
	rows_free(&a);
	return rc;
}

/* Arcs that were taken most come first: others may share their rules. */
static int node_learn(struct learner *l, uint32_t graph, uint32_t node, bool first, bool *lost)
{
	const struct model_node *n = &l->m->graph[graph].node[node];
	uint32_t *order = malloc((n->n_arcs + 1ull) * sizeof(*order));
	int rc = 0;

	if (!order)
		return err_set(l->err, "no memory for the arcs of a node");
	for (uint32_t i = 0; i < n->n_arcs; i++) {
		uint32_t k = i;

		for (; k && n->arc[order[k - 1]].seen < n->arc[i].seen; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	for (uint32_t i = 0; rc == 0 && i < n->n_arcs; i++)
		rc = arc_learn(l, graph, node, order[i], first, lost);
	free(order);
	return rc;
}

int learn_functions(struct learner *l)
{
	bool lost = true;

	for (bool first = true; lost; first = false) {
		lost = false;
		for (uint32_t g = 0; g < l->n_graphs; g++)
			for (uint32_t n = 0; n < l->m->graph[g].n_nodes; n++)
				if (node_learn(l, g, n, first, &lost) < 0)
					return -1;
	}
	return 0;
}
