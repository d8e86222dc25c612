/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sp: alternating directions with scalar pentadiagonal-like solves, in the pattern of the SP kernel: faces exchanged
 * all at once, then pipelines of small messages along two directions, forwards and backwards.
 * Usage: sp [N=48] [ITERATIONS=40]. Rank 0 prints one line with a checksum.
 */
#include "adi.h"

/* Recurrences over the last two points: two values per component are carried. */
static void forward(double *p, size_t stride, int n, double *carry, int begins)
{
	double a[COMPONENTS] = {0}, b[COMPONENTS] = {0};

	if (!begins) {
		memcpy(a, carry, sizeof(a));
		memcpy(b, carry + COMPONENTS, sizeof(b));
	}
	for (int i = 0; i < n; i++, p += stride)
		for (int m = 0; m < COMPONENTS; m++) {
			double v = (p[m] + 0.21 * b[m] + 0.07 * a[m]) / (1.0 + 0.3 * fabs(b[m]));

			p[m] = v;
			a[m] = b[m];
			b[m] = v;
		}
	memcpy(carry, a, sizeof(a));
	memcpy(carry + COMPONENTS, b, sizeof(b));
}

static void backward(double *p, size_t stride, int n, double *carry, int begins)
{
	double a[COMPONENTS] = {0}, b[COMPONENTS] = {0};

	if (!begins) {
		memcpy(a, carry, sizeof(a));
		memcpy(b, carry + COMPONENTS, sizeof(b));
	}
	for (int i = 0; i < n; i++, p += stride)
		for (int m = 0; m < COMPONENTS; m++) {
			double v = p[m] - 0.11 * b[m] - 0.05 * a[m];

			p[m] = v;
			a[m] = b[m];
			b[m] = v;
		}
	memcpy(carry, a, sizeof(a));
	memcpy(carry + COMPONENTS, b, sizeof(b));
}

int main(int argc, char **argv)
{
	return adi_main(argc, argv, "sp", 48, 40, 2 * COMPONENTS, forward, backward);
}
