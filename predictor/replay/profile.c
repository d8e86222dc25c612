/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Free nodes over time: see profile.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/replay/profile.h"

#define TRIM_MIN 32 /* steps that are moved at once */

static int make_room(struct profile *p, struct errbuf *err)
{
	size_t room = p->room ? 2 * p->room : 64;
	struct profile_step *more;

	if (p->n + 2 <= p->room)
		return 0;
	more = reallocarray(p->steps, room, sizeof(*more));
	if (!more)
		return err_set(err, "out of memory for a plan of %zu steps", room);
	p->steps = more;
	p->room = room;
	return 0;
}

int profile_reset(struct profile *p, int64_t now, int64_t nodes, struct errbuf *err)
{
	if (make_room(p, err) < 0)
		return -1;
	p->n = 1;
	p->steps[0] = (struct profile_step){now, nodes};
	return 0;
}

void profile_free(struct profile *p)
{
	free(p->steps);
	*p = (struct profile){0};
}

/* The step that holds time t: the last that begins at or before it, or the first. */
static size_t step_at(const struct profile *p, int64_t t)
{
	size_t lo = 0, hi = p->n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->steps[mid].from_s <= t)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* A step that begins at t; its index. There is room for it. */
static size_t split(struct profile *p, int64_t t)
{
	size_t i = step_at(p, t);

	if (p->steps[i].from_s >= t)
		return i;
	memmove(&p->steps[i + 2], &p->steps[i + 1], (p->n - i - 1) * sizeof(p->steps[0]));
	p->n++;
	p->steps[i + 1] = (struct profile_step){t, p->steps[i].free};
	return i + 1;
}

static void join(struct profile *p, size_t i)
{
	if (i == 0 || i >= p->n || p->steps[i].free != p->steps[i - 1].free)
		return;
	memmove(&p->steps[i], &p->steps[i + 1], (p->n - i - 1) * sizeof(p->steps[0]));
	p->n--;
}

int profile_add(struct profile *p, int64_t from_s, int64_t to_s, int64_t nodes, struct errbuf *err)
{
	size_t first, last;

	if (from_s < p->steps[0].from_s)
		from_s = p->steps[0].from_s;
	if (to_s <= from_s)
		return 0;
	if (make_room(p, err) < 0)
		return -1;
	first = split(p, from_s);
	last = split(p, to_s);
	for (size_t i = first; i < last; i++)
		p->steps[i].free += nodes;
	join(p, last);
	join(p, first);
	return 0;
}

int profile_append(struct profile *p, int64_t from_s, int64_t nodes, struct errbuf *err)
{
	const struct profile_step last = p->steps[p->n - 1];

	if (make_room(p, err) < 0)
		return -1;
	if (last.from_s < from_s)
		p->n++;
	p->steps[p->n - 1] = (struct profile_step){from_s, last.free + nodes};
	return 0;
}

void profile_trim(struct profile *p, int64_t now)
{
	size_t i = step_at(p, now);

	if (i < TRIM_MIN)
		return;
	memmove(&p->steps[0], &p->steps[i], (p->n - i) * sizeof(p->steps[0]));
	p->n -= i;
}

static int64_t end_of(const struct profile *p, size_t i)
{
	return i + 1 < p->n ? p->steps[i + 1].from_s : INT64_MAX;
}

int64_t profile_find(const struct profile *p, int64_t now, int64_t length_s, int64_t nodes)
{
	int64_t start = now;

	for (size_t i = step_at(p, now); i < p->n; i++) {
		int64_t end = end_of(p, i);

		if (p->steps[i].free < nodes)
			start = end;
		else if (length_s <= end - start)
			return start;
	}
	return INT64_MAX;
}
