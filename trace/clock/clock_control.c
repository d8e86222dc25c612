/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controlled logical clock (Rabenseifner 1997; Becker, Rabenseifner, Wolf and Linford 2009, cited in clock.h).
 * Forward pass: a receive before its send is moved behind the send. A return from a collective is moved behind the
 * entries of the ranks whose data it returns. Later events keep their distance, and the shift decays slowly.
 * Backward pass: each jump is spread over earlier events by a ramp. The ramp moves no send behind its receive and
 * no entry behind such a return. Only the jumps are stored.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/clock/clock_impl.h"
#include "trace/messages/messages.h"

/* ns between a send and its receive after their order was restored */
#define LATENCY_NS 100
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

/* Raise the shift to at least `add` from linear time t on. Returns 0 on success, -1 if memory runs out. */
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
		if (ARRAY_ROOM(k->jump, k->cap_jump, k->n_jump + 1) != 0)
			return -1;
		memmove(&k->jump[at + 1], &k->jump[at], (k->n_jump - at) * sizeof(*k->jump));
		k->jump[at] = (struct clock_jump){.t = t, .begin = t, .add = add, .slow = slow};
		k->n_jump++;
	}
	for (uint32_t i = at + 1; i < k->n_jump; i++) { /* later jumps must not lie below the decay of this one */
		uint64_t left = clock_left(&k->jump[i - 1], k->jump[i].t);

		if (k->jump[i].add >= left)
			break;
		k->jump[i].add = left;
	}
	return 0;
}

static struct trace_moment moment(void *arg, uint32_t rank, uint64_t local_ns)
{
	const struct clock_rank *k = &((struct control *)arg)->c->rank[rank];
	uint64_t t = clock_linear(k, local_ns);

	return (struct trace_moment){.linear = t, .corrected = corrected(k, t)};
}

static void count_reversal(struct control *x, uint64_t before, uint64_t after, uint64_t *n, uint64_t *n_reversed)
{
	++*n;
	if (after >= before)
		return;
	++*n_reversed;
	if ((double)(before - after) > x->report.worst_ns)
		x->report.worst_ns = (double)(before - after);
}

/* Move `after` behind `before`, which must precede it. Returns true if memory runs out. */
static int put_behind(struct control *x, uint32_t rank, const struct trace_moment *before,
		      const struct trace_moment *after)
{
	if (after->corrected >= before->corrected)
		return 0;
	x->reversed++;
	if (put_jump(&x->c->rank[rank], after->linear, before->corrected + LATENCY_NS - after->linear) < 0)
		x->no_memory = true;
	return x->no_memory;
}

static int forward_message(const struct trace_message *m, void *arg)
{
	struct control *x = arg;
	struct trace_moment sent, received;

	if (!m->timed)
		return 0;
	sent = moment(x, m->src, m->send_ns);
	received = moment(x, m->dst, m->recv_ns);
	if (x->first)
		count_reversal(x, sent.linear, received.linear, &x->report.messages, &x->report.reversed);
	return put_behind(x, m->dst, &sent, &received);
}

static int forward_return(void *arg, uint32_t rank, uint64_t leave_ns, struct trace_moment latest)
{
	struct control *x = arg;
	struct trace_moment left = moment(x, rank, leave_ns);

	if (x->first)
		count_reversal(x, latest.linear, left.linear, &x->report.returns, &x->report.returns_reversed);
	return put_behind(x, rank, &latest, &left);
}

/* ---- backward ---- */

/* Give each jump the ramp length that its rise asks for. A ramp does not reach into the jump before. */
static void plan_ramps(struct clock_rank *k)
{
	for (uint32_t i = 0; i < k->n_jump; i++) {
		struct clock_jump *j = &k->jump[i];
		uint64_t least = i ? j[-1].t : 0, length = clock_rise(k, i) << CLOCK_AMORTISE;

		j->begin = length < j->t - least ? j->t - length : least;
	}
}

/* If the send (or entry) lies within a ramp and the ramp moves it behind its receive (or return), the ramp starts
 * later. */
static void hold_back(struct control *x, struct clock_rank *from, uint64_t sent, uint64_t received)
{
	uint64_t after, rise, ramp, slack;
	uint32_t lo = 0, hi = from->n_jump;
	struct clock_jump *j;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (from->jump[mid].t <= sent)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == from->n_jump || sent <= from->jump[lo].begin)
		return;
	j = &from->jump[lo];
	after = corrected(from, sent);
	if (after <= received)
		return;
	/* ramp: part of the shift at the send that comes from the ramp. slack: the part that may stay. */
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
}

static int backward_message(const struct trace_message *m, void *arg)
{
	struct control *x = arg;
	struct clock_rank *from = &x->c->rank[m->src];

	if (m->timed && from->n_jump)
		hold_back(x, from, clock_linear(from, m->send_ns), moment(x, m->dst, m->recv_ns).corrected);
	return 0;
}

static void backward_entry(void *arg, uint32_t rank, uint64_t enter_ns, uint64_t first)
{
	struct control *x = arg;
	struct clock_rank *k = &x->c->rank[rank];

	if (k->n_jump)
		hold_back(x, k, clock_linear(k, enter_ns), first);
}

/* ---- both ---- */

static int run_pass(struct control *x, const struct trace *t, int (*f)(const struct trace_message *m, void *arg),
		    const struct trace_orders *orders, struct errbuf *err)
{
	x->reversed = 0;
	if (trace_messages_ordered(t, f, orders, x, NULL, err) < 0)
		return -1;
	return x->no_memory ? err_set(err, "no memory for the corrections of the clocks") : 0;
}

static int count_message(const struct trace_message *m, void *arg)
{
	struct control *x = arg;

	if (m->timed && trace_clock_ns(x->c, m->dst, m->recv_ns) < trace_clock_ns(x->c, m->src, m->send_ns))
		x->reversed++;
	return 0;
}

static int count_return(void *arg, uint32_t rank, uint64_t leave_ns, struct trace_moment latest)
{
	struct control *x = arg;

	if (moment(x, rank, leave_ns).corrected < latest.corrected)
		x->reversed++;
	return 0;
}

static const struct trace_orders forwards = {.at = moment, .leaves = forward_return};
static const struct trace_orders backwards = {.at = moment, .entered = backward_entry};
static const struct trace_orders counting = {.at = moment, .leaves = count_return};

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
		if (run_pass(x, t, backward_message, &backwards, err) < 0)
			return -1;
		if (!x->reversed)
			return 0;
	}
	if (run_pass(x, t, count_message, &counting, err) < 0)
		return -1;
	if (!x->reversed)
		return 0;
	for (uint32_t r = 0; r < x->c->n_ranks; r++) /* without ramps no order is violated */
		for (uint32_t i = 0; i < x->c->rank[r].n_jump; i++)
			x->c->rank[r].jump[i].begin = x->c->rank[r].jump[i].t;
	return run_pass(x, t, count_message, &counting, err);
}

int trace_clock_control(struct trace_clock *c, const struct trace *t, struct trace_clock_report *report,
			struct errbuf *err)
{
	struct control x = {.c = c, .first = true, .report = {.error_ns = c->error_ns}};

	for (int i = 0; i < MAX_ROUNDS; i++) {
		if (run_pass(&x, t, forward_message, &forwards, err) < 0)
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
