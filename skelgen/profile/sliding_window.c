/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows that go along with a loop: see mix_follow.h. */
#include "skelgen/profile/sliding_window.h"

#include <math.h>
#include <stdlib.h>

#define LEAST    8     /* pairs that say something: by chance 8 are in order once in 40,000 times */
#define WINDOW   0.125 /* of all, and at most: else the whole is said to be met */

static int by_counter(const void *a, const void *b)
{
	const struct mix_pair *x = a, *y = b;

	return (x->counter > y->counter) - (x->counter < y->counter);
}

/* Of a table of size S, gone along evenly with a window W in which addresses are drawn, two of n samples are out of order with
 * probability W / 3S where W is small: the integral of (1 - d / W)^2 / 2 over their distance d. Half a pair more stands for none. */
bool mix_follow(struct mix_pair *p, uint32_t n, struct mix_followed *out)
{
	double pairs = (double)n * (n - 1) / 2, wrong = 0, span, part;
	uint64_t low = UINT64_MAX, high = 0;

	if (n < LEAST)
		return false;
	qsort(p, n, sizeof(*p), by_counter);
	for (uint32_t i = 0; i < n; i++) {
		low = p[i].address < low ? p[i].address : low;
		high = p[i].address > high ? p[i].address : high;
		for (uint32_t k = i + 1; k < n; k++)
			wrong += p[i].address > p[k].address ? 1 : p[i].address == p[k].address ? 0.5 : 0;
	}
	wrong = fmin(wrong, pairs - wrong); /* backward is as good */
	part = 3 * (wrong + 0.5) / pairs;
	span = (double)p[n - 1].counter - (double)p[0].counter;
	if (part > WINDOW || span <= 0)
		return false;
	*out = (struct mix_followed){.window = part * (double)(high - low), .slope = (double)(high - low) / span};
	return true;
}
