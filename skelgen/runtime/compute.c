/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute blocks: which kernel, how many units. The shares of the kernels are kept by credit: a slice goes to the
 * kernel that is owed most.
 */
#include "skelgen/runtime/compute.h"

#include <math.h>
#include <stddef.h>

#define SLICE_NS 16000.0 /* a longer block changes kernels this often */
#define LEAST_NS 60.0    /* shorter ones wait for the next */
#define DEBT_NS  5000.0  /* most that is carried from block to block */

/* Shares of time, until a block's own mix is known. */
static const double share[KERNEL_N] = {
	[KERNEL_INTEGER] = 0.30,
	[KERNEL_SCALAR] = 0.25,
	[KERNEL_VECTOR] = 0.35,
	[KERNEL_STREAM] = 0.10,
};

static struct {
	struct calibration cal;
	double credit[KERNEL_N];
	double carry_ns;
} state;

double curve_ns(const struct curve *c, double units)
{
	int i = 0;

	if (units <= 0)
		return 0;
	if (units < 1)
		return c->ns[0] * units;
	while (i < CURVE_POINTS - 2 && units >= (double)(2ull << i))
		i++;
	double u0 = (double)(1ull << i);

	return c->ns[i] + (units - u0) / u0 * (c->ns[i + 1] - c->ns[i]);
}

double curve_units(const struct curve *c, double ns)
{
	int i = 0;

	if (ns <= c->ns[0])
		return ns > 0 && c->ns[0] > 0 ? ns / c->ns[0] : 0;
	while (i < CURVE_POINTS - 2 && ns >= c->ns[i + 1])
		i++;
	double u0 = (double)(1ull << i), step = c->ns[i + 1] - c->ns[i];

	return step > 0 ? u0 + u0 * (ns - c->ns[i]) / step : u0;
}

double curve_ns_per_unit(const struct curve *c)
{
	return (c->ns[CURVE_POINTS - 1] - c->ns[CURVE_POINTS - 2]) / (double)(1ull << (CURVE_POINTS - 2));
}

void compute_open(const struct calibration *c)
{
	state.cal = *c;
	for (int k = 0; k < KERNEL_N; k++)
		state.credit[k] = 0;
	state.carry_ns = 0;
}

static int kernel_owed_most(double slice_ns)
{
	int best = 0;

	for (int k = 0; k < KERNEL_N; k++) {
		state.credit[k] += share[k] * slice_ns;
		if (state.credit[k] > state.credit[best])
			best = k;
	}
	return best;
}

/* Work, by the curves, of a block that shall take ns. */
static double block_work(double ns)
{
	const double *t = state.cal.block_ns;
	double w = BLOCK_LEAST_NS;
	int i = 0;

	if (ns <= t[0])
		return w * ns / t[0];
	if (ns >= t[BLOCK_POINTS - 1])
		return BLOCK_LEAST_NS * (double)(1ull << (BLOCK_POINTS - 1)) * (ns / t[BLOCK_POINTS - 1]);
	while (ns >= t[i + 1])
		i++;
	w *= (double)(1ull << i);
	return w + w * (ns - t[i]) / (t[i + 1] - t[i]);
}

/* Do that much work by the curves; the rest that rounding leaves, or has taken. */
static double work(double left)
{
	do {
		double slice = left < 2 * SLICE_NS ? left : SLICE_NS;
		int k = kernel_owed_most(slice);
		double units = floor(curve_units(&state.cal.kernel[k], slice) + 0.5);
		double done;

		if (units < 1)
			units = 1;
		done = curve_ns(&state.cal.kernel[k], units);
		kernel_run(k, (uint64_t)units);
		state.credit[k] -= done;
		left -= done;
	} while (left >= LEAST_NS);
	return left;
}

void compute_block(double ns)
{
	double want = ns + state.carry_ns;

	if (want < LEAST_NS)
		want -= state.cal.call_ns;
	else
		want = work(block_work(want));
	state.carry_ns = want < -DEBT_NS ? -DEBT_NS : want;
}

/* The curves keep what a kernel takes by itself: they only turn work into units. */
void calibration_scale(struct calibration *c, double factor)
{
	for (int i = 0; i < BLOCK_POINTS; i++)
		c->block_ns[i] *= factor;
}
