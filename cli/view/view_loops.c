/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops for the page: see view_loops.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/view/view_loops.h"
#include "skelgen/merge/loops.h"
#include "trace/functions.h"

#define MARKS_PER_LOOP 4096u
#define MARKS_MAX      100000u /* of all loops: about 500 KiB of the page */
_Static_assert(MARKS_MAX >= LOOPS_MAX, "each loop has a mark");

/* Most marks of a loop, such that all loops together have at most MARKS_MAX: none of them goes without. */
static uint64_t marks_of_each(const struct loops *l)
{
	uint64_t most = 2 * MARKS_PER_LOOP, all;

	do {
		most /= 2;
		all = 0;
		for (uint32_t i = 0; i < l->n; i++)
			all += l->loop[i].iterations < most ? l->loop[i].iterations : most;
	} while (all > MARKS_MAX);
	return most;
}

static int add_marks(const struct loops *from, uint32_t i, uint64_t most, struct view_loop *to)
{
	uint64_t n = from->loop[i].iterations;

	to->stride = 1;
	while ((n + to->stride - 1) / to->stride > most)
		to->stride *= 2;
	to->n_mark = (uint32_t)((n + to->stride - 1) / to->stride);
	to->begin = calloc((size_t)to->n_mark + 1, sizeof(*to->begin));
	to->end = calloc((size_t)to->n_mark + 1, sizeof(*to->end));
	if (!to->begin || !to->end)
		return -1;
	for (uint32_t m = 0; m < to->n_mark; m++) {
		uint64_t first = m * to->stride, last = first + to->stride - 1, none;

		if (last >= n)
			last = n - 1;
		loops_iteration(from, i, first, &to->begin[m], &none);
		loops_iteration(from, i, last, &none, &to->end[m]);
	}
	return 0;
}

static int add_loop(const struct trace_defs *d, const struct loops *from, uint32_t i, struct symbolizer *sym,
		    uint64_t marks_most, struct view_loop *to)
{
	const struct loop *l = &from->loop[i];
	char name[512];

	symbolizer_site(sym, d, &d->site[l->site], name, sizeof(name));
	*to = (struct view_loop){
		.parent = l->parent, .calls = l->n_call, .executions = l->executions, .iterations = l->iterations,
		.turns_min = l->turns_min, .turns_max = l->turns_max, .events_min = l->events_min,
		.events_max = l->events_max, .share = l->share, .mpi_share = l->ns > 0 ? l->mpi_ns / l->ns : 0,
		.mean_ns = l->mean_ns, .sd_ns = l->sd_ns, .min_ns = l->min_ns, .max_ns = l->max_ns,
		.slowest = l->slowest,
	};
	to->name = strdup(name);
	to->first_call = strdup(trace_fn[d->sigs.sig[l->sym].fn].name);
	return to->name && to->first_call ? add_marks(from, i, marks_most, to) : -1;
}

int view_loops_build(const struct trace *t, uint32_t rank, struct symbolizer *sym, struct view_loops *out,
		     struct errbuf *err)
{
	const struct trace_defs *d = &trace_get_rank(t, rank)->defs;
	struct loops l;
	uint64_t marks_most;
	int rv = 0;

	*out = (struct view_loops){0};
	if (!trace_get_rank(t, rank)->present || !trace_get_rank(t, rank)->events.length)
		return 0;
	if (loops_build(t, rank, &l, err) < 0)
		return -1;
	out->loop = calloc((size_t)l.n + 1, sizeof(*out->loop));
	if (!out->loop)
		rv = -1;
	marks_most = marks_of_each(&l);
	for (uint32_t i = 0; i < l.n && rv == 0; i++) {
		rv = add_loop(d, &l, i, sym, marks_most, &out->loop[i]);
		out->n++;
	}
	loops_free(&l);
	if (rv < 0) {
		view_loops_free(out);
		return err_set(err, "no memory");
	}
	return 0;
}

void view_loops_free(struct view_loops *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		free(l->loop[i].name);
		free(l->loop[i].first_call);
		free(l->loop[i].begin);
		free(l->loop[i].end);
	}
	free(l->loop);
	*l = (struct view_loops){0};
}
