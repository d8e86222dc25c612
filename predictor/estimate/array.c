/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the index of a job array does: see array.h. */
#include <math.h>

#include "predictor/estimate/array.h"

struct member {
	uint32_t index;
	double sum;
	unsigned n;
};

static size_t members_gather(const struct array_run *runs, size_t n, struct member list[ARRAY_LOOK], unsigned *whole)
{
	size_t count = 0, at;

	for (size_t i = 0; i < n; i++) {
		if (runs[i].at_least)
			continue;
		for (at = 0; at < count && list[at].index != runs[i].index; at++)
			;
		if (at == count)
			list[count++] = (struct member){.index = runs[i].index};
		list[at].sum += runs[i].actual_s;
		list[at].n++;
		(*whole)++;
	}
	return count;
}

static double longest_bound(const struct array_run *runs, size_t n, uint32_t *index)
{
	double longest = 0;

	for (size_t i = 0; i < n; i++) {
		if (!runs[i].at_least || runs[i].actual_s <= longest)
			continue;
		longest = runs[i].actual_s;
		*index = runs[i].index;
	}
	return longest;
}

/* They are not alike. */
static void judge_longest(const struct array_run *runs, size_t n, const struct member *m, struct array_view *out)
{
	uint32_t cut = 0;
	double bound = longest_bound(runs, n, &cut);

	out->word = ARRAY_UNKNOWN;
	out->longest = m->index;
	if (bound > out->most_s)
		err_set(&out->why, "the array's index matters (%.0f to %.0f s), and index %u was ended after %.0f s", out->least_s,
			out->most_s, cut, bound);
	else if (m->n < 2)
		err_set(&out->why, "the array's index matters: with some it took %.0f s, with others %.0f s; the longest, index %u, "
				   "has run once: two runs are needed", out->least_s, out->most_s, m->index);
	else
		out->word = ARRAY_LONGEST;
}

void array_judge(const struct array_run *runs, size_t n, struct array_view *out)
{
	struct member list[ARRAY_LOOK], *longest = NULL;
	unsigned whole = 0;
	size_t count;
	bool any = false;

	*out = (struct array_view){.word = ARRAY_NONE, .least_s = INFINITY};
	n = n < ARRAY_LOOK ? n : ARRAY_LOOK;
	for (size_t i = 0; i < n; i++)
		any |= runs[i].index != ARRAY_NO_INDEX;
	count = members_gather(runs, n, list, &whole);
	for (size_t i = 0; i < count; i++) {
		double mean = list[i].sum / list[i].n;

		out->least_s = fmin(out->least_s, mean);
		if (mean > out->most_s) {
			out->most_s = mean;
			longest = &list[i];
		}
	}
	if (!count)
		out->least_s = 0;
	if (!any)
		return;
	out->word = ARRAY_UNKNOWN;
	if (whole < ARRAY_RUNS_MIN || !longest)
		err_set(&out->why, "a job array, of which %u task%s ended: %d are needed to see what the index does", whole,
			whole == 1 ? " has" : "s have", ARRAY_RUNS_MIN);
	else if (out->most_s <= ARRAY_SPREAD_MAX * out->least_s)
		out->word = ARRAY_ALIKE;
	else
		judge_longest(runs, n, longest, out);
}
