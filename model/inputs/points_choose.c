/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the inputs of computed points: see points_choose.h. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/inputs/points_choose.h"

#define SAME_REL 1e-8 /* what writing a number with nine digits may do to it */
#define TIE_REL	 1e-6
/* A law says nothing farther from the runs (predictor/estimate/scaling_model.c). */
#define REACH	   0.5
#define REACH_DOWN 0.5
#define TRIES	   8 /* for each point: rounding makes many inputs the same */

static bool same(double a, double b)
{
	return fabs(a - b) <= SAME_REL * fmax(fabs(a), fabs(b));
}

static double common_divisor(double a, double b)
{
	while (b >= 1) {
		double rest = fmod(a, b);

		a = b;
		b = rest;
	}
	return a;
}

static bool is_power_of_two(double x)
{
	int e;

	return x > 0 && frexp(x, &e) == 0.5;
}

static bool tied(const struct points_run *run, unsigned n, unsigned var, unsigned with)
{
	double ratio = run[0].vars[var] / run[0].vars[with];

	if (!isfinite(ratio))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!(fabs(run[i].vars[var] - ratio * run[i].vars[with]) <= TIE_REL * fabs(run[i].vars[var])))
			return false;
	return true;
}

static struct points_axis axis_of(const struct points_run *run, unsigned n, unsigned var)
{
	struct points_axis a = {.var = var, .lo = INFINITY, .hi = -INFINITY, .powers = true};
	bool whole = true;

	for (unsigned i = 0; i < n; i++) {
		double x = run[i].vars[var];

		a.lo = fmin(a.lo, x);
		a.hi = fmax(a.hi, x);
		a.powers &= is_power_of_two(x);
		whole &= x == floor(x) && x >= 0 && x < 1e15;
		a.step = whole ? common_divisor(a.step, x) : 0;
	}
	return a;
}

unsigned points_axes(const struct points_run *run, unsigned n, struct points_axis axis[IDENTITY_VARS_MAX])
{
	unsigned n_axes = 0;

	for (unsigned v = 0; v < run[0].n_vars; v++) {
		struct points_axis a = axis_of(run, n, v);
		unsigned with = 0;

		if (same(a.lo, a.hi))
			continue;
		while (with < n_axes && !tied(run, n, v, axis[with].var))
			with++;
		if (with == n_axes)
			axis[n_axes++] = a;
	}
	return n_axes;
}

/* The digits of n to this base, behind the point and turned round: Halton, "On the efficiency of certain quasi-random sequences of
 * points", Numerische Mathematik 2, 1960. */
static double halton(unsigned n, unsigned base)
{
	double x = 0, part = 1;

	for (; n; n /= base) {
		part /= base;
		x += part * (n % base);
	}
	return x;
}

/* share: 0 is the least value that is in reach, 1 the greatest. Even by ratio if all numbers are above zero.
 * A law takes no odd powers or roots of an input below 0, and no logarithm of one below 1. No point goes below unless a run does. */
static double axis_at(const struct points_axis *a, double share)
{
	double width = a->hi - a->lo, least = a->lo - REACH * width, most = a->hi + REACH * width, x;

	if (a->lo > 0) {
		least = fmax(least, a->lo * REACH_DOWN);
		most = fmin(most, a->hi / REACH_DOWN);
		least = a->lo >= 1 ? fmax(least, 1) : least;
		x = least * pow(most / least, share);
	} else {
		least = a->lo < 0 ? least : 0;
		x = least + share * (most - least);
	}
	if (a->powers)
		x = exp2(round(log2(x)));
	else if (a->step > 0)
		x = a->step * round(x / a->step);
	return x >= least && x <= most ? x : NAN;
}

static bool is_new(const double *vars, unsigned n_vars, const struct points *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		unsigned v = 0;

		while (v < n_vars && same(vars[v], p->p[i].vars[v]))
			v++;
		if (v == n_vars)
			return false;
	}
	return true;
}

/* Inputs that always were in the proportion of the runs are so here. false: no such input. */
static bool inputs_set(const struct points_run *run, unsigned n, const struct points_axis *axis, unsigned n_axes, unsigned turn, double *vars)
{
	static const unsigned primes[POINTS_AXES_MAX] = {2, 3, 5, 7, 11, 13, 17, 19, 23};

	memcpy(vars, run[0].vars, sizeof(run[0].vars));
	for (unsigned k = 0; k < n_axes; k++) {
		double x = axis_at(&axis[k], halton(turn, primes[k]));

		if (isnan(x))
			return false;
		for (unsigned v = 0; v < run[0].n_vars; v++)
			if (v != axis[k].var && run[0].vars[axis[k].var] != 0 && tied(run, n, v, axis[k].var))
				vars[v] = run[0].vars[v] / run[0].vars[axis[k].var] * x;
		vars[axis[k].var] = x;
	}
	return true;
}

void points_choose(const struct points_run *run, unsigned n, const struct points_axis *axis, unsigned n_axes, struct points *out)
{
	double vars[IDENTITY_VARS_MAX];

	out->n = 0;
	out->n_vars = run[0].n_vars;
	for (unsigned i = 0; i < n && out->n < POINTS_MAX; i++)
		if (is_new(run[i].vars, out->n_vars, out))
			memcpy(out->p[out->n++].vars, run[i].vars, sizeof(run[i].vars));
	for (unsigned turn = 1; turn <= TRIES * POINTS_MAX && out->n < POINTS_MAX; turn++)
		if (inputs_set(run, n, axis, n_axes, turn, vars) && is_new(vars, out->n_vars, out))
			memcpy(out->p[out->n++].vars, vars, sizeof(vars));
}
