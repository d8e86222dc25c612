/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the indexes that an array asks for with the indexes that have run. If run time depends on the index,
 * nothing is predicted for an index that has not run. Otherwise the message says that this index is expected to
 * behave like the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/decide_internal.h"

/* ---- the indexes asked for ---- */

static bool has_run(const struct store_array_run *runs, size_t n, uint32_t index)
{
	for (size_t i = 0; i < n; i++)
		if (runs[i].run.index == index && !runs[i].run.at_least)
			return true;
	return false;
}

static bool parse_index(const char **p, uint32_t *out)
{
	char *end;
	unsigned long v;

	if (**p < '0' || **p > '9')
		return false;
	v = strtoul(*p, &end, 10);
	*p = end;
	*out = (uint32_t)v;
	return v < ARRAY_NO_INDEX;
}

/* Parse "4", "0-31" or "0-31:4". */
static bool parse_range(const char **p, uint32_t *from, uint32_t *to, uint32_t *step)
{
	*step = 1;
	if (!parse_index(p, from))
		return false;
	*to = *from;
	if (**p != '-')
		return true;
	++*p;
	if (!parse_index(p, to))
		return false;
	if (**p != ':')
		return true;
	++*p;
	return parse_index(p, step) && *step > 0;
}

/* Of each range, at most n + 1 indexes are checked: then at least one of them has not run. */
enum array_asked decide_array_asked(const char *inx, const struct store_array_run *runs, size_t n, uint32_t *unseen)
{
	const char *p = inx ? inx : "";
	uint32_t from, to, step;

	while (parse_range(&p, &from, &to, &step)) {
		for (uint64_t i = from; i <= to; i += step) {
			*unseen = (uint32_t)i;
			if (!has_run(runs, n, *unseen))
				return ASKED_UNSEEN;
		}
		/* %N: number of concurrent tasks */
		if (!*p || *p == '%')
			return ASKED_SEEN;
		if (*p++ != ',')
			break;
	}
	return ASKED_UNREADABLE;
}

static bool is_asked(const char *inx, uint32_t index)
{
	uint32_t from, to, step;

	while (parse_range(&inx, &from, &to, &step)) {
		if (index >= from && index <= to && (index - from) % step == 0)
			return true;
		if (*inx++ != ',')
			break;
	}
	return false;
}

bool decide_array_span(const char *inx, uint32_t *first, uint32_t *last)
{
	uint32_t from, to, step;

	*first = ARRAY_NO_INDEX;
	*last = 0;
	while (parse_range(&inx, &from, &to, &step) && from <= to) {
		to -= (to - from) % step;
		*first = from < *first ? from : *first;
		*last = to > *last ? to : *last;
		if (!*inx || *inx == '%')
			return true;
		if (*inx++ != ',')
			break;
	}
	return false;
}

/* ---- what the index does ---- */

/* Is runs[at] the latest run of its index on its candidate? */
static bool is_latest(const struct store_array_run *runs, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (runs[i].run.index == runs[at].run.index && !strcmp(runs[i].candidate, runs[at].candidate))
			return false;
	return true;
}

/* A model over indexes may leave out an index as an outlier. It does not hold for an array that asks for this index. */
static bool is_exceeded(const struct deciding *d, const struct store_array_run *runs, size_t n)
{
	for (unsigned o = 0; o < d->n_options; o++) {
		const struct store_estimate *e = d->options[o].e;

		for (size_t i = 0; i < n; i++)
			if (runs[i].run.actual_s > e->e.hi_s && !strcmp(runs[i].candidate, e->candidate) &&
			    is_asked(d->in->array_inx, runs[i].run.index) && is_latest(runs, i))
				return true;
	}
	return false;
}

int decide_array(struct deciding *d)
{
	struct store_array_run *runs = d->runs;
	struct array_view view;
	const char *candidate;
	uint32_t unseen;
	bool all;
	int n, found;

	if (d->by_others) /* the model includes the index */
		return 0;
	if (!d->in->array_inx || !*d->in->array_inx || !d->src->reads->array_runs)
		return 0;
	n = d->src->reads->array_runs(d->src->store, d->out->id.key, runs, STORE_ARRAY_RUNS, &all, d->err);
	if (n < 0)
		return -1;
	/* There are more runs than were read, so the indexes of older runs are not known. */
	if (!all || decide_array_asked(d->in->array_inx, runs, (size_t)n, &unseen) != ASKED_UNSEEN)
		return 0;
	if (!store_array_depends(runs, (size_t)n, &view, &candidate)) {
		d->unseen = unseen;
		return 0;
	}
	found = decide_others(d, false);
	if (found < 0)
		return -1;
	if (found && !is_exceeded(d, runs, (size_t)n))
		return 0;
	d->by_others = false;
	d->n_options = 0;
	decide_say(d->out, "precedent: no prediction: the array's index matters (%.0f to %.0f s on %s), and index %u has not run yet",
		   view.least_s, view.most_s, candidate, unseen);
	decide_say_unmodelled(d);
	decide_say_opt_out(d->out);
	return 1;
}
