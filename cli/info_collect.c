/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over a trace: see info_collect.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/info_collect.h"
#include "cli/util.h"

uint64_t info_sent_bytes(const struct trace_defs *d, uint32_t sym)
{
	const struct trace_fn_info *fn = &trace_fn[d->sigs.sig[sym].fn];
	int64_t count, type;

	if (fn->cls != TC_SEND && fn->cls != TC_ISEND && fn->cls != TC_SENDRECV)
		return 0;
	if (sig_scalar(d, sym, TK_DST, TRACE_PROC_NULL) == TRACE_PROC_NULL)
		return 0;
	count = sig_scalar(d, sym, TK_COUNT, 0);
	type = sig_scalar(d, sym, TK_TYPE, TRACE_NULL);
	if (count <= 0 || type < 0 || type >= (int64_t)d->n_type)
		return 0;
	return (uint64_t)count * (uint64_t)d->type[type].size;
}

/* The entry of a (site, function) of a rank in the table over all ranks; found by hash, few hundred at most. */
static struct info_site *find_site(struct info *o, uint64_t hash, uint16_t fn)
{
	for (uint32_t i = 0; i < o->n_site; i++)
		if (o->site[i].hash == hash && o->site[i].fn == fn)
			return &o->site[i];
	return NULL;
}

static int add_site(struct info *o, uint32_t rank, const struct trace_defs *d, const struct trace_sig *sig,
		    struct info_sum sum)
{
	uint64_t hash = d->site[sig->site].hash;
	struct info_site *s = find_site(o, hash, sig->fn);

	if (!s) {
		s = realloc(o->site, (o->n_site + 1) * sizeof(*s));
		if (!s)
			return -1;
		o->site = s;
		s = &o->site[o->n_site++];
		*s = (struct info_site){.hash = hash, .fn = sig->fn, .rank = rank, .site = sig->site};
	}
	s->sum.calls += sum.calls;
	s->sum.seconds += sum.seconds;
	return 0;
}

static void add_message(struct info *o, uint64_t bytes, uint64_t calls)
{
	int b = bytes ? 63 - __builtin_clzll(bytes) : 0;

	o->bytes_sent += bytes * calls;
	o->messages += calls;
	o->size_count[b < 31 ? b : 31] += calls;
}

/* Fold what the symbols of one rank summed up to into the totals. */
static int add_symbols(struct info *o, uint32_t rank, const struct trace_defs *d, const struct info_sum *sum)
{
	for (uint32_t s = 0; s < d->sigs.n; s++) {
		const struct trace_sig *sig = &d->sigs.sig[s];
		uint8_t cls = trace_fn[sig->fn].cls;

		if (!sum[s].calls)
			continue;
		o->cls[cls].calls += sum[s].calls;
		o->cls[cls].seconds += sum[s].seconds;
		o->fn[sig->fn].calls += sum[s].calls;
		o->fn[sig->fn].seconds += sum[s].seconds;
		if ((cls == TC_SEND || cls == TC_ISEND || cls == TC_SENDRECV) &&
		    sig_scalar(d, s, TK_DST, TRACE_PROC_NULL) != TRACE_PROC_NULL)
			add_message(o, info_sent_bytes(d, s), sum[s].calls);
		if (add_site(o, rank, d, sig, sum[s]) < 0)
			return -1;
	}
	return 0;
}

static int collect_rank(const struct trace *t, uint32_t r, struct info *o, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, r);
	struct info_sum *sum = calloc(k->defs.sigs.n + 1, sizeof(*sum));
	struct trace_iter *it = trace_iter_create(t, r, err);
	struct info_rank *ir = &o->rank[r];
	struct trace_event ev;
	bool known;
	int rv = -1;

	if (!sum || !it)
		goto out;
	while (trace_iter_next(it, &ev, &known)) {
		sum[ev.sym].calls++;
		sum[ev.sym].seconds += (double)ev.dur_ns * 1e-9;
		ir->compute += (double)ev.gap_ns * 1e-9;
		ir->mpi += (double)ev.dur_ns * 1e-9;
		o->untimed += !known;
		if ((++ir->events & 0xfffff) == 0)
			cli_progress("reading the trace", r + (double)ir->events / (double)k->events.length,
				     o->n_ranks);
	}
	ir->wall = k->wall_ns * 1e-9;
	ir->polls = k->defs.proc.polls;
	ir->overhead = k->defs.proc.overhead_ticks * k->defs.proc.ns_per_tick * 1e-9 * (double)ir->events;
	o->events += ir->events;
	o->polls += ir->polls;
	o->compute += ir->compute;
	o->n_present++;
	if (ir->wall > o->wall)
		o->wall = ir->wall;
	rv = add_symbols(o, r, &k->defs, sum);
out:
	if (rv < 0 && sum)
		err_set(err, "no memory");
	trace_iter_destroy(it);
	free(sum);
	return rv;
}

static int by_seconds(const void *a, const void *b)
{
	const struct info_site *x = a, *y = b;

	return (x->sum.seconds < y->sum.seconds) - (x->sum.seconds > y->sum.seconds);
}

int info_collect(const struct trace *t, struct info *o, struct errbuf *err)
{
	*o = (struct info){.n_ranks = trace_n_ranks(t)};
	o->rank = calloc(o->n_ranks, sizeof(*o->rank));
	if (!o->rank)
		return err_set(err, "no memory");
	for (uint32_t r = 0; r < o->n_ranks; r++)
		if (trace_get_rank(t, r)->present && collect_rank(t, r, o, err) < 0) {
			info_free(o);
			return -1;
		}
	cli_progress("", 1, 1);
	if (o->n_site)
		qsort(o->site, o->n_site, sizeof(*o->site), by_seconds);
	return 0;
}

void info_free(struct info *i)
{
	free(i->site);
	free(i->rank);
	*i = (struct info){0};
}
