/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Last-two predictors, see baseline.h. Each grouping (user, key) sorts the runs twice, by submission and by end. One walk over
 * both orders keeps the last two ends of the current group.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/identity.h"
#include "predictor/accuracy/baseline.h"

void baseline_key(const char *text, uint64_t key[2])
{
	key[0] = key[1] = 0;
	if (!identity_key_valid(text))
		return;
	for (int i = 0; i < IDENTITY_KEY_LEN; i++) {
		char c = text[i];

		key[i / 16] = key[i / 16] << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
}

/* ---- orders ---- */

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int user_order(const struct baseline_run *a, const struct baseline_run *b)
{
	return ORDER(a->uid, b->uid);
}

static int key_order(const struct baseline_run *a, const struct baseline_run *b)
{
	int c = ORDER(a->key[0], b->key[0]);

	return c ? c : ORDER(a->key[1], b->key[1]);
}

typedef int (*group_order)(const struct baseline_run *, const struct baseline_run *);

static int by_submit(const void *a, const void *b, void *group)
{
	const struct baseline_run *x = *(const struct baseline_run *const *)a, *y = *(const struct baseline_run *const *)b;
	int c = (*(group_order *)group)(x, y);

	return c ? c : ORDER(x->submit_time, y->submit_time);
}

static int by_end(const void *a, const void *b, void *group)
{
	const struct baseline_run *x = *(const struct baseline_run *const *)a, *y = *(const struct baseline_run *const *)b;
	int c = (*(group_order *)group)(x, y);

	c = c ? c : ORDER(x->end_time, y->end_time);
	return c ? c : ORDER(x->jobid, y->jobid);
}

/* ---- the walk ---- */

static bool teaches(const struct baseline_run *r)
{
	return r->end_time > 0 && r->elapsed_s > 0;
}

struct last_two {
	double latest, before; /* 0: none */
};

static double last_two_mean(const struct last_two *l)
{
	return l->before > 0 ? (l->latest + l->before) / 2 : l->latest;
}

/* One group: both orders hold the same n runs. */
static void group_walk(const struct baseline_run *const *submits, const struct baseline_run *const *ends, size_t n,
		       const struct baseline_run *first, double *said)
{
	struct last_two last = {0, 0};
	size_t e = 0;

	for (size_t i = 0; i < n; i++) {
		for (; e < n && ends[e]->end_time < submits[i]->submit_time; e++) {
			if (!teaches(ends[e]))
				continue;
			last.before = last.latest;
			last.latest = ends[e]->elapsed_s;
		}
		said[submits[i] - first] = last_two_mean(&last);
	}
}

static int grouping_walk(const struct baseline_run *runs, size_t n, group_order group, double *said)
{
	const struct baseline_run **submits = malloc(n * sizeof(*submits)), **ends = malloc(n * sizeof(*ends));
	int rv = -1;

	if (!submits || !ends)
		goto out;
	for (size_t i = 0; i < n; i++)
		submits[i] = ends[i] = &runs[i];
	qsort_r(submits, n, sizeof(*submits), by_submit, &group);
	qsort_r(ends, n, sizeof(*ends), by_end, &group);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && !group(submits[i], submits[j]); j++)
			;
		group_walk(submits + i, ends + i, j - i, runs, said);
	}
	rv = 0;
out:
	free(submits);
	free(ends);
	return rv;
}

int baseline_compute(const struct baseline_run *runs, size_t n, struct baseline *out, struct errbuf *errp)
{
	double *said;

	if (!n)
		return 0;
	said = malloc(n * sizeof(*said));
	if (!said || grouping_walk(runs, n, user_order, said) < 0)
		goto memory;
	for (size_t i = 0; i < n; i++)
		out[i].user_s = said[i];
	if (grouping_walk(runs, n, key_order, said) < 0)
		goto memory;
	for (size_t i = 0; i < n; i++)
		out[i].key_s = runs[i].key[0] || runs[i].key[1] ? said[i] : 0;
	free(said);
	return 0;
memory:
	free(said);
	return err_set(errp, "no memory for %zu runs", n);
}
