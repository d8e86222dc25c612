/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicted against actual, over the runs that completed (or were ended by their limit) on the candidate that they were
 * predicted for. Never the mean alone: median and worst error, the share of underpredictions, extensions, and how much of
 * what was requested was used before and after. Families beyond FAMILIES_MAX are counted, not listed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "predictor/answer_accuracy.h"

#define RUNS_MAX     100000
#define FAMILIES_MAX 200

struct sample {
	char candidate[CONF_CANDIDATE_MAX], family[IDENTITY_KEY_LEN + 1], name[CONF_CANDIDATE_MAX];
	double error; /* (predicted - actual) / actual */
	double elapsed_s, user_limit_s, limit_s; /* 0 = not known */
	bool under, inside, timed_out;
	uint32_t extensions;
};

struct samples {
	struct sample *list;
	size_t n, cap;
	bool failed;
};

static double limit_seconds(uint32_t minutes)
{
	return minutes == DURATION_UNSET || minutes == DURATION_UNLIMITED ? 0 : minutes * 60.0;
}

static int sample_add(const struct store_run *r, void *arg)
{
	struct samples *s = arg;
	struct sample *more, *x;

	if (r->elapsed_s <= 0 || strcmp(r->candidate, r->pred_candidate) ||
	    (strcmp(r->end_state, "COMPLETED") && strcmp(r->end_state, "TIMEOUT")))
		return 0;
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 256;
		more = realloc(s->list, s->cap * sizeof(*more));
		if (!more) {
			s->failed = true;
			return 1;
		}
		s->list = more;
	}
	x = &s->list[s->n++];
	memset(x, 0, sizeof(*x));
	memcpy(x->candidate, r->candidate, sizeof(x->candidate));
	memcpy(x->family, r->family, sizeof(x->family));
	memcpy(x->name, r->name, sizeof(x->name));
	x->error = (r->pred_s - r->elapsed_s) / r->elapsed_s;
	x->elapsed_s = r->elapsed_s;
	x->user_limit_s = limit_seconds(r->user_limit_min);
	x->limit_s = limit_seconds(r->limit_min);
	x->under = r->elapsed_s > r->hi_s;
	x->inside = r->elapsed_s >= r->lo_s && r->elapsed_s <= r->hi_s;
	x->timed_out = !strcmp(r->end_state, "TIMEOUT");
	x->extensions = r->extensions;
	return 0;
}

static int by_candidate(const void *a, const void *b)
{
	return strcmp(((const struct sample *)a)->candidate, ((const struct sample *)b)->candidate);
}

static int by_family(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int c = strcmp(x->family, y->family);

	return c ? c : strcmp(x->candidate, y->candidate);
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median and worst of |error|; false without memory. */
static bool errors_of(const struct sample *s, size_t n, double *median, double *worst)
{
	double *e = malloc(n * sizeof(*e));

	if (!e)
		return false;
	for (size_t i = 0; i < n; i++)
		e[i] = fabs(s[i].error);
	qsort(e, n, sizeof(*e), by_number);
	*median = n % 2 ? e[n / 2] : (e[n / 2 - 1] + e[n / 2]) / 2;
	*worst = e[n - 1];
	free(e);
	return true;
}

static json_t *row_json(const struct sample *s, size_t n, bool family)
{
	double median = 0, worst = 0, bias = 0, used = 0, asked = 0, set = 0;
	json_int_t under = 0, inside = 0, extended = 0, timed_out = 0, extensions = 0;
	json_t *row;

	if (!errors_of(s, n, &median, &worst))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		bias += s[i].error / (double)n;
		under += s[i].under;
		inside += s[i].inside;
		timed_out += s[i].timed_out;
		extended += s[i].extensions > 0;
		extensions += s[i].extensions;
		if (s[i].user_limit_s > 0) { /* requested and used are compared over the same runs */
			used += s[i].elapsed_s;
			asked += s[i].user_limit_s;
			set += s[i].limit_s > 0 ? s[i].limit_s : s[i].user_limit_s;
		}
	}
	row = json_pack("{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "candidate", s->candidate, "n",
			(json_int_t)n, "median_error", median, "worst_error", worst, "bias", bias, "under", under, "inside",
			inside, "extended", extended, "extensions", extensions, "timed_out", timed_out, "used_of_requested",
			asked > 0 ? used / asked : 0.0, "used_of_limit", set > 0 ? used / set : 0.0);
	if (row && family) {
		json_t *name = json_string(s->name);

		json_object_set_new(row, "family", json_string(s->family));
		json_object_set_new(row, "name", name ? name : json_string("?"));
	}
	return row;
}

static json_t *rows_json(struct samples *s, int (*order)(const void *, const void *), bool family, json_int_t *groups)
{
	json_t *rows = json_array();
	size_t i, j;

	*groups = 0;
	if (s->n)
		qsort(s->list, s->n, sizeof(*s->list), order);
	for (i = 0; i < s->n; i = j) {
		for (j = i + 1; j < s->n && !order(&s->list[i], &s->list[j]); j++)
			;
		if (++*groups <= FAMILIES_MAX)
			json_array_append_new(rows, row_json(&s->list[i], j - i, family));
	}
	return rows;
}

json_t *answer_accuracy(const struct answer_env *env, json_t *request, struct errbuf *errp)
{
	json_int_t days = json_integer_value(json_object_get(request, "days")), n_families, n_candidates;
	struct store_run_filter f = {.uid = env->uid, .finished = true, .predicted = true, .max = RUNS_MAX};
	json_t *candidates = NULL, *families = NULL;
	struct samples s = {0};

	if (env->admin && !json_is_true(json_object_get(request, "mine")))
		f.uid = STORE_ALL_USERS;
	if (days > 0 && days < 100000)
		f.since = env->now - days * 86400;
	if (store_runs_each(env->store, &f, sample_add, &s, errp) < 0)
		goto fail;
	if (s.failed) {
		err_set(errp, "no memory for %zu runs", s.n);
		goto fail;
	}
	candidates = rows_json(&s, by_candidate, false, &n_candidates);
	families = rows_json(&s, by_family, true, &n_families);
	free(s.list);
	return json_pack("{s:i, s:o, s:o, s:I}", "precedent", 1, "candidates", candidates, "families", families,
			 "families_n", n_families);
fail:
	free(s.list);
	return NULL;
}
