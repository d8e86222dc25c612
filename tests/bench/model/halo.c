/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extrapolation of halo data instead of exchange: a cloud of pollution drifts and spreads in a steady wind, on a grid
 * that is cut into rows of blocks, one for each rank. Halos are exchanged at every step, or at every E-th step only;
 * in between the halo's next values come from a regression by the model core on an earlier, short run with another
 * cloud. Both ways are run in turns. Prints a line of JSON: times, how far both results are apart, and how far the one
 * with every exchange is from the exact solution.
 * Source: Pekunov (cited in model/induce/model.h), investigation of variants, prediction of data (spread of pollution,
 * 4 to 11 % less time); equations and sizes are ours.
 *
 *   mpirun -n 2 halo COLUMNS ROWS STEPS E PAIRS      rows: of each rank; fewer pairs when they take too long
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/fit.h"

#define WIND_X	  0.05 /* cells in a step */
#define WIND_Y	  0.1
#define SPREAD	  0.2  /* diffusion, square cells in a step */
#define FEATURES  7
#define LEARN_EVERY 5 /* steps that are samples */
#define LEARN_STEPS 100
#define SAMPLES_MAX 4096
#define PAIRS_MAX   999
#define BUDGET_S    8 /* no further pair after that */

enum { SOUTH, NORTH, SIDES };

struct cloud {
	double x, y, sigma; /* at the beginning, in cells */
};
/* What extrapolates the halo of one side. */
struct side {
	int rank; /* MPI_PROC_NULL: the edge of the world */
	double coef[FEATURES + 1];
	double held_out; /* error of rows that were left out, of the largest value */
};
struct block {
	int rank, ranks;
	size_t nx, ny, stride;
	double *now, *next; /* (ny + 2) rows of nx + 2 */
	struct side side[SIDES];
};
/* Values of features and the halo that came, of one side. */
struct samples {
	uint32_t n;
	double *col[FEATURES], *y;
	uint32_t group[SAMPLES_MAX];
};

static void die(const char *what)
{
	fprintf(stderr, "halo: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static double *allocate(size_t n)
{
	double *p = calloc(n, sizeof(*p));

	if (!p)
		die("no memory");
	return p;
}

/* ---- the equation ---- */

static double exact(const struct cloud *c, double x, double y, double t)
{
	double s0 = c->sigma * c->sigma, s = s0 + 2 * SPREAD * t, dx = x - c->x - WIND_X * t, dy = y - c->y - WIND_Y * t;

	return s0 / s * exp(-(dx * dx + dy * dy) / (2 * s));
}

/* With the halos of the neighbours, who are known at the beginning. */
static void begin(struct block *b, const struct cloud *c)
{
	memset(b->now, 0, (b->ny + 2) * b->stride * sizeof(double));
	memset(b->next, 0, (b->ny + 2) * b->stride * sizeof(double));
	for (size_t j = 0; j < b->ny + 2; j++) {
		if ((j == 0 && b->side[SOUTH].rank == MPI_PROC_NULL) || (j == b->ny + 1 && b->side[NORTH].rank == MPI_PROC_NULL))
			continue;
		for (size_t i = 1; i <= b->nx; i++)
			b->now[j * b->stride + i] = exact(c, (double)i, (double)b->rank * (double)b->ny + (double)j, 0);
	}
}

static void advance(struct block *b)
{
	double *was = b->now;

	for (size_t j = 1; j <= b->ny; j++) {
		const double *restrict c = was + j * b->stride, *restrict s = c - b->stride, *restrict n = c + b->stride;
		double *restrict out = b->next + j * b->stride;

		for (size_t i = 1; i <= b->nx; i++)
			out[i] = c[i] + SPREAD * (c[i - 1] + c[i + 1] + s[i] + n[i] - 4 * c[i]) -
				 WIND_X / 2 * (c[i + 1] - c[i - 1]) - WIND_Y / 2 * (n[i] - s[i]);
	}
	b->now = b->next;
	b->next = was;
}

/* Rows of a side: the halo, the block's edge and the row behind it. */
static double *row(const struct block *b, double *of, int side, size_t depth)
{
	return of + (side == SOUTH ? depth : b->ny + 1 - depth) * b->stride;
}

static void exchange(struct block *b)
{
	for (int s = 0; s < SIDES; s++)
		MPI_Sendrecv(row(b, b->now, s, 1) + 1, (int)b->nx, MPI_DOUBLE, b->side[s].rank, s,
			     row(b, b->now, !s, 0) + 1, (int)b->nx, MPI_DOUBLE, b->side[!s].rank, s, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
}

/* ---- extrapolation ---- */

/* The old halo and its neighbours, the block's edge and the row behind it, before and after the step. */
static void features(const struct block *b, int side, const double *out[FEATURES])
{
	const double *h = row(b, b->next, side, 0);

	out[0] = h - 1;
	out[1] = h;
	out[2] = h + 1;
	out[3] = row(b, b->next, side, 1);
	out[4] = row(b, b->next, side, 2);
	out[5] = row(b, b->now, side, 1);
	out[6] = row(b, b->now, side, 2);
}

static void extrapolate(struct block *b)
{
	for (int s = 0; s < SIDES; s++) {
		const double *f[FEATURES], *c = b->side[s].coef;
		double *restrict out = row(b, b->now, s, 0);

		if (b->side[s].rank == MPI_PROC_NULL)
			continue;
		features(b, s, f);
		for (size_t i = 1; i <= b->nx; i++)
			out[i] = c[FEATURES] + c[0] * f[0][i] + c[1] * f[1][i] + c[2] * f[2][i] + c[3] * f[3][i] + c[4] * f[4][i] +
				 c[5] * f[5][i] + c[6] * f[6][i];
	}
}

static void sample(struct block *b, int side, int step, struct samples *to)
{
	const double *f[FEATURES], *h = row(b, b->now, side, 0);

	features(b, side, f);
	for (size_t i = 1; i <= b->nx && to->n < SAMPLES_MAX; i++) {
		for (int k = 0; k < FEATURES; k++)
			to->col[k][to->n] = f[k][i];
		to->group[to->n] = (uint32_t)step;
		to->y[to->n++] = h[i];
	}
}

/* Linear regression by the core's least squares; every sixth sampled step is left out for the error. */
static void side_fit(struct side *side, const struct samples *s)
{
	double *ones = allocate(s->n + 1ull), *term[FEATURES + 1], coef[FEATURES + 1], sum = 0, most = 0;
	uint32_t *fold = calloc(s->n + 1ull, sizeof(*fold)), out = 0;
	struct fit_sample t = {.n = s->n, .n_cols = FEATURES, .n_folds = 2, .y = s->y, .weight = ones, .fold = fold};

	if (!fold)
		die("no memory");
	for (uint32_t i = 0; i < s->n; i++) {
		ones[i] = 1;
		fold[i] = s->group[i] / LEARN_EVERY % 6 == 5;
	}
	for (int k = 0; k < FEATURES; k++)
		term[k] = s->col[k];
	term[FEATURES] = ones;
	if (fit_least_squares(&t, term, FEATURES + 1, 1, coef) < 0 ||
	    fit_least_squares(&t, term, FEATURES + 1, UINT32_MAX, side->coef) < 0)
		die("the samples do not determine the halo");
	for (uint32_t i = 0; i < s->n; i++) {
		double e = -s->y[i];

		most = fmax(most, fabs(s->y[i]));
		for (int k = 0; fold[i] && k <= FEATURES; k++)
			e += coef[k] * term[k][i];
		sum += fold[i] ? e * e : 0;
		out += fold[i];
	}
	side->held_out = out && most > 0 ? sqrt(sum / out) / most : 0;
	free(ones);
	free(fold);
}

/* From a short run with a cloud of its own, which has every exchange. */
static void learn(struct block *b, const struct cloud *c)
{
	struct samples s[SIDES] = {0};
	double *block = allocate(SIDES * (FEATURES + 1) * (size_t)SAMPLES_MAX);

	for (int k = 0; k < SIDES * (FEATURES + 1); k++)
		*(k % (FEATURES + 1) == FEATURES ? &s[k / (FEATURES + 1)].y : &s[k / (FEATURES + 1)].col[k % (FEATURES + 1)]) =
		    block + (size_t)k * SAMPLES_MAX;
	begin(b, c);
	for (int t = 1; t <= LEARN_STEPS; t++) {
		advance(b);
		exchange(b);
		for (int k = 0; k < SIDES; k++)
			if (t % LEARN_EVERY == 0 && b->side[k].rank != MPI_PROC_NULL)
				sample(b, k, t, &s[k]);
	}
	for (int k = 0; k < SIDES; k++)
		if (b->side[k].rank != MPI_PROC_NULL)
			side_fit(&b->side[k], &s[k]);
	free(block);
}

/* ---- runs ---- */

/* Seconds, of the slowest rank. */
static double run(struct block *b, const struct cloud *c, int steps, int every)
{
	double took;

	begin(b, c);
	MPI_Barrier(MPI_COMM_WORLD);
	took = -MPI_Wtime();
	for (int t = 1; t <= steps; t++) {
		advance(b);
		if (t % every == 0)
			exchange(b);
		else
			extrapolate(b);
	}
	took += MPI_Wtime();
	MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return took;
}

/* Whether there is time for another pair, as rank 0 sees it. */
static bool go_on(const struct block *b, double begin_s)
{
	int more = b->rank || MPI_Wtime() - begin_s < BUDGET_S;

	MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return more;
}

/* Largest difference of the block from `other`, or from the exact solution, as a share of the largest value. */
static double apart(const struct block *b, const double *other, const struct cloud *c, int steps)
{
	double most[2] = {0, 0};

	for (size_t j = 1; j <= b->ny; j++)
		for (size_t i = 1; i <= b->nx; i++) {
			double v = b->now[j * b->stride + i], y = (double)b->rank * (double)b->ny + (double)j;
			double w = other ? other[j * b->stride + i] : exact(c, (double)i, y, steps);

			most[0] = fmax(most[0], fabs(v - w));
			most[1] = fmax(most[1], fabs(w));
		}
	MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most[0] / most[1];
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void compare_ways(struct block *b, const struct cloud *c, int steps, int every, int pairs)
{
	double begin_s = MPI_Wtime();
	double all[PAIRS_MAX], some[PAIRS_MAX], same[PAIRS_MAX], ratio[PAIRS_MAX], noise[PAIRS_MAX], error, discrete;
	size_t bytes = (b->ny + 2) * b->stride * sizeof(double);
	double *kept = allocate((b->ny + 2) * b->stride);

	run(b, c, steps, 1);
	memcpy(kept, b->now, bytes);
	discrete = apart(b, NULL, c, steps);
	run(b, c, steps, every);
	error = apart(b, kept, c, steps);
	for (int p = 0; p < pairs; p++) {
		if (p % 2)
			some[p] = run(b, c, steps, every);
		all[p] = run(b, c, steps, 1);
		if (p % 2 == 0)
			some[p] = run(b, c, steps, every);
		same[p] = run(b, c, steps, 1);
		ratio[p] = some[p] / all[p];
		noise[p] = same[p] / all[p];
		if (!go_on(b, begin_s))
			pairs = p + 1;
	}
	qsort(all, (size_t)pairs, sizeof(*all), compare);
	qsort(some, (size_t)pairs, sizeof(*some), compare);
	qsort(ratio, (size_t)pairs, sizeof(*ratio), compare);
	qsort(noise, (size_t)pairs, sizeof(*noise), compare);
	if (b->rank == 0)
		printf("{\"columns\":%zu,\"rows\":%zu,\"ranks\":%d,\"steps\":%d,\"every\":%d,\"pairs\":%d,\"exchange_s\":%.6g,"
		       "\"extrapolate_s\":%.6g,\"ratio\":%.5f,\"ratio_low\":%.5f,\"ratio_high\":%.5f,\"noise\":%.5f,\"noise_low\":%.5f,"
		       "\"noise_high\":%.5f,\"error\":%.3g,\"discretisation\":%.3g,\"fit_error\":%.3g}\n",
		       b->nx, b->ny, b->ranks, steps, every, pairs, all[pairs / 2], some[pairs / 2], ratio[pairs / 2],
		       ratio[pairs / 4], ratio[pairs * 3 / 4], noise[pairs / 2], noise[pairs / 4], noise[pairs * 3 / 4], error, discrete,
		       b->side[NORTH].held_out);
	free(kept);
}

static long number(const char *s, long least, long most)
{
	char *end;
	long v = strtol(s, &end, 10);

	if (*end || end == s || v < least || v > most)
		die("usage: halo COLUMNS ROWS STEPS E PAIRS");
	return v;
}

int main(int argc, char **argv)
{
	struct block b = {0};
	struct cloud cloud, other;
	int steps, every, pairs;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
	if (argc != 6)
		die("usage: halo COLUMNS ROWS STEPS E PAIRS");
	b.nx = (size_t)number(argv[1], 8, 16384);
	b.ny = (size_t)number(argv[2], 4, 16384);
	steps = (int)number(argv[3], 1, 1000000);
	every = (int)number(argv[4], 1, 1000);
	pairs = (int)number(argv[5], 1, PAIRS_MAX);
	b.stride = b.nx + 2;
	b.now = allocate((b.ny + 2) * b.stride);
	b.next = allocate((b.ny + 2) * b.stride);
	b.side[SOUTH].rank = b.rank ? b.rank - 1 : MPI_PROC_NULL;
	b.side[NORTH].rank = b.rank + 1 < b.ranks ? b.rank + 1 : MPI_PROC_NULL;
	/* The cloud crosses from the first block into the second one; the one to learn from lies elsewhere. */
	cloud = (struct cloud){0.4 * (double)b.nx, (double)b.ny - WIND_Y * steps / 2, (double)b.nx / 16};
	other = (struct cloud){0.6 * (double)b.nx, 1.05 * (double)b.ny, (double)b.nx / 12};
	learn(&b, &other);
	compare_ways(&b, &cloud, steps, every, pairs);
	free(b.now);
	free(b.next);
	MPI_Finalize();
	return 0;
}
