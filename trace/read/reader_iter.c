/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Iterator over a rank's events with their times, from any event or time: see reader.h. An iterator holds one page
 * of times. Pages are found by bisection.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/format/times.h"
#include "trace/read/reader_impl.h"

#define TICKS_MAX (1ull << 62)

struct trace_iter {
	const struct trace *t;
	const struct trace_rank *k;
	const uint32_t *list;   /* the rank's pages of times */
	uint32_t n_list;
	struct folded_iter fi;
	uint64_t event;         /* index of the next event */
	uint32_t held;          /* index into list of the page in raw; n_list: none */
	uint8_t *raw;
	uint32_t raw_len;
	struct times_at {       /* position in the page; the times of `event` come next */
		struct rdbuf times, idle;
		/* number in the page of the next event, and of the event that the next entry of `idle` lies before */
		uint64_t i, next_idle;
	} at;
	/* first event that `times` does not cover; <= event: no page is loaded */
	uint64_t times_end;
	/* if times_end <= event: events before this one have no times */
	uint64_t unknown_end;
	uint64_t tick;          /* end of the last event with known times */
	uint64_t begin, enter, leave; /* event given last: begin of gap, entry, return, in ticks */
	uint64_t poll;          /* ticks in unsuccessful tests before it */
	double overhead, ns_per_tick;
};

/* ---- where the pages of times are ---- */

static int by_rank_and_first(const void *a, const void *b, void *arg)
{
	const struct trace_page *page = arg;
	const struct trace_page *x = &page[*(const uint32_t *)a], *y = &page[*(const uint32_t *)b];

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

int trace_times_index(struct trace *t)
{
	bool sorted = true;
	uint32_t n = 0;

	t->times = malloc((t->n_page + 1ull) * sizeof(*t->times));
	t->times_begin = calloc(t->n_ranks + 1ull, sizeof(*t->times_begin));
	if (!t->times || !t->times_begin)
		return -1;
	for (uint32_t i = 0; i < t->n_page; i++) {
		if (t->page[i].type != TPAGE_TIMES || t->page[i].rank >= t->n_ranks || !t->page[i].n)
			continue;
		sorted &= !n || by_rank_and_first(&t->times[n - 1], &i, t->page) <= 0;
		t->times[n++] = i;
		t->times_begin[t->page[i].rank + 1]++;
	}
	for (uint32_t r = 0; r < t->n_ranks; r++)
		t->times_begin[r + 1] += t->times_begin[r];
	if (!sorted)
		qsort_r(t->times, n, sizeof(*t->times), by_rank_and_first, t->page);
	return 0;
}

const uint32_t *trace_times_pages(const struct trace *t, uint32_t rank, uint32_t *n)
{
	*n = t->times_begin[rank + 1] - t->times_begin[rank];
	return t->times + t->times_begin[rank];
}

/* ---- iterators ---- */

/* Convert ticks to ns. Values from damaged files are clamped so that sums do not overflow. */
static uint64_t to_ns(const struct trace_iter *it, double ticks)
{
	double ns = ticks * it->ns_per_tick;

	return ns > 0 ? ns < 0x1p62 ? (uint64_t)ns : 1ull << 62 : 0;
}

static const struct trace_page *page_of(const struct trace_iter *it, uint32_t i)
{
	return &it->t->page[it->list[i]];
}

static uint64_t page_end(const struct trace_page *p)
{
	return p->first + p->n < p->first ? UINT64_MAX : p->first + p->n;
}

struct trace_iter *trace_iter_create(const struct trace *t, uint32_t rank, struct errbuf *err)
{
	struct trace_iter *it;

	if (rank >= t->n_ranks || !trace_get_rank(t, rank)->present) {
		err_set(err, "rank %u is not in the trace", rank);
		return NULL;
	}
	it = calloc(1, sizeof(*it));
	if (!it) {
		err_set(err, "no memory");
		return NULL;
	}
	it->t = t;
	it->k = &t->rank[rank];
	it->overhead = it->k->defs.proc.overhead_ticks;
	it->ns_per_tick = it->k->defs.proc.ns_per_tick;
	it->list = trace_times_pages(t, rank, &it->n_list);
	it->held = it->n_list;
	folded_begin(&it->fi, &it->k->events);
	return it;
}

/* The last page that begins at or before the event; n_list if there is none. */
static uint32_t find_page(const struct trace_iter *it, uint64_t event)
{
	uint32_t lo = 0, hi = it->n_list;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (page_of(it, mid)->first <= event)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : it->n_list;
}

/* Load page i of the list from its beginning. Returns 0 on success, -1 if the page is damaged. */
static int hold_page(struct trace_iter *it, uint32_t i)
{
	struct trace_page hdr;
	struct times_walk w;

	it->times_end = 0;
	if (it->held != i) {
		free(it->raw);
		it->raw_len = 0;
		it->held = it->n_list;
		it->raw = trace_page_data(it->t, page_of(it, i), &hdr, NULL);
		if (!it->raw)
			return -1;
		it->held = i;
		it->raw_len = hdr.raw_len;
	}
	if (times_begin(&w, it->raw, it->raw_len, page_of(it, i)->n) < 0)
		w = (struct times_walk){.in = {.data = it->raw, .len = it->raw_len}, .next_idle = UINT64_MAX};
	it->at = (struct times_at){.times = w.in, .idle = w.idle, .next_idle = w.next_idle};
	it->tick = page_of(it, i)->t0;
	return 0;
}

/* Like rdbuf_uv, without a bounds check: the caller knows that a whole number is in the buffer. */
static inline uint64_t quick_uv(struct rdbuf *r)
{
	const uint8_t *p = r->data + r->pos;
	uint64_t v = *p & 0x7f;

	if (*p++ & 0x80) {
		v |= (uint64_t)(*p & 0x7f) << 7;
		if (*p++ & 0x80) {
			v |= (uint64_t)(*p & 0x7f) << 14;
			if (*p++ & 0x80)
				return rdbuf_uv(r);
		}
	}
	r->pos = (size_t)(p - r->data);
	return v;
}

/* Read the entry of times that belong to no gap: unsuccessful tests and the recorder's own time. */
static void pass_idle(struct trace_iter *it)
{
	struct rdbuf *in = &it->at.idle;
	uint64_t poll = rdbuf_uv(in), own = rdbuf_uv(in), more;

	if (!in->failed && it->tick <= TICKS_MAX && poll <= TICKS_MAX - it->tick && own <= TICKS_MAX - it->tick - poll) {
		it->tick += poll + own;
		it->poll = poll;
	}
	it->at.next_idle = UINT64_MAX;
	if (in->failed || !rdbuf_left(in))
		return;
	more = rdbuf_uv(in);
	if (!in->failed && more && more < UINT64_MAX - it->at.i)
		it->at.next_idle = it->at.i + more;
}

/* Read gap and duration of the next event, in ticks. Returns false if the page is too short or a time is out of
 * range. */
static bool next_times(struct trace_iter *it, uint64_t *gap, uint64_t *dur)
{
	it->poll = 0;
	if (it->at.i == it->at.next_idle)
		pass_idle(it);
	it->at.i++;
	if (it->at.times.len - it->at.times.pos >= 20) {
		*gap = quick_uv(&it->at.times);
		*dur = quick_uv(&it->at.times);
	} else {
		*gap = rdbuf_uv(&it->at.times);
		*dur = rdbuf_uv(&it->at.times);
	}
	if (it->at.times.failed || it->tick > TICKS_MAX || *gap > TICKS_MAX - it->tick || *dur > TICKS_MAX - it->tick - *gap)
		return false; /* times out of range would make time run backwards */
	it->begin = it->tick;
	it->enter = it->tick + *gap;
	it->leave = it->tick = it->enter + *dur;
	return true;
}

/* Load the page that covers the next event. If there is none, set unknown_end to the next event with a page. */
static void load_times(struct trace_iter *it)
{
	uint32_t i = find_page(it, it->event);
	const struct trace_page *p = i < it->n_list ? page_of(it, i) : NULL;
	uint64_t gap, dur;

	it->times_end = 0;
	if (!p || it->event >= page_end(p)) {
		it->tick = p ? p->t1 : 0;
		i = p ? i + 1 : 0;
		it->unknown_end = i < it->n_list ? page_of(it, i)->first : UINT64_MAX;
		return;
	}
	it->unknown_end = page_end(p);
	it->tick = p->t0;
	if (hold_page(it, i) < 0)
		return;
	for (uint64_t e = p->first; e < it->event; e++)
		if (!next_times(it, &gap, &dur))
			return;
	it->times_end = it->unknown_end;
}

int trace_iter_next(struct trace_iter *it, struct trace_event *ev, bool *times_known)
{
	uint64_t gap, dur;
	bool known = false;

	*ev = (struct trace_event){0};
	if (times_known)
		*times_known = false;
	if (!folded_next(&it->fi, &ev->sym))
		return 0;
	if (it->event >= it->times_end && it->event >= it->unknown_end)
		load_times(it);
	if (it->event < it->times_end)
		known = next_times(it, &gap, &dur);
	if (known) {
		ev->gap_ns = to_ns(it, (double)gap - (it->event ? it->overhead : 0));
		ev->dur_ns = to_ns(it, (double)dur);
		if (times_known)
			*times_known = true;
	} else {
		it->times_end = it->poll = 0;
		it->begin = it->enter = it->leave = it->tick;
	}
	it->event++;
	return 1;
}

uint64_t trace_iter_when(const struct trace_iter *it, uint64_t *enter_ns, uint64_t *leave_ns)
{
	*enter_ns = to_ns(it, (double)it->enter);
	*leave_ns = to_ns(it, (double)it->leave);
	return it->event - 1;
}

uint64_t trace_iter_polled(const struct trace_iter *it)
{
	uint64_t enter_ns = it->poll ? to_ns(it, (double)it->enter) : 0;

	return !it->poll ? 0 : enter_ns - to_ns(it, (double)(it->enter - it->poll));
}

uint64_t trace_iter_gap_begin(const struct trace_iter *it)
{
	return to_ns(it, (double)it->begin);
}

/* ---- from anywhere ---- */

static void go_to(struct trace_iter *it, uint64_t event)
{
	it->event = event;
	folded_seek(&it->fi, &it->k->events, event);
}

void trace_iter_seek(struct trace_iter *it, uint64_t event)
{
	uint64_t gap, dur;

	if (event >= it->k->events.length)
		event = it->k->events.length;
	if (event >= it->event && event < it->times_end) {
		while (it->event < event && next_times(it, &gap, &dur))
			it->event++;
		if (it->at.times.failed)
			it->times_end = 0;
	} else {
		it->times_end = it->unknown_end = 0;
	}
	go_to(it, event);
}

/* The first page with an event that returns at or after local_ns. */
static uint32_t find_page_ns(const struct trace_iter *it, uint64_t local_ns)
{
	uint32_t lo = 0, hi = it->n_list;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (to_ns(it, (double)page_of(it, mid)->t1) >= local_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The first tick that to_ns maps to ns or later. */
static uint64_t to_ticks(const struct trace_iter *it, uint64_t ns)
{
	double about = (double)ns / it->ns_per_tick;
	uint64_t tick = about < 0x1p62 ? (uint64_t)about : 1ull << 62;

	for (tick -= tick < 2 ? tick : 2; tick < 1ull << 62 && to_ns(it, (double)tick) < ns; tick++)
		;
	return tick;
}

int trace_iter_seek_ns(struct trace_iter *it, uint64_t local_ns)
{
	uint64_t least = to_ticks(it, local_ns);

	for (uint32_t i = find_page_ns(it, local_ns); i < it->n_list; i++) {
		const struct trace_page *p = page_of(it, i);
		struct times_at before;
		uint64_t gap, dur, tick, from = 0;

		if (p->first >= it->k->events.length)
			break;
		if (it->held == i && it->event >= p->first && it->event < it->times_end &&
		    it->tick < least)
			from = it->event - p->first; /* the iterator is in this page already, before local_ns */
		else if (hold_page(it, i) < 0)
			continue;
		for (uint64_t k = from; k < p->n && p->first + k < it->k->events.length; k++) {
			before = it->at;
			tick = it->tick;
			if (!next_times(it, &gap, &dur))
				break;
			if (it->leave < least)
				continue;
			it->at = before; /* step back: this event is given next */
			it->tick = it->begin = it->enter = it->leave = tick;
			it->times_end = it->unknown_end = page_end(p);
			go_to(it, p->first + k);
			return 1;
		}
	}
	it->times_end = 0;
	it->unknown_end = UINT64_MAX;
	go_to(it, it->k->events.length);
	return 0;
}

int trace_iter_skip_unknown(struct trace_iter *it)
{
	while (it->event < it->k->events.length) {
		if (it->event < it->times_end)
			return 1;
		if (it->event >= it->unknown_end)
			load_times(it);
		if (it->event < it->times_end)
			return 1;
		go_to(it, it->unknown_end < it->k->events.length ? it->unknown_end : it->k->events.length);
	}
	return 0;
}

size_t trace_iter_memory(const struct trace_iter *it)
{
	return sizeof(*it) + it->raw_len;
}

void trace_iter_destroy(struct trace_iter *it)
{
	if (!it)
		return;
	free(it->raw);
	free(it);
}
