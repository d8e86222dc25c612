/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts from many calls of a rank: its main loop, its bursts of messages to the same rank, and the sums and facts of
 * its whole run. See input_impl.h.
 */
#include <stdlib.h>
#include <string.h>

#include "expert/events/input_impl.h"
#include "trace/functions.h"

#define BURST_LEAST 4 /* messages */

/* ---- main loops ---- */

static uint64_t item_length(const struct folded *f, const struct fold_item *i)
{
	return i->key & FOLD_BODY ? f->body_length[i->key & ~FOLD_BODY] : 1;
}

/* The loop that at least half of the events lie in. A sequence that is not repeated is looked into. */
static struct input_loop main_loop(const struct folded *f)
{
	uint32_t sequence = f->n_body;
	uint64_t first = 0;

	for (int depth = 0; depth < FOLD_MAX_DEPTH; depth++) {
		struct folded_items s = folded_items(f, sequence);
		uint64_t at = first, best_first = 0, most = 0;
		struct fold_item item, best = {0};

		while (folded_items_next(&s, &item)) {
			uint64_t n = item.count * item_length(f, &item);

			if (n > most) {
				most = n;
				best = item;
				best_first = at;
			}
			at += n;
		}
		if (most == 0 || most < f->length / 2)
			break;
		if (best.count >= INPUT_LOOP_LEAST)
			return (struct input_loop){.first = best_first, .length = item_length(f, &best), .count = best.count};
		if (!(best.key & FOLD_BODY))
			break;
		sequence = best.key & ~FOLD_BODY;
		first = best_first;
	}
	return (struct input_loop){0};
}

static int by_count(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The loops that have the most common number of iterations are the same loop. Loops with other numbers are forgotten. So
 * are all loops of a task farm: its ranks pass through them independently. */
static int agree_on_loops(struct input *in)
{
	uint32_t n = trace_n_ranks(in->t), run = 0;
	uint64_t *count = calloc(n + 1ull, sizeof(*count)), common = 0;

	if (!count)
		return -1;
	for (uint32_t r = 0; r < n; r++)
		count[r] = in->rank[r].loop.count;
	qsort(count, n, sizeof(*count), by_count);
	for (uint32_t i = 0; i < n; i++) {
		run = i && count[i] == count[i - 1] ? run + 1 : 1;
		if (count[i] && run >= in->loop_ranks) {
			in->loop_ranks = run;
			common = count[i];
		}
	}
	free(count);
	for (uint32_t r = 0; r < n; r++)
		if (in->rank[r].loop.count != common || in->loop_ranks < 2 || in->has_servers)
			in->rank[r].loop.count = 0;
	return 0;
}

/* ---- hosts ---- */

/* Its number; 0, which is "", where there is none. */
static uint32_t string_of(struct input *in, const char *text)
{
	uint32_t number = text && *text ? engine_string(in->e, text) : 0;

	return number == UINT32_MAX ? 0 : number;
}

static int find_hosts(struct input *in)
{
	uint32_t n = trace_n_ranks(in->t);
	uint32_t most = 0, *ranks;

	in->host = calloc(n + 1ull, sizeof(*in->host));
	in->on_host = calloc(n + 1ull, sizeof(*in->on_host));
	in->network = calloc(n + 1ull, sizeof(*in->network));
	if (!in->host || !in->on_host || !in->network)
		return -1;
	for (uint32_t r = 0; r < n; r++) {
		const struct trace_rank *k = trace_get_rank(in->t, r);

		in->host[r] = k->present ? string_of(in, k->defs.proc.host) : 0;
		in->network[r] = k->present ? string_of(in, k->defs.proc.network) : 0;
		most = in->host[r] > most ? in->host[r] : most;
	}
	ranks = calloc(most + 1ull, sizeof(*ranks));
	if (!ranks)
		return -1;
	for (uint32_t r = 0; r < n; r++)
		in->hosts += trace_get_rank(in->t, r)->present && !ranks[in->host[r]]++;
	for (uint32_t r = 0; r < n; r++)
		in->on_host[r] = ranks[in->host[r]];
	free(ranks);
	return 0;
}

struct bound {
	uint32_t host, rank;
	uint64_t set;
};

static int by_set(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->set < y->set ? -1 : x->set > y->set;
}

/* Ranks that may use the same processors of the same host. */
static int count_bound(struct input *in)
{
	uint32_t n = trace_n_ranks(in->t);
	struct bound *all = calloc(n + 1ull, sizeof(*all));

	in->on_set = calloc(n + 1ull, sizeof(*in->on_set));
	if (!all || !in->on_set) {
		free(all);
		return -1;
	}
	for (uint32_t r = 0; r < n; r++)
		all[r] = (struct bound){in->host[r], r, trace_get_rank(in->t, r)->defs.proc.processor_set};
	qsort(all, n, sizeof(*all), by_set);
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && by_set(&all[i], &all[end]) == 0; end++)
			;
		for (uint32_t k = i; k < end; k++)
			in->on_set[all[k].rank] = end - i;
	}
	free(all);
	return 0;
}

int input_ranks_open(struct input *in)
{
	for (uint32_t r = 0; r < trace_n_ranks(in->t); r++) {
		const struct trace_rank *k = trace_get_rank(in->t, r);

		in->rank[r].probe.channel = MSG_NONE;
		if (k->present && k->events.length)
			in->rank[r].loop = main_loop(&k->events);
		if (k->present && input_shortage_open(in, r) < 0)
			return -1;
	}
	return input_servers_find(in) < 0 || agree_on_loops(in) < 0 || find_hosts(in) < 0 ? -1 : count_bound(in);
}

/* ---- bursts ---- */

static int shorter(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t as_usual(const struct input_burst *b, uint64_t ns)
{
	return ns > INPUT_BURST_ODD * b->usual_ns ? b->usual_ns : ns;
}

/* Duration of the first sends, which are all alike. The median replaces durations far above it. */
static uint64_t first_sends_ns(struct input_burst *b)
{
	uint32_t n = b->count < INPUT_BURST_FIRST ? b->count : INPUT_BURST_FIRST;
	uint64_t sum = 0;

	qsort(b->first_ns, n, sizeof(*b->first_ns), shorter);
	b->usual_ns = b->first_ns[(n - 1) / 2];
	for (uint32_t i = 0; i < n; i++)
		sum += as_usual(b, b->first_ns[i]);
	return sum;
}

static int tell_burst(struct input *in, uint32_t rank, const struct input_call *c, struct input_burst *b)
{
	struct pending *p;

	if (b->count >= BURST_LEAST) {
		p = input_append(in, rank, c, in->type.burst);
		if (!p)
			return -1;
		p->v[0].i = rank;
		p->v[1].i = b->dest;
		p->v[2].i = b->count;
		p->v[3].i = (int64_t)b->bytes;
		p->v[4].i = (int64_t)b->largest;
		p->v[5].i = (int64_t)(b->count > INPUT_BURST_FIRST ? b->ns : first_sends_ns(b));
		p->s.untimed |= b->untimed;
		p->s.site = in->rank[rank].sig[b->sym].site; /* of the last of them */
		p->s.function = in->rank[rank].sig[b->sym].function;
		p->s.event = (int64_t)b->event;
	}
	memset(b, 0, offsetof(struct input_burst, first_ns));
	in->rank[rank].bursting &= ~(1u << (b - in->rank[rank].burst));
	return 0;
}

int input_bursts_end(struct input *in, uint32_t rank, const struct input_call *c)
{
	struct input_rank *k = &in->rank[rank];

	for (uint32_t left = k->bursting; left; left &= left - 1)
		if (tell_burst(in, rank, c, &k->burst[__builtin_ctz(left)]) < 0)
			return -1;
	return 0;
}

int input_burst_add(struct input *in, uint32_t rank, const struct input_call *c, uint32_t dest, uint64_t bytes)
{
	struct input_burst *b = &in->rank[rank].burst[dest % INPUT_BURSTS];
	bool apart = c->timed && !b->untimed && c->enter_ns > b->left_ns + INPUT_BURST_GAP_NS;
	uint64_t ns = c->leave_ns - c->enter_ns;

	if (b->count && (b->dest != dest || apart) && tell_burst(in, rank, c, b) < 0)
		return -1;
	in->rank[rank].bursting |= 1u << dest % INPUT_BURSTS;
	b->left_ns = c->leave_ns;
	b->dest = dest;
	b->sym = c->sym;
	b->event = c->event;
	if (b->count == INPUT_BURST_FIRST)
		b->ns = first_sends_ns(b);
	if (b->count < INPUT_BURST_FIRST)
		b->first_ns[b->count] = ns;
	else
		b->ns += as_usual(b, ns);
	b->count++;
	b->bytes += bytes;
	b->largest = bytes > b->largest ? bytes : b->largest;
	b->untimed |= !c->timed;
	return 0;
}

/* ---- begin and end ---- */

static void set_host(const struct input *in, uint32_t rank, struct pending *p)
{
	p->v[0].i = trace_n_ranks(in->t) - in->report->missing;
	p->v[1].i = in->host[rank];
	p->v[2].i = in->on_host[rank];
	p->v[3].i = in->hosts;
}

static int tell_begin(struct input *in, uint32_t rank, const struct input_call *c)
{
	struct pending *p = input_append(in, rank, c, in->type.begin);

	if (!p)
		return -1;
	p->s.site = -1;
	set_host(in, rank, p);
	in->rank[rank].begun = true;
	return 0;
}

/* How long the rank was ready, but others had its processor. */
static uint64_t delayed_ns(const struct input_shortage *h, uint64_t span_ns)
{
	if (h->delayed_ns + h->cpu_ns <= span_ns)
		return h->delayed_ns;
	return span_ns > h->cpu_ns ? span_ns - h->cpu_ns : 0;
}

static int64_t bounded(double ns)
{
	return ns > 0 ? (int64_t)(ns < 9e18 ? ns : 9e18) : 0;
}

int input_rank_end(struct input *in, uint32_t rank)
{
	struct input_rank *k = &in->rank[rank];
	const struct trace_proc *f = &trace_get_rank(in->t, rank)->defs.proc;
	struct input_call c = {.enter_ns = k->end_ns, .leave_ns = k->end_ns, .timed = !k->untimed};
	uint64_t span_ns = k->begin_ns == UINT64_MAX ? 0 : k->end_ns - k->begin_ns;
	struct pending *p;

	if (!k->n_calls || k->ended)
		return 0;
	k->ended = true;
	c.event = k->n_calls - 1;
	if (k->last != k->first && input_last(k)->s.start_ns > c.enter_ns)
		c.enter_ns = c.leave_ns = input_last(k)->s.start_ns;
	if (input_bursts_end(in, rank, &c) < 0 || input_stops(in, rank, &c) < 0)
		return -1;
	p = input_append(in, rank, &c, in->type.end);
	if (!p)
		return -1;
	p->s.site = -1;
	set_host(in, rank, p);
	p->v[4].i = (int64_t)k->loop.count;
	p->v[5].i = (int64_t)k->computed_ns;
	p->v[6].i = (int64_t)k->in_files_ns;
	p->v[7].i = (int64_t)span_ns;
	p->v[8].i = (int64_t)k->n_calls;
	p->v[9].i = (int64_t)f->polls;
	p->v[10].i = bounded((double)f->poll_ticks * f->ns_per_tick);
	p->v[11].i = (int64_t)f->before_ns;
	p->v[12].i = (int64_t)f->init_ns;
	p->v[13].i = (int64_t)f->cpu_ns;
	p->v[14].i = (int64_t)delayed_ns(&k->shortage, span_ns);
	p->v[15].i = k->shortage.is_sampled;
	p->v[16].i = f->processors;
	p->v[17].i = (int64_t)(f->processor_set & INT64_MAX);
	p->v[18].i = in->on_set[rank];
	p->v[19].i = bounded((double)f->throttled_ns);
	p->v[20].i = f->host_processors;
	p->v[21].i = in->network[rank];
	p->v[22].i = bounded((double)f->after_ns);
	p->v[23].i = k->is_server;
	return 0;
}

/* ---- every call ---- */

int input_rank_before(struct input *in, uint32_t rank, const struct input_call *c)
{
	struct input_rank *k = &in->rank[rank];
	struct input_loop *l = &k->loop;
	uint64_t gap_ns;

	k->n_calls++;
	k->untimed += !c->timed;
	input_shortage_at(k, c->event);
	gap_ns = input_computed(&k->shortage, c->gap_ns);
	k->computed_ns += c->timed ? gap_ns : 0;
	if (k->sig[c->sym].is_file && c->timed)
		k->in_files_ns += c->leave_ns - c->enter_ns;
	if (l->count && l->pass < l->count && c->event >= l->first) {
		if (c->event == l->first + l->pass * l->length)
			l->begin_ns = c->enter_ns > c->gap_ns ? c->enter_ns - c->gap_ns : 0;
		l->computed_ns += gap_ns;
		l->untimed |= !c->timed;
	}
	return k->begun ? 0 : tell_begin(in, rank, c);
}

int input_rank_after(struct input *in, uint32_t rank, const struct input_call *c)
{
	struct input_loop *l = &in->rank[rank].loop;
	struct pending *p;

	if (!l->count || l->pass == l->count || c->event + 1 != l->first + (l->pass + 1) * l->length)
		return 0;
	p = input_append(in, rank, c, in->type.iteration);
	if (!p)
		return -1;
	l->total_ns += l->computed_ns;
	l->later_ns += l->pass ? l->computed_ns : 0;
	p->s.site = -1;
	p->v[0].i = (int64_t)l->pass++;
	p->v[1].i = (int64_t)l->count;
	p->v[2].i = in->loop_ranks;
	p->v[3].i = (int64_t)l->begin_ns;
	p->v[4].i = (int64_t)l->computed_ns;
	p->v[5].i = (int64_t)l->total_ns;
	p->v[6].i = (int64_t)l->later_ns;
	p->s.untimed |= l->untimed;
	l->computed_ns = 0;
	l->untimed = false;
	return 0;
}
