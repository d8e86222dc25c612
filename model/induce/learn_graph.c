/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns and rows of the nodes of a graph: the walks are gone through once, with the counters as a model would have
 * them. See learn_impl.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/learn_impl.h"
#include "model/induce/value.h"

#define COLUMNS_MOST 40
#define HEADERS_MOST 12
#define CELLS_MOST   (1ull << 28) /* values in all tables of a graph */

static int no_memory(struct learner *l)
{
	return err_set(l->err, "no memory for the rows of a journal");
}

/* A column, unless it is there or there are enough. */
static int column(struct learn_graph *g, struct rules_table *t, uint8_t op, uint32_t a, uint32_t b, double bits, uint8_t kind)
{
	uint32_t x;

	if (t->n_cols == COLUMNS_MOST)
		return 0;
	x = rules_feature(&g->f, op, a, b);
	if (x == MODEL_NONE)
		return -1;
	for (uint32_t c = 0; c < t->n_cols; c++)
		if (t->feature[c] == x)
			return 0;
	t->feature[t->n_cols] = x;
	t->bits[t->n_cols] = bits;
	t->kind[t->n_cols++] = kind;
	return 0;
}

static int counters_of(struct learn_graph *g, struct rules_table *t, uint32_t node, double bits, uint8_t kind)
{
	for (uint32_t c = g->topo.first_counter[node]; node && c < g->topo.first_counter[node + 1]; c++, bits += 0.75)
		if (column(g, t, MODEL_COUNT, c, 0, bits, RULES_COUNTER | RULES_WHOLE | kind) < 0)
			return -1;
	return 0;
}

/* Counters of the headers of the loops around the node, innermost first. */
static int header_columns(struct learn_graph *g, struct rules_table *t, uint32_t node)
{
	uint32_t smaller = 0;
	double bits = 2;

	for (int k = 0; k < HEADERS_MOST; k++) {
		uint32_t best = MODEL_NONE;

		for (uint32_t i = 0; i < g->topo.n_loops; i++)
			if (g->topo.loop[i].has[node] && g->topo.loop[i].n > smaller &&
			    (best == MODEL_NONE || g->topo.loop[i].n < g->topo.loop[best].n))
				best = i;
		if (best == MODEL_NONE)
			return 0;
		smaller = g->topo.loop[best].n;
		if (g->topo.loop[best].header != node &&
		    counters_of(g, t, g->topo.loop[best].header, bits += 0.25, 0) < 0)
			return -1;
	}
	return 0;
}

static int input_columns(struct learner *l, struct learn_graph *g, struct rules_table *t)
{
	const struct journal *j = l->j;
	const struct model_input *in = l->m->input;

	for (uint32_t i = 0; i < j->n_inputs; i++)
		if (in[i].kind == MODEL_INPUT_VARIED &&
		    column(g, t, MODEL_INPUT, i, 0, 2, RULES_INPUT | (l->whole_input[i] ? RULES_WHOLE : 0)) < 0)
			return -1;
	return 0;
}

static int derived_columns(struct learner *l, struct learn_graph *g, struct rules_table *t)
{
	const struct journal *j = l->j;
	const struct model_input *in = l->m->input;

	if (j->rank_input >= 0 && j->ranks_input >= 0 && in[j->rank_input].kind == MODEL_INPUT_VARIED) {
		uint32_t rank = rules_feature(&g->f, MODEL_INPUT, (uint32_t)j->rank_input, 0);
		uint32_t ranks = rules_feature(&g->f, MODEL_INPUT, (uint32_t)j->ranks_input, 0);

		if (rank == MODEL_NONE || ranks == MODEL_NONE ||
		    column(g, t, MODEL_RING, rank, ranks, 3, RULES_INPUT | RULES_WHOLE) < 0 ||
		    column(g, t, MODEL_RING_BACK, rank, ranks, 3, RULES_INPUT | RULES_WHOLE) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < j->n_inputs; i++) {
		uint32_t x;

		if (in[i].kind != MODEL_INPUT_VARIED || !l->log_input[i])
			continue;
		x = rules_feature(&g->f, MODEL_INPUT, i, 0);
		if (x == MODEL_NONE || column(g, t, MODEL_LOG2, x, 0, 4, RULES_INPUT | RULES_WHOLE) < 0 ||
		    column(g, t, MODEL_INVERSE, x, 0, 4, RULES_INPUT) < 0)
			return -1;
	}
	return 0;
}

/* Columns for neighbours in the graph: how often other ways were taken. */
static int neighbour_columns(struct learn_graph *g, struct rules_table *t, uint32_t node)
{
	uint32_t preds = 0;

	for (uint32_t i = 0; i < g->topo.n_arcs; i++)
		preds += g->topo.arc[i].to == node;
	if (preds > 1 && column(g, t, MODEL_FROM, 0, 0, 3, RULES_LABEL | RULES_WHOLE) < 0)
		return -1;
	for (uint32_t i = g->topo.first[node]; i < g->topo.first[node + 1]; i++)
		if (g->topo.arc[i].to != MODEL_END && g->topo.arc[i].to != node &&
		    counters_of(g, t, g->topo.arc[i].to, 4, 0) < 0)
			return -1;
	for (uint32_t i = 0; i < g->topo.n_arcs; i++)
		if (g->topo.arc[i].to == node && g->topo.arc[i].from != node && g->topo.arc[i].from &&
		    counters_of(g, t, g->topo.arc[i].from, 4, 0) < 0)
			return -1;
	return 0;
}

static int columns_plan(struct learner *l, uint32_t graph, uint32_t node)
{
	struct learn_graph *g = &l->g[graph];
	struct rules_table *t = &g->node[node].t;

	t->n_arcs = g->topo.first[node + 1] - g->topo.first[node];
	if (!node && graph)
		return 0; /* a procedure begins with the values of its caller */
	if (node && (counters_of(g, t, node, 1, RULES_OWN) < 0 || header_columns(g, t, node) < 0))
		return no_memory(l);
	if (input_columns(l, g, t) < 0)
		return no_memory(l);
	for (uint32_t v = 0; node && v < l->j->n_vars; v++)
		if (column(g, t, MODEL_VAR, v, 0, 2, l->whole_var[v] ? RULES_WHOLE : 0) < 0)
			return no_memory(l);
	if (graph && column(g, t, MODEL_CALLER, 0, 0, 1, RULES_LABEL | RULES_WHOLE) < 0)
		return no_memory(l);
	if (derived_columns(l, g, t) < 0 || (node && neighbour_columns(g, t, node) < 0))
		return no_memory(l);
	return 0;
}

static int rows_allocate(struct learner *l, struct learn_graph *g)
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < g->topo.n_arcs; i++)
		g->node[g->topo.arc[i].from].cap += g->topo.arc[i].seen;
	for (uint32_t i = 0; i < g->flow.n_nodes; i++) {
		struct learn_node *n = &g->node[i];
		size_t cap = n->cap ? n->cap : 1;

		cells += n->cap * (uint64_t)n->t.n_cols;
		if (cells > CELLS_MOST)
			return err_set(l->err, "the journal is too large: more than %llu values", CELLS_MOST);
		n->t.block = malloc(cap * (n->t.n_cols ? n->t.n_cols : 1) * sizeof(double));
		n->t.label = malloc(5 * cap * sizeof(uint32_t));
		if (!n->t.block || !n->t.label)
			return no_memory(l);
		n->t.walk = n->t.label + cap;
		n->t.run = n->t.label + 2 * cap;
		n->row_out = n->t.label + 3 * cap;
		n->row_next = n->t.label + 4 * cap;
		for (uint32_t c = 0; c < n->t.n_cols; c++)
			n->t.col[c] = n->t.block + cap * c;
	}
	return 0;
}

static int resets_list(struct learner *l, struct learn_graph *g)
{
	const struct topology *t = &g->topo;

	g->resets = calloc(t->n_arcs ? t->n_arcs : 1, sizeof(*g->resets));
	g->n_resets = calloc(t->n_arcs ? t->n_arcs : 1, sizeof(*g->n_resets));
	g->count = calloc(t->n_counters + 1ull, sizeof(*g->count));
	if (!g->resets || !g->n_resets || !g->count)
		return no_memory(l);
	for (uint32_t i = 0; i < t->n_arcs; i++) {
		bool enters = false;

		for (uint32_t k = 0; k < t->n_loops && !enters; k++)
			enters = t->arc[i].to != MODEL_END && t->loop[k].has[t->arc[i].to] && !t->loop[k].has[t->arc[i].from];
		if (!enters)
			continue;
		g->resets[i] = malloc((t->n_counters + 1ull) * sizeof(**g->resets));
		if (!g->resets[i])
			return no_memory(l);
		for (uint32_t c = 0; c < t->n_counters; c++)
			if (topology_resets(t, &t->arc[i], &t->counter[c]))
				g->resets[i][g->n_resets[i]++] = c;
	}
	return 0;
}

struct replay {
	struct learner *l;
	struct learn_graph *g;
	struct model_graph view; /* features only */
	const struct flow_walk *walk;
	uint32_t walk_index, from;
	double *zero;
};

/* One passage: its row, then the arc as a model takes it. */
static void pass_arc(struct replay *r, uint32_t node, uint32_t row_out, uint32_t row_next, uint32_t to)
{
	struct learn_graph *g = r->g;
	struct learn_node *n = &g->node[node];
	const struct journal_run *run = &r->l->j->run[r->walk->run];
	uint32_t arc = topology_arc_find(&g->topo, node, to);
	size_t row = n->t.n_rows++;
	struct model_state s = {.input = run->input,
				.var = row_out == MODEL_NONE ? r->zero : run->var + (size_t)row_out * r->l->j->n_vars,
				.count = g->count,
				.from = r->from,
				.caller = r->walk->caller};

	for (uint32_t c = g->topo.first_counter[node]; c < g->topo.first_counter[node + 1]; c++)
		g->count[c]++;
	for (uint32_t c = 0; c < n->t.n_cols; c++)
		n->t.col[c][row] = model_feature_value(&r->view, n->t.feature[c], &s);
	n->t.label[row] = arc - g->topo.first[node];
	n->t.walk[row] = r->walk_index;
	n->t.run[row] = r->walk->run;
	n->row_out[row] = row_out;
	n->row_next[row] = row_next;
	for (uint32_t i = 0; i < g->n_resets[arc]; i++)
		g->count[g->resets[arc][i]] = 0;
	r->from = node;
}

int learn_tables(struct learner *l, uint32_t graph)
{
	struct learn_graph *g = &l->g[graph];
	struct replay r = {.l = l, .g = g};

	g->node = calloc(g->flow.n_nodes, sizeof(*g->node));
	r.zero = calloc(l->j->n_vars + 1ull, sizeof(*r.zero));
	if (!g->node || !r.zero) {
		free(r.zero);
		return no_memory(l);
	}
	for (uint32_t i = 0; i < g->flow.n_nodes; i++)
		if (columns_plan(l, graph, i) < 0)
			goto fail;
	if (rows_allocate(l, g) < 0 || resets_list(l, g) < 0)
		goto fail;
	r.view.feature = g->f.feature;
	for (; r.walk_index < g->flow.n_walks; r.walk_index++) {
		const struct flow_step *step;

		r.walk = &g->flow.walk[r.walk_index];
		step = g->flow.step + r.walk->first;
		memset(g->count, 0, g->topo.n_counters * sizeof(*g->count));
		r.from = 0;
		pass_arc(&r, 0, graph ? step[0].row : MODEL_NONE, step[0].row, step[0].node);
		for (size_t i = 0; i < r.walk->n; i++) {
			bool last = i + 1 == r.walk->n;

			pass_arc(&r, step[i].node, step[i].row_out, last ? MODEL_NONE : step[i + 1].row,
			     last ? MODEL_END : step[i + 1].node);
		}
	}
	free(r.zero);
	return 0;
fail:
	free(r.zero);
	return -1;
}

void learn_graph_free(struct learn_graph *g)
{
	for (uint32_t i = 0; g->node && i < g->flow.n_nodes; i++) {
		free(g->node[i].t.block);
		free(g->node[i].t.label);
	}
	for (uint32_t i = 0; g->resets && i < g->topo.n_arcs; i++)
		free(g->resets[i]);
	free(g->node);
	free(g->resets);
	free(g->n_resets);
	free(g->count);
	rules_features_free(&g->f);
	topology_free(&g->topo);
	flow_free(&g->flow);
}
