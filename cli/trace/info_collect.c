/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over a trace: see info_collect.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/info_collect.h"
#include "cli/ui/util.h"
#include "common/array.h"
#include "common/hash_table.h"
#include "skelgen/tree/callinfo.h"
#include "trace/read/hist_read.h"

#define SLOTS_MAX (1 << 20) /* persistent requests of a rank that are followed */

const char *const info_class_name[TC_N] = {
	[TC_SEND] = "send", [TC_RECV] = "receive", [TC_SENDRECV] = "send and receive", [TC_ISEND] = "start of sends",
	[TC_IRECV] = "start of receives", [TC_START] = "start of requests", [TC_WAIT] = "wait", [TC_PROBE] = "probe",
	[TC_COLL] = "collectives", [TC_ICOLL] = "start of collectives", [TC_COMM] = "communicators",
	[TC_LOCAL] = "local calls", [TC_INIT] = "init", [TC_FINALIZE] = "finalize", [TC_WIN] = "windows",
	[TC_RMA] = "one-sided data", [TC_SYNC] = "one-sided sync", [TC_FILE] = "files", [TC_IO] = "file data",
	[TC_DYN] = "dynamic processes",
};

/* What one rank's pass needs. */
struct pass {
	struct info *o;
	const struct trace_defs *d;
	uint32_t rank;
	struct info_sum *sum;  /* by symbol */
	uint8_t *special;      /* by symbol: SPECIAL_ */
	struct start {
		int64_t dst;   /* rank of MPI_COMM_WORLD, or negative */
		uint64_t bytes;
	} *slot;               /* persistent sends by request */
	uint32_t n_slot, slot_cap;
	bool failed;           /* no memory */
};

enum { SPECIAL_NONE, SPECIAL_PERSISTENT, SPECIAL_START };

/* ---- what a call is ---- */

uint64_t info_call_bytes(const struct trace_defs *d, uint32_t sym)
{
	int64_t type = sig_scalar(d, sym, TK_TYPE, TRACE_NULL), count = sig_scalar(d, sym, TK_COUNT, 0);
	uint64_t bytes = 0;
	const int64_t *counts;
	uint32_t n;

	if (type < 0 || type >= (int64_t)d->n_type || d->type[type].size <= 0)
		return 0;
	counts = call_array(d, sym, TK_COUNTS, 0, &n);
	if (count > 0)
		return (uint64_t)count * (uint64_t)d->type[type].size;
	for (uint32_t i = 0; i < n; i++)
		if (counts[i] > 0)
			bytes += (uint64_t)counts[i] * (uint64_t)d->type[type].size;
	return bytes;
}

/* Rank of MPI_COMM_WORLD that a call sends to, or negative. */
static int64_t destination(const struct trace_defs *d, uint32_t sym)
{
	int64_t dst = sig_scalar(d, sym, TK_DST, TRACE_PROC_NULL), c = sig_scalar(d, sym, TK_COMM, TRACE_NULL);
	const struct trace_group *g;

	if (dst < 0 || c < 0 || c >= (int64_t)d->n_comm)
		return TRACE_PROC_NULL;
	g = d->comm[c].kind == TCOMM_INTER ? &d->comm[c].remote : &d->comm[c].members;
	return dst < (int64_t)g->n ? (int64_t)g->rank[dst] : TRACE_PROC_NULL;
}

static bool is_persistent(const struct trace_defs *d, uint32_t sym)
{
	const char *name = call_name(d, sym);
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, "_init");
}

static uint8_t special(const struct trace_defs *d, uint32_t sym)
{
	uint8_t cls = trace_fn[d->sigs.sig[sym].fn].cls;

	if (cls == TC_START)
		return SPECIAL_START;
	return (cls == TC_ISEND || cls == TC_IRECV) && is_persistent(d, sym) ? SPECIAL_PERSISTENT : SPECIAL_NONE;
}

static void add_messages(struct pass *p, int64_t dst, uint64_t bytes, uint64_t n)
{
	struct info *o = p->o;

	if (dst < 0)
		return;
	o->bytes_sent += bytes * n;
	o->messages += n;
	o->size_count[bytes ? 63 - __builtin_clzll(bytes) : 0] += n;
	p->failed |= info_pairs_add(&o->pairs, p->rank, (uint32_t)dst, n, bytes * n) < 0;
}

/* ---- persistent requests: each start of a send is a message ---- */

static void set_slot(struct pass *p, uint32_t sym)
{
	int64_t slot = sig_scalar(p->d, sym, TK_NEWREQ, TRACE_NULL);
	bool send = trace_fn[p->d->sigs.sig[sym].fn].cls == TC_ISEND;

	if (slot < 0 || slot >= SLOTS_MAX)
		return;
	if (ARRAY_ROOM(p->slot, p->slot_cap, (size_t)slot + 1) < 0) {
		p->failed = true;
		return;
	}
	while (p->n_slot <= slot)
		p->slot[p->n_slot++].dst = TRACE_NULL;
	p->slot[slot] = (struct start){send ? destination(p->d, sym) : TRACE_NULL, info_call_bytes(p->d, sym)};
}

static void start_slot(struct pass *p, int64_t slot)
{
	if (slot >= 0 && slot < p->n_slot)
		add_messages(p, p->slot[slot].dst, p->slot[slot].bytes, 1);
}

static void follow(struct pass *p, uint32_t sym)
{
	const int64_t *reqs;
	uint32_t n;

	if (p->special[sym] == SPECIAL_PERSISTENT) {
		set_slot(p, sym);
		return;
	}
	start_slot(p, sig_scalar(p->d, sym, TK_REQ, TRACE_NULL));
	reqs = call_array(p->d, sym, TK_REQS, 0, &n);
	for (uint32_t i = 0; i < n; i++)
		start_slot(p, reqs[i]);
}

/* ---- call sites over all ranks ---- */

struct site_table {
	struct hash_table table; /* of info's sites */
	uint32_t cap;
};

static int add_site(struct site_table *t, const struct pass *p, uint32_t sym)
{
	const struct trace_sig *sig = &p->d->sigs.sig[sym];
	uint64_t site = p->d->site[sig->site].hash, hash = site ^ sig->fn * 0x9e3779b97f4a7c15ull;
	struct info *o = p->o;
	struct info_site *s;
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&t->table, hash, at, i)
		if (o->site[i].hash == site && o->site[i].fn == sig->fn)
			break;
	if (i == HASH_TABLE_NONE) {
		if (ARRAY_ROOM(o->site, t->cap, o->n_site + 1) < 0 || hash_table_add(&t->table, hash, o->n_site) < 0)
			return -1;
		i = o->n_site++;
		o->site[i] = (struct info_site){.hash = site, .fn = sig->fn, .rank = p->rank, .site = sig->site};
	}
	s = &o->site[i];
	s->sum.calls += p->sum[sym].calls;
	s->sum.seconds += p->sum[sym].seconds;
	s->bytes += info_call_bytes(p->d, sym) * p->sum[sym].calls;
	return 0;
}

/* ---- one rank ---- */

/* Fold what the symbols of one rank summed up to into the totals. */
static int add_symbols(struct site_table *sites, struct pass *p)
{
	struct info *o = p->o;

	for (uint32_t s = 0; s < p->d->sigs.n; s++) {
		const struct trace_sig *sig = &p->d->sigs.sig[s];
		uint8_t cls = trace_fn[sig->fn].cls;

		if (!p->sum[s].calls)
			continue;
		o->cls[cls].calls += p->sum[s].calls;
		o->cls[cls].seconds += p->sum[s].seconds;
		o->fn[sig->fn].calls += p->sum[s].calls;
		o->fn[sig->fn].seconds += p->sum[s].seconds;
		o->rank[p->rank].state[trace_class_state(cls)] += p->sum[s].seconds;
		if ((cls == TC_SEND || cls == TC_ISEND || cls == TC_SENDRECV) && !p->special[s])
			add_messages(p, destination(p->d, s), info_call_bytes(p->d, s), p->sum[s].calls);
		if (add_site(sites, p, s) < 0)
			return -1;
	}
	return p->failed ? -1 : 0;
}

static void read_events(struct pass *p, struct trace_iter *it, uint64_t length)
{
	struct info_rank *ir = &p->o->rank[p->rank];
	struct trace_event ev;
	bool known;

	while (trace_iter_next(it, &ev, &known)) {
		p->sum[ev.sym].calls++;
		p->sum[ev.sym].seconds += (double)ev.dur_ns * 1e-9;
		ir->compute += (double)ev.gap_ns * 1e-9;
		ir->mpi += (double)ev.dur_ns * 1e-9;
		ir->untimed += !known;
		if (p->special[ev.sym])
			follow(p, ev.sym);
		if ((++ir->events & 0xfffff) == 0)
			cli_progress("reading the trace", p->rank + (double)ir->events / (double)length,
				     p->o->n_ranks);
	}
}

/* Times that were given up one by one are in histograms, whose sums are exact. A damaged page of them is like times
 * that are not known. */
static void add_histograms(struct pass *p, const struct trace *t, const struct trace_rank *k)
{
	struct info_rank *ir = &p->o->rank[p->rank];
	double ns = k->defs.proc.ns_per_tick;
	struct hist_table h;
	struct errbuf why;

	if (!k->defs.proc.dropped_events || trace_hist_read(t, p->rank, &h, &why) < 0)
		return;
	for (uint32_t i = 0; i < h.n; i++) {
		const struct hist_entry *e = &h.entry[i];
		double gap = e->gap.sum - k->defs.proc.overhead_ticks * (double)e->gap.n;

		ir->compute += gap > 0 ? gap * ns * 1e-9 : 0;
		ir->mpi += e->duration.sum * ns * 1e-9;
		p->sum[e->symbol].seconds += e->duration.sum * ns * 1e-9;
		ir->untimed -= e->gap.n < ir->untimed ? e->gap.n : ir->untimed;
	}
	hist_table_free(&h);
}

static void add_rank(struct info *o, struct info_rank *ir, const struct trace_rank *k)
{
	ir->present = true;
	ir->wall = k->wall_ns * 1e-9;
	ir->polls = k->defs.proc.polls;
	ir->overhead = (double)k->defs.proc.end_ticks * k->defs.proc.ns_per_tick * 1e-9 - ir->wall;
	ir->paused = fmax(0, ir->overhead - k->defs.proc.overhead_ticks * (double)ir->events * k->defs.proc.ns_per_tick * 1e-9);
	ir->polling = (double)k->defs.proc.poll_ticks * k->defs.proc.ns_per_tick * 1e-9;
	ir->state[TSTATE_WORKING] += ir->compute;
	ir->state[TSTATE_WAITING] += ir->polling;
	o->dropped += k->defs.proc.dropped_events;
	o->events += ir->events;
	o->untimed += ir->untimed;
	o->polls += ir->polls;
	o->compute += ir->compute;
	o->mpi += ir->mpi;
	o->polling += ir->polling;
	o->overhead += ir->overhead;
	o->paused += ir->paused;
	o->n_present++;
	if (ir->wall > o->wall)
		o->wall = ir->wall;
}

static int collect_rank(const struct trace *t, uint32_t r, struct info *o, struct site_table *sites, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, r);
	struct pass p = {.o = o, .d = &k->defs, .rank = r};
	struct trace_iter *it = trace_iter_create(t, r, err);
	int rv = -1;

	p.sum = calloc(k->defs.sigs.n + 1u, sizeof(*p.sum));
	p.special = calloc(k->defs.sigs.n + 1u, 1);
	if (!it)
		goto out;
	if (!p.sum || !p.special) {
		err_set(err, "no memory");
		goto out;
	}
	for (uint32_t s = 0; s < k->defs.sigs.n; s++)
		p.special[s] = special(&k->defs, s);
	read_events(&p, it, k->events.length);
	add_histograms(&p, t, k);
	rv = add_symbols(sites, &p);
	if (rv < 0)
		err_set(err, "no memory");
	add_rank(o, &o->rank[r], k);
out:
	trace_iter_destroy(it);
	free(p.sum);
	free(p.special);
	free(p.slot);
	return rv;
}

/* ---- all of them ---- */

static int by_seconds(const void *a, const void *b)
{
	const struct info_site *x = a, *y = b;

	if (x->sum.seconds != y->sum.seconds)
		return x->sum.seconds > y->sum.seconds ? -1 : 1;
	return (x->sum.calls < y->sum.calls) - (x->sum.calls > y->sum.calls);
}

/* The rank that holds the others up: the one that computes longest. */
static uint32_t slowest_rank(const struct info *o)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t r = 0; r < o->n_ranks; r++)
		if (o->rank[r].present && (best == UINT32_MAX || o->rank[r].compute > o->rank[best].compute))
			best = r;
	return best;
}

int info_collect(const struct trace *t, struct info *o, struct errbuf *err)
{
	struct site_table sites = {0};
	uint32_t rank;
	int rv = 0;

	*o = (struct info){.n_ranks = trace_n_ranks(t)};
	o->rank = calloc(o->n_ranks, sizeof(*o->rank));
	if (!o->rank)
		return err_set(err, "no memory");
	for (uint32_t r = 0; rv == 0 && r < o->n_ranks; r++)
		if (trace_get_rank(t, r)->present)
			rv = collect_rank(t, r, o, &sites, err);
	hash_table_free(&sites.table);
	rank = slowest_rank(o);
	if (rv == 0 && rank != UINT32_MAX)
		rv = loops_build(t, rank, &o->loops, err);
	cli_progress("", 1, 1);
	if (rv < 0) {
		info_free(o);
		return -1;
	}
	if (o->n_site)
		qsort(o->site, o->n_site, sizeof(*o->site), by_seconds);
	info_pairs_sort(&o->pairs);
	return 0;
}

void info_free(struct info *i)
{
	loops_free(&i->loops);
	info_pairs_free(&i->pairs);
	free(i->site);
	free(i->rank);
	*i = (struct info){0};
}
