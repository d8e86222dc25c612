/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells unsuccessful tests that are work from those that wait: see poll_work.h. */
#include "trace/cpu_time/poll_work.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/functions.h"

/* below this share of the rank's time, unsuccessful tests count as waiting */
#define LEAST_SHARE 0.01
/* tests that were followed by no message count as work above this share of the unsuccessful tests between two
 * collectives */
#define WORK_SHARE  0.1
/* bytes; a smaller non-blocking send completes without its receiver (eager) */
#define AT_ONCE	    65536
#define SLOTS_MAX   (1 << 20)

/* For each request slot: does completing the request wait for another rank? */
struct slots {
	bool *alone; /* true: a small send, which completes by itself */
	uint32_t n;
};

/* Bytes of a call with one count and one datatype. UINT64_MAX: not known. */
static uint64_t call_bytes(const struct trace_defs *d, uint32_t sym)
{
	int64_t type = sig_scalar(d, sym, TK_TYPE, TRACE_NULL), count = sig_scalar(d, sym, TK_COUNT, -1);

	if (type < 0 || type >= (int64_t)d->n_type || d->type[type].size < 0 || count < 0)
		return UINT64_MAX;
	if (d->type[type].size > 0 && (uint64_t)count > UINT64_MAX / (uint64_t)d->type[type].size)
		return UINT64_MAX;
	return (uint64_t)count * (uint64_t)d->type[type].size;
}

static bool is_synchronous(const char *name)
{
	return !strncmp(name, "MPI_Iss", 7) || !strncmp(name, "MPI_Ss", 6);
}

static int slot_fill(struct slots *s, const struct trace_defs *d, uint32_t sym)
{
	const struct trace_fn_info *fn = &trace_fn[d->sigs.sig[sym].fn];
	int64_t slot = sig_scalar(d, sym, TK_NEWREQ, TRACE_NULL);

	if (slot < 0 || slot >= SLOTS_MAX)
		return 0;
	if (ARRAY_ROOM_ZEROED(s->alone, s->n, (size_t)slot + 1) != 0)
		return -1;
	s->alone[slot] = fn->cls == TC_ISEND && !is_synchronous(fn->name) && call_bytes(d, sym) <= AT_ONCE &&
			 sig_scalar(d, sym, TK_SRC, INT64_MIN) == INT64_MIN; /* MPI_Isendrecv receives */
	return 0;
}

/* The request slots that the call has completed. *n: how many. */
static const int64_t *done_of(const struct trace_defs *d, uint32_t sym, uint32_t *n)
{
	const int64_t *one = NULL;
	struct sig_walk w;

	*n = 0;
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		if (w.kind == TK_DONE) {
			*n = w.n;
			return w.val;
		}
		if (w.kind == TK_REQ && *w.val != TRACE_NULL)
			one = w.val;
	}
	*n = one != NULL;
	return one;
}

/* Did the call receive or complete something that the unsuccessful tests before it may have waited for? */
static bool has_come(const struct slots *s, const struct trace_defs *d, uint32_t sym)
{
	const struct trace_fn_info *fn = &trace_fn[d->sigs.sig[sym].fn];
	const int64_t *done;
	uint32_t n;

	if (fn->cls == TC_PROBE || fn->cls == TC_SYNC)
		return true;
	if (fn->cls != TC_WAIT || strncmp(fn->name, "MPI_Test", 8) != 0)
		return false;
	done = done_of(d, sym, &n);
	for (uint32_t i = 0; i < n; i++)
		if (done[i] < 0 || done[i] >= s->n || !s->alone[done[i]])
			return true;
	return false;
}

/* A collective call ends a stretch of calls whose tests are of one kind. */
static bool is_collective(uint8_t cls)
{
	return cls == TC_COLL || cls == TC_COMM || cls == TC_WIN || cls == TC_FILE || cls == TC_INIT || cls == TC_FINALIZE;
}

/* Mark events before `until` as work or as waiting. Returns 0 on success, -1 if memory runs out. */
static int kind_add(struct poll_work *w, uint64_t until, bool work)
{
	if (w->n && (w->n - 1) % 2 == work) {
		w->until[w->n - 1] = until;
		return 0;
	}
	if (ARRAY_ROOM(w->until, w->cap, w->n + 2) != 0)
		return -1;
	if (!w->n && work)
		w->until[w->n++] = 0;
	w->until[w->n++] = until;
	return 0;
}

static int classify_polls(struct trace_iter *it, const struct trace_defs *d, struct slots *s, struct poll_work *out)
{
	uint64_t n = 0, came_ns = 0, vain_ns = 0;
	struct trace_event ev;

	while (trace_iter_next(it, &ev, NULL)) {
		uint64_t polled_ns = trace_iter_polled(it);

		n++;
		if (polled_ns)
			*(has_come(s, d, ev.sym) ? &came_ns : &vain_ns) += polled_ns;
		if (slot_fill(s, d, ev.sym) < 0)
			return -1;
		if (!is_collective(trace_fn[d->sigs.sig[ev.sym].fn].cls))
			continue;
		/* A stretch without unsuccessful tests extends neither kind. */
		if (came_ns + vain_ns &&
		    kind_add(out, n, (double)vain_ns > WORK_SHARE * ((double)came_ns + (double)vain_ns)) < 0)
			return -1;
		came_ns = vain_ns = 0;
	}
	return came_ns + vain_ns ? kind_add(out, n, (double)vain_ns > WORK_SHARE * ((double)came_ns + (double)vain_ns)) : 0;
}

int poll_work_find(const struct trace *t, uint32_t rank, struct poll_work *out, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	const struct trace_proc *p = &k->defs.proc;
	struct slots slots = {0};
	struct trace_iter *it;
	int rv;

	*out = (struct poll_work){0};
	if (!((double)p->poll_ticks > LEAST_SHARE * (double)p->end_ticks))
		return 0;
	it = trace_iter_create(t, rank, err);
	if (!it)
		return -1;
	rv = classify_polls(it, &k->defs, &slots, out);
	trace_iter_destroy(it);
	free(slots.alone);
	if (rv < 0) {
		poll_work_free(out);
		return err_set(err, "no memory for the unsuccessful tests of rank %u", rank);
	}
	return 0;
}

bool poll_work_is(struct poll_work *w, uint64_t event)
{
	while (w->at < w->n && event >= w->until[w->at])
		w->at++;
	return w->at < w->n && w->at % 2;
}

void poll_work_free(struct poll_work *w)
{
	free(w->until);
	*w = (struct poll_work){0};
}
