/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See scaling_memo.h. Inputs are compared whole, so equal hashes do no harm. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "predictor/estimate/scaling_memo.h"

#define PLACES 256 /* a power of two; about 800 kB in all, which are taken as they are needed */

struct place {
	double *input; /* owned; NULL: empty */
	size_t n;
	struct scaling_found found;
};

void scaling_found_add(struct scaling_found *f, const struct scaling_shape *s)
{
	unsigned at = f->n < SCALING_SHAPES_MAX ? f->n++ : SCALING_SHAPES_MAX;

	for (; at && f->s[at - 1].weight < s->weight; at--)
		if (at < SCALING_SHAPES_MAX)
			f->s[at] = f->s[at - 1];
	if (at < SCALING_SHAPES_MAX)
		f->s[at] = *s;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place places[PLACES]; /* under the lock */

static struct place *place_of(const double *input, size_t n)
{
	return &places[XXH3_64bits(input, n * sizeof(*input)) % PLACES];
}

bool scaling_memo_get(const double *input, size_t n, struct scaling_found *out)
{
	const struct place *p = place_of(input, n);
	bool is_kept;

	pthread_mutex_lock(&lock);
	is_kept = p->input && p->n == n && !memcmp(p->input, input, n * sizeof(*input));
	if (is_kept)
		*out = p->found;
	pthread_mutex_unlock(&lock);
	return is_kept;
}

void scaling_memo_put(const double *input, size_t n, const struct scaling_found *found)
{
	struct place *p = place_of(input, n);
	double *copy = malloc(n * sizeof(*input));

	if (!copy) /* the search is made again */
		return;
	memcpy(copy, input, n * sizeof(*input));
	pthread_mutex_lock(&lock);
	free(p->input);
	p->input = copy;
	p->n = n;
	p->found = *found;
	pthread_mutex_unlock(&lock);
}
