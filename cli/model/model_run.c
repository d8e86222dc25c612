/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent model run: one run of a compiled model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/model.h"
#include "cli/ui/util.h"
#include "model/induce/compile.h"

struct passed {
	uint64_t *times;
	double *var;
	uint32_t n_vars;
};

static int pass(void *arg, uint32_t point, double time_s, const double *var)
{
	struct passed *p = arg;

	(void)time_s;
	p->times[point]++;
	memcpy(p->var, var, p->n_vars * sizeof(*var));
	return 0;
}

static uint32_t count_names(const struct model_object *m, uint32_t what)
{
	uint32_t n = 0;

	while (m->name(what, n))
		n++;
	return n;
}

/* The value of every input, by name. */
static int take_inputs(const struct model_options *o, const struct model_object *m, double *input, struct errbuf *err)
{
	for (uint32_t i = 0; i < o->n_given; i++) {
		uint32_t k = 0;
		char *end;

		while (m->name(MODEL_NAME_INPUT, k) && strcmp(m->name(MODEL_NAME_INPUT, k), o->given[i].name))
			k++;
		if (!m->name(MODEL_NAME_INPUT, k))
			return err_set(err, "the model has no input '%.80s'", o->given[i].name);
		input[k] = strtod(o->given[i].text, &end);
		if (end == o->given[i].text || *end || !isfinite(input[k]))
			return err_set(err, "--var %.80s: '%.40s' is no number", o->given[i].name, o->given[i].text);
	}
	for (uint32_t k = 0; m->name(MODEL_NAME_INPUT, k); k++)
		if (isnan(input[k]))
			return err_set(err, "input '%.80s' has no value: give it by --var; the calls of an MPI run are told by 'predict'",
				       m->name(MODEL_NAME_INPUT, k));
	return 0;
}

static int run_object(const struct model_object *m, const double *input, struct passed *p, struct errbuf *err)
{
	char text[32];
	double time_s;
	int why = m->run(input, 1, pass, p, &time_s);

	if (why != MODEL_DONE)
		return err_set(err, "%s", why == MODEL_STEPS ? "the run does not end within 1e9 steps: the runs do not show when it does"
				    : why == MODEL_LOST || why >= MODEL_DOUBT
					? "the model does not know the way for these inputs; 'precedent model show' says where"
					: "no memory to run a model");
	printf("%s\n", cli_seconds(text, sizeof(text), time_s));
	for (uint32_t i = 0; m->name(MODEL_NAME_POINT, i); i++)
		printf("%s: %llu times\n", m->name(MODEL_NAME_POINT, i), (unsigned long long)p->times[i]);
	for (uint32_t i = 0; i < p->n_vars; i++)
		if (!isnan(p->var[i]))
			printf("%s = %.10g\n", m->name(MODEL_NAME_VAR, i), p->var[i]);
	return 0;
}

int model_run(const struct model_options *o, const char *dir)
{
	struct model_object m;
	struct passed p = {0};
	struct errbuf err;
	double *input = NULL;
	uint32_t n;
	int rc = model_object_open(&m, dir, &err);

	if (rc < 0)
		return cli_fail("%s", err.text);
	n = count_names(&m, MODEL_NAME_INPUT);
	p.n_vars = count_names(&m, MODEL_NAME_VAR);
	p.times = calloc(count_names(&m, MODEL_NAME_POINT) + 1u, sizeof(*p.times));
	p.var = calloc(p.n_vars + 1u, sizeof(*p.var));
	input = malloc((n + 1u) * sizeof(*input));
	for (uint32_t k = 0; input && k < n; k++)
		input[k] = NAN;
	rc = p.times && p.var && input ? take_inputs(o, &m, input, &err) : err_set(&err, "no memory");
	if (rc == 0)
		rc = run_object(&m, input, &p, &err);
	if (rc < 0)
		rc = cli_fail("%s", err.text);
	free(input);
	free(p.times);
	free(p.var);
	model_object_close(&m);
	return rc;
}
