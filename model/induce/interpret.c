/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interpreter: see interpret.h. A graph in interpretation has a calendar of planned events and a mailbox with the
 * node that becomes active in each; a calling node interprets its callee within the current event. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/interpret.h"
#include "model/induce/text.h"
#include "model/induce/value.h"

/* A sequential program plans one event ahead; the calendar is a ring all the same. */
#define CALENDAR 4

/* MAIL[event] = (active node, variables). */
struct cell {
	uint64_t event;
	uint32_t active, from;
	double *vars;
};

struct run {
	const struct model *m;
	const struct model_sink *sink;
	struct model_limits limits;
	struct model_result *out;
	const double *input;
	double *var, *next; /* var: values; next: values that the rules of the current arc have set */
	double time_s;
	uint64_t random, events_planned;
};

/* A graph being interpreted. */
struct frame {
	const struct model_graph *g;
	uint32_t graph, caller;
	uint64_t *count;
	uint64_t calendar[CALENDAR];
	struct cell mail[CALENDAR];
	unsigned n_planned;
};

static void plan(struct run *r, struct frame *f, uint32_t node, uint32_t from)
{
	uint64_t event = ++r->events_planned;

	f->calendar[f->n_planned] = event;
	f->mail[f->n_planned] = (struct cell){event, node, from, r->var};
	f->n_planned++;
}

static int stop(struct run *r, const struct frame *f, uint32_t node, uint32_t why)
{
	r->out->stop = why;
	r->out->graph = f->graph;
	r->out->node = node;
	return -1;
}

static void count_up(const struct frame *f, uint32_t node)
{
	const struct model_node *n = &f->g->node[node];

	for (uint32_t i = 0; i < n->n_counters; i++)
		f->count[n->first_counter + i]++;
}

static int emit_event(struct run *r, const struct frame *f, uint32_t node)
{
	uint32_t point = f->g->node[node].point;

	if (r->out->events == r->limits.events)
		return stop(r, f, node, MODEL_EVENTS);
	r->out->events++;
	if (r->out->passages)
		r->out->passages[point]++;
	if (r->sink && r->sink->event(r->sink->arg, point, r->time_s, r->var))
		return stop(r, f, node, MODEL_STOPPED);
	return 0;
}

static uint32_t by_chance(struct run *r, const struct model_node *n)
{
	double sum = 0, part = 0, q = model_random(&r->random);

	for (uint32_t i = 0; i < n->n_arcs; i++)
		sum = sum + n->weight[i];
	for (uint32_t i = 0; i + 1 < n->n_arcs; i++) {
		part = part + n->weight[i];
		if (q * sum < part)
			return i;
	}
	return n->n_arcs - 1;
}

/* Whether the choice holds that begins with i; i becomes its last part. */
static bool choice_holds(struct run *r, const struct frame *f, const struct model_node *n, const struct model_state *s, uint32_t *i)
{
	for (;; ++*i) {
		const struct model_atom *a = &n->choice[*i].atom;
		bool holds = a->kind == MODEL_ATOM_CHANCE ? model_random(&r->random) < a->a : model_atom_holds(f->g, a, s);

		if (holds && !n->choice[*i].both)
			return true;
		while (!holds && n->choice[*i].both)
			++*i;
		if (!holds)
			return false;
	}
}

/* First doubt about this choice that the state meets, or MODEL_NONE. holds: the choice is the first that holds. */
static uint32_t doubt_met(struct run *r, const struct frame *f, const struct model_node *n, const struct model_state *s, uint32_t choice,
			  bool holds)
{
	for (uint32_t d = 0; d < n->n_doubts; d++) {
		uint32_t other = n->doubt[d].second;
		const struct model_atom *a = &n->choice[choice].atom;

		if (n->doubt[d].first != choice)
			continue;
		if (other == choice ? model_feature_value(f->g, a->x, s) > model_fn_value(f->g, &a->fn, s)
				    : holds && choice_holds(r, f, n, s, &other))
			return d;
	}
	return MODEL_NONE;
}

/* Index of the arc. MODEL_NONE: the run has to stop; *why becomes the reason if it is a doubt. */
static uint32_t arc_choose(struct run *r, const struct frame *f, const struct model_node *n, const struct model_state *s, uint32_t *why)
{
	for (uint32_t i = 0; i < n->n_choices; i++) {
		uint32_t first = i, doubt;
		bool holds = choice_holds(r, f, n, s, &i);

		doubt = doubt_met(r, f, n, s, first, holds);
		if (doubt != MODEL_NONE) {
			*why = MODEL_DOUBT + doubt;
			return MODEL_NONE;
		}
		if (holds)
			return n->choice[i].arc;
	}
	switch (n->rest) {
	case MODEL_NEGATIVE:
		return n->negative;
	case MODEL_RANDOM:
		return by_chance(r, n);
	}
	return MODEL_NONE;
}

/* Time and data of the arc, all from the state before it. */
static void rules_apply(struct run *r, const struct frame *f, const struct model_arc *a, const struct model_state *s)
{
	double dt = model_fn_value(f->g, &a->time, s);

	for (uint32_t i = 0; i < a->n_data; i++)
		r->next[i] = model_fn_value(f->g, &a->data[i].fn, s);
	for (uint32_t i = 0; i < a->n_data; i++)
		r->var[a->data[i].var] = r->next[i];
	if (dt > 0)
		r->time_s = r->time_s + dt;
	for (uint32_t i = 0; i < a->n_resets; i++)
		f->count[a->reset[i]] = 0;
}

static int graph_interpret(struct run *r, uint32_t graph, uint32_t caller);

/* From one node to the next by main arcs, until an information arc plans an event, or the end. */
static int event_handle(struct run *r, struct frame *f, const struct cell *mail)
{
	uint32_t node = mail->active, from = mail->from;

	for (;;) {
		const struct model_node *n = &f->g->node[node];
		struct model_state s = {r->input, mail->vars, f->count, from, f->caller};
		const struct model_arc *a;
		uint32_t link, why = MODEL_LOST;

		if (r->out->steps == r->limits.steps)
			return stop(r, f, node, MODEL_STEPS);
		r->out->steps++;
		count_up(f, node);
		if (n->point != MODEL_NONE && emit_event(r, f, node) < 0)
			return -1;
		if (n->callee != MODEL_NONE && graph_interpret(r, n->callee, node) < 0)
			return -1;
		link = arc_choose(r, f, n, &s, &why);
		if (link == MODEL_NONE)
			return stop(r, f, node, why);
		a = &n->arc[link];
		rules_apply(r, f, a, &s);
		if (a->to == MODEL_END)
			return 0;
		if (a->info) {
			plan(r, f, a->to, node);
			return 0;
		}
		from = node;
		node = a->to;
	}
}

static int graph_interpret(struct run *r, uint32_t graph, uint32_t caller)
{
	struct frame f = {.g = &r->m->graph[graph], .graph = graph, .caller = caller};
	int rc = 0;

	f.count = calloc(f.g->n_counters ? f.g->n_counters : 1, sizeof(*f.count));
	if (!f.count)
		return stop(r, &f, 0, MODEL_MEMORY);
	plan(r, &f, 0, 0);
	while (!rc && f.n_planned) {
		struct cell mail = f.mail[0];

		f.n_planned--;
		memmove(f.mail, f.mail + 1, f.n_planned * sizeof(*f.mail));
		memmove(f.calendar, f.calendar + 1, f.n_planned * sizeof(*f.calendar));
		rc = event_handle(r, &f, &mail);
	}
	free(f.count);
	return rc;
}

/* The conditions in doubt, and the run that settles them. */
static int doubt_error(const struct model *m, const struct model_result *r, const char *at, struct errbuf *err)
{
	const struct model_node *n = &m->graph[r->graph].node[r->node];
	uint32_t i = r->stop - MODEL_DOUBT;
	char text[300];

	if (i >= n->n_doubts)
		return err_set(err, "the model stopped for no reason");
	model_doubt_text(m, r->graph, r->node, i, text, sizeof(text));
	return err_set(err, "where %.100s leads is not known: %s; a run with these inputs settles it", at, text);
}

int model_stop_error(const struct model *m, const struct model_result *r, struct errbuf *err)
{
	const struct model_node *n = &m->graph[r->graph].node[r->node];
	const char *at = n->point != MODEL_NONE ? m->point[n->point] : n->callee != MODEL_NONE ? "a call" : "the beginning";

	switch (r->stop) {
	case MODEL_DONE:
	case MODEL_STOPPED:
		return 0;
	case MODEL_STEPS:
		return err_set(err, "the model has not ended after %llu steps, at %s: a loop without end, or a larger bound is needed",
			       (unsigned long long)r->steps, at);
	case MODEL_EVENTS:
		return err_set(err, "the model has passed %llu control points, at %s: as many as are allowed",
			       (unsigned long long)r->events, at);
	case MODEL_LOST:
		return err_set(err, "where %s leads is not known: %.380s", at, n->reason);
	case MODEL_MEMORY:
		return err_set(err, "no memory to interpret the model");
	}
	return doubt_error(m, r, at, err);
}

int model_interpret(const struct model *m, const double *input, uint64_t seed, const struct model_limits *limits,
		    const struct model_sink *sink, struct model_result *out, struct errbuf *err)
{
	struct model_result result = {.var = out->var, .passages = out->passages};
	struct run r = {.m = m, .sink = sink, .out = &result, .input = input, .random = seed};
	int rc = -1;

	r.limits.steps = limits && limits->steps ? limits->steps : MODEL_STEPS_DEFAULT;
	r.limits.events = limits && limits->events ? limits->events : UINT64_MAX;
	if (r.limits.steps > MODEL_MAX_STEPS)
		r.limits.steps = MODEL_MAX_STEPS;
	if (model_inputs_check(m, input, err) < 0)
		return -1;
	r.var = calloc(2 * (m->n_vars ? m->n_vars : 1), sizeof(*r.var));
	if (!r.var)
		return err_set(err, "no memory to interpret the model");
	r.next = r.var + m->n_vars;
	for (uint32_t v = 0; v < m->n_vars; v++)
		r.var[v] = m->var[v].known ? 0 : NAN;
	if (out->passages)
		memset(out->passages, 0, m->n_points * sizeof(*out->passages));
	graph_interpret(&r, 0, 0);
	result.time_s = r.time_s;
	if (result.var && m->n_vars)
		memcpy(result.var, r.var, m->n_vars * sizeof(*r.var));
	rc = model_stop_error(m, &result, err);
	*out = result;
	free(r.var);
	return rc;
}

static int time_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void model_cluster(double *time_s, uint32_t n, struct model_spread *out)
{
	uint32_t best = 0, best_n = 0, begin = 0;
	double cut, sum = 0;

	qsort(time_s, n, sizeof(*time_s), time_cmp);
	/* The widest of n gaps at random is ln n times the mean one. */
	cut = n > 1 ? (time_s[n - 1] - time_s[0]) / (n - 1) * (4 + log(n)) : 0;
	for (uint32_t i = 1; i <= n; i++) {
		if (i < n && time_s[i] - time_s[i - 1] <= cut)
			continue;
		if (i - begin > best_n) {
			best = begin;
			best_n = i - begin;
		}
		begin = i;
	}
	for (uint32_t i = best; i < best + best_n; i++)
		sum += time_s[i];
	*out = (struct model_spread){sum / best_n, time_s[best], time_s[best + best_n - 1], n, best_n};
}

int model_interpret_often(const struct model *m, const double *input, uint64_t seed, uint32_t n,
			  const struct model_limits *limits, struct model_spread *out, struct errbuf *err)
{
	struct model_result r = {0};
	double *time_s;
	int rc = -1;

	if (!n || !m->random)
		n = 1;
	time_s = calloc(n, sizeof(*time_s));
	if (!time_s)
		return err_set(err, "no memory for %u runs of a model", n);
	for (uint32_t i = 0; i < n; i++) {
		if (model_interpret(m, input, seed + i, limits, NULL, &r, err) < 0)
			goto out;
		time_s[i] = r.time_s;
	}
	model_cluster(time_s, n, out);
	rc = 0;
out:
	free(time_s);
	return rc;
}
