/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events with delay taken out. A sample tells the delay of the window that it ends, so the iterator reads ahead to
 * that sample. Events of windows without delay are given at once.
 */
#include "trace/cpu_time/own_iter.h"

#include <math.h>
#include <stdlib.h>

#include "trace/cpu_time/poll_work.h"
#include "trace/cpu_time/run_own.h"
#include "trace/functions.h"

/* events that are read ahead; in a longer window each part gets delay in proportion to its time */
#define AHEAD 16384u

/* events before the one that is wanted that are read again: usual times are known by then */
#define AGAIN 512u

struct ahead {
	struct trace_event ev;
	bool known;
	uint64_t begin_ns, enter_ns, leave_ns;
	/* unsuccessful tests before this call that are work; part of the gap */
	uint64_t polled_ns;
	/* without delay, once they are final; vain_ns: unsuccessful tests that are no work, which have delay, too */
	double vain_ns, gap_ns, dur_ns;
};

struct own_iter {
	struct trace_iter *events;
	struct poll_work polls;
	struct run_own own;
	double *usual_ns; /* by symbol */
	struct ahead *ahead; /* ring of AHEAD events */
	/* event counts: given <= final <= read < given + AHEAD, so the event given last stays in the ring */
	uint64_t read, final, given;
	double elapsed_ns;   /* of `timed` of the events given, without MPI_Init */
	uint64_t n, timed;
	const struct trace_defs *defs;
	bool ended;
};

struct own_iter *own_iter_create(const struct trace *t, uint32_t rank, struct errbuf *err)
{
	struct own_iter *it = calloc(1, sizeof(*it));

	if (!it) {
		err_set(err, "no memory to read rank %u", rank);
		return NULL;
	}
	it->defs = &trace_get_rank(t, rank)->defs;
	it->usual_ns = calloc(it->defs->sigs.n + 1u, sizeof(*it->usual_ns));
	it->ahead = malloc(AHEAD * sizeof(*it->ahead));
	if (!it->usual_ns || !it->ahead) {
		err_set(err, "no memory to read rank %u", rank);
		goto fail;
	}
	it->events = trace_iter_create(t, rank, err);
	if (!it->events || run_own_begin(&it->own, t, rank, err) < 0)
		goto fail;
	return it;
fail:
	own_iter_destroy(it);
	return NULL;
}

struct own_iter *own_iter_with_polls(const struct trace *t, uint32_t rank, struct errbuf *err)
{
	struct own_iter *it = own_iter_create(t, rank, err);

	if (it && poll_work_find(t, rank, &it->polls, err) < 0) {
		own_iter_destroy(it);
		return NULL;
	}
	return it;
}

/* The index of the first event whose times are not final. */
static uint64_t pending(const struct own_iter *it)
{
	const double *sum = it->own.n ? it->own.piece[0].sum : NULL;
	uint64_t at = it->final;

	/* Pieces are in the order of events until they are cut. */
	while (sum && at < it->read && sum != &it->ahead[at % AHEAD].vain_ns && sum != &it->ahead[at % AHEAD].gap_ns &&
	       sum != &it->ahead[at % AHEAD].dur_ns)
		at++;
	return sum ? at : it->read;
}

static void read_one(struct own_iter *it)
{
	struct ahead *a = &it->ahead[it->read % AHEAD];
	double from, *usual, polled;

	if (!trace_iter_next(it->events, &a->ev, &a->known)) {
		it->ended = true;
		run_own_settle(&it->own, INFINITY);
		return;
	}
	it->read++;
	a->vain_ns = a->gap_ns = a->dur_ns = 0;
	a->polled_ns = 0;
	trace_iter_when(it->events, &a->enter_ns, &a->leave_ns);
	a->begin_ns = a->enter_ns;
	if (!a->known)
		return;
	from = (double)trace_iter_gap_begin(it->events);
	polled = (double)trace_iter_polled(it->events);
	a->begin_ns = trace_iter_gap_begin(it->events) - trace_iter_polled(it->events);
	if (poll_work_is(&it->polls, it->read - 1))
		a->polled_ns = trace_iter_polled(it->events);
	if (polled > 0)
		run_own_add(&it->own, from - polled, from, polled, 0, a->polled_ns ? &a->gap_ns : &a->vain_ns);
	usual = &it->usual_ns[a->ev.sym];
	*usual = run_own_usual(*usual, (double)a->ev.gap_ns);
	run_own_add(&it->own, from, (double)a->enter_ns, (double)a->ev.gap_ns, *usual, &a->gap_ns);
	run_own_add(&it->own, (double)a->enter_ns, (double)a->leave_ns, (double)a->ev.dur_ns, 0, &a->dur_ns);
	a->ev.gap_ns += a->polled_ns;
}

static void elapsed_add(struct own_iter *it, const struct ahead *a)
{
	if (trace_fn[it->defs->sigs.sig[a->ev.sym].fn].cls == TC_INIT)
		return;
	it->n++;
	it->timed += a->known;
	it->elapsed_ns += a->known ? (double)(a->ev.gap_ns - a->polled_ns + a->ev.dur_ns) : 0;
}

double own_iter_elapsed(const struct own_iter *it)
{
	return it->timed ? it->elapsed_ns * (double)it->n / (double)it->timed : 0;
}

int own_iter_next(struct own_iter *it, struct trace_event *ev, bool *times_known)
{
	const struct ahead *a;

	while (!it->ended && it->final == it->given) {
		if (it->read - it->given == AHEAD - 1)
			run_own_settle(&it->own, (double)it->ahead[(it->read - 1) % AHEAD].leave_ns);
		else
			read_one(it);
		it->final = pending(it);
	}
	if (it->given == it->read)
		return 0;
	a = &it->ahead[it->given++ % AHEAD];
	*ev = a->ev;
	elapsed_add(it, a);
	if (a->known) {
		ev->gap_ns = (uint64_t)fmin(rint(a->gap_ns), (double)a->ev.gap_ns);
		ev->dur_ns = (uint64_t)fmin(rint(a->dur_ns), (double)a->ev.dur_ns);
	}
	if (times_known)
		*times_known = a->known;
	return 1;
}

uint64_t own_iter_skip(struct own_iter *it, uint64_t event)
{
	struct run_own own = it->own;
	uint64_t to = event > AGAIN ? event - AGAIN : 0;

	run_own_skip(&own, &to);
	if (to <= it->read)
		return it->given;
	it->own = own;
	trace_iter_seek(it->events, to);
	it->read = it->final = it->given = to;
	return to;
}

double own_iter_delayed(const struct own_iter *it)
{
	const struct ahead *a = &it->ahead[(it->given - 1) % AHEAD];

	return a->known ? fmax(0, (double)a->ev.gap_ns - a->gap_ns) : 0;
}

double own_iter_lost(const struct own_iter *it)
{
	return it->own.lost_ns;
}

void own_iter_when(const struct own_iter *it, uint64_t *enter_ns, uint64_t *leave_ns, uint64_t *gap_ns)
{
	const struct ahead *a = &it->ahead[(it->given - 1) % AHEAD];

	*enter_ns = a->enter_ns;
	*leave_ns = a->leave_ns;
	*gap_ns = a->ev.gap_ns - a->polled_ns;
}

uint64_t own_iter_begin(const struct own_iter *it)
{
	return it->ahead[(it->given - 1) % AHEAD].begin_ns;
}

double own_iter_polled(const struct own_iter *it)
{
	return (double)it->ahead[(it->given - 1) % AHEAD].polled_ns;
}

void own_iter_destroy(struct own_iter *it)
{
	if (!it)
		return;
	if (it->own.piece)
		run_own_end(&it->own);
	trace_iter_destroy(it->events);
	poll_work_free(&it->polls);
	free(it->usual_ns);
	free(it->ahead);
	free(it);
}

double own_iter_vain(const struct own_iter *it)
{
	return it->ahead[(it->given - 1) % AHEAD].vain_ns;
}
