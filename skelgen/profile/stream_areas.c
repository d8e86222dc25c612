/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Areas of memory that a loop goes through: see mix_walk.h. */
#include "skelgen/profile/stream_areas.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define LINE      64
#define AGREE     2         /* samples at which two accesses are as far apart */
#define STEP_MOST (1 << 20) /* bytes an iteration: more is no walk, */
#define FAR_MOST  (1 << 24) /* nor are accesses of one area that are so far from each other */

/* The accesses so far, each relative to the first one of its area. */
struct finding {
	const struct mix_body *b;
	const struct mix_spots *spots;
	struct mix_walk *walk;
	int64_t *from; /* by instruction */
	uint64_t first[OWN_WALKS];
	uint32_t n;
};

static bool goes(const struct mix_spots *s)
{
	return s->n && s->step && s->step > -STEP_MOST && s->step < STEP_MOST;
}

static bool same_registers(const struct mix_op *a, const struct mix_op *b)
{
	return a->base == b->base && a->index == b->index && a->scale == b->scale && a->relative == b->relative;
}

/* How far access i is from k, if they keep that distance. Registers of which one has been moved already and the other has not are a step
 * apart at some samples. */
static bool distance(const struct finding *f, uint32_t i, uint32_t k, int64_t *far)
{
	const struct mix_spots *a = &f->spots[i], *b = &f->spots[k];
	uint32_t agree = 0;

	if (same_registers(&f->b->op[i], &f->b->op[k])) {
		*far = f->b->op[i].disp - f->b->op[k].disp;
		return true;
	}
	for (uint32_t x = 0, y = 0; x < a->n && y < b->n;) {
		if (a->sample[x] != b->sample[y]) {
			*(a->sample[x] < b->sample[y] ? &x : &y) += 1;
			continue;
		}
		int64_t d = (int64_t)(a->address[x++] - b->address[y++]);

		if (agree && llabs(d - *far) > llabs(a->step))
			return false;
		if (!agree++)
			*far = d;
	}
	return agree >= AGREE && (double)llabs(*far) < fmax(a->bytes, b->bytes);
}

/* The area of access i: that of one before it, or a new one. */
static void find_area(struct finding *f, uint32_t i)
{
	int64_t far;

	f->walk[i] = (struct mix_walk){.area = OWN_NO_WALK};
	if (!goes(&f->spots[i]))
		return;
	for (uint32_t k = 0; k < i; k++)
		if (f->walk[k].area != OWN_NO_WALK && f->spots[k].step == f->spots[i].step && distance(f, i, k, &far)) {
			f->from[i] = f->from[k] + far;
			f->walk[i].area = llabs(f->from[i]) < FAR_MOST ? f->walk[k].area : OWN_NO_WALK;
			return;
		}
	if (f->n == OWN_WALKS)
		return;
	f->walk[i].area = (uint8_t)f->n;
	f->first[f->n++] = f->spots[i].address[0];
}

/* Whatever goes downwards goes upwards, in a mirror. */
static int64_t along(const struct finding *f, uint32_t i)
{
	return f->spots[i].step < 0 ? -f->from[i] : f->from[i];
}

uint32_t mix_walk_find(const struct mix_body *b, const struct mix_spots *spots, struct mix_walk *walk, struct mix_area area[OWN_WALKS])
{
	struct finding f = {.b = b, .spots = spots, .walk = walk, .from = calloc(b->n + 1u, sizeof(*f.from))};
	int64_t least[OWN_WALKS] = {0};

	for (uint32_t i = 0; f.from && i < b->n; i++) {
		find_area(&f, i);
		if (walk[i].area != OWN_NO_WALK)
			least[walk[i].area] = along(&f, i) < least[walk[i].area] ? along(&f, i) : least[walk[i].area];
	}
	for (uint32_t k = 0; k < f.n; k++)
		area[k] = (struct mix_area){0};
	for (uint32_t i = 0; f.from && i < b->n; i++) {
		struct mix_area *a;
		int64_t at;

		if (walk[i].area == OWN_NO_WALK)
			continue;
		a = &area[walk[i].area];
		/* Where lines begin stays as it was. */
		at = along(&f, i) - least[walk[i].area] / LINE * LINE + LINE + (int64_t)(f.first[walk[i].area] % LINE);
		walk[i].at = (uint32_t)at;
		a->step = (uint32_t)llabs(spots[i].step);
		a->bytes = fmax(a->bytes, spots[i].bytes);
		a->span = at + LINE > a->span ? (uint32_t)at + LINE : a->span;
	}
	free(f.from);
	return f.n;
}
