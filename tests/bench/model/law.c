/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See law.h. */
#include <stdlib.h>
#include <string.h>

#include "model/inputs/points.h"
#include "predictor/estimate/scaling_model.h"
#include "tests/bench/model/law.h"

#define VARS_TEXT 512

struct law_lines {
	unsigned n_runs, n_points, n_asked;
	struct param_family_run runs[SCALING_RUNS_MAX];
	struct scaling_point points[SCALING_RUNS_MAX];
	char vars[SCALING_RUNS_MAX][VARS_TEXT], at[SCALING_RUNS_MAX][VARS_TEXT], asked[SCALING_RUNS_MAX][VARS_TEXT];
};

static int lines_read(FILE *in, struct law_lines *l, struct errbuf *err)
{
	char line[VARS_TEXT + 64], vars[VARS_TEXT];
	double seconds, error;

	while (fgets(line, sizeof(line), in)) {
		if (l->n_runs == SCALING_RUNS_MAX || l->n_points == SCALING_RUNS_MAX || l->n_asked == SCALING_RUNS_MAX)
			return err_set(err, "too many lines");
		if (sscanf(line, "run %511s %lf", vars, &seconds) == 2) {
			memcpy(l->vars[l->n_runs], vars, sizeof(vars));
			l->runs[l->n_runs] = (struct param_family_run){l->vars[l->n_runs], l->vars[l->n_runs], seconds, false};
			l->n_runs++;
		} else if (sscanf(line, "point %511s %lf %lf", vars, &seconds, &error) == 3) {
			memcpy(l->at[l->n_points], vars, sizeof(vars));
			l->points[l->n_points] = (struct scaling_point){l->at[l->n_points], seconds, error};
			l->n_points++;
		} else if (sscanf(line, "ask %511s", vars) == 1) {
			memcpy(l->asked[l->n_asked++], vars, sizeof(vars));
		} else {
			return err_set(err, "not a line of runs or questions: %.80s", line);
		}
	}
	return 0;
}

static json_t *answer(const struct scaling_model *model, const char *asked)
{
	double vars[SCALING_VARS_MAX];
	struct estimate e;
	struct errbuf why;

	if (scaling_predict(model, vars, scaling_vars_parse(asked, vars), &e, &why) < 0)
		return json_pack("{s:s}", "why", why.text);
	return json_pack("{s:f, s:f, s:f}", "mean", e.mean_s, "lo", e.lo_s, "hi", e.hi_s);
}

json_t *points_answer(char **operand, int n, struct errbuf *err)
{
	struct points_run run[POINTS_RUNS_MAX];
	struct points *p;
	json_t *out = NULL;

	for (int i = 0; i < n; i++) {
		char *equals = strchr(operand[i], '=');

		if (n > POINTS_RUNS_MAX || !equals) {
			err_set(err, "at most %d of VARS=TRACE", POINTS_RUNS_MAX);
			return NULL;
		}
		*equals = '\0';
		run[i].trace = equals + 1;
		run[i].n_vars = scaling_vars_parse(operand[i], run[i].vars);
	}
	p = calloc(1, sizeof(*p));
	if (p && points_compute(run, (unsigned)n, p, err) == 0) {
		out = json_array();
		for (unsigned i = 0; i < p->n; i++) {
			struct identity id = {.n_vars = p->n_vars};
			char vars[VARS_TEXT];

			memcpy(id.vars, p->p[i].vars, sizeof(id.vars));
			identity_vars_format(&id, vars, sizeof(vars));
			json_array_append_new(out, json_pack("{s:s, s:f, s:f}", "vars", vars, "s", p->p[i].seconds, "error", p->p[i].error));
		}
	}
	free(p);
	return out;
}

json_t *law_answer(FILE *in, struct errbuf *err)
{
	struct law_lines *l = calloc(1, sizeof(*l));
	struct scaling_model model;
	struct errbuf why;
	json_t *answers = NULL;
	int fitted;

	if (!l) {
		err_set(err, "no memory");
		return NULL;
	}
	if (lines_read(in, l, err) == 0) {
		fitted = scaling_fit_with(l->runs, l->n_runs, l->points, l->n_points, &model, &why);
		answers = json_array();
		for (unsigned i = 0; i < l->n_asked; i++)
			json_array_append_new(answers, fitted < 0 ? json_pack("{s:s}", "why", why.text) : answer(&model, l->asked[i]));
	}
	free(l);
	return answers;
}
