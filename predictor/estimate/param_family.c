/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that differ in numbers only: see param_family.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/identity.h"
#include "predictor/estimate/param_family.h"

#define SAME_REL 1e-8 /* what writing a number with nine digits may do to it */

struct program {
	const char *key;
	double sum;
	unsigned n;
	size_t latest; /* of its runs */
};

static size_t programs_gather(const struct param_family_run *runs, size_t n, struct program list[PARAM_FAMILY_RUNS_MAX])
{
	size_t count = 0, at;

	for (size_t i = 0; i < n; i++) {
		if (runs[i].at_least)
			continue;
		for (at = 0; at < count && !identity_key_same(list[at].key, runs[i].key); at++)
			;
		if (at == count)
			list[count++] = (struct program){.key = runs[i].key, .latest = i};
		list[at].sum += runs[i].actual_s;
		list[at].n++;
	}
	return count;
}

/* Each program counts once, by its mean, where its latest run stands among those that were cut short. */
static size_t past_of(const struct param_family_run *runs, size_t n, const struct program *list, size_t count,
		      struct estimate_past past[PARAM_FAMILY_RUNS_MAX])
{
	size_t made = 0, next = 0;

	for (size_t i = 0; i < n; i++) {
		if (runs[i].at_least)
			past[made++] = (struct estimate_past){runs[i].actual_s, 0, true};
		else if (next < count && list[next].latest == i) {
			past[made++] = (struct estimate_past){list[next].sum / list[next].n, 0, false};
			next++;
		}
	}
	return made;
}

static int spread_check(const struct program *list, size_t count, struct errbuf *why)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < count; i++) {
		least = fmin(least, list[i].sum / list[i].n);
		most = fmax(most, list[i].sum / list[i].n);
	}
	if (most > PARAM_FAMILY_SPREAD_MAX * least)
		return err_set(why, "the numbers in script and arguments matter: with some it took %.0f s, with others %.0f s", least,
			       most);
	return 0;
}

int param_family_estimate(const struct param_family_run *runs, size_t n, struct estimate *out, unsigned *programs, struct errbuf *why)
{
	struct program list[PARAM_FAMILY_RUNS_MAX];
	struct estimate_past past[PARAM_FAMILY_RUNS_MAX];
	size_t count, made;
	unsigned whole = 0;

	n = n < PARAM_FAMILY_RUNS_MAX ? n : PARAM_FAMILY_RUNS_MAX;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(runs[i].actual_s) || runs[i].actual_s <= 0)
			return err_set(why, "a past run took %g s", runs[i].actual_s);
		whole += !runs[i].at_least;
	}
	count = programs_gather(runs, n, list);
	*programs = (unsigned)count;
	if (whole < PARAM_FAMILY_RUNS_MIN || count < PARAM_FAMILY_PROGRAMS_MIN)
		return err_set(why, "%u run%s of %zu program%s that differ in numbers only: %d of %d are needed", whole,
			       whole == 1 ? "" : "s", count, count == 1 ? "" : "s", PARAM_FAMILY_RUNS_MIN, PARAM_FAMILY_PROGRAMS_MIN);
	if (spread_check(list, count, why) < 0)
		return -1;
	made = past_of(runs, n, list, count, past);
	if (estimate_from_history(past, made, out, why) < 0)
		return -1;
	out->kind = ESTIMATE_FAMILY;
	out->n = whole;
	/* The mean of a program hides how its own runs differ. */
	for (size_t i = 0; i < n; i++) {
		if (runs[i].at_least)
			continue;
		out->lo_s = fmin(out->lo_s, runs[i].actual_s);
		out->hi_s = fmax(out->hi_s, runs[i].actual_s);
	}
	return estimate_check(out, why);
}

/* ---- numbers ---- */

static unsigned numbers_read(const char *text, char separator, double *out, unsigned max)
{
	unsigned n = 0;
	char *end;

	while (*text && n < max) {
		out[n++] = strtod(text, &end);
		if (end == text || (*end && *end != separator))
			return 0;
		text = end + (*end != '\0');
	}
	return *text ? 0 : n;
}

void param_family_ranges(const struct param_family_run *runs, size_t n, char *out, size_t size)
{
	double lo[IDENTITY_VARS_MAX], hi[IDENTITY_VARS_MAX], v[IDENTITY_VARS_MAX];
	unsigned n_vars = 0, len = 0;
	const char *before = "";

	out[0] = '\0';
	for (size_t i = 0; i < n && i < PARAM_FAMILY_RUNS_MAX; i++) {
		unsigned k;

		if (runs[i].at_least || (n_vars && !strcmp(runs[i].vars, before)))
			continue;
		before = runs[i].vars;
		k = numbers_read(before, ',', v, IDENTITY_VARS_MAX);
		if (!k || (n_vars && k != n_vars))
			return;
		for (unsigned j = 0; j < k; j++) {
			lo[j] = n_vars ? fmin(lo[j], v[j]) : v[j];
			hi[j] = n_vars ? fmax(hi[j], v[j]) : v[j];
		}
		n_vars = k;
	}
	for (unsigned j = 0; j < n_vars; j++) {
		int w = snprintf(out + len, size - len, "%s%.9g:%.9g", j ? "," : "", lo[j], hi[j]);

		if (w < 0 || (size_t)w >= size - len) {
			out[0] = '\0';
			return;
		}
		len += (unsigned)w;
	}
}

bool param_family_covers(const char *ranges, const double *vars, unsigned n_vars)
{
	for (unsigned i = 0; i < n_vars; i++) {
		char *end;
		double lo = strtod(ranges, &end), hi, slack;

		if (end == ranges || *end != ':')
			return false;
		ranges = end + 1;
		hi = strtod(ranges, &end);
		if (end == ranges || *end != (i + 1 < n_vars ? ',' : '\0'))
			return false;
		ranges = end + (*end != '\0');
		slack = hi - lo + SAME_REL * fmax(fabs(lo), fabs(hi));
		if (!(vars[i] >= lo - slack && vars[i] <= hi + slack))
			return false;
	}
	return n_vars > 0 && !*ranges;
}
