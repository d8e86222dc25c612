/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Totals of each rank per function and place. Calls come from the folded structure, which is exact even if times
 * were not kept. Times come from the pages of times, and from the histograms of times that were not kept.
 */
#include <stdlib.h>

#include "trace/read/hist_read.h"
#include "trace/view/pack.h"

struct sum {
	uint64_t calls;
	double ns;
};

/* Count the calls of each symbol. Bodies refer to earlier bodies only. From the last body down, the multiplicity
 * of each body is known before it is used. */
static int count_calls(const struct folded *f, struct sum *sum)
{
	uint64_t *times = calloc((size_t)f->n_body + 1, sizeof(*times));

	if (!times)
		return -1;
	times[f->n_body] = 1;
	for (uint32_t b = f->n_body + 1; b-- > 0;) {
		struct folded_items s = folded_items(f, b);
		struct fold_item item;

		while (folded_items_next(&s, &item)) {
			if (item.key & FOLD_BODY)
				times[item.key & ~FOLD_BODY] += times[b] * item.count;
			else
				sum[item.key].calls += times[b] * item.count;
		}
	}
	free(times);
	return 0;
}

static int sum_times(struct view *v, uint32_t r, struct sum *sum, struct errbuf *err)
{
	struct trace_iter *it = trace_iter_create(v->in->trace, r, err);
	struct trace_event ev;
	uint64_t timed = 0;
	bool known;

	if (!it)
		return -1;
	while (trace_iter_next(it, &ev, &known)) {
		if (!known) {
			if (!trace_iter_skip_unknown(it))
				break;
			continue;
		}
		timed++;
		sum[ev.sym].ns += (double)ev.dur_ns;
	}
	trace_iter_destroy(it);
	v->rank[r].untimed = v->rank[r].events - timed;
	return 0;
}

/* Add the times in histograms. If their page is damaged, these times count as unknown. */
static void add_histograms(struct view *v, uint32_t r, const struct trace_rank *k, struct sum *sum)
{
	struct hist_table h;
	struct errbuf why;

	if (!k->defs.proc.dropped_events || trace_hist_read(v->in->trace, r, &h, &why) < 0)
		return;
	for (uint32_t i = 0; i < h.n; i++)
		sum[h.entry[i].symbol].ns += h.entry[i].duration.sum * k->defs.proc.ns_per_tick;
	hist_table_free(&h);
}

static void fold_rank(struct view *v, uint32_t r, const struct trace_defs *d, const struct sum *sum, double *place_ns)
{
	for (uint32_t s = 0; s < d->sigs.n; s++) {
		uint32_t p = v->sig_place[v->kind[r][s] - VIEW_KIND_CALL];
		size_t at = (size_t)r * v->n_fn + v->fn_id[v->place[p].fn] - 1;

		v->place[p].calls += sum[s].calls;
		v->place[p].ns += sum[s].ns;
		place_ns[p] += sum[s].ns;
		v->fn_calls[at] += sum[s].calls;
		v->fn_ns[at] += sum[s].ns;
		v->rank[r].mpi_ns += sum[s].ns;
	}
	for (uint32_t s = 0; s < d->sigs.n; s++) {
		uint32_t p = v->sig_place[v->kind[r][s] - VIEW_KIND_CALL];

		if (place_ns[p] > v->place[p].max_ns) {
			v->place[p].max_ns = place_ns[p];
			v->place[p].max_rank = r;
		}
	}
	for (uint32_t s = 0; s < d->sigs.n; s++)
		place_ns[v->sig_place[v->kind[r][s] - VIEW_KIND_CALL]] = 0;
}

static int add_rank_totals(struct view *v, uint32_t r, double *place_ns, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(v->in->trace, r);
	struct sum *sum = calloc((size_t)k->defs.sigs.n + 1, sizeof(*sum));
	int rv = -1;

	v->rank[r].events = k->events.length;
	if (!sum || count_calls(&k->events, sum) < 0)
		err_set(err, "no memory");
	else
		rv = sum_times(v, r, sum, err);
	if (rv == 0) {
		add_histograms(v, r, k, sum);
		fold_rank(v, r, &k->defs, sum, place_ns);
	}
	v->events += v->rank[r].events;
	v->untimed += v->rank[r].untimed;
	free(sum);
	return rv;
}

int view_stats_build(struct view *v, struct errbuf *err)
{
	double *place_ns = calloc((size_t)v->n_place + 1, sizeof(*place_ns));
	int rv = 0;

	v->fn_calls = calloc((size_t)v->n_ranks * v->n_fn + 1, sizeof(*v->fn_calls));
	v->fn_ns = calloc((size_t)v->n_ranks * v->n_fn + 1, sizeof(*v->fn_ns));
	v->rank = calloc(v->n_ranks, sizeof(*v->rank));
	if (!place_ns || !v->fn_calls || !v->fn_ns || !v->rank)
		rv = err_set(err, "no memory");
	for (uint32_t r = 0; r < v->n_ranks && rv == 0; r++) {
		view_progress(v, "reading the trace", r, v->n_ranks);
		if (trace_get_rank(v->in->trace, r)->present)
			rv = add_rank_totals(v, r, place_ns, err);
	}
	free(place_ns);
	return rv;
}

void view_stats_put_ranks(const struct view *v, struct buf *out)
{
	size_t n = (size_t)v->n_ranks * v->n_fn;

	for (size_t i = 0; i < n; i++) {
		buf_put_uv(out, v->fn_calls[i]);
		buf_put_uv(out, (uint64_t)v->fn_ns[i]);
	}
}
