/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that page and server share: dictionary, statistics, levels. See view.h. */
#include <math.h>
#include <stdlib.h>

#include "trace/view/pack.h"

#define CELLS_MAX (1u << 20)
#define STEPS_MAX 4096
#define STEPS_MIN 256

struct view *view_create(const struct view_input *in, struct errbuf *err)
{
	struct view *v = calloc(1, sizeof(*v));

	if (!v) {
		err_set(err, "no memory");
		return NULL;
	}
	v->in = in;
	v->n_ranks = timeline_n_ranks(in->timeline);
	if (view_late_build(v, err) < 0 || view_dict_build(v, err) < 0 || view_stats_build(v, err) < 0) {
		view_destroy(v);
		return NULL;
	}
	v->end_ns = timeline_end_ns(in->timeline);
	return v;
}

void view_destroy(struct view *v)
{
	if (!v)
		return;
	view_dict_free(v);
	free(v->fn_calls);
	free(v->fn_ns);
	free(v->rank);
	free(v);
}

uint32_t view_steps(const struct view *v)
{
	uint32_t n = v->untimed ? STEPS_MAX / 2 : STEPS_MAX; /* recorded levels have half as many steps or more */

	while (n > STEPS_MIN && (uint64_t)n * v->n_ranks > CELLS_MAX)
		n /= 2;
	return n;
}

/* Write shares as bytes. Their sum is the rounded sum of the exact shares, as far as bytes allow. */
static void put_cell(const float share[TSTATE_N], struct buf *out)
{
	double sum = 0;
	uint8_t b[TSTATE_N];
	int before = 0;

	for (int s = 0; s < TSTATE_N; s++) {
		int upto;

		sum += share[s] > 0 ? (double)share[s] : 0;
		upto = (int)lround((sum < 1 ? sum : 1) * 255);
		b[s] = (uint8_t)(upto - before);
		before = upto;
	}
	buf_put(out, b, sizeof(b));
}

int view_levels(struct view *v, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1, uint32_t n, struct buf *out,
		struct errbuf *err)
{
	float(*share)[TSTATE_N];
	int rv = 0;

	if (r1 > v->n_ranks)
		r1 = v->n_ranks;
	if (r0 >= r1 || t0 >= t1 || !n)
		return 0;
	share = calloc(n, sizeof(*share));
	if (!share)
		return err_set(err, "no memory");
	for (uint32_t r = r0; r < r1 && rv == 0; r++) {
		rv = timeline_levels(v->in->timeline, r, r + 1, t0, t1, n, share, err);
		if (rv == 0)
			view_late_levels(v, r, t0, t1, n, share);
		for (uint32_t i = 0; i < n && rv == 0; i++)
			put_cell(share[i], out);
	}
	free(share);
	if (rv == 0 && out->failed)
		return err_set(err, "no memory");
	return rv;
}
