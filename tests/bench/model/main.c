/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The experiments of Pekunov (cited in model/induce/model.h) that are one process: each prints one line of JSON.
 * run.pl makes the tables of them.
 *
 *   experiments brusselator|lag|plate
 *   experiments form PARAMETERS FILE     the normal form of lines "x... y", and its values at lines "x..."
 *   experiments law FILE                 the law over total times: law.h
 *   experiments points VARS=TRACE...     points that a model of the calls computes: law.h
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/model/brusselator.h"
#include "tests/bench/model/lag.h"
#include "tests/bench/model/law.h"
#include "tests/bench/model/normal_form.h"
#include "tests/bench/model/plate.h"

static json_t *brusselator(struct errbuf *err)
{
	static const struct brusselator_parallel parallel = {brusselator_solve_parallel, brusselator_start_parallel};
	struct brusselator_report r;
	json_t *sizes = json_array();

	if (brusselator_experiment(&parallel, &r, err) < 0) {
		json_decref(sizes);
		return NULL;
	}
	for (int i = 0; i < BRUSSELATOR_ASKED; i++) {
		const struct brusselator_size *s = &r.size[i];

		json_array_append_new(sizes, json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:b}", "k", (json_int_t)s->k, "model_s",
						       s->model_s, "form_s", s->form_s, "one_s", s->one_s, "two_s", s->two_s, "two_of_one",
						       s->two_of_one, "advice", s->advice, "form_advice", s->form_advice, "faster",
						       s->faster));
	}
	return json_pack("{s:i, s:f, s:s, s:o}", "turns", (int)r.turns, "start_s", r.start_s, "form", r.form_text, "sizes", sizes);
}

static json_t *lag(struct errbuf *err)
{
	struct lag_report r;

	if (lag_experiment(true, &r, err) < 0)
		return NULL;
	return json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:f, s:f}", "runs", (int)r.n_runs, "direct_runs",
			 (int)r.n_direct, "asked", (int)r.n_asked, "model_worst", r.model_worst, "model_median", r.model_median,
			 "far_worst", r.far_worst, "direct_worst", r.direct_worst, "direct_median", r.direct_median, "direct_held_out",
			 r.direct_held_out, "same_bits", r.bits, "program_ns", r.program_ns, "compiled_ns", r.compiled_ns, "direct_ns",
			 r.direct_ns);
}

static json_t *errors_json(const struct plate_errors *e)
{
	return json_pack("{s:f, s:f}", "median", e->median, "worst", e->worst);
}

static json_t *plate(struct errbuf *err)
{
	struct plate_report r;

	if (plate_experiment(&r, err) < 0)
		return NULL;
	return json_pack("{s:i, s:i, s:i, s:I, s:f, s:f, s:f, s:b, s:o, s:o, s:o, s:o, s:o, s:s}", "runs", (int)r.n_runs, "totals",
			 (int)r.n_totals, "asked", (int)r.n_asked, "rows", (json_int_t)r.n_rows, "learn_s", r.learn_s, "least_s",
			 r.least_s, "most_s", r.most_s, "sequence", r.sequence, "model_errors", errors_json(&r.model), "totals_errors",
			 errors_json(&r.totals), "form_errors", errors_json(&r.form), "form_few_errors", errors_json(&r.form_few), "noise", errors_json(&r.noise), "form",
			 r.form_text);
}

static const struct {
	const char *name;
	json_t *(*run)(struct errbuf *err);
} experiments[] = {{"brusselator", brusselator}, {"lag", lag}, {"plate", plate}};

struct form_lines {
	uint32_t n_rows, n_asked;
	double x[NORMAL_FORM_ROWS * NORMAL_FORM_PARAMS], y[NORMAL_FORM_ROWS], asked[NORMAL_FORM_ROWS * NORMAL_FORM_PARAMS];
};

/* Lines of n + 1 numbers are rows, lines of n are asked. -1 with the reason. */
static int form_read(FILE *in, uint32_t n, struct form_lines *l, struct errbuf *err)
{
	char line[1024];

	while (fgets(line, sizeof(line), in)) {
		double v[NORMAL_FORM_PARAMS + 1];
		char *at = line, *end;
		uint32_t k = 0;

		for (; k <= n; k++, at = end) {
			v[k] = strtod(at, &end);
			if (end == at)
				break;
		}
		if (k < n || l->n_rows == NORMAL_FORM_ROWS || l->n_asked == NORMAL_FORM_ROWS)
			return err_set(err, "a line has %u numbers, or there are too many lines", k);
		if (k > n) {
			memcpy(l->x + (size_t)l->n_rows * n, v, n * sizeof(*v));
			l->y[l->n_rows++] = v[n];
		} else {
			memcpy(l->asked + (size_t)l->n_asked++ * n, v, n * sizeof(*v));
		}
	}
	return 0;
}

static json_t *form(uint32_t n, const char *path, struct errbuf *err)
{
	static const char *const names[NORMAL_FORM_PARAMS] = {"x1", "x2", "x3", "x4", "x5"};
	static struct form_lines l;
	FILE *in = fopen(path, "r");
	json_t *values = json_array();
	struct normal_form f;
	char text[512];
	int rc = in ? form_read(in, n, &l, err) : err_set(err, "%s cannot be read", path);

	if (in)
		fclose(in);
	if (rc < 0 || normal_form_fit(l.x, l.y, l.n_rows, n, &f, err) < 0) {
		json_decref(values);
		return NULL;
	}
	for (uint32_t i = 0; i < l.n_asked; i++)
		json_array_append_new(values, json_real(normal_form_value(&f, l.asked + (size_t)i * n)));
	normal_form_print(&f, names, text, sizeof(text));
	return json_pack("{s:s, s:o}", "form", text, "values", values);
}

static json_t *law(const char *path, struct errbuf *err)
{
	FILE *in = fopen(path, "r");
	json_t *answers = NULL;

	if (!in) {
		err_set(err, "%s cannot be read", path);
		return NULL;
	}
	answers = law_answer(in, err);
	fclose(in);
	return answers;
}

static int print(const char *what, json_t *out, const struct errbuf *err)
{
	if (!out) {
		fprintf(stderr, "experiments: %s: %s\n", what, err->text);
		return 1;
	}
	json_dumpf(out, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(out);
	return 0;
}

int main(int argc, char **argv)
{
	struct errbuf err = {""};

	if (argc == 4 && !strcmp(argv[1], "form") && atoi(argv[2]) >= 1 && atoi(argv[2]) <= NORMAL_FORM_PARAMS)
		return print(argv[1], form((uint32_t)atoi(argv[2]), argv[3], &err), &err);
	if (argc == 3 && !strcmp(argv[1], "law"))
		return print(argv[1], law(argv[2], &err), &err);
	if (argc > 2 && !strcmp(argv[1], "points"))
		return print(argv[1], points_answer(argv + 2, argc - 2, &err), &err);
	for (size_t i = 0; argc == 2 && i < sizeof(experiments) / sizeof(*experiments); i++)
		if (!strcmp(argv[1], experiments[i].name))
			return print(argv[1], experiments[i].run(&err), &err);
	fprintf(stderr, "usage: experiments brusselator|lag|plate\n       experiments form PARAMETERS FILE\n       experiments law FILE\n       experiments points VARS=TRACE...\n");
	return 2;
}
