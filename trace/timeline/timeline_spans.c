/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls, and work between calls, in a window of a traced run: see timeline.h. */
#include "trace/timeline/timeline_impl.h"

struct spans {
	uint64_t t0, t1; /* the window */
	struct timeline_span s;
	int (*f)(const struct timeline_span *s, void *arg);
	void *arg;
};

/* A call without duration is in the window if its time is. */
static bool in_window(const struct spans *w, uint64_t a, uint64_t b)
{
	return a < w->t1 && (b > w->t0 || (a == b && a == w->t0));
}

static int report_span(struct spans *w, uint64_t a, uint64_t b, enum trace_state state, uint32_t sym, uint64_t event)
{
	if (!in_window(w, a, b))
		return 0;
	w->s.t0_ns = a;
	w->s.t1_ns = b;
	w->s.state = (uint8_t)state;
	w->s.sym = sym;
	w->s.event = event;
	return w->f(&w->s, w->arg) ? 1 : 0;
}

int timeline_rank_spans(struct timeline *tl, uint32_t rank, uint64_t t0, uint64_t t1,
			int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err)
{
	const struct trace_defs *d = &trace_get_rank(tl->t, rank)->defs;
	struct trace_iter *it = timeline_iter(tl, rank, err);
	struct spans w = {.t0 = t0, .t1 = t1, .s.rank = rank, .f = f, .arg = arg};
	struct trace_event ev;
	uint64_t event, begin, enter, leave;
	bool known;
	int rv = 0;

	if (!it)
		return -1;
	trace_iter_seek_ns(it, timeline_to_local(tl, rank, t0));
	while (rv == 0 && trace_iter_skip_unknown(it) && trace_iter_next(it, &ev, &known)) {
		if (!known)
			continue;
		event = trace_iter_when(it, &enter, &leave);
		begin = timeline_of_local(tl, rank, trace_iter_gap_begin(it));
		enter = timeline_of_local(tl, rank, enter);
		leave = timeline_of_local(tl, rank, leave);
		if (begin >= t1)
			break;
		if (begin < enter)
			rv = report_span(&w, begin, enter, TSTATE_WORKING, UINT32_MAX, TIMELINE_NO_EVENT);
		if (rv == 0)
			rv = report_span(&w, enter, leave, timeline_state(d, ev.sym), ev.sym, event);
	}
	timeline_iter_done(tl, rank);
	return rv;
}
