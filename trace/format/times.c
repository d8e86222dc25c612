/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of times: see times.h. */
#include "trace/format/times.h"

static void next_idle(struct times_walk *w, uint64_t from)
{
	uint64_t d;

	w->next_idle = UINT64_MAX;
	if (!rdbuf_left(&w->idle))
		return;
	d = rdbuf_uv(&w->idle);
	if (!w->idle.failed && d < w->n - from)
		w->next_idle = from + d;
}

int times_begin(struct times_walk *w, const uint8_t *raw, size_t len, uint64_t n)
{
	uint64_t left = n <= len / 2 ? 2 * n : UINT64_MAX;
	size_t pos = 0;

	*w = (struct times_walk){.in = {.data = raw}, .idle = {.data = raw, .len = len}, .n = n};
	for (; left && pos < len; pos++)
		left -= raw[pos] < 0x80;
	if (left)
		return -1;
	w->in.len = w->idle.pos = pos;
	next_idle(w, 0);
	return 0;
}

int times_next(struct times_walk *w, struct times_one *t)
{
	*t = (struct times_one){0};
	if (w->i == w->n)
		return 0;
	if (w->i == w->next_idle) {
		t->poll = rdbuf_uv(&w->idle);
		t->own = rdbuf_uv(&w->idle);
		if (w->idle.failed)
			t->poll = t->own = 0;
		next_idle(w, w->i);
		if (w->next_idle == w->i)
			w->next_idle = UINT64_MAX; /* malformed */
	}
	t->gap = rdbuf_uv(&w->in);
	t->duration = rdbuf_uv(&w->in);
	w->i++;
	return w->in.failed ? 0 : 1;
}
