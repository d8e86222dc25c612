/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Brusselator and the decision to go parallel: see brusselator.h. */
#include <stdlib.h>

#include "model/induce/interpret.h"
#include "model/induce/learn.h"
#include "tests/bench/model/brusselator.h"
#include "tests/bench/model/lab.h"
#include "tests/bench/model/normal_form.h"

#define A     1.0
#define B     2.5
#define H     0.01
#define STEPS 100

#define TURNS	  15
#define LEARNT	  9	 /* K = 1, 2, 4 ... 256 */
#define MOST	  256
#define LEAST_S	  100e-6 /* of one measurement: short runs are repeated */
#define REPEATS	  1000
#define THREADS	  2

static const size_t asked[BRUSSELATOR_ASKED] = {800, 160, 32, 6, 1};

double brusselator_row(size_t k, size_t row)
{
	double sum = 0;

	for (size_t i = 0; i < k; i++) {
		double x = 0.5 + 2 * (double)row / (double)k, y = 0.5 + 3 * (double)i / (double)k;

		for (int s = 0; s < STEPS; s++) {
			double xxy = x * x * y, dx = A + xxy - (B + 1) * x, dy = B * x - xxy;

			x += H * dx;
			y += H * dy;
		}
		sum += x;
	}
	return sum;
}

double brusselator_solve(size_t k)
{
	double sum = 0;

	for (size_t row = 0; row < k; row++)
		sum += brusselator_row(k, row);
	return sum;
}

bool brusselator_advise(double start_s, double one_s, int n)
{
	return n > 1 && start_s < one_s * (n - 1) / n;
}

/* ---- times ---- */

static volatile double keep;

static double one_s(size_t k)
{
	double begin = lab_now_s(), took;
	int n = 0;

	do {
		keep = keep + brusselator_solve(k);
		took = lab_now_s() - begin;
	} while (++n < REPEATS && took < LEAST_S);
	return took / n;
}

static double two_s(const struct brusselator_parallel *p, size_t k)
{
	double begin = lab_now_s(), took;
	int n = 0;

	do {
		keep = keep + p->solve(k, THREADS);
		took = lab_now_s() - begin;
	} while (++n < REPEATS && took < LEAST_S);
	return took / n;
}

static double start_s(const struct brusselator_parallel *p)
{
	double begin = lab_now_s(), took;
	int n = 0;

	do {
		keep = keep + p->start(THREADS);
		took = lab_now_s() - begin;
	} while (++n < REPEATS && took < LEAST_S);
	return took / n;
}

/* The time of every row, which is a control point. */
static void rows_s(size_t k, double (*row)[TURNS], int turn)
{
	double before = lab_now_s();

	for (size_t i = 0; i < k; i++) {
		double now;

		keep = keep + brusselator_row(k, i);
		now = lab_now_s();
		row[i][turn] = now - before;
		before = now;
	}
}

struct measured {
	double start[TURNS], one[BRUSSELATOR_ASKED][TURNS], two[BRUSSELATOR_ASKED][TURNS];
	double row[LEARNT][MOST][TURNS], learnt[LEARNT][TURNS];
};

static void measure(const struct brusselator_parallel *p, struct measured *m)
{
	start_s(p); /* threads are made once in the life of a program */
	for (int t = 0; t < TURNS; t++) {
		m->start[t] = start_s(p);
		for (int i = 0; i < LEARNT; i++)
			m->learnt[i][t] = one_s((size_t)1 << i);
		for (int i = 0; i < LEARNT; i++)
			rows_s((size_t)1 << i, m->row[i], t);
		for (int i = 0; i < BRUSSELATOR_ASKED; i++) {
			if (t % 2)
				m->two[i][t] = two_s(p, asked[i]);
			m->one[i][t] = one_s(asked[i]);
			if (t % 2 == 0)
				m->two[i][t] = two_s(p, asked[i]);
		}
	}
}

/* ---- predictions ---- */

static int journal_row(struct journal *j, const char *point, double time_s, struct errbuf *err)
{
	int64_t p = journal_point(j, point, err);

	return p < 0 ? -1 : journal_add(j, (uint32_t)p, time_s, NULL, err);
}

static struct model *model_of(struct measured *measured, struct errbuf *err)
{
	static const char *const inputs[] = {"K"};
	struct journal *j = journal_create(inputs, 1, NULL, 0, err);
	struct model *m = NULL;

	if (!j)
		return NULL;
	for (int i = 0; i < LEARNT; i++) {
		double k = (double)((size_t)1 << i), at = 0;

		if (journal_begin(j, &k, err) < 0 || journal_row(j, "start", 0, err) < 0)
			goto out;
		for (size_t row = 0; row < (size_t)1 << i; row++) {
			at += lab_median(measured->row[i][row], TURNS);
			if (journal_row(j, "row", at, err) < 0)
				goto out;
		}
		if (journal_row(j, "end", at, err) < 0)
			goto out;
	}
	m = model_learn(j, NULL, err);
out:
	journal_destroy(j);
	return m;
}

static int predict(struct measured *measured, struct brusselator_report *out, struct errbuf *err)
{
	static const char *const names[] = {"K"};
	struct model *m = model_of(measured, err);
	struct normal_form form;
	double k[LEARNT], took[LEARNT];
	int rc = -1;

	for (int i = 0; i < LEARNT; i++) {
		k[i] = (double)((size_t)1 << i);
		took[i] = lab_median(measured->learnt[i], TURNS);
	}
	if (!m || normal_form_fit(k, took, LEARNT, 1, &form, err) < 0)
		goto out;
	normal_form_print(&form, names, out->form_text, sizeof(out->form_text));
	for (int i = 0; i < BRUSSELATOR_ASKED; i++) {
		struct brusselator_size *s = &out->size[i];
		struct model_result r = {0};
		double in = (double)asked[i];

		if (model_interpret(m, &in, 1, NULL, NULL, &r, err) < 0)
			goto out;
		s->k = asked[i];
		s->model_s = r.time_s;
		s->form_s = normal_form_value(&form, &in);
		s->advice = brusselator_advise(out->start_s, s->model_s, THREADS);
		s->form_advice = brusselator_advise(out->start_s, s->form_s, THREADS);
	}
	rc = 0;
out:
	model_destroy(m);
	return rc;
}

int brusselator_experiment(const struct brusselator_parallel *p, struct brusselator_report *out, struct errbuf *err)
{
	struct measured *m = calloc(1, sizeof(*m));
	double ratio[TURNS];
	int rc = -1;

	*out = (struct brusselator_report){.turns = TURNS};
	if (!m)
		return err_set(err, "no memory for an experiment");
	measure(p, m);
	out->start_s = lab_median(m->start, TURNS);
	if (predict(m, out, err) < 0)
		goto out;
	for (int i = 0; i < BRUSSELATOR_ASKED; i++) {
		for (int t = 0; t < TURNS; t++)
			ratio[t] = m->two[i][t] / m->one[i][t];
		out->size[i].two_of_one = lab_median(ratio, TURNS);
		out->size[i].one_s = lab_median(m->one[i], TURNS);
		out->size[i].two_s = lab_median(m->two[i], TURNS);
		out->size[i].faster = out->size[i].two_of_one < 1;
	}
	rc = 0;
out:
	free(m);
	return rc;
}
