/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Speed of the rules. A made-up program exchanges messages with a neighbour and calls a collective now and then. Its events
 * are merged in the order of time over all ranks, and the rules of a file process them.
 *
 *   bench_rules [RULES [RANKS [EVENTS]]]      without: conf/problems.rules, 64 and 4,096 ranks
 *
 * Times are processor time, since the machine may be busy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "expert/engine/engine.h"
#include "expert/engine/tournament.h"

struct stream {
	uint64_t now_ns, seed;
	uint32_t step, phase, site; /* phase: 0 to 39; site: 0 to 6 */
	uint32_t to, from;          /* its neighbours */
	uint32_t instance[3];
	uint64_t received;
};

struct bench {
	struct engine *engine;
	uint32_t ranks;
	const struct rules_struct *send, *recv, *coll[3];
	struct stream *stream;
	struct tournament tree;
	uint64_t sum;
	bool dry; /* events are made and merged, and that is all */
};

static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t draw(struct stream *s)
{
	s->seed = s->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s->seed >> 33);
}

static void set(union rules_value *v, const struct rules_struct *t, const char *name, int64_t value)
{
	v[rules_slot(t, name) - RA_N].i = value;
}

/* Parameters of the simple events in the order of their declaration: see expert/lang/builtin.c. */
static int give(struct bench *b, uint32_t r, struct errbuf *err)
{
	struct stream *s = &b->stream[r];
	struct engine_simple e = {.start_ns = s->now_ns, .finish_ns = s->now_ns + 900, .rank = r, .site = s->site, .event = s->step};
	union rules_value v[RULES_MAX_PARAMS];
	int64_t begin = (int64_t)e.start_ns, end = (int64_t)e.finish_ns;
	uint32_t phase = s->phase;

	s->step++;
	s->phase = phase == 39 ? 0 : phase + 1;
	s->site = s->site == 6 ? 0 : s->site + 1;
	s->now_ns = s->step * 1500ull + draw(s) % 4000; /* they drift apart, but no further */
	if (s->now_ns < e.start_ns)
		s->now_ns = e.start_ns;
	tournament_replay(&b->tree, s->now_ns);
	__builtin_prefetch(&b->stream[tournament_top(&b->tree)], 1); /* while the rules look at this one */
	if (b->dry) {
		b->sum += phase * s->instance[0];
		return 0;
	}
	if (phase >= 38) {
		uint32_t k = ((s->step - 1) / 40 + phase) % 3;
		const int64_t values[] = {0, s->instance[k]++, b->ranks, 0, r == 0, 1, 8, begin, end, 0, e.site};

		memcpy(v, values, sizeof(values));
		return engine_event(b->engine, b->coll[k]->id, &e, v, err);
	}
	if (phase % 2 == 0) {
		const int64_t values[] = {r, s->to, phase, 0, 1024, 1, begin, end, 0, 0, begin, begin, s->step, 1, 0, 0, e.site};

		memcpy(v, values, sizeof(values));
		return engine_event(b->engine, b->send->id, &e, v, err);
	}
	const int64_t values[] = {s->from, r, phase - 1, 0, 1024, 0, 0, 1, begin, end, s->step, 1, s->received++, 0, 0, 0, e.site};

	memcpy(v, values, sizeof(values));
	return engine_event(b->engine, b->recv->id, &e, v, err);
}

/* Rules that remember something of each rank begin with its first call. */
static void begin(struct bench *b)
{
	const struct rules_struct *t = rules_find(engine_rules(b->engine), "rank_begin");
	struct errbuf err;

	for (uint32_t r = 0; r < b->ranks; r++) {
		struct engine_simple e = {.rank = r, .site = -1, .event = -1};
		union rules_value v[RULES_MAX_PARAMS] = {{0}};

		set(v, t, "size", b->ranks);
		set(v, t, "ranks_on_host", b->ranks);
		set(v, t, "hosts", 1);
		if (engine_event(b->engine, t->id, &e, v, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			exit(1);
		}
	}
}

static int found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err)
{
	struct bench *b = arg;
	union rules_value v;

	(void)err;
	if (engine_finding_value(e, f, f->action->src->n_set - 1, &v))
		b->sum += (uint64_t)v.i;
	return 0;
}

/* The order of parameters that give() relies on. */
static void check_layout(const struct bench *b)
{
	union rules_value v[RULES_MAX_PARAMS] = {{0}};

	set(v, b->send, "wait_finish_time", 1);
	set(v, b->recv, "wait_finish_time", 1);
	set(v, b->coll[0], "wait_finish_time", 1);
	if (!v[7].i || !v[9].i || !v[8].i || b->send->n_param != 17 || b->recv->n_param != 17 || b->coll[0]->n_param != 11) {
		fprintf(stderr, "bench_rules: the built-in structures have changed\n");
		exit(1);
	}
}

static void merge_all(struct bench *b, uint64_t events)
{
	struct errbuf err;

	for (uint64_t i = 0; i < events; i++) {
		if (give(b, tournament_top(&b->tree), &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			exit(1);
		}
	}
}

static void bench(const struct plan *p, uint32_t ranks, uint64_t events)
{
	struct bench b = {.ranks = ranks, .stream = calloc(ranks, sizeof(*b.stream))};
	struct engine_options o = {.found = found, .arg = &b, .ahead_from = ENGINE_AHEAD};
	struct engine_report report;
	struct errbuf err;
	double since, took, dry;

	b.engine = engine_create(p, &o, &err);
	if (!b.engine || !b.stream || tournament_init(&b.tree, ranks) < 0)
		exit(1);
	b.send = rules_find(p->rules, "function_call_send_operation");
	b.recv = rules_find(p->rules, "function_call_receive_operation");
	b.coll[0] = rules_find(p->rules, "function_call_barrier_operation");
	b.coll[1] = rules_find(p->rules, "function_call_many_to_many_operation");
	b.coll[2] = rules_find(p->rules, "function_call_one_to_many_operation");
	check_layout(&b);
	begin(&b);
	for (uint32_t r = 0; r < ranks; r++) {
		b.stream[r].seed = r + 1;
		b.stream[r].to = (r + 1) % ranks;
		b.stream[r].from = (r + ranks - 1) % ranks;
		b.stream[r].now_ns = draw(&b.stream[r]) % 2000;
		tournament_set(&b.tree, r, b.stream[r].now_ns);
	}
	tournament_start(&b.tree);
	merge_all(&b, events / 10);
	since = processor_seconds();
	merge_all(&b, events);
	if (engine_finish(b.engine, &err) < 0)
		exit(1);
	took = processor_seconds() - since;
	b.dry = true;
	since = processor_seconds();
	merge_all(&b, events);
	dry = processor_seconds() - since;
	engine_report(b.engine, &report);
	printf("%5u ranks  %6.2f M events/s  %.0f ns an event, %.0f of them to make and merge them; %llu findings, %llu waiting"
	       " at most, %.2f combinations an event\n", ranks, (double)events / took * 1e-6, took / (double)events * 1e9,
	       dry / (double)events * 1e9, (unsigned long long)report.observations, (unsigned long long)report.waiting_most,
	       (double)report.combinations / (double)report.events);
	tournament_free(&b.tree);
	engine_destroy(b.engine);
	free(b.stream);
}

int main(int argc, char **argv)
{
	struct errbuf err;
	struct rules *r = rules_load(argc > 1 ? argv[1] : "conf/problems.rules", &err);
	struct plan *p = r ? plan_create(r, &err) : NULL;
	uint64_t events = argc > 3 ? strtoull(argv[3], NULL, 10) : 10000000;

	if (!p) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (argc > 2) {
		bench(p, (uint32_t)strtoul(argv[2], NULL, 10), events);
	} else {
		bench(p, 64, events);
		bench(p, 4096, events);
	}
	plan_destroy(p);
	rules_free(r);
	return 0;
}
