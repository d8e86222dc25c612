/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of calls as functions of sizes: see run_times.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/run_times_impl.h"

#define POINTS_OF_RUN 64  /* ranks of a run that are used, spread evenly */
#define GOOD	      0.1 /* error with which sizes of messages explain enough */
#define EXACT	      1e-6
#define WORTH	      0.9 /* a term has to leave at most so much of the error without it */
#define TIME_LEAST_S  1e-9
#define ROUNDS	      3	  /* rounds of reweighting, each by the function of the round before */
#define WEIGHT_WITHIN 4	  /* times the run's own mean, where what was found is far from it */

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

double run_times_product_at(const struct fitter *t, const uint32_t x[3], uint32_t point)
{
	double v = 1;

	for (uint32_t i = 0; i < 3 && x[i] != RULE_NONE; i++) {
		double of = (double)t->col[x[i] & ~TIME_INVERSE][point];

		v *= x[i] & TIME_INVERSE ? 1 / of : of;
	}
	return v;
}

double run_times_value_at(const struct fitter *t, const struct time_fn *fn, uint32_t point)
{
	double v = fn->constant_s;

	for (uint32_t k = 0; k < fn->n; k++)
		v += fn->coef[k] * run_times_product_at(t, fn->x[k], point);
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

enum law { LAW_CONSTANT, LAW_LINE, LAW_RATIO /* c is 0 */ };

/* y = c + a x, neither below zero. */
static void fit_law(const struct sums *s, enum law law, double *c, double *a)
{
	double det = s->w * s->xx - s->x * s->x;

	*a = 0;
	*c = s->w > 0 ? s->y / s->w : 0;
	if (law == LAW_CONSTANT || !(s->xx > 0))
		return;
	if (law == LAW_RATIO) {
		*c = 0;
		*a = s->xy / s->xx;
		return;
	}
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

/* Relative mean square error of cross-validation over the folds. c and a: coefficients fitted to all rows. */
static double law_error(struct fitter *t, enum law law, double *c, double *a)
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
		fit_law(&rest, law, c, a);
		error += missed(&t->fold[k], *c, *a);
		folds++;
	}
	fit_law(&all, law, c, a);
	return folds ? error / folds : 0;
}

/* ---- one time of one call ---- */

/* Weights the sample's points first .. first + n - 1, which are of one run. Errors are relative to mean_s, the mean of
 * these points. */
static void weigh_run(struct fitter *t, uint32_t first, uint32_t n, double mean_s)
{
	for (uint32_t i = first; i < first + n; i++)
		t->s.w[i] = t->like[t->s.fold[i]].counts / (t->s.counts * mean_s * mean_s * n);
}

static bool is_used(const struct fitter *t, uint32_t run, enum kind kind)
{
	return t->like[run].first == run && !t->without[run] && (kind == KIND_ALL || is_crowded(&t->r->run[run]) == (kind == KIND_CROWDED));
}

double run_times_mean_at(const struct fitter *t, const struct subject *of, uint32_t point)
{
	uint64_t timed = 0;
	double ns = 0;

	if (of->call) {
		timed = of->call->seen[point].timed;
		ns = of->call->seen[point].dur_ns;
	} else {
		bool all = of->way == RUNS_NO_WAY;

		for (uint32_t w = all ? 0 : of->way; w < (all ? t->r->n_ways : of->way + 1); w++) {
			if (all && t->r->way[w].to != of->to)
				continue;
			timed += t->r->way[w].seen[point].timed;
			ns += t->r->way[w].seen[point].ns;
		}
	}
	return timed ? ns / (double)timed * 1e-9 : -1;
}

double run_times_usual_at(const struct fitter *t, const struct subject *of, uint32_t point)
{
	uint32_t run = t->r->point[point].run, rank = t->r->point[point].rank;
	double sum = 0, weight = 0;

	for (; run != RUN_NONE; run = t->like[run].next) {
		const struct like *k = &t->like[run];
		double s = k->weight > 0 ? run_times_mean_at(t, of, t->r->run[run].first_point + rank) : -1;

		if (s < 0)
			continue;
		sum += k->weight * s * k->usual_s / k->wall_s * (of->call ? k->calls : 1);
		weight += k->weight;
	}
	return weight > 0 ? sum / weight : -1;
}

/* Of the runs that are used. */
static double mean_counts(const struct fitter *t, enum kind kind)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t run = 0; run < t->r->n_runs; run++)
		if (is_used(t, run, kind)) {
			sum += t->like[run].counts;
			n++;
		}
	return sum > 0 ? sum / n : 1;
}

/* Seconds at the points that are used, weighed by the run's mean. */
static void take_sample(struct fitter *t, const struct subject *of, enum kind kind)
{
	t->s.n = 0;
	t->s.counts = mean_counts(t, kind);
	for (uint32_t run = 0; run < t->r->n_runs; run++) {
		const struct runs_run *k = &t->r->run[run];
		uint32_t step = (k->n_ranks + POINTS_OF_RUN - 1) / POINTS_OF_RUN, first = t->s.n;
		double mean = 0;

		for (uint32_t i = 0; is_used(t, run, kind) && i < k->n_ranks; i += step) {
			double y = run_times_usual_at(t, of, k->first_point + i);

			if (y < 0)
				continue;
			t->s.point[t->s.n] = k->first_point + i;
			t->s.fold[t->s.n] = run;
			t->s.y[t->s.n++] = y;
			mean += y;
		}
		weigh_run(t, first, t->s.n - first, t->s.n > first && mean > 0 ? mean / (t->s.n - first) : TIME_LEAST_S);
	}
}

/*
 * Makes errors relative to the fitted time instead of the measured time. Relative to the measured time, a run that
 * happened to be quick would count for more than a slow one. The fit would lie below the mean by about twice the square
 * of the relative noise.
 */
static void weigh_again(struct fitter *t, const struct time_fn *fn)
{
	for (uint32_t i = 0, end; i < t->s.n; i = end) {
		double is = 0, said = 0;

		for (end = i; end < t->s.n && t->s.fold[end] == t->s.fold[i]; end++) {
			is += t->s.y[end];
			said += run_times_value_at(t, fn, t->s.point[end]);
		}
		said = fmin(fmax(said, is / WEIGHT_WITHIN), is * WEIGHT_WITHIN) / (end - i);
		weigh_run(t, i, end - i, fmax(said, TIME_LEAST_S));
	}
}

bool run_times_is_steep(const struct fitter *t, uint32_t size)
{
	return t->rounds && !(size & TIME_INVERSE) && t->l->feature[size].op == FEATURE_RANKS;
}

static void fit_product(struct fitter *t, const uint32_t x[3], struct time_fn *best, double *least)
{
	double c, a, error;

	for (uint32_t i = 0; i < 3 && x[i] != RULE_NONE; i++)
		if (run_times_is_steep(t, x[i]))
			return;
	for (uint32_t i = 0; i < t->s.n; i++)
		t->s.x[i] = run_times_product_at(t, x, t->s.point[i]);
	error = law_error(t, LAW_RATIO, &c, &a);
	if (a > 0 && error < *least * (1 - 1e-9)) {
		*least = error;
		*best = (struct time_fn){.proportional = true, .n = 1, .coef = {a}, .x = {{x[0], x[1], x[2]}}};
	}
	error = law_error(t, LAW_LINE, &c, &a);
	if (a <= 0 || !(error < *least * (best->proportional ? WORTH * WORTH : 1 - 1e-9)))
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
 * Bounds. With more ranks than processors, a waiting rank gives its processor up (yield when idle). It does so at each
 * message that the library does not send at once (Open MPI: MPI_Send of more than 256 bytes). Giving up takes many
 * times as long as the message. So the time of a call of crowded ranks may jump where its count passes a bound, a power
 * of two.
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

/* 1 / ranks, or RULE_NONE where that is no size: the longer a rank's turns are to come, the more of its waiting others compute. */
static uint32_t inverse_ranks(const struct fitter *t)
{
	for (uint32_t i = 0; i < t->n_sizes; i++)
		if (t->size[i] & TIME_INVERSE && t->l->feature[t->size[i] & ~TIME_INVERSE].op == FEATURE_RANKS)
			return t->size[i];
	return RULE_NONE;
}

/* With each bound that the sample tells from the others, and another feature or RULE_NONE. */
static void fit_bounds_by(struct fitter *t, const struct feature *count, uint32_t by, struct time_fn *best, double *least)
{
	for (uint32_t f = 0; f < t->l->n_features; f++) {
		bool same = !is_bound_of(&t->l->feature[f], count) || is_same(t, RULE_NONE, f);

		for (uint32_t g = 0; !same && g < t->l->n_features; g++)
			same = g != f && is_bound_of(&t->l->feature[g], count) && is_same(t, f, g);
		if (!same)
			fit_product(t, (uint32_t[3]){f, by, RULE_NONE}, best, least);
	}
}

/* What a turn takes does not go with the length of the message, and may go with the number of ranks. */
static void fit_bounds(struct fitter *t, const struct feature *count, struct time_fn *out, double *least)
{
	struct time_fn best;
	double now;

	fit_bounds_by(t, count, RULE_NONE, out, least);
	best = *out;
	now = *least;
	if (inverse_ranks(t) != RULE_NONE)
		fit_bounds_by(t, count, inverse_ranks(t), &best, &now);
	if (now < *least * WORTH * WORTH) {
		*out = best;
		*least = now;
	}
}

static const struct feature *bound_in(const struct fitter *t, const struct time_fn *fn)
{
	const struct feature *f = fn->n ? &t->l->feature[fn->x[0][0] & ~TIME_INVERSE] : NULL;

	return f && f->op == FEATURE_ABOVE ? f : NULL;
}

static double missed_by(const struct fitter *t, const struct time_fn *fn)
{
	double sum = 0;

	for (uint32_t i = 0; i < t->s.n; i++) {
		double e = t->s.y[i] - run_times_value_at(t, fn, t->s.point[i]);

		sum += t->s.w[i] * e * e;
	}
	return sum;
}

/* Chooses a product of the first n sizes, and then a sum of products of its factors. */
static double choose_terms(struct fitter *t, uint32_t n, double least, struct time_fn *out)
{
	for (uint32_t degree = 1; degree <= 3 && least > EXACT * EXACT; degree++) {
		struct time_fn best = *out;
		double now = least;

		fit_degree(t, n, degree, &best, &now);
		if (now < least * WORTH * WORTH) {
			*out = best;
			least = now;
		}
	}
	if (out->n && !bound_in(t, out) && least > EXACT * EXACT)
		least = run_times_choose_sum(t, 0, WORTH * WORTH, least, out);
	/* There are many sums with another size: one fits noise by chance. */
	if (out->n && !bound_in(t, out) && least > EXACT * EXACT)
		least = run_times_choose_sum(t, n, GOOD, least, out);
	return least;
}

/* Is the sample of at least n runs? */
static bool has_runs(const struct fitter *t, uint32_t n)
{
	for (uint32_t i = 0; n && i < t->s.n; i++)
		n -= !i || t->s.fold[i] != t->s.fold[i - 1];
	return n == 0;
}

/* The function that misses least on runs left out, with these weights; the mean square of that. count: of the call, or NULL. */
static double choose_fn(struct fitter *t, const struct feature *count, struct time_fn *out)
{
	double c = 0, a, least;

	*out = (struct time_fn){0};
	memset(t->s.x, 0, t->s.n * sizeof(*t->s.x));
	least = law_error(t, LAW_CONSTANT, &c, &a);
	out->constant_s = c;
	if (count)
		fit_bounds(t, count, out, &least);
	/* Two runs do not show which of several variables a time goes with. */
	for (int all = t->n_seen == 0; all < 2 && (!all || !t->n_seen || (least > GOOD * GOOD && has_runs(t, 3))); all++)
		least = choose_terms(t, all ? t->n_sizes : t->n_seen, least, out);
	return least;
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

/* Fits a function to a subject. Returns the mean square error, or -1 if no run in use has a sample. */
static double fit_time(struct fitter *t, const struct subject *of, enum kind kind, struct time_fn *out)
{
	double least, sum = 0;

	take_sample(t, of, kind);
	t->rounds = of->call && has_two_numbers(t);
	*out = (struct time_fn){0};
	if (!t->s.n)
		return -1;
	least = choose_fn(t, of->call ? count_of(t, (uint32_t)(of->call - t->r->leaf)) : NULL, out);
	for (int round = 0; round < ROUNDS; round++) {
		weigh_again(t, out);
		least = run_times_fit_sum(t, out);
	}
	for (uint32_t i = 0; i < t->s.n; i++)
		sum += t->s.y[i];
	out->error_s = sqrt(least) * sum / t->s.n;
	return least;
}

/* A bound is a property of the MPI library. So a bound found in one call applies to other calls of the same function
 * whose count passes it. This covers calls that only one run makes: cross-validation of such a call is impossible. */
static void share_bounds(struct fitter *t, enum kind kind, struct time_fn *fn)
{
	for (uint32_t i = 0; i < t->r->n_leaf; i++) {
		const struct feature *bound = bound_in(t, &fn[i]);
		size_t name = strcspn(t->r->leaf[i].name, " ");

		for (uint32_t k = 0; bound && k < t->r->n_leaf; k++) {
			const struct feature *count;

			if (bound_in(t, &fn[k]) || strncmp(t->r->leaf[k].name, t->r->leaf[i].name, name + 1))
				continue;
			take_sample(t, &(struct subject){.call = &t->r->leaf[k]}, kind);
			count = count_of(t, k);
			for (uint32_t f = 0; count && f < t->l->n_features; f++) {
				struct time_fn other = {.n = 1, .x = {{f, RULE_NONE, RULE_NONE}}};

				if (!is_bound_of(&t->l->feature[f], count) || t->l->feature[f].w != bound->w || is_same(t, RULE_NONE, f))
					continue;
				run_times_fit_sum(t, &other);
				other.error_s = fn[k].error_s;
				if (other.n && missed_by(t, &other) < missed_by(t, &fn[k]))
					fn[k] = other;
			}
		}
	}
}

/* ---- all of them ---- */

/* MPI_Init and MPI_Finalize are outside of the walltime. */
bool run_times_outside(const char *name)
{
	return !strncmp(name, "MPI_Init", 8) || !strncmp(name, "MPI_Finalize", 12);
}

/*
 * Chooses the function of a way to a call from the sample of that way. The default is the function of all ways to the
 * call, times a number. The way's own function is used if its error on runs left out is smaller. Few runs go some ways,
 * and do not show how times grow there.
 */
static void choose_way(struct fitter *t, const struct time_fn *into, double least, struct time_fn *out)
{
	double c, a, error;

	for (uint32_t i = 0; i < t->s.n; i++)
		t->s.x[i] = run_times_value_at(t, into, t->s.point[i]);
	error = law_error(t, LAW_RATIO, &c, &a);
	if (!(a > 0) || (has_runs(t, 2) && least < error * WORTH * WORTH))
		return;
	*out = *into;
	out->error_s *= a;
	out->constant_s *= a;
	for (uint32_t k = 0; k < out->n; k++)
		out->coef[k] *= a;
}

void run_times_fit_all(struct fitter *t, struct run_times *out)
{
	const struct runs *r = t->r;

	for (uint32_t i = 0; i < r->n_leaf; i++)
		fit_time(t, &(struct subject){.way = RUNS_NO_WAY, .to = i}, KIND_ALL, &out->into[i]);
	for (uint32_t w = 0; w < r->n_ways; w++) {
		const struct time_fn *into = &out->into[r->way[w].to];
		double least = fit_time(t, &(struct subject){.way = w}, KIND_ALL, &out->gap[w]);

		if (least < 0)
			out->gap[w] = *into;
		else
			choose_way(t, into, least, &out->gap[w]);
	}
	for (uint32_t i = 0; i < r->n_leaf; i++) {
		struct subject call = {.call = &r->leaf[i]};

		out->dur[i] = out->crowded[i] = (struct time_fn){0};
		if (run_times_outside(call.call->name))
			continue;
		fit_time(t, &call, out->split ? KIND_ALONE : KIND_ALL, &out->dur[i]);
		if (out->split)
			fit_time(t, &call, KIND_CROWDED, &out->crowded[i]);
	}
	share_bounds(t, out->split ? KIND_CROWDED : KIND_ALL, out->split ? out->crowded : out->dur);
}

/* Are there enough different runs of each kind? */
static bool find_split(const struct fitter *t)
{
	uint32_t n[2] = {0};

	for (uint32_t i = 0; i < t->r->n_runs; i++) {
		if (!t->r->run[i].place.processors)
			return false;
		n[is_crowded(&t->r->run[i])] += t->like[i].first == i;
	}
	return n[0] >= RUNS_MIN && n[1] >= RUNS_MIN;
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
		out->gap = arena_alloc(a, r->n_ways, sizeof(*out->gap));
		out->into = arena_alloc(a, r->n_leaf, sizeof(*out->into));
		out->dur = arena_alloc(a, r->n_leaf, sizeof(*out->dur));
		out->crowded = arena_alloc(a, r->n_leaf, sizeof(*out->crowded));
		t.without = arena_alloc(a, r->n_runs, sizeof(*t.without));
		t.like = arena_alloc(a, r->n_runs, sizeof(*t.like));
		t.s.point = arena_alloc(a, r->n_points, sizeof(*t.s.point));
		t.s.fold = arena_alloc(a, r->n_points, sizeof(*t.s.fold));
		t.s.y = arena_alloc(a, r->n_points, sizeof(*t.s.y));
		t.s.w = arena_alloc(a, r->n_points, sizeof(*t.s.w));
		t.s.x = arena_alloc(a, r->n_points, sizeof(*t.s.x));
		t.fold = arena_alloc(a, r->n_runs, sizeof(*t.fold));
		t.gram = arena_alloc(a, TIME_FOLDS, sizeof(*t.gram));
	}
	if (!a || !out->gap || !out->into || !out->dur || !out->crowded || !t.without || !t.like || !fill_times(&t, a) || !t.s.point || !t.s.fold || !t.s.y || !t.s.w || !t.s.x || !t.fold || !t.gram) {
		err_set(err, "no memory for times");
		goto out;
	}
	vars = vars_of_messages(l);
	choose_sizes(&t, vars);
	t.n_seen = vars ? t.n_sizes : 0;
	choose_sizes(&t, ~vars);
	run_times_find_like(&t);
	out->split = find_split(&t);
	run_times_leave_out(&t, out);
	run_times_fit_all(&t, out);
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
