/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the conversion of a trace to the events of the rules. The installed knowledge base (conf/problems.rules,
 * from the top of the source tree) then finds causes and gains. See packed.h for the inputs. A second conversion
 * must give the same events, and so must a conversion with a clock of its own.
 */
#include "tests/fuzz/packed.h"
#include "expert/events/input_impl.h"
#include "expert/replay/replay.h"

#define EVENTS_MAX 3000 /* of all ranks; a few bytes can fold any number of events */
#define RANKS_MAX  16

static struct rules *rules;
static struct plan *plan;

static void must(bool ok)
{
	if (!ok)
		__builtin_trap();
}

static void seed_windows(const char *dir)
{
	struct syn *s = syn_create(3);

	syn_begin(s);
	for (uint32_t r = 0; r < 3; r++) {
		uint32_t other = (r + 1) % 3, from = (r + 2) % 3;
		int64_t slots[] = {0, 1};

		syn_win(s, r, 0, 64);
		syn_file(s, r, 0, "/f");
		syn_call(s, r, "MPI_Win_create", 1, SYN(.win = 0, .comm = 0));
		for (int i = 0; i < 4; i++) {
			syn_call(s, r, "MPI_Win_fence", 2, SYN(.win = 0));
			syn_call(s, r, "MPI_Win_lock", 3, SYN(.win = 0, .dst = other, .integer = 1));
			syn_call(s, r, "MPI_Win_unlock", 4, SYN(.win = 0, .dst = other));
			syn_call(s, r, "MPI_Send", 5, SYN(.dst = other, .count = 4));
			syn_call(s, r, "MPI_Probe", 6, SYN(.src = TRACE_ANY_SOURCE, .asrc = from));
			syn_call(s, r, "MPI_Recv", 7, SYN(.src = from, .count = 4));
			syn_call(s, r, "MPI_Isend", 8, SYN(.dst = other, .count = 9, .req = 0));
			syn_call(s, r, "MPI_Irecv", 9, SYN(.src = from, .count = 9, .req = 1));
			syn_call(s, r, "MPI_Waitall", 10, SYN(.reqs = slots, .n_reqs = 2));
			syn_call(s, r, "MPI_File_write_all", 11, SYN(.file = 0, .count = 3));
			syn_window(s, r, r ? 700000 : 0); /* rank r lacks its processor */
		}
	}
	syn_end(s);
	seed_program(dir, "windows", s);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct errbuf err = {""};

	memory_fd = memfd_create("trace", 0);
	rules = rules_load("conf/problems.rules", &err);
	plan = rules ? plan_create(rules, &err) : NULL;
	if (!plan) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	for (int i = 1; i < *argc; i++) {
		const char *dir = (*argv)[i];

		if (dir[0] == '-')
			continue;
		seed_program(dir, "stencil", syn_stencil(2, 1, 6, SYN_SKIP));
		seed_program(dir, "cg", syn_cg(2, 1, 4));
		seed_program(dir, "master", syn_master_worker(3, 6, 1));
		seed_program(dir, "wavefront", syn_wavefront(2, 2, 2, 3));
		seed_program(dir, "graph", syn_graph(4, 2, 3, 7));
		seed_windows(dir);
		seed_files(dir);
		break;
	}
	return 0;
}

struct counted {
	uint64_t n, last_ns;
};

static int count(void *arg, const struct input *in, const struct pending *p, struct errbuf *err)
{
	struct counted *c = arg;
	uint64_t key = p->type == in->type.unlock ? p->s.finish_ns : p->s.start_ns;

	(void)err;
	must(p->s.rank < trace_n_ranks(in->t) && p->s.finish_ns >= p->s.start_ns);
	c->last_ns = key;
	c->n++;
	return 0;
}

static void advise(const struct trace *t)
{
	struct report report = {.t = t};
	struct engine_options o = {.found = report_found, .arg = &report};
	struct engine *e;
	struct errbuf err = {""};
	struct input_clock clock = {0};
	struct input_report in;
	struct replay_report replay;
	struct counted first = {0}, second = {0};

	e = engine_create(plan, &o, &err);
	must(e != NULL);
	if (input_run(t, &clock, e, NULL, &in, &err) == 0) {
		must(clock.line != NULL && in.calls <= EVENTS_MAX && in.untimed <= in.calls);
		must(in.rank_seconds >= 0 && in.outside_seconds >= 0);
		if (replay_run(t, &clock, e, &report, in.rank_seconds, NULL, &replay, &err) < 0)
			must(err.text[0]);
		must(input_watch(t, &clock, e, count, &first, NULL, &err) == 0);
		must(input_watch(t, NULL, e, count, &second, NULL, &err) == 0);
		must(first.n == second.n && first.last_ns == second.last_ns);
		report_sort(&report);
	} else {
		must(err.text[0]);
	}
	input_clock_free(&clock);
	report_free(&report);
	engine_destroy(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace *t = packed_open(data, size);
	uint64_t events = 0;

	for (uint32_t r = 0; t && r < trace_n_ranks(t) && events <= EVENTS_MAX; r++)
		events += trace_get_rank(t, r)->events.length <= EVENTS_MAX ? trace_get_rank(t, r)->events.length : EVENTS_MAX + 1;
	if (t && !trace_is_imported(t) && trace_n_ranks(t) <= RANKS_MAX && events <= EVENTS_MAX)
		advise(t);
	trace_close(t);
	return 0;
}
