/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a journal to a model: inputs, procedures, graphs, functions, transitions, confidence. See learn.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/interpret.h"
#include "model/induce/learn_impl.h"
#include "model/induce/rational.h"
#include "model/induce/replay.h"

#define TIE_BITS 6.0 /* how short a line between two inputs has to be to count */
#define TIE_RUNS 5	/* runs after which any line counts */
#define LOG_MOST 0x1p31

static int no_memory(struct learner *l)
{
	return err_set(l->err, "no memory for a model");
}

/* ---- inputs and variables ---- */

static bool used(const struct learner *l, uint32_t run)
{
	return run != l->without;
}

/* Whether input b always was a line of input a that is too simple, or was seen too often, for chance. */
static bool tied(const struct learner *l, uint32_t a, uint32_t b, double *scale, double *shift)
{
	const struct journal *j = l->j;
	uint32_t lo = MODEL_NONE, hi = 0, n = 0;
	int64_t p, q, r, s;

	for (uint32_t i = 0; i < j->n_runs; i++) {
		if (!used(l, i))
			continue;
		n++;
		if (lo == MODEL_NONE)
			lo = hi = i;
		lo = j->run[i].input[a] < j->run[lo].input[a] ? i : lo;
		hi = j->run[i].input[a] > j->run[hi].input[a] ? i : hi;
	}
	*scale = (j->run[hi].input[b] - j->run[lo].input[b]) / (j->run[hi].input[a] - j->run[lo].input[a]);
	*shift = j->run[lo].input[b] - *scale * j->run[lo].input[a];
	for (uint32_t i = 0; i < j->n_runs; i++) {
		double y = *scale * j->run[i].input[a] + *shift;

		if (used(l, i) && fabs(y - j->run[i].input[b]) > 1e-12 * fmax(fabs(y), fabs(j->run[i].input[b])))
			return false;
	}
	rational_near(*scale, 1000, &p, &q);
	rational_near(*shift, 1000, &r, &s);
	return n >= TIE_RUNS ||
	       (fabs(*scale - (double)p / (double)q) < 1e-9 && fabs(*shift - (double)r / (double)s) < 1e-9 &&
		log2(1 + fabs((double)p)) + log2(1 + fabs((double)r)) + 1.5 * log2((double)q) + 1.5 * log2((double)s) <= TIE_BITS);
}

static int inputs_learn(struct learner *l)
{
	const struct journal *j = l->j;
	struct model *m = l->m;

	l->repeat = true;
	m->n_inputs = j->n_inputs;
	m->input = model_alloc(m, j->n_inputs, sizeof(*m->input));
	if (!m->input)
		return no_memory(l);
	for (uint32_t i = 0; i < j->n_inputs; i++) {
		struct model_input *in = &m->input[i];
		bool first = true;

		in->name = model_strdup(m, j->input[i]);
		if (!in->name)
			return no_memory(l);
		l->whole_input[i] = l->log_input[i] = true;
		for (uint32_t r = 0; r < j->n_runs; r++) {
			double x = j->run[r].input[i];

			if (!used(l, r))
				continue;
			in->lo = first ? x : fmin(in->lo, x);
			in->hi = first ? x : fmax(in->hi, x);
			l->whole_input[i] &= x == floor(x) && fabs(x) < 0x1p52;
			l->log_input[i] &= x == floor(x) && x >= 1 && x < LOG_MOST;
			first = false;
		}
		in->kind = in->lo == in->hi ? MODEL_INPUT_CONSTANT : MODEL_INPUT_VARIED;
		for (uint32_t a = 0; in->kind == MODEL_INPUT_VARIED && a < i; a++)
			if (m->input[a].kind == MODEL_INPUT_VARIED && tied(l, a, i, &in->scale, &in->shift)) {
				in->kind = MODEL_INPUT_TIED;
				in->tied_to = a;
			}
		l->repeat &= in->kind == MODEL_INPUT_CONSTANT;
	}
	return 0;
}

static int vars_learn(struct learner *l)
{
	const struct journal *j = l->j;
	struct model *m = l->m;

	m->n_vars = j->n_vars;
	m->var = model_alloc(m, j->n_vars, sizeof(*m->var));
	m->n_points = j->n_points;
	m->point = model_alloc(m, j->n_points, sizeof(*m->point));
	if (!m->var || !m->point)
		return no_memory(l);
	for (uint32_t p = 0; p < j->n_points; p++) {
		m->point[p] = model_strdup(m, j->point[p]);
		if (!m->point[p])
			return no_memory(l);
	}
	for (uint32_t v = 0; v < j->n_vars; v++) {
		m->var[v].name = model_strdup(m, j->var[v]);
		m->var[v].known = l->whole_var[v] = true;
		if (!m->var[v].name)
			return no_memory(l);
		for (uint32_t r = 0; r < j->n_runs; r++)
			for (size_t i = 0; used(l, r) && i < j->run[r].n_rows && l->whole_var[v]; i++) {
				double x = j->run[r].var[i * j->n_vars + v];

				l->whole_var[v] = x == floor(x) && fabs(x) < 0x1p52;
			}
	}
	return 0;
}

/* ---- graphs ---- */

/* The program first; procedures in the reverse order of their finding, so that callees stand after callers. */
static int flows_learn(struct learner *l, enum flow_callers callers)
{
	struct flow main, callee, found[MODEL_MAX_GRAPHS];
	uint32_t n = 0;
	int rc = 0;

	if (flow_from_journal(&main, l->j, l->without, l->err) < 0)
		return -1;
	while (callers != FLOW_NO_PROCEDURES && rc >= 0 && n + 1 < MODEL_MAX_DEPTH) {
		rc = flow_extract(&main, l->j, n, callers, &callee, l->err);
		if (rc <= 0)
			break;
		found[n++] = callee;
	}
	l->n_graphs = n + 1;
	l->g = calloc(l->n_graphs, sizeof(*l->g));
	if (!l->g) {
		for (uint32_t i = 0; i < n; i++)
			flow_free(&found[i]);
		flow_free(&main);
		return no_memory(l);
	}
	l->g[0].flow = main;
	for (uint32_t i = 0; i < n; i++)
		l->g[n - i].flow = found[i];
	for (uint32_t k = 0; k <= n; k++)
		for (uint32_t i = 0; i < l->g[k].flow.n_nodes; i++)
			if (l->g[k].flow.node[i].callee != MODEL_NONE)
				l->g[k].flow.node[i].callee = n - l->g[k].flow.node[i].callee;
	return rc < 0 ? -1 : 0;
}

static int graph_shape(struct learner *l, uint32_t index)
{
	struct learn_graph *g = &l->g[index];
	struct model_graph *out = &l->m->graph[index];
	const struct topology *t = &g->topo;

	if (topology_build(&g->topo, &g->flow, l->err) < 0 || learn_tables(l, index) < 0)
		return -1;
	out->n_nodes = t->n_nodes;
	out->node = model_alloc(l->m, t->n_nodes, sizeof(*out->node));
	for (uint32_t u = 0; out->node && u < t->n_nodes; u++) {
		struct model_node *n = &out->node[u];

		n->point = g->flow.node[u].point;
		n->callee = g->flow.node[u].callee;
		n->n_arcs = t->first[u + 1] - t->first[u];
		n->arc = model_alloc(l->m, n->n_arcs, sizeof(*n->arc));
		if (!n->arc)
			return no_memory(l);
		for (uint32_t i = 0; i < n->n_arcs; i++) {
			const struct topology_arc *a = &t->arc[t->first[u] + i];

			n->arc[i] = (struct model_arc){.to = a->to, .info = a->info, .seen = a->seen};
		}
	}
	return out->node ? 0 : no_memory(l);
}

/* Labels and variables that are not known are no columns of transitions. */
static void unknown_columns_drop(const struct learner *l, const struct learn_graph *g, struct rules_table *t)
{
	uint32_t kept = 0;

	for (uint32_t c = 0; c < t->n_cols; c++) {
		const struct model_feature *f = &g->f.feature[t->feature[c]];

		if (f->op == MODEL_VAR && !l->m->var[f->a].known)
			continue;
		t->col[kept] = t->col[c];
		t->feature[kept] = t->feature[c];
		t->bits[kept] = t->bits[c];
		t->kind[kept++] = t->kind[c];
	}
	t->n_cols = kept;
}

/*
 * Learns the rules once more, with the atoms found at other nodes. A node with an unknown exit gets all atoms. Other
 * nodes get only thresholds that are functions. Such a threshold holds at this node as well as a coincidence of a few
 * runs does, and the program is more likely to test the threshold.
 */
static int again(struct learner *l, uint32_t graph)
{
	struct model_graph *g = &l->m->graph[graph];
	struct rules_library lib = {0};
	struct library_atom {
		struct model_atom atom;
		uint32_t node;
	} *from;
	struct model_atom *atom;
	uint32_t n = 0, n_from = 0;
	int rc = 0;

	for (uint32_t u = 0; u < g->n_nodes; u++)
		n += g->node[u].n_choices;
	atom = malloc((n + 1ull) * sizeof(*atom));
	from = malloc((n + 1ull) * sizeof(*from));
	if (!atom || !from)
		rc = no_memory(l);
	for (uint32_t u = 0; rc == 0 && u < g->n_nodes; u++)
		for (uint32_t i = 0; i < g->node[u].n_choices; i++)
			if (g->node[u].choice[i].atom.kind != MODEL_ATOM_CHANCE)
				from[n_from++] = (struct library_atom){g->node[u].choice[i].atom, u};
	lib.atom = atom;
	for (uint32_t u = 0; rc == 0 && u < g->n_nodes; u++) {
		bool known = g->node[u].rest == MODEL_NEGATIVE && !model_node_random(&g->node[u]);

		lib.n = 0;
		for (uint32_t i = 0; i < n_from; i++)
			if (!known || (from[i].node != u && from[i].atom.fn.n_stages))
				atom[lib.n++] = from[i].atom;
		if (!known || (lib.n && g->node[u].n_choices))
			rc = rules_learn(&l->g[graph].node[u].t, &l->g[graph].f, &lib, l->repeat, l->m, &g->node[u], l->err);
	}
	free(atom);
	free(from);
	return rc;
}

/* Callees first: they are small, and say soonest that something is open. */
static int transitions_learn(struct learner *l)
{
	for (uint32_t k = l->n_graphs; k-- > 0 && !l->open;) {
		struct learn_graph *g = &l->g[k];

		for (uint32_t u = 0; u < g->flow.n_nodes; u++) {
			unknown_columns_drop(l, g, &g->node[u].t);
			if (rules_learn(&g->node[u].t, &g->f, NULL, l->repeat, l->m, &l->m->graph[k].node[u], l->err) < 0)
				return -1;
		}
		if (again(l, k) < 0)
			return -1;
		for (uint32_t u = 0; l->n_graphs > 1 && l->whole && u < g->flow.n_nodes; u++)
			l->open |= l->m->graph[k].node[u].rest == MODEL_UNKNOWN || model_node_random(&l->m->graph[k].node[u]);
	}
	return 0;
}

/* ---- only what rules look at stays ---- */

struct compaction {
	struct learn_graph *g;
	struct model_graph *out;
	uint32_t *feature, *counter; /* new numbers */
};

static void feature_use(struct compaction *c, uint32_t x)
{
	const struct model_feature *f = &c->g->f.feature[x];

	c->feature[x] = 0;
	if (f->op == MODEL_COUNT)
		c->counter[f->a] = 0;
	if (f->op >= MODEL_MOD)
		feature_use(c, f->a);
	if (model_feature_is_pair(f->op))
		feature_use(c, f->b);
}

static void each_operand(struct model_fn *fn, struct compaction *c, bool number)
{
	for (uint32_t s = 0; s < fn->n_stages; s++)
		for (uint32_t k = 0; k < fn->stage[s].n_terms; k++)
			for (uint32_t i = 0; i < fn->stage[s].term[k].n_x; i++) {
				uint32_t *x = &fn->stage[s].term[k].x[i];

				if (*x & MODEL_STAGE)
					continue;
				if (number)
					*x = c->feature[*x];
				else
					feature_use(c, *x);
			}
}

static void each_rule(struct compaction *c, bool number)
{
	for (uint32_t u = 0; u < c->out->n_nodes; u++) {
		struct model_node *n = &c->out->node[u];

		for (uint32_t i = 0; i < n->n_arcs; i++) {
			each_operand(&n->arc[i].time, c, number);
			for (uint32_t d = 0; d < n->arc[i].n_data; d++)
				each_operand(&n->arc[i].data[d].fn, c, number);
		}
		for (uint32_t i = 0; i < n->n_choices; i++) {
			struct model_atom *a = &n->choice[i].atom;

			each_operand(&a->fn, c, number);
			if (number)
				a->x = c->feature[a->x];
			else
				feature_use(c, a->x);
		}
	}
}

static int resets_write(struct learner *l, struct compaction *c)
{
	for (uint32_t i = 0; i < c->g->topo.n_arcs; i++) {
		uint32_t u = c->g->topo.arc[i].from;
		struct model_arc *a = &c->out->node[u].arc[i - c->g->topo.first[u]];

		a->reset = model_alloc(l->m, c->g->n_resets[i], sizeof(*a->reset));
		if (!a->reset)
			return no_memory(l);
		for (uint32_t k = 0; k < c->g->n_resets[i]; k++)
			if (c->counter[c->g->resets[i][k]] != MODEL_NONE)
				a->reset[a->n_resets++] = c->counter[c->g->resets[i][k]];
	}
	return 0;
}

static int features_write(struct learner *l, struct compaction *c)
{
	struct model_graph *out = c->out;
	uint32_t n = c->g->f.map.n;

	out->feature = model_alloc(l->m, n, sizeof(*out->feature));
	out->counter = model_alloc(l->m, c->g->topo.n_counters, sizeof(*out->counter));
	if (!out->feature || !out->counter)
		return no_memory(l);
	for (uint32_t i = 0; i < c->g->topo.n_counters; i++)
		if (c->counter[i] != MODEL_NONE) {
			c->counter[i] = out->n_counters;
			out->counter[out->n_counters++] = c->g->topo.counter[i].node;
		}
	for (uint32_t i = 0; i < n; i++) {
		struct model_feature f = c->g->f.feature[i];

		if (c->feature[i] == MODEL_NONE)
			continue;
		if (f.op == MODEL_COUNT)
			f.a = c->counter[f.a];
		if (f.op >= MODEL_MOD)
			f.a = c->feature[f.a];
		if (model_feature_is_pair(f.op))
			f.b = c->feature[f.b];
		c->feature[i] = out->n_features;
		out->feature[out->n_features++] = f;
	}
	return 0;
}

static int graph_compact(struct learner *l, uint32_t index)
{
	struct compaction c = {.g = &l->g[index], .out = &l->m->graph[index]};
	int rc = -1;

	c.feature = malloc((c.g->f.map.n + 1ull) * sizeof(*c.feature));
	c.counter = malloc((c.g->topo.n_counters + 1ull) * sizeof(*c.counter));
	if (!c.feature || !c.counter) {
		no_memory(l);
		goto out;
	}
	memset(c.feature, 0xff, (c.g->f.map.n + 1ull) * sizeof(*c.feature));
	memset(c.counter, 0xff, (c.g->topo.n_counters + 1ull) * sizeof(*c.counter));
	each_rule(&c, false);
	if (features_write(l, &c) < 0)
		goto out;
	each_rule(&c, true);
	rc = resets_write(l, &c);
out:
	free(c.feature);
	free(c.counter);
	return rc;
}

/* Sets the class of a node: whether its arcs predict time, data, or both. */
static void classes(struct model_graph *g)
{
	for (uint32_t u = 0; u < g->n_nodes; u++) {
		struct model_node *n = &g->node[u];
		bool time = false, data = false;

		for (uint32_t i = 0; i < n->n_arcs; i++) {
			time |= n->arc[i].time.n_stages > 0;
			data |= n->arc[i].n_data > 0;
		}
		n->class = time && data ? MODEL_PTD : time ? MODEL_PT : data ? MODEL_PD : MODEL_S;
	}
}

static int learn_all(struct learner *l, enum flow_callers callers)
{
	if (inputs_learn(l) < 0 || vars_learn(l) < 0 || flows_learn(l, callers) < 0)
		return -1;
	l->m->n_graphs = l->n_graphs;
	l->m->graph = model_alloc(l->m, l->n_graphs, sizeof(*l->m->graph));
	if (!l->m->graph)
		return no_memory(l);
	for (uint32_t i = 0; i < l->n_graphs; i++)
		if (graph_shape(l, i) < 0)
			return -1;
	if (learn_functions(l) < 0 || transitions_learn(l) < 0)
		return -1;
	if (l->open) {
		l->m->n_unknown = 1; /* it is not checked, and not kept */
		return 0;
	}
	for (uint32_t i = 0; i < l->n_graphs; i++) {
		if (graph_compact(l, i) < 0)
			return -1;
		classes(&l->m->graph[i]);
	}
	for (uint32_t r = 0; r < l->j->n_runs; r++)
		if (used(l, r)) {
			l->m->n_runs++;
			l->m->n_rows += l->j->run[r].n_rows;
		}
	if (model_check(l->m, l->err) < 0)
		return -1;
	/* Chance makes states that no run had, and each answer is a mean over them. */
	for (uint32_t k = 0; l->m->random && k < l->m->n_graphs; k++)
		for (uint32_t u = 0; u < l->m->graph[k].n_nodes; u++)
			l->m->graph[k].node[u].n_doubts = 0;
	return 0;
}

static struct model *learn_with(const struct journal *j, uint32_t without, enum flow_callers callers, struct errbuf *err)
{
	struct learner l = {.j = j, .without = without, .m = model_create(), .whole = callers > FLOW_STRAIGHT, .err = err};
	int rc = -1;

	l.whole_input = calloc(j->n_inputs + 1ull, sizeof(bool));
	l.log_input = calloc(j->n_inputs + 1ull, sizeof(bool));
	l.whole_var = calloc(j->n_vars + 1ull, sizeof(bool));
	if (!l.m || !l.whole_input || !l.whole_var || !l.log_input)
		no_memory(&l);
	else
		rc = learn_all(&l, callers);
	for (uint32_t i = 0; l.g && i < l.n_graphs; i++)
		learn_graph_free(&l.g[i]);
	free(l.g);
	free(l.whole_input);
	free(l.log_input);
	free(l.whole_var);
	if (rc == 0)
		return l.m;
	model_destroy(l.m);
	return NULL;
}

static uint32_t nodes_by_chance(const struct model *m)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < m->n_graphs; k++)
		for (uint32_t u = 0; u < m->graph[k].n_nodes; u++)
			n += model_node_random(&m->graph[k].node[u]);
	return n;
}

static bool is_open(const struct model *m)
{
	return m->n_unknown || m->random;
}

/* The model that departs from fewer of its own runs, that has fewer nodes that are not known, or fewer by chance. */
static struct model *better(struct model *a, struct model *b, const struct journal *j, uint32_t without)
{
	uint32_t apart_a = replay_count(a, j, without), apart_b = replay_count(b, j, without);
	uint32_t chance_a = nodes_by_chance(a), chance_b = nodes_by_chance(b);
	bool first = apart_a != apart_b		      ? apart_a < apart_b
		     : a->n_unknown != b->n_unknown ? a->n_unknown < b->n_unknown
						      : chance_a <= chance_b;

	model_destroy(first ? b : a);
	return first ? a : b;
}

/* What looks like a procedure may be a loop whose ways alternate. While a model with procedures leaves something open, or
 * departs from its own runs, fewer kinds of parts are taken for one. Where that does not help either, there are no
 * procedures. */
static struct model *ladder(const struct journal *j, uint32_t without, bool procedures, struct errbuf *err)
{
	struct model *m = NULL, *other;

	for (int callers = FLOW_EARLY_RETURNS; procedures && callers > FLOW_NO_PROCEDURES; callers--) {
		m = learn_with(j, without, (enum flow_callers)callers, err);
		if (!m || m->n_graphs == 1 || (!is_open(m) && !replay_count(m, j, without)))
			return m;
		if (callers > FLOW_STRAIGHT)
			model_destroy(m);
	}
	other = learn_with(j, without, FLOW_NO_PROCEDURES, err);
	if (m && other)
		return better(m, other, j, without);
	model_destroy(m);
	return other;
}

static struct model *learn(const struct journal *j, uint32_t without, bool procedures, struct errbuf *err)
{
	struct model *m = ladder(j, without, procedures, err);

	if (m && replay_mark(m, j, without, err) < 0) {
		model_destroy(m);
		return NULL;
	}
	return m;
}

/* ---- confidence ---- */

struct comparison {
	const struct journal_run *run;
	size_t at, same;
	bool apart;
};

static int compare(void *arg, uint32_t point, double time_s, const double *var)
{
	struct comparison *c = arg;

	(void)time_s;
	(void)var;
	if (!c->apart && c->at < c->run->n_rows && c->run->point[c->at] == point)
		c->same++;
	else
		c->apart = true;
	c->at++;
	return 0;
}

static int run_compare(const struct model *m, const struct journal *j, uint32_t run, struct model_confidence *c, double *time_error)
{
	struct comparison cmp = {.run = &j->run[run]};
	struct model_sink sink = {compare, &cmp};
	struct model_limits limits = {.steps = 4 * cmp.run->n_rows + 1000000};
	struct model_result r = {0};
	struct errbuf why;
	double actual = cmp.run->time_s[cmp.run->n_rows - 1];

	if (model_interpret(m, cmp.run->input, 1, &limits, &sink, &r, &why) < 0) {
		c->n_refused++;
		return 0;
	}
	c->prefix += (double)cmp.same / (double)cmp.run->n_rows;
	c->n_exact += !cmp.apart && cmp.at == cmp.run->n_rows;
	*time_error += actual > 0 ? fabs(r.time_s / actual - 1) : 0;
	return 0;
}

static int cross_validate(const struct journal *j, bool procedures, struct model_confidence *c, struct errbuf *err)
{
	double time_error = 0;

	for (uint32_t run = 0; run < j->n_runs; run++) {
		struct model *m = learn(j, run, procedures, err);

		if (!m)
			return -1;
		c->n_runs++;
		run_compare(m, j, run, c, &time_error);
		model_destroy(m);
	}
	if (c->n_runs)
		c->prefix /= c->n_runs;
	if (c->n_runs > c->n_refused)
		c->time_error = time_error / (c->n_runs - c->n_refused);
	return 0;
}

struct model *model_learn(const struct journal *j, const struct model_learn_options *options, struct errbuf *err)
{
	bool procedures = !options || !options->no_procedures;
	struct model *m;

	if (!j->n_runs || !j->n_rows) {
		err_set(err, "the journal has no runs");
		return NULL;
	}
	m = learn(j, UINT32_MAX, procedures, err);
	if (m && options && options->cross_validate && j->n_runs > 1 &&
	    cross_validate(j, procedures, &m->confidence, err) < 0) {
		model_destroy(m);
		return NULL;
	}
	return m;
}
