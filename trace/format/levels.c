/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rank's time line in equal steps of adaptive width: see levels.h. */
#include <stdlib.h>
#include <string.h>

#include "trace/format/levels.h"

#define SHIFT_MAX 50u /* 4096 steps of 2^50 ticks: 2^62 ticks, 49 years at 3 GHz */

int levels_init(struct levels *l, unsigned shift)
{
	*l = (struct levels){.shift = shift < SHIFT_MAX ? shift : SHIFT_MAX};
	l->step = calloc(LEVELS_STEPS, sizeof(*l->step));
	return l->step ? 0 : -1;
}

void levels_free(struct levels *l)
{
	free(l->step);
	*l = (struct levels){0};
}

/* Double the width of a step: each two neighbours become one. */
static void coarsen(struct levels *l)
{
	uint32_t half = (l->n + 1) / 2;

	for (uint32_t i = 0; i < half; i++)
		for (int s = 0; s < TSTATE_N; s++)
			l->step[i][s] = l->step[2 * i][s] + (2 * i + 1 < l->n ? l->step[2 * i + 1][s] : 0);
	memset(l->step + half, 0, (l->n - half) * sizeof(*l->step));
	l->n = half;
	l->shift++;
}

void levels_limit(struct levels *l, uint64_t n_steps)
{
	while (l->n > n_steps && l->n > 1 && l->shift < SHIFT_MAX)
		coarsen(l);
}

void levels_add_steps(struct levels *l, uint64_t t0, uint64_t t1, enum trace_state state)
{
	uint64_t last;

	if (t1 <= t0 || t1 > 1ull << (SHIFT_MAX + 12))
		return;
	while ((last = (t1 - 1) >> l->shift) >= LEVELS_STEPS)
		coarsen(l);
	if (last >= l->n)
		l->n = (uint32_t)last + 1;
	for (uint64_t i = t0 >> l->shift; i < last; i++) {
		uint64_t end = (i + 1) << l->shift;

		l->step[i][state] += end - t0;
		t0 = end;
	}
	l->step[last][state] += t1 - t0;
}

void levels_encode(const struct levels *l, struct buf *out)
{
	buf_put_uv(out, levels_width(l));
	buf_put_uv(out, l->n);
	for (uint32_t i = 0; i < l->n; i++)
		for (int s = 0; s < TSTATE_N; s++)
			buf_put_uv(out, l->step[i][s]);
}

int levels_decode(struct rdbuf *in, struct levels *l, struct errbuf *err)
{
	uint64_t width = rdbuf_uv(in), n = rdbuf_uv(in);

	*l = (struct levels){0};
	if (in->failed || !width || width & (width - 1) || width > 1ull << SHIFT_MAX)
		return err_set(err, "malformed levels: steps of %llu ticks", (unsigned long long)width);
	if (n > LEVELS_STEPS || n > rdbuf_left(in) / TSTATE_N)
		return err_set(err, "malformed levels: %llu steps", (unsigned long long)n);
	if (levels_init(l, (unsigned)__builtin_ctzll(width)) < 0)
		return err_set(err, "no memory for levels");
	l->n = (uint32_t)n;
	for (uint32_t i = 0; i < l->n; i++)
		for (int s = 0; s < TSTATE_N; s++)
			l->step[i][s] = rdbuf_uv(in);
	if (!in->failed)
		return 0;
	levels_free(l);
	return err_set(err, "malformed levels: cut off");
}
