/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controlled logical clock (Rabenseifner 1997; Becker, Rabenseifner, Wolf and Linford 2013). Forward: a receive
 * that is earlier than its send is put behind it; what follows keeps its distance and falls back slowly. Backward: the
 * jump is spread over what came before, as far as no send overtakes its receive. Kept are the jumps alone.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/clock_impl.h"
#include "trace/messages.h"

#define LATENCY_NS 100 /* between a send and its receive, where their order had to be restored */
#define MAX_ROUNDS 6

struct control {
	struct trace_clock *c;
	struct trace_clock_report report;
	uint64_t reversed;
	bool first, no_memory;
};

static uint64_t corrected(const struct clock_rank *k, uint64_t linear)
{
	return linear + clock_shift(k, linear);
}

/* ---- forward ---- */

/* From linear time t on, the shift is `add` at least. */
static int put_jump(struct clock_rank *k, uint64_t t, uint64_t add)
{
	uint32_t at = k->n_jump, slow = CLOCK_AMORTISE + k->n_jump / CLOCK_DENSE;

	add = add < CLOCK_ADD_MAX ? add : CLOCK_ADD_MAX;
	slow = slow < 63 ? slow : 63;
	while (at && k->jump[at - 1].t > t)
		at--;
	if (at && k->jump[at - 1].t == t) {
		at--;
		k->jump[at].add = add;
	} else {
		if (k->n_jump == k->cap_jump) {
			uint32_t cap = k->cap_jump ? 2 * k->cap_jump : 16;
			struct clock_jump *p = realloc(k->jump, cap * sizeof(*p));

			if (!p)
				return -1;
			k->jump = p;
			k->cap_jump = cap;
		}
		memmove(&k->jump[at + 1], &k->jump[at], (k->n_jump - at) * sizeof(*k->jump));
		k->jump[at] = (struct clock_jump){.t = t, .begin = t, .add = add, .slow = slow};
		k->n_jump++;
	}
	for (uint32_t i = at + 1; i < k->n_jump; i++) { /* what follows is not lower than the decay */
		uint64_t left = clock_left(&k->jump[i - 1], k->jump[i].t);

		if (k->jump[i].add >= left)
			break;
		k->jump[i].add = left;
	}
	return 0;
}

static int forward(const struct trace_message *m, void *arg)
{
	struct control *x = arg;
	struct clock_rank *from = &x->c->rank[m->src], *to = &x->c->rank[m->dst];
	uint64_t sent, received, t;

	if (!m->timed)
		return 0;
	sent = clock_linear(from, m->send_ns);
	t = received = clock_linear(to, m->recv_ns);
	if (x->first) {
		x->report.messages++;
		if (received < sent) {
			x->report.reversed++;
			if ((double)(sent - received) > x->report.worst_ns)
				x->report.worst_ns = (double)(sent - received);
		}
	}
	sent = corrected(from, sent);
	received = corrected(to, received);
	if (received >= sent)
		return 0;
	x->reversed++;
	if (put_jump(to, t, sent + LATENCY_NS - t) < 0)
		x->no_memory = true;
	return x->no_memory;
}

/* ---- backward ---- */

/* As long as the jump asks for, but not into the one before. */
static void plan_ramps(struct clock_rank *k)
{
	for (uint32_t i = 0; i < k->n_jump; i++) {
		struct clock_jump *j = &k->jump[i];
		uint64_t least = i ? j[-1].t : 0, length = clock_rise(k, i) << CLOCK_AMORTISE;

		j->begin = length < j->t - least ? j->t - length : least;
	}
}

/* A send within a ramp: the ramp begins later where the send would overtake its receive. */
static int backward(const struct trace_message *m, void *arg)
{
	struct control *x = arg;
	struct clock_rank *from = &x->c->rank[m->src];
	uint64_t sent, after, received, rise, ramp, slack;
	uint32_t lo = 0, hi = from->n_jump;
	struct clock_jump *j;

	if (!m->timed || !from->n_jump)
		return 0;
	sent = clock_linear(from, m->send_ns);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (from->jump[mid].t <= sent)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == from->n_jump || sent <= from->jump[lo].begin)
		return 0;
	j = &from->jump[lo];
	after = corrected(from, sent);
	received = clock_linear(&x->c->rank[m->dst], m->recv_ns);
	received = corrected(&x->c->rank[m->dst], received);
	if (after <= received)
		return 0;
	/* How much of the shift is the ramp's, and how much of that may stay. */
	rise = clock_rise(from, lo);
	ramp = (uint64_t)((double)(sent - j->begin) / (double)(j->t - j->begin) * (double)rise);
	slack = ramp > after - received ? ramp - (after - received) : 0;
	if (slack > 1 && slack < rise)
		j->begin = sent - (uint64_t)((double)(slack - 1) * (double)(j->t - sent) / (double)(rise - slack + 1));
	else
		j->begin = sent;
	if (corrected(from, sent) > received)
		j->begin = sent;
	x->reversed++;
	return 0;
}

/* ---- both ---- */

static int pass(struct control *x, const struct trace *t, int (*f)(const struct trace_message *m, void *arg),
		struct errbuf *err)
{
	x->reversed = 0;
	if (trace_messages(t, f, x, NULL, err) < 0)
		return -1;
	return x->no_memory ? err_set(err, "no memory for the corrections of the clocks") : 0;
}

static int count(const struct trace_message *m, void *arg)
{
	struct control *x = arg;

	if (m->timed && trace_clock_ns(x->c, m->dst, m->recv_ns) < trace_clock_ns(x->c, m->src, m->send_ns))
		x->reversed++;
	return 0;
}

static bool any_jump(const struct trace_clock *c)
{
	for (uint32_t r = 0; r < c->n_ranks; r++)
		if (c->rank[r].n_jump)
			return true;
	return false;
}

static int smooth(struct control *x, const struct trace *t, struct errbuf *err)
{
	for (uint32_t r = 0; r < x->c->n_ranks; r++)
		plan_ramps(&x->c->rank[r]);
	for (int i = 0; i < MAX_ROUNDS; i++) {
		if (pass(x, t, backward, err) < 0)
			return -1;
		if (!x->reversed)
			return 0;
	}
	if (pass(x, t, count, err) < 0)
		return -1;
	if (!x->reversed)
		return 0;
	for (uint32_t r = 0; r < x->c->n_ranks; r++) /* without ramps the order held */
		for (uint32_t i = 0; i < x->c->rank[r].n_jump; i++)
			x->c->rank[r].jump[i].begin = x->c->rank[r].jump[i].t;
	return pass(x, t, count, err);
}

int trace_clock_control(struct trace_clock *c, const struct trace *t, struct trace_clock_report *report,
			struct errbuf *err)
{
	struct control x = {.c = c, .first = true, .report = {.error_ns = c->error_ns}};

	for (int i = 0; i < MAX_ROUNDS; i++) {
		if (pass(&x, t, forward, err) < 0)
			return -1;
		x.first = false;
		if (!x.reversed)
			break;
	}
	if (any_jump(c) && !x.reversed && smooth(&x, t, err) < 0)
		return -1;
	x.report.reversed_after = x.reversed;
	for (uint32_t r = 0; r < c->n_ranks; r++)
		for (uint32_t i = 0; i < c->rank[r].n_jump; i++)
			if ((double)c->rank[r].jump[i].add > x.report.moved_ns)
				x.report.moved_ns = (double)c->rank[r].jump[i].add;
	if (report)
		*report = x.report;
	return 0;
}
