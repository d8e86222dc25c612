/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models: their memory, and the check that every model passes before anything runs it. See model.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/model.h"

#define FEATURE_DEPTH 3

struct model_block {
	struct model_block *next;
	max_align_t data[];
};

struct model *model_create(void)
{
	return calloc(1, sizeof(struct model));
}

void *model_alloc(struct model *m, size_t n, size_t size)
{
	size_t bytes;
	struct model_block *b;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	b = calloc(1, sizeof(*b) + (bytes ? bytes : 1));
	if (!b)
		return NULL;
	b->next = m->block;
	m->block = b;
	return b->data;
}

char *model_strdup(struct model *m, const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = model_alloc(m, n, 1);

	if (copy)
		memcpy(copy, s, n);
	return copy;
}

int model_fn_copy(struct model *m, const struct model_fn *from, struct model_fn *to)
{
	struct model_stage *stage = model_alloc(m, from->n_stages, sizeof(*stage));

	if (!stage)
		return -1;
	for (uint32_t i = 0; i < from->n_stages; i++) {
		stage[i].n_terms = from->stage[i].n_terms;
		stage[i].term = model_alloc(m, stage[i].n_terms, sizeof(*stage[i].term));
		if (!stage[i].term)
			return -1;
		if (stage[i].n_terms)
			memcpy(stage[i].term, from->stage[i].term, stage[i].n_terms * sizeof(*stage[i].term));
	}
	*to = (struct model_fn){from->n_stages, stage};
	return 0;
}

void model_destroy(struct model *m)
{
	if (!m)
		return;
	for (struct model_block *b = m->block, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(m);
}

const char *model_class_name(uint8_t class)
{
	static const char *const name[] = {"S", "Pt", "Pd", "Ptd"};

	return class < MODEL_CLASSES ? name[class] : "?";
}

bool model_feature_is_pair(uint8_t op)
{
	return op == MODEL_MODF || op == MODEL_RING || op == MODEL_RING_BACK || op == MODEL_DIVF;
}

bool model_node_random(const struct model_node *n)
{
	bool random = n->rest == MODEL_RANDOM;

	for (uint32_t i = 0; i < n->n_choices; i++)
		random |= n->choice[i].atom.kind == MODEL_ATOM_CHANCE;
	return random;
}

/* What is being checked, for the message. */
struct place {
	const struct model *m;
	const struct model_graph *g;
	uint32_t graph, node;
	struct errbuf *err;
};

static int wrong(const struct place *p, const char *what)
{
	return err_set(p->err, "model: graph %u, node %u: %s", p->graph, p->node, what);
}

static int feature_check(const struct place *p, uint32_t i, uint8_t *depth)
{
	const struct model_feature *f = &p->g->feature[i];
	uint8_t da, db;

	depth[i] = 0;
	switch (f->op) {
	case MODEL_INPUT:
		return f->a < p->m->n_inputs ? 0 : wrong(p, "a feature names no input");
	case MODEL_VAR:
		return f->a < p->m->n_vars && p->m->var[f->a].known ? 0 : wrong(p, "a feature names no known variable");
	case MODEL_COUNT:
		return f->a < p->g->n_counters ? 0 : wrong(p, "a feature names no counter");
	case MODEL_FROM:
	case MODEL_CALLER:
		return 0;
	}
	if (f->op >= MODEL_FEATURE_OPS || f->a >= i)
		return wrong(p, "a feature is none, or looks ahead");
	da = depth[f->a];
	if (f->op == MODEL_IS) {
		db = 0;
	} else if (f->op == MODEL_MOD) {
		if (f->b < 2)
			return wrong(p, "a feature divides by less than 2");
		db = 0;
	} else if (!model_feature_is_pair(f->op)) {
		db = 0;
	} else {
		if (f->b >= i)
			return wrong(p, "a feature looks ahead");
		db = depth[f->b];
	}
	depth[i] = (da > db ? da : db) + 1;
	return depth[i] <= FEATURE_DEPTH ? 0 : wrong(p, "a feature is made of too many others");
}

static int fn_check(const struct place *p, const struct model_fn *fn)
{
	if (fn->n_stages > MODEL_MAX_STAGES)
		return wrong(p, "a function has too many stages");
	for (uint32_t i = 0; i < fn->n_stages; i++) {
		if (fn->stage[i].n_terms > MODEL_MAX_TERMS)
			return wrong(p, "a function has too many terms");
		for (uint32_t t = 0; t < fn->stage[i].n_terms; t++) {
			const struct model_term *term = &fn->stage[i].term[t];

			if (!isfinite(term->coef) || term->n_x > 3)
				return wrong(p, "a term is not a number times up to three operands");
			for (uint32_t k = 0; k < term->n_x; k++) {
				uint32_t x = term->x[k];

				if (x & MODEL_STAGE ? (x & ~MODEL_STAGE) >= i : x >= p->g->n_features)
					return wrong(p, "a term has an operand that is not there");
			}
		}
	}
	return 0;
}

static int atom_check(const struct place *p, const struct model_atom *a)
{
	if (a->x >= p->g->n_features)
		return wrong(p, "a choice looks at a feature that is not there");
	switch (a->kind) {
	case MODEL_ATOM_RANGE:
		return a->a <= a->b ? 0 : wrong(p, "a range is empty");
	case MODEL_ATOM_ARITH:
		return isfinite(a->a) && isfinite(a->b) && a->b > 0 ? 0 : wrong(p, "an arithmetic progression does not grow");
	case MODEL_ATOM_GEOM:
		return isfinite(a->a) && isfinite(a->b) && a->a > 0 && a->b > 1
			   ? 0
			   : wrong(p, "a geometric progression does not grow");
	case MODEL_ATOM_CHANCE:
		return a->a >= 0 && a->a <= 1 ? 0 : wrong(p, "a chance is no probability");
	case MODEL_ATOM_ABOVE:
	case MODEL_ATOM_BELOW:
		return fn_check(p, &a->fn);
	}
	return wrong(p, "a choice is of no kind");
}

static int arc_check(const struct place *p, const struct model_arc *a)
{
	if (a->to != MODEL_END && (a->to >= p->g->n_nodes || !a->to))
		return wrong(p, "an arc leads nowhere");
	if (a->n_resets > p->g->n_counters || a->n_data > p->m->n_vars)
		return wrong(p, "an arc has too many rules");
	for (uint32_t i = 0; i < a->n_resets; i++)
		if (a->reset[i] >= p->g->n_counters || (i && a->reset[i] <= a->reset[i - 1]))
			return wrong(p, "an arc initialises a counter that is not there, or twice");
	if (!(a->time_error_s >= 0) || !isfinite(a->time_error_s))
		return wrong(p, "the error of a time rule is no number");
	if (fn_check(p, &a->time) < 0)
		return -1;
	for (uint32_t i = 0; i < a->n_data; i++) {
		const struct model_data *d = &a->data[i];

		if (d->var >= p->m->n_vars || !p->m->var[d->var].known || (i && d->var <= a->data[i - 1].var))
			return wrong(p, "a data rule is for no known variable, or the second for one");
		if (!(d->error >= 0) || !isfinite(d->error) || !d->fn.n_stages || fn_check(p, &d->fn) < 0)
			return wrong(p, "a data rule is no function");
	}
	return 0;
}

static int rest_check(const struct place *p, const struct model_node *n)
{
	double sum = 0;

	switch (n->rest) {
	case MODEL_NEGATIVE:
		return n->negative < n->n_arcs ? 0 : wrong(p, "the negative arc is not there");
	case MODEL_RANDOM:
		for (uint32_t i = 0; i < n->n_arcs; i++) {
			if (!(n->weight[i] >= 0) || !(n->weight[i] <= 0x1p63))
				return wrong(p, "a weight is none");
			sum += n->weight[i];
		}
		return sum > 0 ? 0 : wrong(p, "all weights are 0");
	case MODEL_UNKNOWN:
		return n->reason ? 0 : wrong(p, "no reason for what is not known");
	}
	return wrong(p, "it is not said where to go when no choice holds");
}

static bool begins_choice(const struct model_node *n, uint32_t i)
{
	return i < n->n_choices && (!i || !n->choice[i - 1].both);
}

static int doubts_check(const struct place *p, const struct model_node *n)
{
	for (uint32_t i = 0; i < n->n_doubts; i++) {
		const struct model_doubt *d = &n->doubt[i], *before = i ? d - 1 : NULL;
		const struct model_choice *c;

		if (d->first > d->second || !begins_choice(n, d->first) || !begins_choice(n, d->second))
			return wrong(p, "a doubt is about a choice that is not there");
		if (before && (d->first < before->first || (d->first == before->first && d->second <= before->second)))
			return wrong(p, "doubts are out of order");
		c = &n->choice[d->first];
		if (d->first == d->second && (c->both || (c->atom.kind != MODEL_ATOM_ABOVE && c->atom.kind != MODEL_ATOM_BELOW)))
			return wrong(p, "a doubt is about a threshold that is none");
	}
	return 0;
}

static int node_check(const struct place *p)
{
	const struct model_node *n = &p->g->node[p->node];
	uint32_t together = 0;

	if (!p->node ? n->point != MODEL_NONE || n->callee != MODEL_NONE
		     : (n->point == MODEL_NONE) == (n->callee == MODEL_NONE))
		return wrong(p, "it has to be the beginning, a control point or a call");
	if (n->point != MODEL_NONE && n->point >= p->m->n_points)
		return wrong(p, "its control point is not there");
	/* Callees stand later, so that no graph calls itself. */
	if (n->callee != MODEL_NONE && (n->callee >= p->m->n_graphs || n->callee <= p->graph))
		return wrong(p, "it calls a graph that is not there, or that stands before it");
	if (n->class >= MODEL_CLASSES || !n->n_arcs || n->n_arcs > MODEL_MAX_ARCS || n->n_choices > MODEL_MAX_CHOICES)
		return wrong(p, "its class, arcs or choices are none, or too many");
	for (uint32_t i = 0; i < n->n_arcs; i++)
		if (arc_check(p, &n->arc[i]) < 0)
			return -1;
	for (uint32_t i = 0; i < n->n_choices; i++) {
		if (n->choice[i].arc >= n->n_arcs)
			return wrong(p, "a choice is for an arc that is not there");
		together = n->choice[i].both ? together + 1 : 0;
		if (n->choice[i].both && (i + 1 == n->n_choices || n->choice[i].arc != n->choice[i + 1].arc || together == MODEL_MAX_BOTH))
			return wrong(p, "a choice has to hold with another that is not there, for another arc, or one of too many");
		if (atom_check(p, &n->choice[i].atom) < 0)
			return -1;
	}
	return doubts_check(p, n) < 0 ? -1 : rest_check(p, n);
}

static int graph_check(struct model *m, uint32_t index, struct errbuf *err)
{
	struct place p = {m, &m->graph[index], index, 0, err};
	uint8_t *depth = calloc(p.g->n_features ? p.g->n_features : 1, 1);
	int rc = -1;

	if (!depth)
		return err_set(err, "no memory to check a model");
	if (p.g->n_nodes < 1 || p.g->n_nodes > MODEL_MAX_NODES || p.g->n_features > MODEL_MAX_FEATURES ||
	    p.g->n_counters > MODEL_MAX_COUNTERS) {
		wrong(&p, "nodes, features or counters are none, or too many");
		goto out;
	}
	for (uint32_t i = 0; i < p.g->n_nodes; i++)
		p.g->node[i].n_counters = 0;
	for (uint32_t i = 0; i < p.g->n_counters; i++) {
		uint32_t node = p.g->counter[i];

		if (node >= p.g->n_nodes || (i && node < p.g->counter[i - 1])) {
			wrong(&p, "a counter counts a node that is not there, or is out of order");
			goto out;
		}
		if (!p.g->node[node].n_counters++)
			p.g->node[node].first_counter = i;
	}
	for (uint32_t i = 0; i < p.g->n_features; i++)
		if (feature_check(&p, i, depth) < 0)
			goto out;
	for (; p.node < p.g->n_nodes; p.node++) {
		if (node_check(&p) < 0)
			goto out;
		m->random |= model_node_random(&p.g->node[p.node]);
		m->n_unknown += p.g->node[p.node].rest == MODEL_UNKNOWN;
	}
	rc = 0;
out:
	free(depth);
	return rc;
}

/* Graphs within graphs, from the last, as callees stand later. */
static int depth_check(const struct model *m, struct errbuf *err)
{
	uint8_t depth[MODEL_MAX_GRAPHS] = {0};

	for (uint32_t i = m->n_graphs; i-- > 0;) {
		for (uint32_t n = 0; n < m->graph[i].n_nodes; n++) {
			uint32_t callee = m->graph[i].node[n].callee;

			if (callee != MODEL_NONE && depth[callee] + 1 > depth[i])
				depth[i] = depth[callee] + 1;
		}
		if (depth[i] > MODEL_MAX_DEPTH)
			return err_set(err, "model: more than %d procedures within each other", MODEL_MAX_DEPTH);
	}
	return 0;
}

static int inputs_table_check(const struct model *m, struct errbuf *err)
{
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct model_input *in = &m->input[i];

		if (in->kind >= MODEL_INPUT_KINDS || !isfinite(in->lo) || !isfinite(in->hi) || in->lo > in->hi ||
		    (in->kind == MODEL_INPUT_CONSTANT && in->lo != in->hi))
			return err_set(err, "model: input %s has no range", in->name);
		if (in->kind == MODEL_INPUT_TIED &&
		    (in->tied_to >= m->n_inputs || !isfinite(in->scale) || !isfinite(in->shift)))
			return err_set(err, "model: input %s is tied to nothing", in->name);
	}
	for (uint32_t i = 0; i < m->n_vars; i++)
		if (!m->var[i].known && !m->var[i].reason)
			return err_set(err, "model: variable %s is not known, without a reason", m->var[i].name);
	return 0;
}

int model_check(struct model *m, struct errbuf *err)
{
	const struct model_confidence *c = &m->confidence;

	if (!m->n_graphs || m->n_graphs > MODEL_MAX_GRAPHS || !m->n_points || m->n_points > MODEL_MAX_POINTS ||
	    m->n_inputs > MODEL_MAX_NAMES || m->n_vars > MODEL_MAX_NAMES)
		return err_set(err, "model: graphs, points, inputs or variables are none, or too many");
	if (c->n_exact > c->n_runs || c->n_refused > c->n_runs || !(c->prefix >= 0) || c->prefix > 1 || !(c->time_error >= 0) ||
	    !isfinite(c->time_error) || c->n_reach > MODEL_REACH_MAX || c->n_reach > m->n_inputs)
		return err_set(err, "model: the confidence makes no sense");
	for (uint32_t i = 0; i < c->n_reach; i++)
		if (!(c->reach[i] >= 0) || !isfinite(c->reach[i]))
			return err_set(err, "model: the confidence beyond the runs makes no sense");
	if (m->place.known && (!(m->place.crowd > 0) || !isfinite(m->place.crowd)))
		return err_set(err, "model: the number of ranks for a processor makes no sense");
	if (inputs_table_check(m, err) < 0)
		return -1;
	m->random = false;
	m->n_unknown = 0;
	for (uint32_t i = 0; i < m->n_graphs; i++)
		if (graph_check(m, i, err) < 0)
			return -1;
	return depth_check(m, err);
}

int32_t model_input_find(const struct model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_inputs; i++)
		if (!strcmp(m->input[i].name, name))
			return (int32_t)i;
	return -1;
}

int model_inputs_check(const struct model *m, const double *input, struct errbuf *err)
{
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct model_input *in = &m->input[i];
		double tied;

		if (!isfinite(input[i]))
			return err_set(err, "input %s is not a number", in->name);
		if (in->kind == MODEL_INPUT_CONSTANT && input[i] != in->lo)
			return err_set(err, "input %s was %.15g in every run: nothing is known of %.15g; add a run with another value",
				       in->name, in->lo, input[i]);
		if (in->kind != MODEL_INPUT_TIED)
			continue;
		tied = input[in->tied_to] * in->scale + in->shift;
		if (fabs(tied - input[i]) > 1e-9 * fmax(fabs(tied), fabs(input[i])))
			return err_set(err,
				       "inputs %s and %s went together in every run (%.15g with this %s), and here it is %.15g: "
				       "add a run where they do not",
				       in->name, m->input[in->tied_to].name, tied, m->input[in->tied_to].name, input[i]);
	}
	return 0;
}
