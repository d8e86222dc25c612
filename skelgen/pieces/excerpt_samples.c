/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See excerpt_samples.h. A sample tells of the time since its thread's sample before. Where a piece begins in between, the
 * piece gets its share of that time. Delay is gone from the times of an excerpt already.
 */
#include "skelgen/pieces/excerpt_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read/samples_read.h"

int excerpt_samples_open(struct excerpt_samples *s, const struct trace *t, uint32_t rank, struct errbuf *err)
{
	struct errbuf unread;

	*s = (struct excerpt_samples){.ns_per_tick = trace_get_rank(t, rank)->defs.proc.ns_per_tick, .piece_ns = -1};
	if (trace_samples_read(t, rank, &s->from, &unread) != 1) {
		s->from = (struct trace_samples){0};
		return 0;
	}
	s->to = s->from;
	s->to.n = 0;
	s->to.sample = calloc(s->from.n + 1u, sizeof *s->to.sample);
	return s->to.sample != NULL ? 0 : err_set(err, "no memory for the samples of rank %u", rank);
}

static double when(const struct excerpt_samples *s, uint32_t i)
{
	return (double)s->from.sample[i].tick * s->ns_per_tick;
}

static void part_take(struct trace_sample *k, double share)
{
	k->cpu_ns = (uint64_t)((double)k->cpu_ns * share + 0.5);
	k->asleep_ns = (uint64_t)((double)k->asleep_ns * share + 0.5);
	for (int c = 0; c < TCOUNTER_N; c++)
		k->counter[c] = (uint64_t)((double)k->counter[c] * share + 0.5);
}

/* Sample i lies in the piece. */
static void sample_take(struct excerpt_samples *s, uint32_t i, const struct excerpt_moment *m)
{
	struct trace_sample k = s->from.sample[i];
	double at = when(s, i), since = s->last_ns[k.thread], enter = (double)m->enter_ns;

	if (since < s->piece_ns)
		part_take(&k, at > since ? (at - s->piece_ns) / (at - since) : 0);
	k.event = m->number;
	k.delayed_ns = 0;
	if (m->part < 1)
		part_take(&k, m->part);
	if (at < enter)
		k.tick = m->enter - (uint64_t)(m->part * fmin((double)m->before, enter - at));
	else
		k.tick = m->enter + (uint64_t)fmin((double)m->dur, m->part * (at - enter));
	if (s->to.n > 0 && k.tick < s->to.sample[s->to.n - 1].tick)
		k.tick = s->to.sample[s->to.n - 1].tick;
	s->to.sample[s->to.n++] = k;
}

void excerpt_samples_pass(struct excerpt_samples *s, uint64_t event, const struct excerpt_moment *m)
{
	if (s->piece_ns < 0)
		s->piece_ns = (double)m->enter_ns - (double)m->before;
	for (; s->next < s->from.n && s->from.sample[s->next].event <= event; s->next++) {
		if (s->from.sample[s->next].event == event && when(s, s->next) >= s->piece_ns)
			sample_take(s, s->next, m);
		s->last_ns[s->from.sample[s->next].thread] = when(s, s->next);
	}
}

void excerpt_samples_leave(struct excerpt_samples *s)
{
	s->piece_ns = -1;
}

bool excerpt_samples_encode(const struct excerpt_samples *s, struct buf *out)
{
	if (s->from.n == 0)
		return false;
	trace_samples_encode(&s->to, out);
	return true;
}

void excerpt_samples_close(struct excerpt_samples *s)
{
	free(s->to.sample);
	trace_samples_free(&s->from);
}
