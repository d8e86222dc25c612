/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers: ranks that take messages in the order in which they come, such as the master of a task farm. A server computes
 * little because that is its role, and the ranks that it serves have no passes in common. See input_impl.h.
 */
#include <stdlib.h>
#include <string.h>

#include "expert/events/input_impl.h"
#include "trace/functions.h"

#define SERVER_SHARE 8 /* one call in so many at least: a task costs its master two to four calls */

static bool is_any_order(const struct trace_defs *d, uint32_t sym)
{
	const char *name = trace_fn[d->sigs.sig[sym].fn].name;

	return sig_scalar(d, sym, TK_SRC, TRACE_PROC_NULL) == TRACE_ANY_SOURCE || !strcmp(name, "MPI_Waitany") ||
	       !strcmp(name, "MPI_Waitsome") || !strcmp(name, "MPI_Testany") || !strcmp(name, "MPI_Testsome");
}

/* Adds calls in any order of a sequence, which is run times[sequence] times; bodies get the times that they are run. */
static uint64_t count_items(const struct trace_rank *k, uint32_t sequence, uint64_t *times)
{
	struct folded_items s = folded_items(&k->events, sequence);
	struct fold_item item;
	uint64_t n = 0;

	while (folded_items_next(&s, &item)) {
		if (item.key & FOLD_BODY)
			times[item.key & ~FOLD_BODY] += times[sequence] * item.count;
		else if (is_any_order(&k->defs, item.key))
			n += times[sequence] * item.count;
	}
	return n;
}

/* -1: no memory. */
static int is_server(const struct trace_rank *k)
{
	const struct folded *f = &k->events;
	uint64_t *times = calloc(f->n_body + 1ull, sizeof(*times)), n = 0;

	if (!times)
		return -1;
	times[f->n_body] = 1;
	for (uint32_t b = f->n_body + 1; b-- > 0;) /* bodies refer to earlier bodies */
		n += count_items(k, b, times);
	free(times);
	return n > 0 && n >= f->length / SERVER_SHARE;
}

int input_servers_find(struct input *in)
{
	uint32_t servers = 0, present = 0;

	for (uint32_t r = 0; r < trace_n_ranks(in->t); r++) {
		const struct trace_rank *k = trace_get_rank(in->t, r);
		int serves = k->present && k->events.length ? is_server(k) : 0;

		if (serves < 0)
			return -1;
		in->rank[r].is_server = serves;
		servers += (uint32_t)serves;
		present += k->present;
	}
	in->has_servers = servers > 0 && 2 * servers <= present; /* otherwise ranks serve each other */
	for (uint32_t r = 0; r < trace_n_ranks(in->t) && !in->has_servers; r++)
		in->rank[r].is_server = false;
	return 0;
}
