/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trip counts of solvers that end by a tolerance: a straight line may be near them if no exact rule holds. If a trip
 * count differs from entry to entry, the line is that of the means. */
#include <math.h>
#include <stdio.h>

#include "model/inputs/learn_runs_impl.h"

#define ABOUT_MOST  0.05 /* miss of a line that is kept */
#define ABOUT_LEAST 1e-6 /* a line that misses less is exact */
#define ABOUT_UNIT  1e9  /* coefficients are multiples of 1 / ABOUT_UNIT */

/* Least squares of the relative misses of y in one variable. Returns false if no line is near all points. */
static bool fit_line(const struct learning *g, const double *count, uint32_t var, uint32_t k, struct learnt_doubt *d)
{
	double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0, a, b, first = 0, second = 0, missed = 0;
	bool three = false; /* different places */

	for (uint32_t i = 0; i < k; i++) {
		double x = g->r->run[g->r->point[g->point[i]].run].var[var], u = 1 / count[i], v = u * x;

		first = i ? first : x;
		second = !i || second == first ? x : second;
		three |= x != first && x != second;
		uu += u * u;
		uv += u * v;
		vv += v * v;
		u1 += u;
		v1 += v;
	}
	b = (uu * v1 - uv * u1) / (uu * vv - uv * uv);
	a = (u1 - b * uv) / uu;
	if (!three || !(fabs(a) < ABOUT_UNIT && fabs(b) < ABOUT_UNIT)) /* they may be no numbers */
		return false;
	d->rule[0] = (struct rule){.n = 1, .num = {llround(a * ABOUT_UNIT), llround(b * ABOUT_UNIT)}, .den = ABOUT_UNIT,
				   .f = {var, RULE_NONE}, .g = {RULE_NONE, RULE_NONE}, .h = {RULE_NONE, RULE_NONE}};
	for (uint32_t i = 0; i < k; i++) {
		double law = learnt_about(d, g->r->run[g->r->point[g->point[i]].run].var[var]), y = count[i];

		missed = fmax(missed, law > 0 ? fmax(law / y, y / law) - 1 : INFINITY);
	}
	d->rule[1] = (struct rule){.num = {llround(fmin(missed, 1) * ABOUT_UNIT)}, .den = ABOUT_UNIT};
	return missed <= ABOUT_MOST;
}

/* All ranks of a run have one trip count. If lines in two variables are near, the runs do not tell which one it is. */
void learn_about(struct learning *g, const struct merge_node *n, struct learnt_node *out)
{
	struct learnt_doubt d = {.kind = DOUBT_ABOUT, .where = g->where, .counted = {true, true}}, line = d;
	const struct runs_trips *mean = runs_trips(g->r, n);
	uint32_t k = learning_points(g, n), found = 0;
	double *count = arena_alloc(g->l->arena, k, sizeof(*count));

	for (uint32_t i = 0; count && i < k; i++) {
		const struct runs_trips *m = mean ? &mean[g->point[i]] : NULL;

		count[i] = m ? (double)m->iterations / (double)m->entries :
			       (double)runs_count(n, g->r->point[g->point[i]].group);
		if (i && count[i] != count[i - 1] && g->r->point[g->point[i]].run == g->r->point[g->point[i - 1]].run)
			return;
	}
	for (uint32_t v = 0; count && v < g->r->n_vars; v++)
		if (fit_line(g, count, v, k, &line) && !found++)
			d = line;
	snprintf(d.what, sizeof(d.what), "loop over %.*s%s", mean ? 100 : 140, learning_name(g, n),
		 mean ? ", in the mean of entries that differ" : "");
	out->about = found == 1 && (mean || learnt_missed(&d) >= ABOUT_LEAST) && learnt_doubt_add(g->l, &d) == 0;
	if (out->about)
		out->count = d.rule[0];
}
