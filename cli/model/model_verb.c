/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent model: what several traced runs of a program have in common, as a model of runs that were never traced. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/model.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "model/induce/compile.h"
#include "model/induce/file.h"
#include "model/induce/text.h"

#define SHARED 0.1 /* of a run's time that others had its processors: worth saying */

static void help(void)
{
	puts("Usage: precedent model fit TRACE... [--var NAME=V,V,... | --var NAME=@K]... [--dims D] -o FILE\n"
	     "       precedent model show FILE [--dot]\n"
	     "       precedent model predict FILE --ranks P [--var NAME=V]... [--events RANK]\n"
	     "                               [--cpus C] [--against TRACE] [--anyway] [--json]\n"
	     "                               [--from TRACE]... [-o TRACE]\n"
	     "       precedent model compile FILE -o DIR\n\n"
	     "Learns from at least three traced runs of one program, with different arguments and numbers of\n"
	     "ranks, and says what runs with others do: the calls of every rank in order, with peers and sizes,\n"
	     "and the time.\n"
	     "What the runs do not determine is refused, with the reason.\n\n"
	     "  --var NAME=V,...   fit: a variable, with a value for every trace; NAME=@K: argument K of the\n"
	     "                     command lines (without any: all their numbers, as arg1, arg2, ...);\n"
	     "                     predict: its value\n"
	     "  --dims D           the program's ranks form a grid of D dimensions, 1 to 3\n"
	     "  -o, --output FILE  the model (\"-\": standard output); compile: the directory for model.c, model.so;\n"
	     "                     predict: the run as a trace, for info, view, advise and skeleton\n"
	     "  --dot              show the graph, for dot(1)\n"
	     "  --ranks P          number of ranks\n"
	     "  --cpus C           processors that all ranks have together (those of the runs, or one for each\n"
	     "                     rank): where there are more ranks, they take turns\n"
	     "  --events RANK      print the calls of that rank, with their times\n"
	     "  --from TRACE       of a run that the model was learnt from: a trace that is predicted takes types,\n"
	     "                     requests and the kinds of computation from these\n"
	     "  --against TRACE    compare with a trace of that very run; exit 1 where a call or value is another\n"
	     "  --anyway           take the first of several rules that the runs cannot tell apart\n"
	     "  --json             for machines\n"
	     "  -h, --help         this text");
}

/* ---- fit ---- */

static int add_given(struct model_options *o, char *text)
{
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

		printf("  in doubt: %s: %s, %s %s\n", d->what, learnt_side_format(d, 0, l->feature, a, sizeof(a)),
		       d->kind == DOUBT_ORDER ? "and" : "or", learnt_side_format(d, 1, l->feature, b, sizeof(b)));
	}
	if (l->n_doubts > 5)
		printf("  in doubt: %u more, see precedent model show\n", l->n_doubts - 5);
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
	printf("\n%u nodes and %u of %u values are not determined by these runs\n", l->n_unknown, unknown, values);
	printf("left out one by one, %u of %u runs are predicted exactly by the others, and %u are refused; times between these "
	       "runs are within %.0f %%",
	       m->confidence.n_exact, m->confidence.n_runs, m->confidence.n_refused, 100 * m->confidence.time_error);
	for (uint32_t v = 0; v < m->confidence.n_reach; v++)
		printf("%s at twice the %s within %.0f %%", v ? "," : "; beyond them,", m->input[v].name,
		       100 * expm1(hypot(log1p(m->confidence.time_error), m->confidence.reach[v] * M_LN2)));
	printf("\n");
	if (t->shared > SHARED)
		printf("other programs had the processors of a run for up to %.0f %% of its time: times are learnt without that, and are "
		       "those of runs alone on their processors\n", 100 * t->shared);
	say_doubts(l);
}

/* Every run left out, with those that repeat it: are its calls those that the others predict? */
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

static int fit(const struct model_options *o, char **path, uint32_t n)
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

/* ---- show, compile ---- */

static int show(const struct model_options *o, const char *path)
{
	struct errbuf err;
	struct model *m = model_load(path, &err);
	int rc;

	if (!m)
		return cli_fail("%s", err.text);
	rc = o->dot ? model_print_dot(m, stdout) : model_print(m, stdout);
	model_destroy(m);
	return rc < 0 ? cli_fail("the model could not be written") : 0;
}

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

/* -1 with the message when it is none. */
static int take_number(struct model_options *o, int option, const char *text)
{
	const char *name = option == 'd' ? "dims" : option == 'r' ? "ranks" : option == 'c' ? "cpus" : "events";
	long least = option == 'e' ? 0 : 1, most = option == 'd' ? 3 : FORESEE_RANKS_MAX, v;

	if (cli_number(text, least, most, &v) < 0) {
		cli_usage("model", "--%s takes a number from %ld to %ld, not '%s'", name, least, most, text);
		return -1;
	}
	if (option == 'e')
		o->events = v;
	else
		*(option == 'd' ? &o->dims : option == 'c' ? &o->cpus : &o->ranks) = (uint32_t)v;
	return 0;
}

static int model_options_read(struct model_options *o, int argc, char **argv)
{
	static const struct option opts[] = {
	    {"var", required_argument, NULL, 'v'},    {"dims", required_argument, NULL, 'd'},
	    {"output", required_argument, NULL, 'o'}, {"dot", no_argument, NULL, 'g'},
	    {"ranks", required_argument, NULL, 'r'},  {"events", required_argument, NULL, 'e'},
	    {"from", required_argument, NULL, 'f'},   {"cpus", required_argument, NULL, 'c'},
	    {"against", required_argument, NULL, 'a'}, {"anyway", no_argument, NULL, 'y'},
	    {"json", no_argument, NULL, 'j'},	      {"help", no_argument, NULL, 'h'},
	    {0}};
	int c;

	while ((c = getopt_long(argc, argv, "ho:", opts, NULL)) != -1) {
		if (c == 'v' && add_given(o, optarg) < 0)
			return cli_usage("model", "--var takes NAME=VALUE, at most %d times", FEATURE_VARS_MAX);
		else if ((c == 'd' || c == 'r' || c == 'c' || c == 'e') && take_number(o, c, optarg) < 0)
			return 2;
		else if (c == 'o')
			o->out = optarg;
		else if (c == 'a')
			o->against = optarg;
		else if (c == 'f' && o->n_from == RUNS_MAX)
			return cli_usage("model", "--from: at most %d traces", RUNS_MAX);
		else if (c == 'f')
			o->from[o->n_from++] = optarg;
		else if (c == 'g' || c == 'y' || c == 'j' || c == 'v')
			*(c == 'g' ? &o->dot : c == 'y' ? &o->anyway : c == 'j' ? &o->json : &o->any_var) = true;
		else if (c == 'h' || c == '?')
			return c == 'h' ? (help(), 0) : cli_bad_option("model", "ho:", argv);
	}
	return -1;
}

/* Options that the subcommand has no use for: a usage error, or -1. */
static int options_misplaced(const struct model_options *o, const char *what)
{
	const struct {
		const char *option, *of;
		bool given;
	} rule[] = {
	    {"--var", "fit predict", o->n_given > 0},	     {"--dims", "fit", o->dims > 0},
	    {"-o", "fit predict compile", o->out != NULL},   {"--dot", "show", o->dot},
	    {"--ranks", "predict", o->ranks > 0},	     {"--cpus", "predict", o->cpus > 0},
	    {"--events", "predict", o->events >= 0},	     {"--from", "predict", o->n_from > 0},
	    {"--against", "predict", o->against != NULL},    {"--anyway", "predict", o->anyway},
	    {"--json", "predict", o->json},
	};

	for (size_t i = 0; i < sizeof(rule) / sizeof(*rule); i++)
		if (rule[i].given && !strstr(rule[i].of, what))
			return cli_usage("model", "%s is not for %s", rule[i].option, what);
	return -1;
}

static int model_verb(int argc, char **argv)
{
	struct model_options o = {.events = -1};
	const char *what;
	int rc = model_options_read(&o, argc, argv), n;

	if (rc >= 0)
		return rc;
	n = argc - optind - 1;
	if (n < 0)
		return cli_usage("model", "say what: fit, show, predict or compile");
	what = argv[optind];
	if (strcmp(what, "fit") && strcmp(what, "show") && strcmp(what, "predict") && strcmp(what, "compile"))
		return cli_usage("model", "'%s' is not fit, show, predict or compile", what);
	rc = options_misplaced(&o, what);
	if (rc >= 0)
		return rc;
	if (!strcmp(what, "fit"))
		return !n ? cli_usage("model", "no trace named")
		       : !o.out ? cli_usage("model", "fit needs -o FILE")
				: fit(&o, argv + optind + 1, (uint32_t)n);
	if (n != 1)
		return cli_usage("model", n ? "one model at a time" : "no model named");
	if (!strcmp(what, "show"))
		return show(&o, argv[optind + 1]);
	if (!strcmp(what, "compile"))
		return o.out ? compile(&o, argv[optind + 1]) : cli_usage("model", "compile needs -o DIR");
	if (!o.ranks)
		return cli_usage("model", "predict needs --ranks P");
	if (!o.out != !o.n_from)
		return cli_usage("model", o.out ? "predict -o needs --from TRACE: a run that the model was learnt from"
						: "--from goes with -o TRACE, the trace to be predicted");
	return model_predict(&o, argv[optind + 1]);
}

const struct verb verb_model = {
	.name = "model",
	.args = "fit TRACE... -o FILE",
	.what = "learn from several runs what others do; show, predict, compile",
	.run = model_verb,
};
