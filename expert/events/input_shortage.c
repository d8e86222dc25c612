/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a rank lacked its processor. The rank's samples tell how long it was ready to run while others had the
 * processor. This file finds the total over the whole run, and the calls between which the rank lacked its processor.
 * See input_impl.h.
 */
#include <stdlib.h>

#include "expert/events/input_impl.h"
#include "trace/read/samples_read.h"

#define SHORT_PART 4 /* of the time before a call, at least one part of so many without a processor */

/* Time between samples, as far as it is known. */
struct lapse {
	uint64_t cpu_ns, delayed_ns, asleep_ns;
};

static void add_sample(struct lapse *l, const struct trace_sample *s)
{
	l->delayed_ns += s->delayed_ns;
	l->cpu_ns += s->cpu_ns;
	l->asleep_ns += s->asleep_ns;
}

/* asleep_ns: estimate of the longest sleep within the computation before the call. */
static void set_from(struct input_shortage *h, uint64_t event, const struct lapse *l, uint64_t asleep_ns)
{
	double busy_ns = (double)l->cpu_ns + (double)l->delayed_ns;
	struct input_lack lack = {.event = event};

	if ((double)l->delayed_ns * SHORT_PART > busy_ns + (double)l->asleep_ns) {
		lack.part = (float)((double)l->delayed_ns / busy_ns);
		lack.asleep_us = asleep_ns / 1000 < UINT32_MAX ? (uint32_t)(asleep_ns / 1000) : UINT32_MAX;
	}
	if (lack.part > 0 || (h->n && h->change[h->n - 1].part > 0))
		h->change[h->n++] = lack;
}

/* Finds the changes from the n samples of the first thread, in their order. Each sample ends the interval since the
 * sample before. A call, and the computation before it, lie in the interval that ends with the next sample. Samples of
 * the computation count if there are any; then samples inside the call do not. A rank that waits in MPI loses nothing
 * if it does not run. */
static void find_changes(const struct trace_sample *const *sample, uint32_t n, struct input_shortage *h)
{
	uint64_t next = 0; /* call that is not set */

	for (uint32_t i = 0; i < n;) {
		uint64_t event = sample[i]->event;
		struct lapse first = {0}, own = {0}, all = {0};
		bool any = false;

		add_sample(&first, sample[i]);
		for (; i < n && sample[i]->event == event; i++) {
			add_sample(&all, sample[i]);
			if (sample[i]->flags & TSAMPLE_IN_MPI)
				continue;
			add_sample(&own, sample[i]);
			any = true;
		}
		if (i < n)
			add_sample(&all, sample[i]);
		if (next < event)
			set_from(h, next, &first, first.asleep_ns);
		set_from(h, event, any ? &own : &first, all.asleep_ns);
		next = event + 1;
	}
}

static int changes_of(const struct trace_samples *s, struct input_shortage *h)
{
	const struct trace_sample **own = calloc(s->n + 1ull, sizeof(*own));
	uint32_t n = 0;
	int rv = -1;

	h->change = calloc(2ull * s->n + 1, sizeof(*h->change)); /* each sets two at most */
	if (!own || !h->change)
		goto out;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->sample[i].thread == 0 && s->sample[i].event < UINT64_MAX)
			own[n++] = &s->sample[i];
	find_changes(own, n, h);
	if (!h->n) {
		free(h->change);
		h->change = NULL;
	} else { /* most ranks lack nothing most of the time */
		struct input_lack *less = realloc(h->change, h->n * sizeof(*less));

		h->change = less ? less : h->change;
	}
	rv = 0;
out:
	free(own);
	return rv;
}

int input_shortage_open(struct input *in, uint32_t rank)
{
	struct input_shortage *h = &in->rank[rank].shortage;
	struct trace_samples s;
	struct errbuf err;
	int rv;

	if (trace_samples_read(in->t, rank, &s, &err) != 1)
		return 0;
	for (uint32_t i = 0; i < s.n; i++) {
		if (s.sample[i].thread != 0)
			continue;
		h->is_sampled = true;
		h->delayed_ns += s.sample[i].delayed_ns;
		h->cpu_ns += s.sample[i].cpu_ns;
	}
	rv = in->told ? 0 : changes_of(&s, h);
	trace_samples_free(&s);
	return rv;
}

void input_shortage_at(struct input_rank *k, uint64_t event)
{
	struct input_shortage *h = &k->shortage;

	while (h->passed < h->n && h->change[h->passed].event <= event)
		h->now = h->change[h->passed++];
}

/* A rank that waits in MPI polls, so a rank sleeps only in its computation. */
uint64_t input_computed(const struct input_shortage *h, uint64_t gap_ns)
{
	uint64_t asleep_ns = 1000ull * h->now.asleep_us, lacked_ns;

	if (gap_ns <= asleep_ns || gap_ns > INT64_MAX) /* a file may say anything */
		return gap_ns;
	lacked_ns = (uint64_t)((double)(gap_ns - asleep_ns) * h->now.part);
	return gap_ns > lacked_ns ? gap_ns - lacked_ns : 0;
}
