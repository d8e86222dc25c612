/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a rank lacked its processor: what its samples say of how long it was ready to run and others had it, over the whole run,
 * and from which call on it was short of it, and no longer. See input_impl.h.
 */
#include <stdlib.h>

#include "expert/input_impl.h"
#include "trace/samples.h"

#define SHORT_PART 4 /* of the time around a call, at least one part of so many without a processor */

/* Time between samples, as far as it is known. */
struct lapse {
	uint64_t delayed_ns, all_ns;
};

static void add(struct lapse *l, const struct trace_sample *s)
{
	l->delayed_ns += s->delayed_ns;
	l->all_ns += s->cpu_ns + s->delayed_ns + s->asleep_ns;
}

/* 0: it has it. */
static uint8_t shortage(const struct lapse *l)
{
	if (l->delayed_ns <= l->all_ns / SHORT_PART)
		return 0;
	return (uint8_t)((double)l->delayed_ns / (double)l->all_ns * (INPUT_SHORT_OF - 1));
}

/* From that call on. */
static void set_from(struct input_shortage *h, uint64_t event, uint8_t lacks)
{
	if (lacks != (h->n ? (uint8_t)h->change[h->n - 1] : 0))
		h->change[h->n++] = event << 8 | lacks;
}

/* Samples of the first thread, n in their order: each ends the time since the one before. A call lies in the time between the last
 * sample before it and the first one behind it; one with samples in it, or before it, in all of that. */
static void find_changes(const struct trace_sample *const *sample, uint32_t n, struct input_shortage *h)
{
	uint64_t next = 0; /* call that is not set */

	for (uint32_t i = 0; i < n;) {
		uint64_t event = sample[i]->event;
		struct lapse until = {0}, at = {0};

		add(&until, sample[i]);
		if (next < event)
			set_from(h, next, shortage(&until));
		for (; i < n && sample[i]->event == event; i++)
			add(&at, sample[i]);
		if (i < n)
			add(&at, sample[i]);
		set_from(h, event, shortage(&at));
		next = event + 1;
	}
}

static int changes_of(const struct trace_samples *s, struct input_shortage *h)
{
	const struct trace_sample **own = calloc(s->n + 1ull, sizeof(*own));
	uint32_t n = 0;
	int rv = -1;

	h->change = calloc(2ull * s->n + 1, sizeof(*h->change));
	if (!own || !h->change)
		goto out;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->sample[i].thread == 0 && s->sample[i].event < UINT64_MAX >> 8)
			own[n++] = &s->sample[i];
	find_changes(own, n, h);
	if (!h->n) {
		free(h->change);
		h->change = NULL;
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

uint8_t input_shortage_at(struct input_rank *k, uint64_t event)
{
	struct input_shortage *h = &k->shortage;

	while (h->passed < h->n && h->change[h->passed] >> 8 <= event)
		h->passed++;
	return h->passed ? (uint8_t)h->change[h->passed - 1] : 0;
}
