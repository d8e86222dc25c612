/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent model: learns a model from several traced runs of a program, to predict runs that were never traced. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/model.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "model/induce/compile.h"
#include "model/induce/file.h"

#define UNKNOWN_TIMES 10 /* an interval that is wider says nothing */
#define SHARED 0.1 /* of a run's time that others had its processors: worth saying */

/* ---- fit ---- */

static int take_var(void *options, char *text)
{
	struct model_options *o = options;
	struct model_given *g = &o->given[o->n_given];
	char *eq = strchr(text, '=');

	if (!eq || eq == text || eq - text > RUNS_VAR_NAME || o->n_given == FEATURE_VARS_MAX)
		return -1;
	*eq = '\0';
	g->name = text;
	g->text = eq + 1;
	o->n_given++;
	return 0;
}

static int number_list(const char *s, double *out, uint32_t most, uint32_t *n)
{
	char *end;

	for (*n = 0; *n < most; s = end + 1) {
		out[(*n)++] = strtod(s, &end);
		if (end == s || (*end && *end != ','))
			return -1;
		if (!*end)
			return 0;
	}
	return -1;
}

static int fit_vars(const struct model_options *o, struct runs_var *var, double *value)
{
	for (uint32_t i = 0; i < o->n_given; i++) {
		const char *text = o->given[i].text;
		long argument;

		snprintf(var[i].name, sizeof(var[i].name), "%s", o->given[i].name);
		var[i].value = value + (size_t)i * RUNS_MAX;
		if (text[0] == '@') {
			if (cli_number(text + 1, 1, INT32_MAX, &argument) < 0)
				return cli_usage("model", "--var %s=%s names no argument", var[i].name, text);
			var[i].argument = (uint32_t)argument;
		} else if (number_list(text, var[i].value, RUNS_MAX, &var[i].n_value) < 0) {
			return cli_usage("model", "--var %s: '%s' are no numbers", var[i].name, text);
		}
	}
	return 0;
}

static void say_doubts(const struct learnt *l)
{
	for (uint32_t i = 0; i < l->n_doubts && i < 5; i++) {
		const struct learnt_doubt *d = &l->doubt[i];
		char a[200], b[200];

		printf("  %s: %s: %s, %s %s\n", learnt_doubt_simpler(d, l->feature) ? "simpler" : "in doubt", d->what,
		       learnt_side_format(d, 0, l->feature, a, sizeof(a)),
		       learnt_doubt_simpler(d, l->feature) ? "not" : d->kind == DOUBT_ORDER ? "and" : "or",
		       learnt_side_format(d, 1, l->feature, b, sizeof(b)));
	}
	if (l->n_doubts > 5)
		printf("  %u more: see precedent model show\n", l->n_doubts - 5);
}

/* Of an error relative to the prediction: many times as much is no error, but nothing known. */
static const char *within(char *buf, size_t size, double error)
{
	if (error <= UNKNOWN_TIMES)
		snprintf(buf, size, "within %.0f %%", 100 * error);
	else
		snprintf(buf, size, "off by more than %d times", UNKNOWN_TIMES);
	return buf;
}

static void say_fitted(const struct runs *r, const struct learnt *l, const struct run_times *t, const struct model *m)
{
	uint32_t unknown = 0, values = 0;
	char a[32];

	for (uint32_t i = 0; i < r->n_leaf; i++)
		for (uint32_t v = 0; v < r->leaf[i].n_value; v++, values++)
			unknown += !learnt_value_known(&l->value[i][v]);
	printf("%u runs", r->n_runs);
	if (r->n_different < r->n_runs)
		printf(" (%u different)", r->n_different);
	printf(", %u ranks, %s calls: %u calls and %u loops of the program, variables", r->n_points,
	       cli_thousands(a, sizeof(a), r->events), r->n_leaf, r->n_loop);
	for (uint32_t v = 0; v < r->n_vars; v++)
		printf(" %s", r->var_name[v]);
	printf("\n%u calls or loops and %u of %u values are not determined by these runs\n", l->n_unknown, unknown, values);
	printf("left out one by one, %u of %u runs are predicted exactly by the others, and %u are refused; times between these "
	       "runs are %s", m->confidence.n_exact, m->confidence.n_runs, m->confidence.n_refused,
	       within(a, sizeof(a), m->confidence.time_error));
	for (uint32_t v = 0; v < m->confidence.n_reach; v++)
		printf("%s at twice the %s %s", v ? "," : "; beyond them,", m->input[v].name,
		       within(a, sizeof(a), expm1(hypot(log1p(m->confidence.time_error), m->confidence.reach[v] * M_LN2))));
	printf("\n");
	if (t->shared > SHARED)
		printf("other programs had the processors of a run for up to %.0f %% of its time: times are learnt without that, and are "
		       "those of runs alone on their processors\n", 100 * t->shared);
	say_doubts(l);
}

/* Cross-validation: leaves out each run together with the runs that repeat it. Are its calls the ones that the other
 * runs predict? */
static int leave_out(struct runs *r, uint32_t dims, struct model *m, struct errbuf *err)
{
	for (uint32_t i = 0; i < r->n_runs; i++) {
		struct learnt l;

		if (r->n_different > 1 && r->run[i].same != i)
			continue;
		if (learn_runs(r, i, dims, &l, err) < 0)
			return -1;
		for (uint32_t k = i; k < r->n_runs; k++) {
			int rc = runs_left_out(r, k, i) ? learnt_check_run(&l, k) : 0;

			m->confidence.n_exact += rc == 1;
			m->confidence.n_refused += rc < 0;
		}
		learnt_free(&l);
	}
	m->confidence.n_runs = r->n_runs;
	m->confidence.prefix = (double)m->confidence.n_exact / r->n_runs;
	return 0;
}

static int fit_model(const struct model_options *o, char **path, uint32_t n)
{
	struct runs_var var[FEATURE_VARS_MAX] = {0};
	double *value = calloc(FEATURE_VARS_MAX * RUNS_MAX, sizeof(*value));
	struct runs r = {0};
	struct learnt l = {0};
	struct run_times times = {0};
	struct model *m = NULL;
	struct buf text = {0};
	struct errbuf err;
	int rc = 1;

	if (!value)
		return cli_fail("no memory");
	if ((rc = fit_vars(o, var, value)) != 0)
		goto out;
	rc = 1;
	if (runs_open(&r, (const char *const *)path, n, var, o->n_given, &err) < 0 ||
	    learn_runs(&r, UINT32_MAX, o->dims, &l, &err) < 0 || run_times_learn(&l, &times, &err) < 0 ||
	    !(m = inputs_build(&l, &times, &err)) || leave_out(&r, o->dims, m, &err) < 0) {
		cli_fail("%s", err.text);
	} else if (!strcmp(o->out, "-")) {
		rc = model_format(m, &text, &err) < 0 ? cli_fail("%s", err.text) : cli_write_file("-", text.data, text.len);
	} else if (model_save(m, o->out, &err) < 0) {
		cli_fail("%s", err.text);
	} else {
		say_fitted(&r, &l, &times, m);
		rc = 0;
	}
out:
	buf_free(&text);
	model_destroy(m);
	run_times_free(&times);
	learnt_free(&l);
	runs_close(&r);
	free(value);
	return rc;
}

/* ---- compile ---- */

static int compile(const struct model_options *o, const char *path)
{
	struct errbuf err;
	struct model *m = model_load(path, &err);
	int rc = 1;

	if (m)
		rc = model_compile(m, o->out, NULL, &err) < 0;
	model_destroy(m);
	return rc ? cli_fail("%s", err.text) : 0;
}

static int take_from(void *options, char *text)
{
	struct model_options *o = options;

	if (o->n_from == RUNS_MAX)
		return cli_usage("model", "--from: at most %d traces", RUNS_MAX);
	o->from[o->n_from++] = text;
	return 0;
}

static int model_verb(int argc, char **argv)
{
	struct model_options o = {.events = -1};
	int rc, n = 0;
	char **what = options_read(&verb_model, argc, argv, &o, &rc), **named;

	if (!what)
		return rc;
	for (named = what + 1; named[n]; n++)
		;
	if (!strcmp(*what, "fit"))
		return !n ? cli_usage("model", "no trace named")
		       : !o.out ? cli_usage("model", "fit needs -o FILE")
				: fit_model(&o, named, (uint32_t)n);
	if (n != 1)
		return cli_usage("model", n ? "one model at a time" : "no model named");
	if (!strcmp(*what, "show"))
		return model_show(&o, *named);
	if (!strcmp(*what, "compile"))
		return o.out ? compile(&o, *named) : cli_usage("model", "compile needs -o DIR");
	if (!strcmp(*what, "run"))
		return model_run(&o, *named);
	if (!o.ranks)
		return cli_usage("model", "predict needs --ranks P");
	if (!o.out != !o.n_from)
		return cli_usage("model", o.out ? "predict -o needs --from TRACE: a run that the model was learnt from"
						: "--from goes with -o TRACE, the trace to be predicted");
	return model_predict(&o, *named);
}

static const char *const actions[] = {"fit", "show", "predict", "compile", "run", NULL};

static const struct verb_option options[] = {
	{"var", 0, "NAME=V", OPT_CALL(take_var, NULL), .of = "fit predict run", .wants = "takes NAME=VALUE, at most " OPTION_SPELL(FEATURE_VARS_MAX) " times",
	 .help = "predict, run: the value of a variable; fit: V,V,... is a value for every trace, @K argument K of the command lines (without "
		 "any variable: all their numbers, as arg1, arg2, ...)"},
	{"dims", 0, "D", OPT_NUMBER(struct model_options, dims, 1, 3), .of = "fit",
	 .help = "the program's ranks form a grid of D dimensions, 1 to 3"},
	{"output", 'o', "FILE", OPT_TEXT(struct model_options, out), .of = "fit predict compile",
	 .help = "the model (\"-\": standard output); compile: the directory for model.c, model.h and model.so; predict: the run as a trace, for "
		 "info, view, advise and skeleton"},
	{"dot", 0, NULL, OPT_FLAG(struct model_options, dot), .of = "show", .help = "show the graph, for dot(1)"},
	{"ranks", 0, "P", OPT_NUMBER(struct model_options, ranks, 1, FORESEE_RANKS_MAX), .of = "predict", .help = "number of ranks"},
	{"cpus", 0, "C", OPT_NUMBER(struct model_options, cpus, 1, FORESEE_RANKS_MAX), .of = "predict",
	 .help = "processors that all ranks have together (those of the runs, or one for each rank): where there are more ranks, they "
		 "take turns"},
	{"events", 0, "RANK", OPT_NUMBER(struct model_options, events, 0, FORESEE_RANKS_MAX), .of = "predict",
	 .help = "print the calls of that rank, with their times"},
	{"from", 0, "TRACE", OPT_CALL(take_from, NULL), .of = "show predict",
	 .help = "of a run that the model was learnt from: show names calls by function and line; a trace that is "
		 "predicted takes types, requests and the kinds of computation from these"},
	{"against", 0, "TRACE", OPT_TEXT(struct model_options, against), .of = "predict",
	 .help = "compare with a trace of that very run; exit 1 where a call or value is another"},
	{"anyway", 0, NULL, OPT_FLAG(struct model_options, anyway), .of = "predict",
	 .help = "take the first of several rules that the runs cannot tell apart, and about so many iterations "
		 "where a loop has no rule"},
	{"json", 0, NULL, OPT_FLAG(struct model_options, json), .of = "predict", .help = "for machines"},
	{0},
};

const struct verb verb_model = {
	"model", "fit TRACE... -o FILE", "learn from several runs what others do; show, predict, compile, run",
	.forms = {"fit TRACE... [options] -o FILE", "predict FILE --ranks P [--var NAME=V]... [options]",
		  "show FILE [--dot] [--from TRACE]...",
		  "compile FILE -o DIR", "run DIR [--var NAME=V]..."},
	.text = "Learns from at least three traced runs of one program, with different arguments and numbers of ranks, and says what "
		"runs with others do: the calls of every rank in order, with peers and sizes, and the time. What the runs do not "
		"determine is refused, with the reason.",
	.examples = {"fit a.ptrace b.ptrace c.ptrace -o my.model", "predict my.model --ranks 2 --var arg1=1000 --var arg2=60"},
	.options = options, .actions = actions, .operand = "file", .run = model_verb,
};
