/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of runs that are left out, by the others: how far what is told of a run may be off. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "model/inputs/run_times_impl.h"

#define REACH_UNKNOWN 1 /* exponent for a time that does not grow in the runs: it may grow or fall in proportion to the input */
#define TRUST_LEAST  1e-3
#define SPREAD_LEAST 1e-3 /* of runs that are alike: nearer ones are equally good */
#define LOST_RUNS 3 /* so many runs alike show the loss of the quietest run; */
#define LOST_MOST 0.25 /* a greater loss comes from other programs */
#define LIKELY 0.95 /* quantile of the errors, above and below: nine of ten runs are between */

struct needed {
	double longest, all, calls; /* seconds of the longest rank, of all, and of all in calls */
};

/* CPU time that the ranks of the run need: measured times, or the functions' times of the same calls if there are
 * functions. */
static struct needed needed_by(const struct fitter *t, const struct run_times *times, uint32_t run)
{
	const struct runs_run *k = &t->r->run[run];
	struct needed of = {0};

	for (uint32_t p = k->first_point; p < k->first_point + k->n_ranks; p++) {
		double sum = 0, calls = 0;

		for (uint32_t w = 0; w < t->r->n_ways; w++)
			sum += (double)t->r->way[w].seen[p].n *
			       (times ? run_times_value_at(t, &times->gap[w], p) : fmax(0, run_times_mean_at(t, &(struct subject){.way = w}, p)));
		for (uint32_t i = 0; i < t->r->n_leaf; i++) {
			const struct runs_leaf *call = &t->r->leaf[i];

			if (!run_times_outside(call->name))
				calls += (double)call->seen[p].n * (times ? run_times_value_at(t, run_times_dur(times, i, is_crowded(k)), p)
									  : fmax(0, run_times_mean_at(t, &(struct subject){.call = call}, p)));
		}
		of.longest = fmax(of.longest, sum + calls);
		of.all += sum + calls;
		of.calls += calls;
	}
	return of;
}

static double wall_of(const struct fitter *t, const struct run_times *times, uint32_t run)
{
	const struct needed of = needed_by(t, times, run);

	return run_place_wall(t->r->run[run].place.crowd, t->r->run[run].n_ranks, of.longest, of.all);
}

/* ---- runs that are alike ---- */

struct weighed {
	double x, weight;
};

static int by_value(const void *a, const void *b)
{
	const struct weighed *v = a, *w = b;

	return v->x < w->x ? -1 : v->x > w->x;
}

/* Between those in whose middle half of all weight is reached; the middle of two that weigh the same. n > 0. */
static double median(struct weighed *w, uint32_t n)
{
	double all = 0, below = 0, at = 0, next;
	uint32_t i = 0;

	qsort(w, n, sizeof(*w), by_value);
	for (uint32_t k = 0; k < n; k++)
		all += w[k].weight;
	for (; i < n; below += w[i++].weight) {
		next = below + w[i].weight / 2;
		if (next >= all / 2)
			break;
		at = next;
	}
	if (i == 0 || i == n)
		return w[i ? n - 1 : 0].x;
	return w[i - 1].x + (w[i].x - w[i - 1].x) * (all / 2 - at) / (next - at);
}

/* Weights the runs alike that begin with `first`. A run far from the usual time was disturbed, and so was a run that
 * had its processors for little of its time. A disturbed run has less weight. */
static void weigh_like(struct fitter *t, uint32_t first)
{
	struct weighed w[RUNS_MAX];
	double usual = 0, spread = 0, all = 0, trusted = 0;
	uint32_t n = 0;

	for (uint32_t i = first; i != RUN_NONE; i = t->like[i].next)
		if (t->like[i].wall_s > 0)
			w[n++] = (struct weighed){t->like[i].wall_s, t->like[i].trust};
	if (n) {
		usual = median(w, n);
		for (uint32_t i = 0; i < n; i++)
			w[i].x = fabs(log(w[i].x / usual));
		spread = fmax(median(w, n), SPREAD_LEAST);
	}
	for (uint32_t i = first; i != RUN_NONE; i = t->like[i].next) {
		struct like *k = &t->like[i];
		double off = k->wall_s > 0 ? log(k->wall_s / usual) / spread : 0;

		k->usual_s = usual;
		k->weight = k->wall_s > 0 ? k->trust / (1 + off * off) : 0;
		all += k->weight;
		trusted += k->weight * k->trust;
	}
	for (uint32_t i = first; i != RUN_NONE; i = t->like[i].next)
		t->like[i].counts = all > 0 ? trusted / all : 0;
}

/*
 * Ranks that take turns lose time at each turn, and the system counts this time for no rank. One run alone cannot
 * separate this loss from the share of other programs. So the loss of the quietest of several runs counts as the cost
 * of taking turns. The cost is assigned to calls, because ranks give way in calls.
 */
static void find_lost(struct fitter *t, uint32_t first)
{
	struct needed of = {0};
	double least = INFINITY;
	uint32_t n = 0;

	for (uint32_t i = first; i != RUN_NONE; i = t->like[i].next) {
		const struct runs_run *run = &t->r->run[i];
		double lost = t->like[i].wall_s > 0 ? run->wall_ns * 1e-9 / t->like[i].wall_s - 1 : INFINITY;

		if (is_crowded(run) && lost < least) {
			least = lost;
			of = needed_by(t, NULL, i);
		}
		n++;
	}
	least = n >= LOST_RUNS && least > 0 && least < LOST_MOST && of.calls > least * of.all ? least : 0;
	for (uint32_t i = first; i != RUN_NONE; i = t->like[i].next) {
		t->like[i].lost = least;
		t->like[i].calls = least > 0 ? 1 + least * of.all / of.calls : 1;
	}
}

/* Of a run whose calls were timed. */
static double trust_of(const struct runs_run *run, double wall_s)
{
	double had = run->wall_ns > 0 ? fmin(1, wall_s / (run->wall_ns * 1e-9)) : 1;

	return fmax(TRUST_LEAST, had * had);
}

static bool is_like(const struct runs_run *a, const struct runs_run *b)
{
	return a->same == b->same && a->place.processors == b->place.processors && a->place.crowd == b->place.crowd;
}

void run_times_find_like(struct fitter *t)
{
	const struct runs *r = t->r;

	for (uint32_t i = r->n_runs; i-- > 0;) {
		uint32_t k = i + 1;

		while (k < r->n_runs && !is_like(&r->run[i], &r->run[k]))
			k++;
		t->like[i] = (struct like){.first = i, .next = k < r->n_runs ? k : RUN_NONE, .wall_s = wall_of(t, NULL, i)};
		t->like[i].trust = trust_of(&r->run[i], t->like[i].wall_s);
	}
	for (uint32_t i = 0; i < r->n_runs; i++)
		for (uint32_t k = t->like[i].next; t->like[i].first == i && k != RUN_NONE; k = t->like[k].next)
			t->like[k].first = i;
	for (uint32_t i = 0; i < r->n_runs; i++)
		if (t->like[i].first == i) {
			weigh_like(t, i);
			find_lost(t, i);
		}
}

/* ---- runs that are left out ---- */

/* What the runs that are left out are missed by at most, as a ratio less 1; adds up the errors. */
static double judge_left_out(struct fitter *t, struct run_times *out, double *sum)
{
	double worst = 0;

	run_times_fit_all(t, out);
	for (uint32_t run = 0; run < t->r->n_runs; run++) {
		double own, said;

		if (!t->without[run] || t->like[run].first != run)
			continue;
		own = t->like[run].usual_s * (1 + t->like[run].lost);
		said = wall_of(t, out, run);
		if (!(own > 0) || !(said > 0) || !isfinite(said / own))
			continue;
		*sum += fabs(said / own - 1);
		out->n_errors++;
		worst = fmax(worst, fmax(said / own, own / said) - 1);
	}
	return worst;
}

/* Of a run: its number of ranks, or a variable. */
static double value_of(const struct runs_run *run, uint32_t v, uint32_t n_vars)
{
	return v < n_vars ? run->var[v] : run->n_ranks;
}

/* Is the run between others that its times are learnt from, in its number of ranks and every variable? */
static bool is_inside(const struct fitter *t, uint32_t run, bool split)
{
	const struct runs *r = t->r;

	for (uint32_t v = 0; v <= r->n_vars; v++) {
		double x = value_of(&r->run[run], v, r->n_vars);
		bool below = false, above = false;

		for (uint32_t i = 0; i < r->n_runs; i++) {
			if (t->like[i].first == t->like[run].first || (split && is_crowded(&r->run[i]) != is_crowded(&r->run[run])))
				continue;
			below |= value_of(&r->run[i], v, r->n_vars) <= x;
			above |= value_of(&r->run[i], v, r->n_vars) >= x;
		}
		if (!below || !above)
			return false;
	}
	return true;
}

/* A run and those like it. */
static void leave_like(struct fitter *t, uint32_t run, bool without)
{
	for (uint32_t i = run; i != RUN_NONE; i = t->like[i].next)
		t->without[i] = without;
}

static double leave_out_each(struct fitter *t, struct run_times *out)
{
	double sum = 0, squares = 0;
	uint32_t inside = 0;

	for (uint32_t run = 0; run < t->r->n_runs; run++) {
		const struct runs_run *k = &t->r->run[run];
		double error;

		if (k->lost_ns > 0 && k->wall_ns > 0)
			out->shared = fmax(out->shared, 1 - t->like[run].wall_s * (1 + t->like[run].lost) / (k->wall_ns * 1e-9));
		if (t->like[run].first != run)
			continue;
		leave_like(t, run, true);
		error = judge_left_out(t, out, &sum);
		leave_like(t, run, false);
		out->beyond_error = fmax(out->beyond_error, error);
		if (is_inside(t, run, out->split)) {
			out->worst_error = fmax(out->worst_error, error);
			squares += log1p(error) * log1p(error);
			inside++;
		}
	}
	out->mean_error = out->n_errors ? sum / out->n_errors : 0;
	/* A few runs do not show how far the next may be off. */
	if (inside)
		out->worst_error = fmax(out->worst_error, expm1(gsl_cdf_tdist_Pinv(LIKELY, inside) * sqrt(squares / inside)));
	out->worst_error = inside ? fmin(out->worst_error, out->beyond_error) : out->beyond_error;
	return inside ? sqrt(squares / inside) : 0;
}

/* Is there a run of each kind that was left out among the others? Nothing says what calls of crowded ranks take where none were. */
static bool is_like_the_rest(const struct fitter *t)
{
	bool kept[2] = {false}, left[2] = {false};

	for (uint32_t run = 0; run < t->r->n_runs; run++)
		*(t->without[run] ? &left[is_crowded(&t->r->run[run])] : &kept[is_crowded(&t->r->run[run])]) = true;
	return (kept[0] || !left[0]) && (kept[1] || !left[1]);
}

/* Predicts the runs with the most ranks, or with the greatest value of a variable, from the other runs. The errors show
 * how well the model extrapolates. If there are two numbers of ranks, the other runs have only one, and the model knows
 * nothing else of ranks then. */
static void leave_out_greatest(struct fitter *t, double within, struct run_times *out)
{
	uint32_t n_vars = t->r->n_vars, n_errors = out->n_errors;
	double sum = 0;

	for (uint32_t v = 0; v <= n_vars; v++) {
		double most = -INFINITY, next = -INFINITY, error;

		for (uint32_t run = 0; run < t->r->n_runs; run++)
			most = fmax(most, value_of(&t->r->run[run], v, n_vars));
		for (uint32_t run = 0; run < t->r->n_runs; run++) {
			double x = value_of(&t->r->run[run], v, n_vars);

			t->without[run] = x == most;
			next = x < most ? fmax(next, x) : next;
		}
		out->reach[v] = REACH_UNKNOWN;
		if (next > -INFINITY) {
			error = judge_left_out(t, out, &sum);
			out->beyond_error = fmax(out->beyond_error, error);
			if (next > 0 && is_like_the_rest(t))
				out->reach[v] = sqrt(fmax(0, log1p(error) * log1p(error) - within * within)) / log(most / next);
		}
		memset(t->without, 0, t->r->n_runs * sizeof(*t->without));
	}
	out->n_errors = n_errors;
}

void run_times_leave_out(struct fitter *t, struct run_times *out)
{
	leave_out_greatest(t, leave_out_each(t, out), out);
}
