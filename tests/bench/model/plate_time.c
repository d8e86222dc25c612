/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How well the time of the plate is predicted for inputs that were not seen: by the model of its algorithm, which has the
 * inner branches, by the same fit of total times, and by the normal form of total times. All inputs, those to learn from
 * and those to ask for, are run in turns, as the speed of a machine with neighbours changes from minute to minute; of the
 * turns medians are taken: of total processor times, and for the journal of each row's time since the row before, which
 * are then scaled to the total of that run (rows that are disturbed now and then are missed by their medians). The program
 * passes its control points in all runs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/interpret.h"
#include "model/induce/learn.h"
#include "tests/bench/model/lab.h"
#include "tests/bench/model/normal_form.h"
#include "tests/bench/model/plate.h"

#define RUNS	10
#define TURNS	15
#define TOTALS	60 /* those of the model first */
#define ASKED	24
#define INPUTS	(TOTALS + ASKED)

/* What was measured: by input. */
struct measured {
	double in[INPUTS][PLATE_INPUTS];
	double total_s[INPUTS], noise[INPUTS]; /* median; by how much a run differs from it in the median */
	struct plate_log log[RUNS];	       /* of medians */
};

static void measured_free(struct measured *m)
{
	for (int i = 0; i < RUNS; i++)
		plate_log_free(&m->log[i]);
}

/* Turn the logs of an input into the first of them, with the medians of their times, which take total_s together. */
static void log_typical(struct plate_log *log, double total_s)
{
	double at = 0, before[TURNS] = {0}, dt[TURNS];

	for (size_t i = 0; i < log[0].n; i++) {
		for (int r = 0; r < TURNS; r++) {
			dt[r] = log[r].row[i].time_s - before[r];
			before[r] = log[r].row[i].time_s;
		}
		at += lab_median(dt, TURNS);
		log[0].row[i].time_s = at;
	}
	for (size_t i = 0; i < log[0].n; i++)
		log[0].row[i].time_s *= total_s / at;
}

static int measure(struct measured *m, struct errbuf *err)
{
	struct plate_log log[RUNS][TURNS] = {0}, other = {0};
	double s[INPUTS][TURNS], off[TURNS];
	struct plate_result result;
	int rc = -1;

	plate_inputs(1, TOTALS, m->in);
	plate_inputs(77, ASKED, m->in + TOTALS);
	for (int r = 0; r < TURNS; r++)
		for (int i = 0; i < INPUTS; i++) {
			if (plate_run(m->in[i], i < RUNS ? &log[i][r] : &other, &result, err) < 0)
				goto out;
			s[i][r] = result.cpu_s;
		}
	for (int i = 0; i < INPUTS; i++) {
		m->total_s[i] = lab_median(s[i], TURNS);
		for (int r = 0; r < TURNS; r++)
			off[r] = fabs(s[i][r] / m->total_s[i] - 1);
		m->noise[i] = lab_median(off, TURNS);
	}
	for (int i = 0; i < RUNS; i++) {
		log_typical(log[i], m->total_s[i]);
		m->log[i] = log[i][0];
		log[i][0] = (struct plate_log){0};
	}
	rc = 0;
out:
	plate_log_free(&other);
	for (int i = 0; i < RUNS; i++)
		for (int r = 0; r < TURNS; r++)
			plate_log_free(&log[i][r]);
	return rc;
}

/* ---- what predicts ---- */

struct predictors {
	struct model *model;  /* of the algorithm */
	struct model *totals; /* begin and end only */
	struct normal_form form, form_few; /* of all totals, of those of the model's runs */
};

static int model_of_rows(struct predictors *p, const struct measured *m, struct plate_report *out, struct errbuf *err)
{
	struct journal *j = plate_journal(err);
	double begin;

	for (uint32_t i = 0; j && i < RUNS; i++)
		if (plate_journal_add(j, m->in[i], &m->log[i], err) < 0) {
			journal_destroy(j);
			return -1;
		}
	if (!j)
		return -1;
	out->n_rows = j->n_rows;
	begin = lab_cpu_s();
	p->model = model_learn(j, NULL, err);
	out->learn_s = lab_cpu_s() - begin;
	journal_destroy(j);
	return p->model ? 0 : -1;
}

/* The runs of the model, and many more. */
static int models_of_totals(struct predictors *p, const struct measured *m, struct errbuf *err)
{
	struct journal *j = journal_create(plate_input, PLATE_INPUTS, NULL, 0, err);
	int rc = -1;

	if (!j)
		return -1;
	for (uint32_t i = 0; i < TOTALS; i++) {
		int64_t start = journal_point(j, "start", err), end = journal_point(j, "end", err);

		if (start < 0 || end < 0 || journal_begin(j, m->in[i], err) < 0 ||
		    journal_add(j, (uint32_t)start, 0, NULL, err) < 0 ||
		    journal_add(j, (uint32_t)end, m->total_s[i], NULL, err) < 0)
			goto out;
	}
	if (normal_form_fit(m->in[0], m->total_s, TOTALS, PLATE_INPUTS, &p->form, err) < 0 ||
	    normal_form_fit(m->in[0], m->total_s, RUNS, PLATE_INPUTS, &p->form_few, err) < 0)
		goto out;
	p->totals = model_learn(j, NULL, err);
	rc = p->totals ? 0 : -1;
out:
	journal_destroy(j);
	return rc;
}

/* ---- the comparison ---- */

struct comparing {
	const struct plate_log *log;
	size_t at;
	bool same;
};

static int compare(void *arg, uint32_t point, double time_s, const double *var)
{
	struct comparing *c = arg;

	(void)time_s;
	c->same &= c->at < c->log->n && c->log->row[c->at].point == point &&
		   memcmp(c->log->row[c->at].var, var, sizeof(c->log->row->var)) == 0;
	c->at++;
	return 0;
}

static struct plate_errors errors(double *x)
{
	double median = lab_median(x, ASKED);

	return (struct plate_errors){median, x[ASKED - 1]};
}

static int ask(const struct predictors *p, const struct measured *m, struct plate_report *out, struct errbuf *err)
{
	double model[ASKED], totals[ASKED], form[ASKED], few[ASKED], noise[ASKED];
	struct plate_log log = {.counted = true};
	int rc = -1;

	out->sequence = true;
	out->least_s = INFINITY;
	for (uint32_t i = 0; i < ASKED; i++) {
		const double *in = m->in[TOTALS + i], s = m->total_s[TOTALS + i];
		struct comparing c = {.log = &log, .same = true};
		const struct model_sink sink = {compare, &c};
		struct model_result a = {0}, b = {0};
		struct plate_result result;

		if (plate_run(in, &log, &result, err) < 0 || model_interpret(p->model, in, 1, NULL, &sink, &a, err) < 0 ||
		    model_interpret(p->totals, in, 1, NULL, NULL, &b, err) < 0)
			goto out;
		out->sequence &= c.same && c.at == log.n;
		model[i] = fabs(a.time_s / s - 1);
		totals[i] = fabs(b.time_s / s - 1);
		form[i] = fabs(normal_form_value(&p->form, in) / s - 1);
		few[i] = fabs(normal_form_value(&p->form_few, in) / s - 1);
		noise[i] = m->noise[TOTALS + i];
		out->least_s = fmin(out->least_s, s);
		out->most_s = fmax(out->most_s, s);
	}
	out->model = errors(model);
	out->totals = errors(totals);
	out->form = errors(form);
	out->form_few = errors(few);
	out->noise = errors(noise);
	rc = 0;
out:
	plate_log_free(&log);
	return rc;
}

int plate_experiment(struct plate_report *out, struct errbuf *err)
{
	struct predictors p = {0};
	struct measured *m = calloc(1, sizeof(*m));
	int rc = -1;

	*out = (struct plate_report){.n_runs = RUNS, .n_totals = TOTALS, .n_asked = ASKED};
	if (!m)
		return err_set(err, "no memory for an experiment");
	if (measure(m, err) < 0 || model_of_rows(&p, m, out, err) < 0 || models_of_totals(&p, m, err) < 0 || ask(&p, m, out, err) < 0)
		goto out;
	normal_form_print(&p.form, plate_input, out->form_text, sizeof(out->form_text));
	rc = 0;
out:
	measured_free(m);
	free(m);
	model_destroy(p.model);
	model_destroy(p.totals);
	return rc;
}
