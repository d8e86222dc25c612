/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranks, read ahead as far as needed, merged in order of time: see input.h. */
#include "expert/events/input.h"

#include <stdlib.h>
#include <string.h>

#include "expert/engine/tournament.h"
#include "expert/events/input_impl.h"

#define PROGRESS_EVERY (1u << 18)

static int find_types(struct input *in, const struct rules *r)
{
	const struct {
		const char *name;
		uint32_t *id;
	} table[] = {{"function_call", &in->type.call},
		     {"function_call_send_operation", &in->type.send},
		     {"function_call_receive_operation", &in->type.recv},
		     {"function_call_barrier_operation", &in->type.barrier},
		     {"function_call_many_to_one_operation", &in->type.to_one},
		     {"function_call_one_to_many_operation", &in->type.from_one},
		     {"function_call_many_to_many_operation", &in->type.to_all},
		     {"function_call_scan_operation", &in->type.scan},
		     {"function_call_window_creation", &in->type.window},
		     {"function_call_lock_operation", &in->type.lock},
		     {"function_call_unlock_operation", &in->type.unlock},
		     {"function_call_post_operation", &in->type.post},
		     {"function_call_start_operation", &in->type.start},
		     {"function_call_complete_operation", &in->type.complete},
		     {"function_call_wait_operation", &in->type.wait},
		     {"function_call_fence_operation", &in->type.fence},
		     {"function_call_neighbour_operation", &in->type.neighbour},
		     {"function_call_neighbour_data", &in->type.neighbour_data},
		     {"function_call_file_collective", &in->type.file_coll},
		     {"function_call_file_operation", &in->type.file},
		     {"message_burst", &in->type.burst},
		     {"iteration", &in->type.iteration},
		     {"rank_begin", &in->type.begin},
		     {"rank_end", &in->type.end},
		     {"rank_stop", &in->type.stop}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct rules_struct *t = rules_find(r, table[i].name);
		int at;

		if (!t || (t->n_param > INPUT_VALUES && i))
			return err_set(in->err, "the built-in structure '%s' is not as it was", table[i].name);
		*table[i].id = t->id;
		if (t->id < INPUT_TYPES)
			in->n_value[t->id] = (uint8_t)t->n_param;
		at = rules_slot(t, "wait_function");
		if (at >= 0 && t->id < INPUT_TYPES)
			in->done_by[t->id] = (uint8_t)(at - RA_N);
	}
	in->n_value[in->type.call] = 1; /* of the rest, the signature tells when the engine asks */
	in->type.probe = UINT32_MAX;
	in->type.flush = UINT32_MAX - 1;
	in->wants_calls = in->told || engine_wants(in->e, in->type.call);
	if (in->wants_calls && !in->told) {
		in->params = input_params_create(rules_find(r, "function_call"));
		if (!in->params)
			return err_set(in->err, "no memory");
	}
	return 0;
}

static int open_rank(struct input *in, uint32_t r)
{
	const struct trace_rank *t = trace_get_rank(in->t, r);
	struct input_rank *k = &in->rank[r];

	k->begin_ns = UINT64_MAX;
	if (!t->present) {
		in->report->missing++;
		return 0;
	}
	k->sig = input_decode_rank(in, r);
	k->instance = calloc(t->defs.n_comm + 1ull, sizeof(*k->instance));
	k->file_instance = calloc(t->defs.n_file + 1ull, sizeof(*k->file_instance));
	k->win = calloc(t->defs.n_win + 1ull, sizeof(*k->win));
	k->topology = input_topologies(in, r);
	if (!k->sig || !k->instance || !k->file_instance || !k->win || !k->topology)
		return err_set(in->err, "no memory");
	if (msg_ops_build(&k->ops, &in->names, r) < 0 || input_own_create(in, r) < 0)
		return err_set(in->err, "no memory");
	k->it = trace_iter_create(in->t, r, in->err);
	return k->it ? 0 : -1;
}

static void close_rank(struct input *in, uint32_t r)
{
	struct input_rank *k = &in->rank[r];

	input_topologies_free(k->topology, trace_get_rank(in->t, r)->defs.n_comm);
	free(k->file_instance);
	trace_iter_destroy(k->it);
	input_own_destroy(k->own);
	msg_ops_free(&k->ops);
	free(k->sig);
	free(k->ring);
	free(k->slot);
	free(k->instance);
	free(k->win);
	free(k->shortage.change);
}

/* One more call of the rank; false at its end. *rv -1: no memory. */
static bool read_call(struct input *in, uint32_t r, int *rv)
{
	struct input_rank *k = &in->rank[r];
	struct input_call c = {0};
	struct trace_event ev;
	uint64_t polled_ns;

	if (!k->it || !trace_iter_next(k->it, &ev, &c.timed)) {
		trace_iter_destroy(k->it);
		k->it = NULL;
		if (input_rank_end(in, r) < 0)
			*rv = err_set(in->err, "no memory for the requests under way");
		return false;
	}
	c.event = trace_iter_when(k->it, &c.enter_ns, &c.leave_ns);
	polled_ns = trace_iter_polled(k->it);
	if (k->sig[ev.sym].is_poll)
		c.enter_ns -= polled_ns; /* it stood there, as in a call that waits */
	c.enter_ns = trace_clock_ns(in->clock->line, r, c.enter_ns);
	c.leave_ns = trace_clock_ns(in->clock->line, r, c.leave_ns);
	k->outside_ns = polled_ns || !k->end_ns || k->end_ns > c.enter_ns ? c.enter_ns : k->end_ns;
	c.gap_ns = ev.gap_ns;
	c.sym = ev.sym;
	in->report->calls++;
	in->report->untimed += !c.timed;
	if (c.timed && k->begin_ns == UINT64_MAX)
		k->begin_ns = c.enter_ns;
	if (c.timed)
		k->end_ns = c.leave_ns;
	if (input_call(in, r, &c) < 0)
		*rv = err_set(in->err, "no memory for the requests under way");
	return *rv == 0;
}

/* The key of the rank's next event, which is complete then. */
static uint64_t next_key(struct input *in, uint32_t r, int *rv)
{
	struct input_rank *k = &in->rank[r];
	struct pending *p;
	uint64_t key;

	while (k->first == k->last)
		if (!read_call(in, r, rv))
			break;
	while (k->first < k->last && !k->ring[k->first & (k->cap - 1)].done && k->last - k->first < INPUT_AHEAD)
		if (!read_call(in, r, rv))
			break;
	if (*rv < 0 || k->first == k->last)
		return TOURNAMENT_END;
	p = &k->ring[k->first & (k->cap - 1)];
	input_give_up(in, p);
	/* To the rules a lock goes on when it was given back; others are told in order of beginnings. A function of the
	 * program is known as a whole when it has returned. */
	key = (p->type == in->type.unlock && !in->told) || p->is_own ? p->s.finish_ns : p->s.start_ns;
	return key < TOURNAMENT_END ? key : TOURNAMENT_END - 1;
}

static inline int tell_event(struct input *in, const struct pending *p)
{
	if (in->told)
		return in->told(in->arg, in, p, in->err);
	if (p->type == in->type.call) {
		union rules_value v[RULES_MAX_PARAMS];

		v[0] = p->v[0];
		input_params_fill(in, p->s.rank, p->sym, v);
		return engine_event(in->e, p->type, &p->s, v, in->err);
	}
	return engine_event(in->e, p->type, &p->s, p->v, in->err);
}

static int merge(struct input *in, struct tournament *t, void (*progress)(double share))
{
	uint32_t n = trace_n_ranks(in->t);
	uint64_t total = 0, told = 0;
	int rv = 0;

	for (uint32_t r = 0; r < n && rv == 0; r++) {
		total += trace_get_rank(in->t, r)->events.length;
		tournament_set(t, r, next_key(in, r, &rv));
	}
	tournament_start(t);
	while (rv == 0 && tournament_key(t) != TOURNAMENT_END) {
		uint32_t r = tournament_top(t);
		struct input_rank *k = &in->rank[r];
		const struct pending *p = &k->ring[k->first++ & (k->cap - 1)];
		uint64_t key;

		if (tell_event(in, p))
			return -1;
		key = next_key(in, r, &rv);
		if (key != tournament_key(t)) /* events of one call, mostly: it is the first still */
			tournament_replay(t, key);
		if (progress && ++told % PROGRESS_EVERY == 0 && total)
			progress((double)in->report->calls / (double)total);
	}
	return rv;
}

static void sum_up(struct input *in)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (uint32_t r = 0; r < trace_n_ranks(in->t); r++) {
		const struct input_rank *k = &in->rank[r];
		const struct trace_proc *proc;

		if (k->begin_ns == UINT64_MAX)
			continue;
		proc = &trace_get_rank(in->t, r)->defs.proc;
		in->report->outside_seconds += ((double)proc->before_ns + (double)proc->init_ns + (double)proc->after_ns) * 1e-9;
		begin = k->begin_ns < begin ? k->begin_ns : begin;
		end = k->end_ns > end ? k->end_ns : end;
		in->report->rank_seconds += (double)(k->end_ns - k->begin_ns) * 1e-9;
	}
	in->report->span_ns = end > begin ? end - begin : 0;
}

void input_clock_free(struct input_clock *c)
{
	trace_clock_destroy(c->line);
	*c = (struct input_clock){0};
}

static int open_clock(struct input_clock *c, const struct trace *t, struct errbuf *err)
{
	struct trace_clock_report report = {0};

	if (c->line)
		return 0;
	c->line = trace_clock_create(t, err);
	if (!c->line)
		return err_set(err, "no memory");
	if (trace_clock_control(c->line, t, &report, err) < 0) {
		input_clock_free(c);
		return -1;
	}
	c->moved_ns = report.moved_ns;
	return 0;
}

static int read_events(struct input *with, void (*progress)(double share))
{
	struct input in = *with;
	const struct trace *t = in.t;
	struct errbuf *err = in.err;
	struct input_clock own = {0};
	struct tournament tree = {0};
	uint32_t n = trace_n_ranks(t);
	int rv = -1;

	*in.report = (struct input_report){0};
	in.rank = calloc(n + 1ull, sizeof(*in.rank));
	in.clock = in.clock ? in.clock : &own;
	if (!in.rank || tournament_init(&tree, n) < 0 || msg_names_build(&in.names, t) < 0) {
		err_set(err, "no memory");
		goto out;
	}
	if (open_clock(in.clock, t, err) < 0 || find_types(&in, engine_rules(in.e)) < 0)
		goto out;
	in.report->moved_ns = in.clock->moved_ns;
	for (uint32_t r = 0; r < n; r++)
		if (open_rank(&in, r) < 0)
			goto out;
	if (input_ranks_open(&in) < 0) {
		err_set(err, "no memory");
		goto out;
	}
	if (input_stops_open(&in) < 0)
		goto out;
	rv = merge(&in, &tree, progress);
	if (rv == 0)
		rv = engine_finish(in.e, err);
	if (rv == 0)
		sum_up(&in);
out:
	for (uint32_t r = 0; in.rank && r < n; r++)
		close_rank(&in, r);
	free(in.rank);
	free(in.host);
	free(in.on_host);
	free(in.on_set);
	free(in.network);
	free(in.params);
	ending_destroy(in.ending);
	msg_names_free(&in.names);
	tournament_free(&tree);
	input_clock_free(&own);
	return rv;
}

int input_run(const struct trace *t, struct input_clock *clock, struct engine *e, void (*progress)(double share),
	      struct input_report *report, struct errbuf *err)
{
	return read_events(&(struct input){.t = t, .clock = clock, .e = e, .report = report, .err = err}, progress);
}

int input_watch(const struct trace *t, struct input_clock *clock, struct engine *e,
		int (*told)(void *arg, const struct input *in, const struct pending *p, struct errbuf *err), void *arg,
		void (*progress)(double share), struct errbuf *err)
{
	struct input_report report;

	return read_events(&(struct input){.t = t, .clock = clock, .e = e, .report = &report, .err = err, .told = told, .arg = arg}, progress);
}
