/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions of the program, answered by interpreting the model that was fitted last, in the thread that asks, with a bound
 * on the steps. Nothing is waited for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/api/confidence.h"
#include "model/api/session.h"
#include "model/induce/interpret.h"

#define CHANCE_RUNS    15  /* of a model with chance */
#define BY_CHANCE      "the way of the program goes by chance, as far as its points and variables show"

struct question {
	struct precedent_model *m;
	const struct snapshot *s;
	const double *input;
	struct precedent_model_answer a;
	struct errbuf err;
};

static int question_fail(struct question *q, const char *text)
{
	return err_set(&q->err, "%s", text);
}

static int question_open(struct question *q, precedent_model *m, const double *inputs, uint32_t n)
{
	*q = (struct question){.m = m, .input = inputs};
	if (!m)
		return question_fail(q, "there is no session");
	if (n != m->n_inputs || (n && !inputs))
		return err_set(&q->err, "%u inputs were given, the session has %u", n, m->n_inputs);
	for (uint32_t i = 0; i < n; i++)
		if (!isfinite(inputs[i]))
			return err_set(&q->err, "input %.100s is not a number", m->input[i]);
	q->s = snapshot_borrow(m);
	if (!q->s)
		return question_fail(q, "no model was fitted yet");
	for (uint32_t i = 0; i < n; i++)
		q->a.outside |= inputs[i] < q->s->model->input[i].lo || inputs[i] > q->s->model->input[i].hi;
	return 0;
}

/* Into the caller's version of the answer. */
static int question_close(struct question *q, int rc, struct precedent_model_answer *a)
{
	size_t size = a ? a->size : 0;

	if (q->s) {
		q->a.runs = q->s->model->n_runs;
		q->a.fit = q->s->fit;
		snapshot_return(q->m);
	}
	if (rc < 0) {
		uint32_t runs = q->a.runs, fit = q->a.fit;

		q->a = (struct precedent_model_answer){.runs = runs, .fit = fit, .outside = q->a.outside};
		text_copy(q->a.reason, sizeof(q->a.reason), q->err.text);
	}
	q->a.known = rc == 0;
	if (size <= offsetof(struct precedent_model_answer, reason))
		return rc == 0;
	q->a.size = size;
	if (size < sizeof(*a))
		q->a.reason[size - offsetof(struct precedent_model_answer, reason) - 1] = 0;
	memcpy(a, &q->a, size < sizeof(*a) ? size : sizeof(*a));
	return rc == 0;
}

static int interpret(struct question *q, const struct model_sink *sink, struct model_result *r)
{
	struct model_limits limits = {.steps = q->m->steps_max};

	return model_interpret(q->s->model, q->input, 1, &limits, sink, r, &q->err);
}

/* ---- how much an answer is to be trusted ---- */

static int confidence_time(struct question *q)
{
	return confidence_of_time(q->s->model, q->input, &q->a.error, &q->a.confidence, &q->err);
}

static void confidence_path(struct question *q)
{
	const struct model_confidence *c = &q->s->model->confidence;
	uint32_t far;

	q->a.error = c->time_error;
	q->a.confidence = c->n_runs ? c->prefix / (1 + confidence_distance(q->s->model, q->input, &far)) : 0;
}

static void confidence_data(struct question *q, uint32_t var)
{
	const struct model *m = q->s->model;
	uint32_t far;

	for (uint32_t g = 0; g < m->n_graphs; g++)
		for (uint32_t u = 0; u < m->graph[g].n_nodes; u++)
			for (uint32_t i = 0; i < m->graph[g].node[u].n_arcs; i++) {
				const struct model_arc *a = &m->graph[g].node[u].arc[i];

				for (uint32_t d = 0; d < a->n_data; d++)
					if (a->data[d].var == var)
						q->a.error = fmax(q->a.error, a->data[d].error);
			}
	q->a.confidence = m->confidence.n_runs ? (double)m->confidence.n_exact / m->confidence.n_runs / (1 + confidence_distance(q->s->model, q->input, &far)) : 0;
}

/* ---- time ---- */

static int time_ask(struct question *q, double *time_s)
{
	struct model_limits limits = {.steps = q->m->steps_max / (q->s->model->random ? CHANCE_RUNS : 1)};
	struct model_spread spread;

	if (model_interpret_often(q->s->model, q->input, 1, CHANCE_RUNS, &limits, &spread, &q->err) < 0)
		return -1;
	if (!isfinite(spread.mean_s))
		return question_fail(q, "the time is not a number for these inputs");
	*time_s = spread.mean_s;
	return confidence_time(q);
}

int precedent_model_time(precedent_model *m, const double *inputs, uint32_t n, struct precedent_model_answer *a)
{
	struct question q;
	int rc = question_open(&q, m, inputs, n);

	if (rc == 0)
		rc = time_ask(&q, &q.a.value);
	return question_close(&q, rc, a);
}

static int advise(struct question *q, uint32_t n_workers, double overhead_s)
{
	double time_s;

	if (!n_workers || !isfinite(overhead_s) || overhead_s < 0)
		return question_fail(q, "the number of workers, or the cost of starting them, makes no sense");
	if (time_ask(q, &time_s) < 0)
		return -1;
	q->a.value = time_s * ((double)n_workers - 1) / n_workers - overhead_s;
	q->a.parallel = q->a.value > 0;
	return 0;
}

int precedent_model_advise(precedent_model *m, const double *inputs, uint32_t n, uint32_t n_workers, double overhead_s,
			   struct precedent_model_answer *a)
{
	struct question q;
	int rc = question_open(&q, m, inputs, n);

	if (rc == 0)
		rc = advise(&q, n_workers, overhead_s);
	return question_close(&q, rc, a);
}

/* ---- a passage of a point ---- */

struct passage {
	uint32_t point, var; /* of the model; var: MODEL_NONE when only the time is asked for */
	uint64_t wanted, n;
	double time_s, value;
};

static int passage_event(void *arg, uint32_t point, double time_s, const double *var)
{
	struct passage *p = arg;

	if (point != p->point)
		return 0;
	p->n++;
	p->time_s = time_s;
	if (p->var != MODEL_NONE)
		p->value = var[p->var];
	return p->n == p->wanted;
}

/* The model's number of a control point: models from a file have numbers of their own. */
static int point_of(struct question *q, int32_t point, uint32_t *out)
{
	const struct model *m = q->s->model;
	const char *name;

	if (point < 0 || (uint32_t)point >= atomic_load_explicit(&q->m->n_points, memory_order_acquire))
		return err_set(&q->err, "there is no control point %d", point);
	name = q->m->point[point].name;
	for (uint32_t p = 0; p < m->n_points; p++)
		if (!strcmp(m->point[p], name)) {
			*out = p;
			return 0;
		}
	return err_set(&q->err, "the model has no control point %.100s", name);
}

static int var_of(struct question *q, const char *name, uint32_t *out)
{
	const struct model *m = q->s->model;

	for (uint32_t v = 0; name && v < m->n_vars; v++)
		if (!strcmp(m->var[v].name, name)) {
			if (!m->var[v].known)
				return err_set(&q->err, "variable %.80s is not known: %.150s", name,
					       m->var[v].reason ? m->var[v].reason : "the runs do not determine it");
			*out = v;
			return 0;
		}
	return err_set(&q->err, "the model has no variable %.100s", name ? name : "without a name");
}

static int passage_ask(struct question *q, int32_t point, uint64_t passage, struct passage *p)
{
	struct model_sink sink = {passage_event, p};
	struct model_result r = {0};

	p->wanted = passage;
	if (q->s->model->random)
		return question_fail(q, BY_CHANCE);
	if (point_of(q, point, &p->point) < 0 || interpret(q, &sink, &r) < 0)
		return -1;
	if (!p->n || p->n < passage)
		return err_set(&q->err, "the run passes %.100s %llu times", q->s->model->point[p->point], (unsigned long long)p->n);
	return 0;
}

int precedent_model_time_at(precedent_model *m, const double *inputs, uint32_t n, int32_t point, uint64_t passage,
			    struct precedent_model_answer *a)
{
	struct passage p = {.var = MODEL_NONE};
	struct question q;
	int rc = question_open(&q, m, inputs, n);

	if (rc == 0)
		rc = passage_ask(&q, point, passage, &p);
	if (rc == 0) {
		q.a.value = p.time_s;
		rc = confidence_time(&q);
	}
	return question_close(&q, rc, a);
}

int precedent_model_data(precedent_model *m, const double *inputs, uint32_t n, const char *var, int32_t point, uint64_t passage,
			 struct precedent_model_answer *a)
{
	struct passage p = {.var = MODEL_NONE};
	struct question q;
	int rc = question_open(&q, m, inputs, n);

	if (rc == 0)
		rc = var_of(&q, var, &p.var);
	if (rc == 0)
		rc = passage_ask(&q, point, passage, &p);
	if (rc == 0 && !isfinite(p.value))
		rc = question_fail(&q, "the model's value is not a number there");
	if (rc == 0) {
		q.a.value = p.value;
		confidence_data(&q, p.var);
	}
	return question_close(&q, rc, a);
}

/* ---- a row of the run ---- */

struct row {
	uint64_t wanted, n;
	uint32_t before, at; /* points of the model */
	double before_s, at_s;
};

static int row_event(void *arg, uint32_t point, double time_s, const double *var)
{
	struct row *r = arg;

	(void)var;
	if (r->n + 1 == r->wanted) {
		r->before = point;
		r->before_s = time_s;
	} else if (r->n == r->wanted) {
		r->at = point;
		r->at_s = time_s;
	}
	return r->n++ == r->wanted;
}

static int row_ask(struct question *q, struct row *row)
{
	struct model_sink sink = {row_event, row};
	struct model_result r = {0};

	row->before = row->at = MODEL_NONE;
	if (q->s->model->random)
		return question_fail(q, BY_CHANCE);
	if (interpret(q, &sink, &r) < 0 && row->at == MODEL_NONE)
		return -1;
	if (row->at == MODEL_NONE)
		return err_set(&q->err, "the run ends after %llu control points", (unsigned long long)row->n);
	q->a.point = session_point_find(q->m, q->s->model->point[row->at]);
	if (q->a.point < 0)
		return err_set(&q->err, "%.100s comes next, which the program has not named yet", q->s->model->point[row->at]);
	confidence_path(q);
	return 0;
}

int precedent_model_state(precedent_model *m, const double *inputs, uint32_t n, uint64_t row, struct precedent_model_answer *a)
{
	struct row asked = {.wanted = row};
	struct question q;
	int rc = question_open(&q, m, inputs, n);

	if (rc == 0)
		rc = row_ask(&q, &asked);
	if (rc == 0)
		q.a.value = asked.at_s;
	return question_close(&q, rc, a);
}

int precedent_model_next(precedent_model *m, struct precedent_model_answer *a)
{
	const struct ring *r = m ? ring_mine(m) : NULL;
	struct row asked = {.wanted = r ? r->rows : 0};
	struct question q = {.m = m};
	int rc;

	if (!m)
		rc = question_fail(&q, "there is no session");
	else if (!r || !r->in_run)
		rc = question_fail(&q, "this thread is in no run");
	else if (r->spoilt)
		rc = question_fail(&q, "control points of this run were dropped");
	else
		rc = question_open(&q, m, r->input, m->n_inputs);
	if (rc == 0)
		rc = row_ask(&q, &asked);
	if (rc == 0 && r->rows && session_point_find(m, q.s->model->point[asked.before]) != r->last_point)
		rc = question_fail(&q, "the run is not where the model says it would be");
	if (rc == 0)
		q.a.value = asked.at_s - asked.before_s;
	return question_close(&q, rc, a);
}
