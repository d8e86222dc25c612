/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accuracy of predictions as JSON: a row for all, and for each candidate, family, user and source. Rows are sorted by
 * runs; beyond ROWS_MAX they are counted. On request the samples for plots follow. The figures are explained in accuracy/accuracy.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean_json.h"
#include "common/duration.h"
#include "predictor/accuracy/accuracy.h"
#include "predictor/query/answer_accuracy.h"

#define ROWS_MAX    100
#define POINTS_MAX  2500
#define BUCKETS_MAX 48
#define QUANTILES   100

/* Pointers to samples, in any order. */
struct view {
	const struct accuracy_set *set;
	const struct accuracy_sample **s;
	size_t n;
};

/* ---- rows ---- */

static json_t *errors_json(const struct accuracy_errors *e)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:I, s:f, s:f}", "n", (json_int_t)e->n, "median_error", e->median, "p90_error",
			 e->p90, "worst_error", e->worst, "bias", e->bias, "too_short", (json_int_t)e->too_short, "said_of_used",
			 e->said_of_used, "precedent_median_error", e->precedent_median);
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static json_t *row_json(const struct accuracy_row *r)
{
	const struct accuracy_errors *own = &r->of[ACCURACY_PRECEDENT];
	json_t *baselines = json_object(), *row;

	for (int p = ACCURACY_PRECEDENT + 1; p < ACCURACY_PREDICTORS; p++)
		json_object_set_new(baselines, accuracy_predictor_name((enum accuracy_predictor)p), errors_json(&r->of[p]));
	row = json_pack("{s:I, s:I, s:f, s:f, s:f, s:I, s:f, s:I, s:f}", "n", (json_int_t)r->n, "completed", (json_int_t)own->n,
			"median_error", own->median, "p90_error", own->p90, "worst_error", own->worst, "worst_job",
			(json_int_t)own->worst_job, "bias", own->bias, "too_short", (json_int_t)own->too_short, "said_of_used",
			own->said_of_used);
	json_object_update_new(row, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "under", (json_int_t)r->under, "below",
					      (json_int_t)r->below, "inside", (json_int_t)r->inside, "limits",
					      (json_int_t)r->limits, "extended", (json_int_t)r->extended, "extensions",
					      (json_int_t)r->extensions, "timed_out", (json_int_t)r->timed_out, "cut_short",
					      (json_int_t)r->cut_short));
	json_object_update_new(row, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "used_of_requested",
					      share(r->used_s, r->requested_s), "used_of_limit", share(r->used_s, r->set_s),
					      "requested_of_used", share(r->requested_s, r->used_s), "limit_of_used",
					      share(r->set_s, r->used_s), "used_node_h", r->used_node_h, "requested_node_h",
					      r->requested_node_h, "limit_node_h", r->set_node_h, "freed_node_h",
					      r->requested_node_h - r->set_node_h, "baselines", baselines));
	return row;
}

enum grouping { BY_CANDIDATE, BY_FAMILY, BY_USER, BY_SOURCE };

static int group_order(const void *a, const void *b, void *grouping)
{
	const struct accuracy_sample *x = *(const struct accuracy_sample *const *)a;
	const struct accuracy_sample *y = *(const struct accuracy_sample *const *)b;

	switch (*(enum grouping *)grouping) {
	case BY_CANDIDATE:
		return (x->candidate > y->candidate) - (x->candidate < y->candidate);
	case BY_USER:
		return (x->uid > y->uid) - (x->uid < y->uid);
	case BY_SOURCE:
		return (x->source > y->source) - (x->source < y->source);
	default:
		return strcmp(x->family, y->family);
	}
}

struct group {
	size_t at, n;
};

static int larger_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x->at > y->at) - (x->at < y->at);
}

static json_t *group_json(const struct view *v, const struct group *g, enum grouping grouping, struct errbuf *errp)
{
	const struct accuracy_sample *first = v->s[g->at];
	struct accuracy_row row;
	json_t *o;

	if (accuracy_row_make(v->s + g->at, g->n, &row, errp) < 0)
		return NULL;
	o = row_json(&row);
	if (grouping == BY_CANDIDATE)
		json_object_set_new(o, "candidate", clean_json(v->set->candidates[first->candidate]));
	else if (grouping == BY_SOURCE)
		json_object_set_new(o, "source", json_string(accuracy_source_name(first->source)));
	else
		json_object_set_new(o, "uid", json_integer(first->uid));
	if (grouping == BY_FAMILY) {
		json_object_set_new(o, "family", json_string(first->family));
		json_object_set_new(o, "name", clean_json(first->name));
	}
	return o;
}

/* Sets reply.NAME to the rows and reply.NAME_n to how many there are. */
static int rows_put(json_t *reply, struct view *v, enum grouping grouping, const char *name, const char *count,
		    struct errbuf *errp)
{
	struct group *groups = malloc((v->n ? v->n : 1) * sizeof(*groups));
	json_t *rows = json_array(), *o = NULL;
	size_t n = 0;

	json_object_set_new(reply, name, rows);
	if (!groups)
		return err_set(errp, "no memory for %zu runs", v->n);
	if (v->n)
		qsort_r(v->s, v->n, sizeof(*v->s), group_order, &grouping);
	for (size_t i = 0, j; i < v->n; i = j) {
		for (j = i + 1; j < v->n && !group_order(&v->s[i], &v->s[j], &grouping); j++)
			;
		groups[n++] = (struct group){i, j - i};
	}
	qsort(groups, n, sizeof(*groups), larger_first);
	for (size_t i = 0; i < n && i < ROWS_MAX; i++) {
		o = group_json(v, &groups[i], grouping, errp);
		if (!o)
			break;
		json_array_append_new(rows, o);
	}
	free(groups);
	json_object_set_new(reply, count, json_integer((json_int_t)n));
	return n && !o ? -1 : 0;
}

/* ---- what plots are made of ---- */

static json_t *seconds_json(double s)
{
	return json_real(floor(s * 10 + 0.5) / 10);
}

/* Columns, not objects: the same names would be most of it. Evenly chosen when there are too many. */
static json_t *points_json(const struct view *v, size_t max)
{
	static const char *const columns[] = {"job",	     "submit", "candidate", "nodes", "seconds",	     "predicted",    "lo",
					      "hi",	     "limit",  "completed", "extensions", "request", "last_two_user", "last_two_job"};
	enum { N = sizeof(columns) / sizeof(columns[0]) };
	size_t n = v->n < max ? v->n : max;
	json_t *c[N], *o = json_object();

	for (int i = 0; i < N; i++)
		json_object_set_new(o, columns[i], c[i] = json_array());
	for (size_t i = 0; i < n; i++) {
		const struct accuracy_sample *s = v->s[i * v->n / n];
		json_t *values[N] = {json_integer(s->jobid), json_integer(s->submit_time), json_integer(s->candidate),
				     json_integer(s->nodes), seconds_json(s->elapsed_s),
				     seconds_json(s->said_s[ACCURACY_PRECEDENT]), seconds_json(s->lo_s), seconds_json(s->hi_s),
				     seconds_json(s->limit_s), json_integer(s->completed), json_integer(s->extensions),
				     seconds_json(s->said_s[ACCURACY_REQUEST]), seconds_json(s->said_s[ACCURACY_USER_TWO]),
				     seconds_json(s->said_s[ACCURACY_KEY_TWO])};

		for (int k = 0; k < N; k++)
			json_array_append_new(c[k], values[k]);
	}
	return o;
}

static json_t *names_json(const struct accuracy_set *set)
{
	json_t *names = json_array();

	for (unsigned i = 0; i < set->n_candidates; i++)
		json_array_append_new(names, clean_json(set->candidates[i]));
	return names;
}

/* Quantiles of |error| in steps of 1 / QUANTILES. */
static int distribution_put(json_t *reply, const struct view *v, struct errbuf *errp)
{
	json_t *all = json_object();

	json_object_set_new(reply, "distribution", all);
	for (int p = 0; p < ACCURACY_PERFECT; p++) {
		json_t *list = json_array();
		double *e;
		int64_t n = accuracy_errors_sorted(v->s, v->n, (enum accuracy_predictor)p, &e, errp);

		json_object_set_new(all, accuracy_predictor_name((enum accuracy_predictor)p), list);
		if (n < 0)
			return -1;
		for (int q = 0; n && q <= QUANTILES; q++)
			json_array_append_new(list, json_real(accuracy_quantile(e, (size_t)n, q / (double)QUANTILES)));
		free(e);
	}
	return 0;
}

static int64_t bucket_width(int64_t span)
{
	static const int64_t widths[] = {600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400};
	size_t i = 0;

	while (i + 1 < sizeof(widths) / sizeof(widths[0]) && span / widths[i] >= BUCKETS_MAX)
		i++;
	return widths[i];
}

static int by_end(const void *a, const void *b)
{
	const struct accuracy_sample *x = *(const struct accuracy_sample *const *)a;
	const struct accuracy_sample *y = *(const struct accuracy_sample *const *)b;

	return (x->end_time > y->end_time) - (x->end_time < y->end_time);
}

static json_t *bucket_json(const struct accuracy_sample *const *s, size_t n, int64_t from, struct errbuf *errp)
{
	struct accuracy_row row;
	double *e;
	int64_t k = accuracy_errors_sorted(s, n, ACCURACY_PRECEDENT, &e, errp);
	json_t *o = NULL;

	if (k >= 0 && accuracy_row_make(s, n, &row, errp) == 0) {
		o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "from", (json_int_t)from, "n", (json_int_t)n, "completed",
			      (json_int_t)k, "under", (json_int_t)row.under, "inside", (json_int_t)row.inside, "p25", accuracy_quantile(e, (size_t)k, 0.25), "median",
			      accuracy_quantile(e, (size_t)k, 0.5), "p75", accuracy_quantile(e, (size_t)k, 0.75), "p90",
			      accuracy_quantile(e, (size_t)k, 0.9));
		for (int p = ACCURACY_REQUEST; o && p < ACCURACY_PERFECT; p++)
			if (row.of[p].n)
				json_object_set_new(o, accuracy_predictor_name((enum accuracy_predictor)p),
						    json_real(row.of[p].median));
	}
	free(e);
	return o;
}

static int timeline_put(json_t *reply, const struct view *v, int64_t width, struct errbuf *errp)
{
	json_t *list = json_array();

	json_object_set_new(reply, "timeline", list);
	for (size_t i = 0, j; i < v->n; i = j) {
		int64_t bucket = v->s[i]->end_time / width;
		json_t *o;

		for (j = i + 1; j < v->n && v->s[j]->end_time / width == bucket; j++)
			;
		o = bucket_json(v->s + i, j - i, bucket * width, errp);
		if (!o)
			return -1;
		json_array_append_new(list, o);
	}
	return 0;
}

/* ---- the answer ---- */

/* How many of these jobs were told by each source. */
static json_t *ended_json(const struct accuracy_ended *jobs, size_t n)
{
	json_int_t count[ACCURACY_SOURCES] = {0};
	json_t *ended = json_object();

	for (size_t i = 0; i < n; i++)
		count[jobs[i].source]++;
	for (int i = 0; i < ACCURACY_SOURCES; i++)
		json_object_set_new(ended, accuracy_source_name((enum accuracy_source)i), json_integer(count[i]));
	return ended;
}

/* The same for each period. */
static void coverage_put(json_t *reply, const struct accuracy_set *set, int64_t width)
{
	const struct accuracy_ended *e = set->ended;
	json_t *list = json_array();

	json_object_set_new(reply, "coverage", list);
	for (size_t i = 0, j; i < set->n_ended; i = j) {
		for (j = i + 1; j < set->n_ended && e[j].end_time / width == e[i].end_time / width; j++)
			;
		json_array_append_new(list, json_pack("{s:I, s:o}", "from", e[i].end_time / width * width, "ended",
						      ended_json(e + i, j - i)));
	}
}

/* Predicted runs and all jobs that ended, in the same periods: their width is that of the longer of both spans. */
static int periods_put(json_t *reply, struct view *v, struct errbuf *errp)
{
	const struct accuracy_set *set = v->set;
	int64_t width, predicted = 0, ended = set->n_ended ? set->ended[set->n_ended - 1].end_time - set->ended[0].end_time : 0;

	if (v->n) {
		qsort(v->s, v->n, sizeof(*v->s), by_end);
		predicted = v->s[v->n - 1]->end_time - v->s[0]->end_time;
	}
	width = bucket_width(predicted > ended ? predicted : ended);
	json_object_set_new(reply, "timeline_step_s", json_integer(width));
	coverage_put(reply, set, width);
	return timeline_put(reply, v, width, errp);
}

static int reply_fill(json_t *reply, struct view *v, json_int_t points, struct errbuf *errp)
{
	struct accuracy_row all;

	if (accuracy_row_make(v->s, v->n, &all, errp) < 0)
		return -1;
	json_object_set_new(reply, "all", row_json(&all));
	json_object_set_new(json_object_get(reply, "all"), "unseen", json_integer((json_int_t)v->set->unseen));
	json_object_set_new(json_object_get(reply, "all"), "ended", ended_json(v->set->ended, v->set->n_ended));
	if (points > 0) {
		json_object_set_new(reply, "candidate_names", names_json(v->set));
		json_object_set_new(reply, "points", points_json(v, points < POINTS_MAX ? (size_t)points : POINTS_MAX));
		if (distribution_put(reply, v, errp) < 0 || periods_put(reply, v, errp) < 0)
			return -1;
	}
	if (rows_put(reply, v, BY_CANDIDATE, "candidates", "candidates_n", errp) < 0 ||
	    rows_put(reply, v, BY_SOURCE, "sources", "sources_n", errp) < 0 ||
	    rows_put(reply, v, BY_FAMILY, "families", "families_n", errp) < 0)
		return -1;
	return rows_put(reply, v, BY_USER, "users", "users_n", errp);
}

json_t *answer_accuracy(const struct answer_env *env, json_t *request, struct errbuf *errp)
{
	json_int_t days = json_integer_value(json_object_get(request, "days"));
	json_int_t points = json_integer_value(json_object_get(request, "points"));
	uint32_t uid = env->admin && !json_is_true(json_object_get(request, "mine")) ? STORE_ALL_USERS : env->uid;
	int64_t since = days > 0 && days < 100000 ? env->now - days * 86400 : 0;
	struct accuracy_set set = {0};
	struct view v = {.set = &set};
	json_t *reply = NULL;

	if (accuracy_read(env->store, uid, since, &set, errp) < 0)
		goto out;
	v.n = set.n;
	v.s = malloc((set.n ? set.n : 1) * sizeof(*v.s));
	if (!v.s) {
		err_set(errp, "no memory for %zu runs", set.n);
		goto out;
	}
	for (size_t i = 0; i < set.n; i++)
		v.s[i] = &set.list[i];
	reply = json_pack("{s:i, s:I, s:I, s:b, s:b}", "precedent", 1, "now", (json_int_t)env->now, "days",
			  days > 0 ? days : (json_int_t)0, "everybody", uid == STORE_ALL_USERS, "cut", set.cut);
	if (set.n) {
		json_object_set_new(reply, "first", json_integer(set.list[set.n - 1].submit_time));
		json_object_set_new(reply, "last", json_integer(set.list[0].submit_time));
	}
	if (reply_fill(reply, &v, points, errp) < 0) {
		json_decref(reply);
		reply = NULL;
	}
out:
	free(v.s);
	accuracy_free(&set);
	return reply;
}
