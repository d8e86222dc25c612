/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The experiments of paper 000 that are one process: each prints one line of JSON. run.pl makes the tables of them.
 *
 *   experiments brusselator|lag|plate
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/model/brusselator.h"
#include "tests/bench/model/lag.h"
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
	return json_pack("{s:i, s:i, s:i, s:I, s:f, s:f, s:f, s:b, s:o, s:o, s:o, s:o, s:s}", "runs", (int)r.n_runs, "totals",
			 (int)r.n_totals, "asked", (int)r.n_asked, "rows", (json_int_t)r.n_rows, "learn_s", r.learn_s, "least_s",
			 r.least_s, "most_s", r.most_s, "sequence", r.sequence, "model_errors", errors_json(&r.model), "totals_errors",
			 errors_json(&r.totals), "form_errors", errors_json(&r.form), "noise", errors_json(&r.noise), "form",
			 r.form_text);
}

static const struct {
	const char *name;
	json_t *(*run)(struct errbuf *err);
} experiments[] = {{"brusselator", brusselator}, {"lag", lag}, {"plate", plate}};

int main(int argc, char **argv)
{
	struct errbuf err = {""};

	for (size_t i = 0; argc == 2 && i < sizeof(experiments) / sizeof(*experiments); i++) {
		json_t *out;

		if (strcmp(argv[1], experiments[i].name))
			continue;
		out = experiments[i].run(&err);
		if (!out) {
			fprintf(stderr, "experiments: %s: %s\n", argv[1], err.text);
			return 1;
		}
		json_dumpf(out, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
		putchar('\n');
		json_decref(out);
		return 0;
	}
	fprintf(stderr, "usage: experiments brusselator|lag|plate\n");
	return 2;
}
