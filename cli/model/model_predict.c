/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent model predict: a run that was never traced. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/model.h"
#include "cli/ui/json_out.h"
#include "cli/ui/util.h"
#include "model/induce/file.h"

#define NOT_ALONE 0.9 /* of its time a run had its processors, or less: others did */

struct prediction {
	double wall_s;
	uint64_t calls;
	json_t *events;
};

struct print {
	const struct model *m;
	json_t *events; /* NULL: to standard output */
	uint64_t n;
};

static const char *value_text(double v, char *buf, size_t size)
{
	if (v == INPUTS_UNKNOWN)
		snprintf(buf, size, "?");
	else if (llround(v) == TRACE_PROC_NULL)
		snprintf(buf, size, "%s", "null");
	else
		snprintf(buf, size, "%lld", llround(v));
	return buf;
}

static bool is_peer(const char *name)
{
	return !strcmp(name, "dst") || !strcmp(name, "src") || !strcmp(name, "root");
}

static int print_call(void *arg, uint32_t point, double time_s, const double *var)
{
	struct print *p = arg;
	const char *name = p->m->point[point];
	uint32_t at[CALL_VALUES], n = foresee_values(p->m, point, at);
	const char *paren = strrchr(name, '(');
	int len = paren && paren > name ? (int)(paren - name) - 1 : (int)strlen(name);
	json_t *values = p->events ? json_object() : NULL;
	char text[32];

	if (!p->events)
		printf("%.9f %.*s", time_s, len, name);
	for (uint32_t i = 0; i < n; i++) {
		const char *key = p->m->var[at[i]].name;
		double v = var[at[i]];

		if (p->events)
			json_object_set_new(values, key, v == INPUTS_UNKNOWN ? json_null() : json_integer(llround(v)));
		else if (is_peer(key))
			printf(" %s=%s", key, value_text(v, text, sizeof(text)));
		else if (v == INPUTS_UNKNOWN)
			printf(" %s=?", key);
		else
			printf(" %s=%lld", key, llround(v));
	}
	if (!p->events)
		putchar('\n');
	else
		json_array_append_new(p->events, json_pack("{s:f, s:s%, s:o}", "time_s", time_s, "call", name, (size_t)len, "values",
							   values));
	p->n++;
	return 0;
}

static int predict_ranks(const struct model_options *o, struct foresee *f, struct prediction *out, struct errbuf *err)
{
	struct print print = {.m = f->m, .events = o->json ? out->events : NULL};
	struct foresee_sink sink = {print_call, &print};

	for (uint32_t r = 0; r < o->ranks; r++) {
		double wall_s;
		uint64_t calls;

		if (foresee_rank(f, r, r == o->events ? &sink : NULL, &wall_s, &calls, err) < 0)
			return -1;
		out->wall_s = fmax(out->wall_s, wall_s);
		out->calls += calls;
	}
	return 0;
}

static void print_prediction(const struct model_options *o, const struct foresee *f, const struct prediction *p)
{
	double error = foresee_error(f), lo, hi;
	const char *far = foresee_far(f, &lo, &hi), *crowded, *outside = foresee_outside(f);
	char a[32], b[32], c[32], d[32], why[200];
	FILE *out = o->events >= 0 ? stderr : stdout;
	json_t *all;

	crowded = foresee_crowded(f, why, sizeof(why));
	if (!o->json) {
		fprintf(out, "%s calls of %ld ranks; %s (%s to %s)\n", cli_thousands(a, sizeof(a), p->calls),
			o->ranks, cli_seconds(b, sizeof(b), p->wall_s), cli_seconds(c, sizeof(c), p->wall_s / (1 + error)),
			cli_seconds(d, sizeof(d), p->wall_s * (1 + error)));
		if (f->simpler[0])
			fprintf(out, "%s\n", f->simpler);
		if (f->about[0])
			fprintf(out, "%s\n", f->about);
		if (far)
			fprintf(out, "the time is a guess: %s is far outside of the %.15g to %.15g of the runs\n", far, lo, hi);
		else if (outside)
			fprintf(out, "%s is outside the range of the runs: the interval is widened by the cross-validation error of the outermost runs\n",
				outside);
		if (crowded)
			fprintf(out, "the time is a guess: %s\n", crowded);
		else if (f->crowd > 1)
			fprintf(out, "%ld ranks take turns on %u processors\n", o->ranks, f->processors);
		return;
	}
	all = json_pack("{s:b, s:s?, s:s?, s:s?, s:i, s:i, s:I, s:f, s:f, s:f, s:O}", "time_is_a_guess", far || crowded,
			"outside_of_runs", outside, "about", f->about[0] ? f->about : NULL, "simpler_rule",
			f->simpler[0] ? f->simpler : NULL, "ranks", (int)o->ranks, "processors", (int)f->processors,
			"calls", (json_int_t)p->calls, "wall_s", p->wall_s,
			"low_s", p->wall_s / (1 + error), "high_s", p->wall_s * (1 + error), "events", p->events);
	cli_print_json(all);
}

static int compare(const struct model_options *o, struct foresee *f, struct errbuf *err)
{
	struct trace *t = trace_open(o->against, err);
	struct foresee_difference d;
	char a[32], b[32], c[32];
	int rc = t ? 0 : -1;

	if (t && trace_predicted(t))
		rc = err_set(err, "%s is predicted itself: compare with the trace of a run", o->against);
	else if (t)
		rc = foresee_compare(f, t, &d, err);

	trace_close(t);
	if (rc < 0)
		return -1;
	fprintf(o->json ? stderr : stdout,
		"against %s: %u of %u ranks make the predicted calls; %s calls and %s values compared, %llu values are others, "
		"%llu were not predicted; it took %s, %+.1f %%\n",
		o->against, d.exact_ranks, f->ranks, cli_thousands(a, sizeof(a), d.calls), cli_thousands(b, sizeof(b), d.values),
		(unsigned long long)d.wrong, (unsigned long long)d.unknown, cli_seconds(c, sizeof(c), d.wall_s),
		d.wall_s > 0 ? 100 * (d.predicted_s / d.wall_s - 1) : 0);
	if (d.own_s > 0 && d.own_s < NOT_ALONE * d.wall_s)
		fprintf(o->json ? stderr : stdout,
			"other programs had its processors for much of that; without them it takes %s, %+.1f %%\n",
			cli_seconds(c, sizeof(c), d.own_s), 100 * (d.predicted_s / d.own_s - 1));
	if (d.first[0])
		fprintf(o->json ? stderr : stdout, "first difference: %s\n", d.first);
	return d.exact_ranks < f->ranks || d.wrong;
}

int model_predict(const struct model_options *o, const char *path)
{
	const char *name[FEATURE_VARS_MAX];
	double value[FEATURE_VARS_MAX];
	struct errbuf err;
	struct model *m = NULL;
	struct foresee f = {0};
	struct prediction p = {.events = json_array()};
	int rc = -1;

	for (uint32_t i = 0; i < o->n_given; i++) {
		char *end;

		name[i] = o->given[i].name;
		value[i] = strtod(o->given[i].text, &end);
		if (*end || end == o->given[i].text) {
			rc = cli_usage("model", "--var %s: '%s' is no number", name[i], o->given[i].text);
			goto out;
		}
	}
	m = model_load(path, &err);
	if (!m || foresee_open(&f, m, o->ranks, name, value, o->n_given, o->anyway, &err) < 0)
		goto out;
	if (o->events >= o->ranks) {
		rc = cli_usage("model", "there is no rank %ld among %ld", o->events, o->ranks);
		goto out;
	}
	if (foresee_place(&f, o->cpus, &err) < 0 || predict_ranks(o, &f, &p, &err) < 0 || (o->out && model_predict_trace(o, path, &f, &err) < 0))
		goto out;
	print_prediction(o, &f, &p);
	rc = o->against ? compare(o, &f, &err) : 0;
out:
	if (rc < 0)
		rc = cli_fail("%s", err.text);
	foresee_close(&f);
	model_destroy(m);
	json_decref(p.events);
	return rc;
}
