/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of calls as functions of sizes: see run_times.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "predictor/inputs/run_times.h"

#define SIZES_MAX     13  /* features that times are tried with */
#define POINTS_OF_RUN 64  /* ranks of a run that are used, spread evenly */
#define GOOD	      0.1 /* error with which sizes of messages explain enough */
#define EXACT	      1e-6
#define WORTH	      0.9 /* a term has to leave at most so much of the error without it */
#define TIME_LEAST_S  1e-9
#define ROUNDS	      3	  /* of weights, each by what the last one found */
#define LIKELY	      0.95  /* of what is told of times, above and below: nine of ten runs are between */
#define WEIGHT_WITHIN 4	  /* times the run's own mean, where what was found is far from it */

/* Weighted sums of a fold, which is a run: x, y and the products of them. */
struct sums {
	double w, x, y, xx, xy, yy;
};
struct sample {
	uint32_t n;
	uint32_t *point, *fold;
	double *y, *w, *x;
};
struct fitter {
	const struct learnt *l;
	struct runs *r;
	uint32_t n_sizes, n_seen, size[SIZES_MAX]; /* n_seen of variables that the program's messages show */
	struct sample s;
	struct sums *fold;
	bool *without; /* by run */
	bool rounds;   /* the sample's calls have two numbers of ranks at most */
	int64_t **col; /* by feature: as learnt, but those of times have their values */
};
/* Which runs times are learnt from: calls take something else where ranks wait for a processor and give it up while they wait. */
enum kind { KIND_ALL, KIND_ALONE, KIND_CROWDED };

/* ---- sizes ---- */

static bool is_size(const struct feature *f)
{
	return f->op == FEATURE_VAR || f->op == FEATURE_RANKS || f->op == FEATURE_BLOCK || f->op == FEATURE_LOG2;
}

static void note_vars(const struct learnt *l, const struct rule *r, uint32_t *vars)
{
	for (uint32_t k = 0; k < r->n; k++) {
		const struct feature *f = &l->feature[r->f[k]], *g = r->g[k] == RULE_NONE ? f : &l->feature[r->g[k]];

		*vars |= is_size(f) ? 1u << f->v : 0;
		*vars |= is_size(g) ? 1u << g->v : 0;
	}
}

/* Variables that sizes of messages are made of, as bits: how often something is done says nothing of how long it takes. */
static uint32_t vars_of_messages(const struct learnt *l)
{
	uint32_t vars = 0;

	for (uint32_t i = 0; i < l->runs->n_leaf; i++)
		for (uint32_t v = 0; v < l->runs->leaf[i].n_value; v++)
			if (l->value[i][v].kind == VALUE_RULE && strstr(l->runs->leaf[i].value_name[v], "count"))
				note_vars(l, &l->value[i][v].rule, &vars);
	return vars;
}

/* Features that vary and are not the same as one before; `vars`: of these variables, or of none. */
static void choose_sizes(struct fitter *t, uint32_t vars)
{
	const struct learnt *l = t->l;
	size_t bytes = t->r->n_points * sizeof(**l->col);

	for (uint32_t f = 0; f < l->n_features && t->n_sizes < SIZES_MAX; f++) {
		const struct feature *k = &l->feature[f];
		bool good = is_size(k), varies = false;

		if (k->op == FEATURE_VAR || k->op == FEATURE_BLOCK)
			good = good && vars >> k->v & 1;

		for (uint32_t i = 0; good && i < t->r->n_points; i++) {
			good = l->col[f][i] != FEATURE_NONE && l->col[f][i] >= 0;
			varies |= l->col[f][i] != l->col[f][0];
		}
		for (uint32_t k = 0; good && k < t->n_sizes; k++)
			good = t->size[k] & TIME_INVERSE || memcmp(l->col[f], l->col[t->size[k]], bytes) != 0;
		if (!good || !varies)
			continue;
		t->size[t->n_sizes++] = f;
		if (k->op == FEATURE_RANKS && t->n_sizes < SIZES_MAX)
			t->size[t->n_sizes++] = f | TIME_INVERSE;
	}
}

static double product_at(const struct fitter *t, const uint32_t x[3], uint32_t point)
{
	double v = 1;

	for (uint32_t i = 0; i < 3 && x[i] != RULE_NONE; i++) {
		double of = (double)t->col[x[i] & ~TIME_INVERSE][point];

		v *= x[i] & TIME_INVERSE ? 1 / of : of;
	}
	return v;
}

static double value_at(const struct fitter *t, const struct time_fn *fn, uint32_t point)
{
	double v = fn->constant_s;

	for (uint32_t k = 0; k < fn->n; k++)
		v += fn->coef[k] * product_at(t, fn->x[k], point);
	return v;
}

/* ---- least squares of two coefficients, by sums ---- */

static void add_sums(struct sums *a, const struct sums *b, double sign)
{
	a->w += sign * b->w;
	a->x += sign * b->x;
	a->y += sign * b->y;
	a->xx += sign * b->xx;
	a->xy += sign * b->xy;
	a->yy += sign * b->yy;
}

/* y = c + a x, neither below zero. */
static void solve(const struct sums *s, bool constant_only, double *c, double *a)
{
	double det = s->w * s->xx - s->x * s->x;

	*a = 0;
	*c = s->w > 0 ? s->y / s->w : 0;
	if (constant_only || !(s->xx > 0))
		return;
	if (det > 1e-12 * s->w * s->xx) {
		*a = (s->w * s->xy - s->x * s->y) / det;
		*c = (s->y - *a * s->x) / s->w;
	}
	if (*a <= 0) {
		*a = 0;
		*c = s->y / s->w;
	} else if (*c < 0) {
		*c = 0;
		*a = s->xy / s->xx;
	}
}

static double missed(const struct sums *s, double c, double a)
{
	double e = s->yy + c * c * s->w + a * a * s->xx - 2 * c * s->y - 2 * a * s->xy + 2 * a * c * s->x;

	return e > 0 ? e : 0;
}

/* Mean square, relative, of what is missed on folds that are left out; the function of all in c and a. */
static double judge(struct fitter *t, bool constant_only, double *c, double *a)
{
	struct sums all = {0};
	double error = 0;
	uint32_t folds = 0;

	memset(t->fold, 0, t->r->n_runs * sizeof(*t->fold));
	for (uint32_t i = 0; i < t->s.n; i++) {
		double w = t->s.w[i], x = t->s.x[i], y = t->s.y[i];
		struct sums s = {w, w * x, w * y, w * x * x, w * x * y, w * y * y};

		add_sums(&t->fold[t->s.fold[i]], &s, 1);
		add_sums(&all, &s, 1);
	}
	for (uint32_t k = 0; k < t->r->n_runs; k++) {
		struct sums rest = all;

		if (!(t->fold[k].w > 0))
			continue;
		add_sums(&rest, &t->fold[k], -1);
		if (!(rest.w > 1e-12 * all.w))
			continue;
		solve(&rest, constant_only, c, a);
		error += missed(&t->fold[k], *c, *a);
		folds++;
	}
	solve(&all, constant_only, c, a);
	return folds ? error / folds : 0;
}

/* ---- one time of one call ---- */

/* Errors are relative to mean_s: that of the sample's points i < n from `first` on, which are of one run. */
static void weigh_run(struct fitter *t, uint32_t first, uint32_t n, double mean_s)
{
	for (uint32_t i = first; i < first + n; i++)
		t->s.w[i] = 1 / (mean_s * mean_s * n);
}

static bool is_crowded(const struct runs_run *run)
{
	return run->place.crowd > 1;
}

static bool is_used(const struct fitter *t, uint32_t run, enum kind kind)
{
	return !t->without[run] && (kind == KIND_ALL || is_crowded(&t->r->run[run]) == (kind == KIND_CROWDED));
}

/* Seconds of the call at the points that are used, weighed by the run's mean. */
static void take_sample(struct fitter *t, const struct runs_leaf *leaf, bool gap, enum kind kind)
{
	t->s.n = 0;
	for (uint32_t run = 0; run < t->r->n_runs; run++) {
		const struct runs_run *k = &t->r->run[run];
		uint32_t step = (k->n_ranks + POINTS_OF_RUN - 1) / POINTS_OF_RUN, first = t->s.n;
		double mean = 0;

		for (uint32_t i = 0; is_used(t, run, kind) && i < k->n_ranks; i += step) {
			const struct runs_seen *s = &leaf->seen[k->first_point + i];

			if (!s->timed)
				continue;
			t->s.point[t->s.n] = k->first_point + i;
			t->s.fold[t->s.n] = run;
			t->s.y[t->s.n] = (gap ? s->gap_ns : s->dur_ns) / (double)s->timed * 1e-9;
			mean += t->s.y[t->s.n++];
		}
		weigh_run(t, first, t->s.n - first, t->s.n > first && mean > 0 ? mean / (t->s.n - first) : TIME_LEAST_S);
	}
}

/*
 * Errors relative to what was found instead of what was measured: a run that happened to be quick would count for more than one
 * that was slow, and what is found would be below the mean by about twice the square of the relative noise.
 */
static void weigh_again(struct fitter *t, const struct time_fn *fn)
{
	for (uint32_t i = 0, end; i < t->s.n; i = end) {
		double is = 0, said = 0;

		for (end = i; end < t->s.n && t->s.fold[end] == t->s.fold[i]; end++) {
			is += t->s.y[end];
			said += value_at(t, fn, t->s.point[end]);
		}
		said = fmin(fmax(said, is / WEIGHT_WITHIN), is * WEIGHT_WITHIN) / (end - i);
		weigh_run(t, i, end - i, fmax(said, TIME_LEAST_S));
	}
}

/* From two numbers of ranks what grows with them and what grows with their logarithm look alike; calls are made in log2(ranks) rounds. */
static bool is_steep(const struct fitter *t, const uint32_t x[3])
{
	for (uint32_t i = 0; t->rounds && i < 3 && x[i] != RULE_NONE; i++)
		if (!(x[i] & TIME_INVERSE) && t->l->feature[x[i]].op == FEATURE_RANKS)
			return true;
	return false;
}

static void fit_product(struct fitter *t, const uint32_t x[3], struct time_fn *best, double *least)
{
	double c, a, error;

	if (is_steep(t, x))
		return;
	for (uint32_t i = 0; i < t->s.n; i++)
		t->s.x[i] = product_at(t, x, t->s.point[i]);
	error = judge(t, false, &c, &a);
	if (a <= 0 || !(error < *least * (1 - 1e-9)))
		return;
	*least = error;
	*best = (struct time_fn){.constant_s = c, .n = 1, .coef = {a}, .x = {{x[0], x[1], x[2]}}};
}

static void fit_degree(struct fitter *t, uint32_t n, uint32_t degree, struct time_fn *best, double *least)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = degree > 1 ? i : n - 1; j < n; j++)
			for (uint32_t k = degree > 2 ? j : n - 1; k < n; k++)
				fit_product(t,
					    (uint32_t[3]){t->size[i], degree > 1 ? t->size[j] : RULE_NONE,
							  degree > 2 ? t->size[k] : RULE_NONE},
					    best, least);
}

/* ---- messages above a bound ---- */

/*
 * A rank that was told to give its processor up while it waits does so at each message that the library does not send at once
 * (Open MPI: MPI_Send of more than 256 bytes), which takes many times as long as the message does. So what calls of crowded ranks
 * take may jump where their count passes a bound, a power of two.
 */

/* The feature that is the count of the call, where it is one and the sample's ranks share processors in all runs. */
static const struct feature *count_of(const struct fitter *t, uint32_t leaf)
{
	const struct runs_leaf *k = &t->r->leaf[leaf];

	for (uint32_t i = 0; i < t->s.n; i++)
		if (!is_crowded(&t->r->run[t->s.fold[i]]))
			return NULL;
	for (uint32_t v = 0; v < k->n_value; v++) {
		const struct learnt_value *value = &t->l->value[leaf][v];
		const struct rule *r = &value->rule;

		if (strcmp(k->value_name[v], "count") || value->kind != VALUE_RULE || r->n != 1 || r->num[0] || r->num[1] != r->den ||
		    r->g[0] != RULE_NONE)
			continue;
		return t->l->feature[r->f[0]].op == FEATURE_VAR || t->l->feature[r->f[0]].op == FEATURE_BLOCK ? &t->l->feature[r->f[0]] : NULL;
	}
	return NULL;
}

static bool is_bound_of(const struct feature *f, const struct feature *count)
{
	return f->op == FEATURE_ABOVE && f->v == count->v && f->d == count->d && f->i == count->i;
}

/* Are the two the same at all points of the sample? f == RULE_NONE: is g always the same? */
static bool is_same(const struct fitter *t, uint32_t f, uint32_t g)
{
	for (uint32_t i = 0; i < t->s.n; i++) {
		uint32_t p = t->s.point[i];

		if (t->col[g][p] != (f == RULE_NONE ? t->col[g][t->s.point[0]] : t->col[f][p]))
			return false;
	}
	return true;
}

/* With each bound that the sample tells from the others. */
static void fit_bounds(struct fitter *t, const struct feature *count, struct time_fn *best, double *least)
{
	for (uint32_t f = 0; f < t->l->n_features; f++) {
		bool same = !is_bound_of(&t->l->feature[f], count) || is_same(t, RULE_NONE, f);

		for (uint32_t g = 0; !same && g < t->l->n_features; g++)
			same = g != f && is_bound_of(&t->l->feature[g], count) && is_same(t, f, g);
		if (!same)
			fit_product(t, (uint32_t[3]){f, RULE_NONE, RULE_NONE}, best, least);
	}
}

static const struct feature *bound_in(const struct fitter *t, const struct time_fn *fn)
{
	const struct feature *f = fn->n && fn->x[0][1] == RULE_NONE ? &t->l->feature[fn->x[0][0] & ~TIME_INVERSE] : NULL;

	return f && f->op == FEATURE_ABOVE ? f : NULL;
}

static double missed_by(const struct fitter *t, const struct time_fn *fn)
{
	double sum = 0;

	for (uint32_t i = 0; i < t->s.n; i++) {
		double e = t->s.y[i] - value_at(t, fn, t->s.point[i]);

		sum += t->s.w[i] * e * e;
	}
	return sum;
}

/* The function that misses least on runs left out, with these weights; the mean square of that. count: of the call, or NULL. */
static double choose_fn(struct fitter *t, const struct feature *count, struct time_fn *out)
{
	double c = 0, a, least;

	*out = (struct time_fn){0};
	memset(t->s.x, 0, t->s.n * sizeof(*t->s.x));
	least = judge(t, true, &c, &a);
	out->constant_s = c;
	if (count)
		fit_bounds(t, count, out, &least);
	for (int all = t->n_seen == 0; all < 2 && (!all || least > GOOD * GOOD); all++) {
		for (uint32_t degree = 1; degree <= 3 && least > EXACT * EXACT; degree++) {
			struct time_fn best = *out;
			double now = least;

			fit_degree(t, all ? t->n_sizes : t->n_seen, degree, &best, &now);
			if (now < least * WORTH * WORTH) {
				*out = best;
				least = now;
			}
		}
	}
	return least;
}

/* The same function with the coefficients of these weights; the mean square of what it misses. */
static double fit_again(struct fitter *t, struct time_fn *out)
{
	double c, a, error;

	for (uint32_t i = 0; i < t->s.n; i++)
		t->s.x[i] = out->n ? product_at(t, out->x[0], t->s.point[i]) : 0;
	error = judge(t, !out->n, &c, &a);
	out->constant_s = c;
	out->coef[0] = a;
	return error;
}

static bool has_two_numbers(const struct fitter *t)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < t->s.n; i++) {
		least = t->r->run[t->s.fold[i]].n_ranks < least ? t->r->run[t->s.fold[i]].n_ranks : least;
		most = t->r->run[t->s.fold[i]].n_ranks > most ? t->r->run[t->s.fold[i]].n_ranks : most;
	}
	for (uint32_t i = 0; i < t->s.n; i++)
		if (t->r->run[t->s.fold[i]].n_ranks != least && t->r->run[t->s.fold[i]].n_ranks != most)
			return false;
	return true;
}

static void fit_time(struct fitter *t, uint32_t leaf, bool gap, enum kind kind, struct time_fn *out)
{
	double least, sum = 0;

	take_sample(t, &t->r->leaf[leaf], gap, kind);
	t->rounds = !gap && has_two_numbers(t);
	*out = (struct time_fn){0};
	if (!t->s.n)
		return;
	least = choose_fn(t, gap ? NULL : count_of(t, leaf), out);
	for (int round = 0; round < ROUNDS; round++) {
		weigh_again(t, out);
		least = fit_again(t, out);
	}
	for (uint32_t i = 0; i < t->s.n; i++)
		sum += t->s.y[i];
	out->error_s = sqrt(least) * sum / t->s.n;
}

/* The bound is the library's: where it was found in calls of a function, others of it that pass it have it too, if one run alone does
 * and none would be left to hold it against. */
static void share_bounds(struct fitter *t, enum kind kind, struct time_fn *fn)
{
	for (uint32_t i = 0; i < t->r->n_leaf; i++) {
		const struct feature *bound = bound_in(t, &fn[i]);
		size_t name = strcspn(t->r->leaf[i].name, " ");

		for (uint32_t k = 0; bound && k < t->r->n_leaf; k++) {
			const struct feature *count;

			if (bound_in(t, &fn[k]) || strncmp(t->r->leaf[k].name, t->r->leaf[i].name, name + 1))
				continue;
			take_sample(t, &t->r->leaf[k], false, kind);
			count = count_of(t, k);
			for (uint32_t f = 0; count && f < t->l->n_features; f++) {
				struct time_fn other = {.n = 1, .x = {{f, RULE_NONE, RULE_NONE}}};

				if (!is_bound_of(&t->l->feature[f], count) || t->l->feature[f].w != bound->w || is_same(t, RULE_NONE, f))
					continue;
				fit_again(t, &other);
				other.error_s = fn[k].error_s;
				if (other.coef[0] > 0 && missed_by(t, &other) < missed_by(t, &fn[k]))
					fn[k] = other;
			}
		}
	}
}

/* ---- all of them ---- */

/* MPI_Init and MPI_Finalize are outside of the walltime. */
static bool is_begin(const char *name)
{
	return !strncmp(name, "MPI_Init", 8);
}

static bool outside(const char *name)
{
	return is_begin(name) || !strncmp(name, "MPI_Finalize", 12);
}

static void fit_all(struct fitter *t, struct run_times *out)
{
	for (uint32_t i = 0; i < t->r->n_leaf; i++) {
		const struct runs_leaf *leaf = &t->r->leaf[i];

		out->gap[i] = out->dur[i] = out->crowded[i] = (struct time_fn){0};
		if (!is_begin(leaf->name))
			fit_time(t, i, true, KIND_ALL, &out->gap[i]);
		if (outside(leaf->name))
			continue;
		fit_time(t, i, false, out->split ? KIND_ALONE : KIND_ALL, &out->dur[i]);
		if (out->split)
			fit_time(t, i, false, KIND_CROWDED, &out->crowded[i]);
	}
	share_bounds(t, out->split ? KIND_CROWDED : KIND_ALL, out->split ? out->crowded : out->dur);
}

/* Seconds of the run, by what its ranks need for themselves: what they took, or where there are functions what these say of
 * the calls that they made. */
static double wall_of(const struct fitter *t, const struct run_times *times, uint32_t run)
{
	const struct runs_run *k = &t->r->run[run];
	double longest = 0, all = 0;

	for (uint32_t p = k->first_point; p < k->first_point + k->n_ranks; p++) {
		double sum = 0;

		for (uint32_t i = 0; i < t->r->n_leaf; i++) {
			const struct runs_seen *s = &t->r->leaf[i].seen[p];
			double each = s->timed && !times ? (double)s->n / (double)s->timed * 1e-9 : 0;
			const char *name = t->r->leaf[i].name;

			if (times)
				sum += (double)s->n * (value_at(t, &times->gap[i], p) + value_at(t, run_times_dur(times, i, is_crowded(k)), p));
			else
				sum += each * ((is_begin(name) ? 0 : s->gap_ns) + (outside(name) ? 0 : s->dur_ns));
		}
		longest = fmax(longest, sum);
		all += sum;
	}
	return run_place_wall(k->place.crowd, k->n_ranks, longest, all);
}

/* What the runs that are left out are missed by at most, as a ratio less 1; adds up the errors. */
static double judge_left_out(struct fitter *t, struct run_times *out, double *sum)
{
	double worst = 0;

	fit_all(t, out);
	for (uint32_t run = 0; run < t->r->n_runs; run++) {
		double own, said;

		if (!t->without[run])
			continue;
		own = wall_of(t, NULL, run);
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
			if (i == run || (split && is_crowded(&r->run[i]) != is_crowded(&r->run[run])))
				continue;
			below |= value_of(&r->run[i], v, r->n_vars) <= x;
			above |= value_of(&r->run[i], v, r->n_vars) >= x;
		}
		if (!below || !above)
			return false;
	}
	return true;
}

static void leave_out(struct fitter *t, struct run_times *out)
{
	double sum = 0, squares = 0;
	uint32_t inside = 0;

	for (uint32_t run = 0; run < t->r->n_runs; run++) {
		const struct runs_run *k = &t->r->run[run];
		double error;

		t->without[run] = true;
		error = judge_left_out(t, out, &sum);
		t->without[run] = false;
		out->beyond_error = fmax(out->beyond_error, error);
		if (is_inside(t, run, out->split)) {
			out->worst_error = fmax(out->worst_error, error);
			squares += log1p(error) * log1p(error);
			inside++;
		}
		if (k->lost_ns > 0 && k->wall_ns > 0)
			out->shared = fmax(out->shared, 1 - wall_of(t, NULL, run) / (k->wall_ns * 1e-9));
	}
	out->mean_error = out->n_errors ? sum / out->n_errors : 0;
	/* A few runs do not show how far the next may be off. */
	if (inside)
		out->worst_error = fmax(out->worst_error, expm1(gsl_cdf_tdist_Pinv(LIKELY, inside) * sqrt(squares / inside)));
	out->worst_error = inside ? fmin(out->worst_error, out->beyond_error) : out->beyond_error;
}

/* Runs with the most ranks, or the greatest value of a variable, by the others: what the model is worth beyond its runs. With
 * two numbers of ranks the others have only one, which is what is known of ranks then. */
static void leave_out_greatest(struct fitter *t, struct run_times *out)
{
	uint32_t n_vars = t->r->n_vars, n_errors = out->n_errors;
	double sum = 0;

	for (uint32_t v = 0; v <= n_vars; v++) {
		double most = 0;
		uint32_t left = 0;

		for (uint32_t run = 0; run < t->r->n_runs; run++)
			most = fmax(most, value_of(&t->r->run[run], v, n_vars));
		for (uint32_t run = 0; run < t->r->n_runs; run++)
			left += t->without[run] = value_of(&t->r->run[run], v, n_vars) == most;
		if (left < t->r->n_runs)
			out->beyond_error = fmax(out->beyond_error, judge_left_out(t, out, &sum));
		memset(t->without, 0, t->r->n_runs * sizeof(*t->without));
	}
	out->n_errors = n_errors;
}

/* Are there enough runs of each kind? */
static bool find_split(const struct runs *r)
{
	uint32_t crowded = 0;

	for (uint32_t i = 0; i < r->n_runs; i++) {
		if (!r->run[i].place.processors)
			return false;
		crowded += is_crowded(&r->run[i]);
	}
	return crowded >= RUNS_MIN && r->n_runs - crowded >= RUNS_MIN;
}

/* Columns of features of times: 0 without memory. */
static bool fill_times(struct fitter *t, struct arena *a)
{
	t->col = arena_alloc(a, t->l->n_features, sizeof(*t->col));
	for (uint32_t f = 0; t->col && f < t->l->n_features; f++) {
		t->col[f] = t->l->col[f];
		if (t->l->feature[f].op != FEATURE_ABOVE)
			continue;
		t->col[f] = arena_alloc(a, t->r->n_points, sizeof(**t->col));
		if (!t->col[f])
			return false;
		for (uint32_t i = 0; i < t->r->n_points; i++) {
			const struct runs_point *p = &t->r->point[i];
			const struct runs_run *run = &t->r->run[p->run];

			t->col[f][i] = feature_value(&t->l->feature[f], &(struct feature_place){run->var, p->rank, run->n_ranks, 1});
		}
	}
	return t->col;
}

int run_times_learn(const struct learnt *l, struct run_times *out, struct errbuf *err)
{
	struct runs *r = l->runs;
	struct fitter t = {.l = l, .r = r};
	struct arena *a = arena_create();
	uint32_t vars;
	int rc = -1;

	*out = (struct run_times){.arena = a};
	if (a) {
		out->gap = arena_alloc(a, r->n_leaf, sizeof(*out->gap));
		out->dur = arena_alloc(a, r->n_leaf, sizeof(*out->dur));
		out->crowded = arena_alloc(a, r->n_leaf, sizeof(*out->crowded));
		t.without = arena_alloc(a, r->n_runs, sizeof(*t.without));
		t.s.point = arena_alloc(a, r->n_points, sizeof(*t.s.point));
		t.s.fold = arena_alloc(a, r->n_points, sizeof(*t.s.fold));
		t.s.y = arena_alloc(a, r->n_points, sizeof(*t.s.y));
		t.s.w = arena_alloc(a, r->n_points, sizeof(*t.s.w));
		t.s.x = arena_alloc(a, r->n_points, sizeof(*t.s.x));
		t.fold = arena_alloc(a, r->n_runs, sizeof(*t.fold));
	}
	if (!a || !out->gap || !out->dur || !out->crowded || !t.without || !fill_times(&t, a) || !t.s.point || !t.s.fold || !t.s.y || !t.s.w || !t.s.x || !t.fold) {
		err_set(err, "no memory for times");
		goto out;
	}
	vars = vars_of_messages(l);
	choose_sizes(&t, vars);
	t.n_seen = vars ? t.n_sizes : 0;
	choose_sizes(&t, ~vars);
	out->split = find_split(r);
	leave_out(&t, out);
	leave_out_greatest(&t, out);
	fit_all(&t, out);
	rc = 0;
out:
	if (rc < 0)
		run_times_free(out);
	return rc;
}

void run_times_free(struct run_times *t)
{
	arena_destroy(t->arena);
	*t = (struct run_times){0};
}
