/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predictors: see predict.h.
 *
 * Precedent's errors are drawn from the pairs of the accuracy measurement, with replacement. These are cut in two halves by
 * chance, anew for each seed: from one the upper bound is taken, as calibration takes it from what it has seen, from the
 * other what then happens. Each run draws its own error, which does not hang on what is compared.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "tests/bench/backfill/predict.h"
#include "tests/bench/backfill/random.h"

#define TAG_HALVES   0x48414c46u
#define TAG_WITHHELD 0x57495448u
#define TAG_ERROR    0x4552524fu

const struct predict_conf predict_defaults = {
    .cover = 0.9,
    .margin = 0.15,
    .min_limit_min = 5,
    .first_cost = 0.02,
    .probe_s = 120,
};

static const char *const names[] = {
    [PREDICT_REQUEST] = "request",     [PREDICT_LAST_TWO] = "last-two", [PREDICT_PRECEDENT] = "precedent",
    [PREDICT_FAMILY] = "family",       [PREDICT_MIXED] = "mixed",	[PREDICT_PERFECT] = "perfect",
};

const char *predict_name(enum predict_kind kind)
{
	return (unsigned)kind < PREDICT_KINDS ? names[kind] : "unknown";
}

int predict_parse(const char *name, enum predict_kind *kind)
{
	for (unsigned i = 0; i < PREDICT_KINDS; i++) {
		if (!strcmp(name, names[i])) {
			*kind = (enum predict_kind)i;
			return 0;
		}
	}
	return -1;
}

/* ---- measured errors ---- */

static double number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : 0;
}

static int add_error(struct predict_errors *e, const json_t *row, const char *column)
{
	double actual = number(row, "actual"), predicted = number(row, column);
	double *more;

	if (!(actual > 0) || !(predicted > 0))
		return 0;
	more = reallocarray(e->ratio, e->n + 1, sizeof(*more));
	if (!more)
		return -1;
	e->ratio = more;
	e->ratio[e->n++] = actual / predicted;
	return 0;
}

int predict_errors_read(const char *path, const char *column, struct predict_errors *out, struct errbuf *err)
{
	char *line = NULL;
	size_t room = 0, n = 0;
	FILE *f = fopen(path, "re");
	int rv = -1;

	*out = (struct predict_errors){0};
	if (!f)
		return err_set(err, "%s: %s", path, strerror(errno));
	while (getline(&line, &room, f) >= 0) {
		json_error_t why;
		json_t *row = json_loads(line, 0, &why);

		n++;
		if (!row) {
			err_set(err, "%s:%zu: %s", path, n, why.text);
			goto out;
		}
		if (add_error(out, row, column) < 0) {
			json_decref(row);
			err_set(err, "out of memory for %zu errors", out->n);
			goto out;
		}
		json_decref(row);
	}
	if (out->n < 4)
		err_set(err, "%s: %zu lines have \"actual\" and \"%s\"; four at least are needed", path, out->n, column);
	else
		rv = 0;
out:
	free(line);
	fclose(f);
	if (rv < 0)
		predict_errors_free(out);
	return rv;
}

void predict_errors_free(struct predict_errors *e)
{
	free(e->ratio);
	*e = (struct predict_errors){0};
}

/* ---- one run ---- */

/* What is known of a key (an input or a program) or of a user. */
struct known {
	int64_t at_s; /* from when on it is predicted; INT64_MAX: not yet */
	bool traced;  /* marked for tracing: no other run is */
	bool withheld;
};

struct last_two {
	int64_t run_s[2]; /* the latest first; 0: none */
};

struct predict {
	struct predict_conf conf;
	const struct workload *w;
	struct known *known;
	struct last_two *last;
	double *ratio;		/* measured errors that happen */
	size_t n_ratio;
	double upper; /* upper bound / prediction */
	uint64_t predicted;
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The first half of p->ratio happens, the second has been seen. */
static void split_errors(struct predict *p)
{
	struct rng r = rng_make(p->conf.seed, TAG_HALVES);
	size_t n = p->conf.errors->n, half = n / 2, seen = n - half;
	double *ratio = p->ratio;

	memcpy(ratio, p->conf.errors->ratio, n * sizeof(*ratio));
	for (size_t i = n - 1; i > 0; i--) {
		size_t k = rng_below(&r, i + 1);
		double swap = ratio[i];

		ratio[i] = ratio[k];
		ratio[k] = swap;
	}
	qsort(ratio + half, seen, sizeof(*ratio), ascending);
	p->n_ratio = half;
	size_t rank = (size_t)ceil(p->conf.cover * (double)seen);
	p->upper = ratio[half + (rank ? rank - 1 : 0)];
	if (p->upper < 1)
		p->upper = 1;
}

int predict_create(const struct predict_conf *conf, const struct workload *w, struct predict **out, struct errbuf *err)
{
	bool measured = conf->kind >= PREDICT_PRECEDENT && conf->kind <= PREDICT_MIXED;
	struct predict *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return err_set(err, "out of memory");
	p->conf = *conf;
	p->w = w;
	p->known = calloc(w->inputs + 1, sizeof(*p->known));
	p->last = calloc(w->users + 1, sizeof(*p->last));
	p->ratio = calloc((measured ? conf->errors->n : 0) + 1, sizeof(*p->ratio));
	if (!p->known || !p->last || !p->ratio) {
		predict_destroy(p);
		*out = NULL;
		return err_set(err, "out of memory for %zu jobs", w->n);
	}
	for (uint32_t i = 0; i < w->inputs; i++) {
		struct rng r = rng_make(conf->seed ^ TAG_WITHHELD, i);

		p->known[i] = (struct known){INT64_MAX, false, rng_uniform(&r) < conf->withheld};
	}
	if (measured)
		split_errors(p);
	return 0;
}

void predict_destroy(struct predict *p)
{
	if (!p)
		return;
	free(p->known);
	free(p->last);
	free(p->ratio);
	free(p);
}

uint64_t predict_predicted(const struct predict *p)
{
	return p->predicted;
}

uint32_t predict_limit_min(const struct predict_conf *conf, double upper_s, uint32_t request_min)
{
	uint32_t limit = duration_ceil_minutes(upper_s * (1 + conf->margin));

	if (limit < conf->min_limit_min)
		limit = conf->min_limit_min;
	return limit < request_min ? limit : request_min;
}

/* How long it would run, at most for as long as was asked. */
static int64_t truth(const struct predict *p, size_t job)
{
	int64_t run = p->w->jobs[job].run_s, most = (int64_t)p->w->jobs[job].request_min * 60;

	return run < most ? run : most;
}

static struct known *known_of(struct predict *p, size_t job)
{
	const struct work_kind *k = &p->w->kinds[job];

	return &p->known[p->conf.kind == PREDICT_FAMILY ? k->program : k->input];
}

static void plan_by(struct predict *p, size_t job, double upper_s, struct sim_plan *plan)
{
	plan->limit_s = (int64_t)predict_limit_min(&p->conf, upper_s, p->w->jobs[job].request_min) * 60;
	p->predicted++;
}

static void plan_last_two(struct predict *p, size_t job, struct sim_plan *plan)
{
	const struct last_two *l = &p->last[p->w->kinds[job].user];

	if (l->run_s[1])
		plan_by(p, job, (double)(l->run_s[0] + l->run_s[1]) / 2, plan);
}

static void plan_precedent(struct predict *p, size_t job, int64_t now, struct sim_plan *plan)
{
	struct known *k = known_of(p, job);
	struct rng r = rng_make(p->conf.seed ^ TAG_ERROR, job);
	int64_t run = p->w->jobs[job].run_s, most = (int64_t)p->w->jobs[job].request_min * 60;

	if (k->at_s <= now) {
		plan_by(p, job, (double)truth(p, job) / p->ratio[rng_below(&r, p->n_ratio)] * p->upper, plan);
		return;
	}
	if (k->traced)
		return;
	k->traced = true;
	if (run < most)
		plan->run_s = (int64_t)fmin((double)most, ceil((double)run * (1 + p->conf.first_cost)));
}

static void submitted(void *arg, size_t job, int64_t now, struct sim_plan *plan)
{
	struct predict *p = arg;

	switch (p->conf.kind) {
	case PREDICT_PERFECT:
		plan->limit_s = truth(p, job);
		plan->fixed = true;
		p->predicted++;
		break;
	case PREDICT_LAST_TWO:
		plan_last_two(p, job, plan);
		break;
	case PREDICT_MIXED:
		if (known_of(p, job)->at_s > now)
			plan_last_two(p, job, plan);
		/* fall through */
	case PREDICT_PRECEDENT:
	case PREDICT_FAMILY:
		plan_precedent(p, job, now, plan);
		break;
	default:
		break;
	}
}

static void ended(void *arg, size_t job, int64_t now, struct sim *s)
{
	struct predict *p = arg;
	struct last_two *l = &p->last[p->w->kinds[job].user];
	struct known *k = known_of(p, job);

	(void)s;
	l->run_s[1] = l->run_s[0];
	l->run_s[0] = truth(p, job);
	/* A run that was killed has left no whole trace. */
	if (k->at_s == INT64_MAX && !k->withheld && p->w->jobs[job].run_s <= (int64_t)p->w->jobs[job].request_min * 60)
		k->at_s = now + p->conf.probe_s;
}

struct sim_predictor predict_callbacks(struct predict *p)
{
	return (struct sim_predictor){p, submitted, ended};
}
