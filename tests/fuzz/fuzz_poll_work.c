/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the classification of unsuccessful tests as work or as waiting, with generated programs.
 * Three bytes are a call, its slot and size, and the time in tests before it. The oracle generated the calls, so it
 * knows which of them wait.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "trace/cpu_time/poll_work.h"

#include "tests/unit/synthetic.c"

#define SLOTS	  8
#define CALLS_MAX 2000
#define FEW	  100    /* doubles that a send hands over at once (eager) */
#define MANY	  100000 /* doubles that it does not */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The oracle: the stretch of each event; for each stretch, the time in tests before a completed call, and in
 * other tests. */
struct oracle {
	uint32_t stretch[CALLS_MAX + 2];
	double came[CALLS_MAX + 2], vain[CALLS_MAX + 2];
	uint32_t n, at;
	bool waits[SLOTS]; /* completing this slot waits for another rank */
};

static void add(struct oracle *o, double poll_ns, bool came, bool ends)
{
	*(came ? &o->came[o->at] : &o->vain[o->at]) += poll_ns;
	o->stretch[o->n++] = o->at;
	o->at += ends;
}

static void call(struct syn *s, struct oracle *o, const uint8_t *d)
{
	static const char *const fill[] = {"MPI_Irecv", "MPI_Isend", "MPI_Issend"}, *const get[] = {"MPI_Test", "MPI_Testany", "MPI_Wait"};
	uint8_t kind = d[0] & 7, slot = (d[0] >> 3) & (SLOTS - 1);
	int64_t slots[] = {slot}, count = d[1] & 1 ? MANY : FEW;
	uint64_t poll_ns = (uint64_t)d[2] * 100;

	if (kind < 3) {
		syn_call(s, 0, fill[kind], kind, SYN(.dst = 1, .src = 1, .tag = 2, .count = count, .req = slot, .poll_ns = poll_ns));
		o->waits[slot] = kind != 1 || count == MANY;
		add(o, (double)poll_ns, false, false);
	} else if (kind < 6) {
		syn_call(s, 0, get[kind - 3], kind, SYN(.req = slot, .reqs = slots, .n_reqs = 1, .poll_ns = poll_ns));
		add(o, (double)poll_ns, kind < 5 && o->waits[slot], false);
	} else {
		syn_call(s, 0, "MPI_Barrier", kind, SYN(.comm = 0, .poll_ns = poll_ns));
		add(o, (double)poll_ns, false, true);
	}
}

static void compare(struct poll_work *w, const struct oracle *o)
{
	for (uint32_t i = 0; i + 1 < w->n; i++)
		if (w->until[i] > w->until[i + 1] || (i && w->until[i] == w->until[i + 1]))
			abort();
	for (uint32_t e = 0; e < o->n; e++) {
		uint32_t k = o->stretch[e];
		double share = o->came[k] + o->vain[k] > 0 ? o->vain[k] / (o->came[k] + o->vain[k]) : -1;
		bool work = poll_work_is(w, e);

		if (share >= 0 && (share < 0.0999 || share > 0.1001) && work != (share > 0.1))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct oracle o;
	struct syn *s = syn_create(2);
	const struct trace_proc *p;
	struct poll_work w;
	struct errbuf err;
	struct trace *t;

	o = (struct oracle){.waits = {true, true, true, true, true, true, true, true}};
	syn_begin(s);
	add(&o, 0, false, true); /* MPI_Init */
	for (size_t at = 0; at + 3 <= size && o.n < CALLS_MAX; at += 3)
		call(s, &o, data + at);
	syn_end(s);
	add(&o, 0, false, true); /* MPI_Finalize */
	t = syn_open(s);
	syn_destroy(s);
	if (poll_work_find(t, 0, &w, &err) < 0)
		abort();
	p = &trace_get_rank(t, 0)->defs.proc;
	if ((w.n > 0) != ((double)p->poll_ticks > 0.01 * (double)p->end_ticks))
		abort();
	if (w.n)
		compare(&w, &o);
	poll_work_free(&w);
	trace_close(t);
	return 0;
}
