/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long simulated programs take: three laws of a size n on p ranks, in seconds. */
#ifndef PRECEDENT_TESTS_UNIT_SCALING_LAWS_H
#define PRECEDENT_TESTS_UNIT_SCALING_LAWS_H

#include <math.h>

static inline double law_of(int kind, double n, double p)
{
	switch (kind) {
	case 0:
		return 10 + 1e-4 * n * n / p + 0.2 * p;
	case 1:
		return 30 + 0.05 * n;
	default:
		return 1e-3 * pow(n, 1.8) / pow(p, 0.9);
	}
}

#endif
