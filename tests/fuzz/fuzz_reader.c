/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the reader of trace files: see packed.h for the inputs. Files *.ptrace in the corpus directory are
 * unpacked into inputs at the start, besides simulated programs.
 */
#include "tests/fuzz/packed.h"
#include "model/inputs/pattern.h"
#include "skelgen/merge/loops.h"
#include "trace/clock/clock.h"
#include "trace/ending/ending.h"
#include "trace/messages/messages.h"
#include "trace/read/hist_read.h"
#include "trace/tiles/tiles_write.h"
#include "trace/timeline/check.h"
#include "trace/timeline/timeline.h"

#define EVENTS_MAX 5000 /* events of a rank that are read; a few bytes can fold any number of events */
#define RANKS_MAX  64

/* An imported trace: states of a few processors, tiles of a few bytes, messages. */
static void seed_tiles(const char *dir)
{
	struct tiles_extent x = {.n_ranks = 5, .last = 300, .tile_bytes = 128};
	char path[] = "/tmp/precedent-fuzz-XXXXXX";
	struct errbuf err;
	struct trace_writer *w;
	struct tiles_writer *tw;
	int fd = mkstemp(path);

	close(fd);
	w = trace_writer_create(path, x.n_ranks, &err);
	tw = w ? tiles_writer_create(w, &x, &err) : NULL;
	for (uint32_t i = 0; tw && i < 300; i++) {
		struct tile_change c = {.t = i, .rank = i * 7 % 5, .state = (uint8_t)(i / 5 % 4)};
		struct exchange m = {.src = i % 5, .dst = (i + 1) % 5, .t0 = i, .t1 = i + 3 < 300 ? i + 3 : 300, .bytes = i};

		tiles_writer_put(tw, &c, 1, &err);
		if (i % 9 == 0)
			tiles_writer_exchange(tw, &m, &err);
	}
	if (tw)
		tiles_writer_finish(tw, &err);
	tiles_writer_destroy(tw);
	if (w && trace_writer_close(w, false, &err) == 0)
		seed_of(dir, "tiles", trace_open(path, &err));
	unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	memory_fd = memfd_create("trace", 0);
	for (int i = 1; i < *argc; i++) {
		const char *dir = (*argv)[i];

		if (dir[0] == '-')
			continue;
		seed_program(dir, "stencil", syn_stencil(2, 1, 12, SYN_SKIP));
		seed_program(dir, "cg", syn_cg(2, 1, 5));
		seed_program(dir, "master", syn_master_worker(3, 9, 1));
		seed_program(dir, "reneighbour", syn_reneighbour(2, 6, 3));
		seed_tiles(dir);
		seed_files(dir);
		break;
	}
	return 0;
}

/* ---- everything that reads ---- */

static void hear(const char *line, void *arg)
{
	(void)arg;
	if (!line[0])
		__builtin_trap();
}

static void read_rank(const struct trace *t, uint32_t r)
{
	uint64_t length = trace_get_rank(t, r)->events.length, n = 0, enter, leave;
	struct errbuf err;
	struct trace_iter *it = trace_iter_create(t, r, &err);
	struct hist_table hist;
	struct trace_event ev;
	double gap, duration;
	bool known;

	if (!it)
		return;
	if (trace_hist_read(t, r, &hist, &err) == 0) {
		for (uint32_t s = 0; s < trace_get_rank(t, r)->defs.sigs.n; s++)
			trace_hist_means(t, r, &hist, s, &gap, &duration);
		hist_table_free(&hist);
	}
	for (; n < EVENTS_MAX && trace_iter_next(it, &ev, &known); n++) {
		if (ev.sym >= trace_get_rank(t, r)->defs.sigs.n || trace_iter_when(it, &enter, &leave) != n || leave < enter)
			__builtin_trap();
	}
	if (n < EVENTS_MAX && n != length)
		__builtin_trap();
	trace_iter_seek(it, length / 2);
	if (trace_iter_next(it, &ev, &known) != (length > 0))
		__builtin_trap();
	trace_iter_seek_ns(it, length * 777);
	trace_iter_next(it, &ev, &known);
	trace_iter_skip_unknown(it);
	trace_iter_next(it, &ev, &known);
	trace_iter_destroy(it);
}

static int count_message(const struct trace_message *m, void *arg)
{
	uint32_t n = *(uint32_t *)arg;

	if (m->src >= n || m->dst >= n)
		__builtin_trap();
	return 0;
}

static int count_span(const struct timeline_span *s, void *arg)
{
	uint32_t *left = arg;

	if (s->t1_ns < s->t0_ns || s->state >= TSTATE_N)
		__builtin_trap();
	return --*left == 0;
}

static int count_arrow(const struct timeline_message *m, void *arg)
{
	uint32_t *left = arg;

	(void)m;
	return --*left == 0;
}

static void read_timeline(const struct trace *t, uint32_t n)
{
	struct errbuf err;
	struct timeline *tl = timeline_create(t, &err);
	float share[RANKS_MAX * 16][TSTATE_N];
	double seconds[TSTATE_N];
	uint32_t left = 10000;
	uint64_t end;

	if (!tl)
		return;
	end = timeline_end_ns(tl);
	n = timeline_n_ranks(tl) < n ? timeline_n_ranks(tl) : n;
	for (uint32_t r = 0; r < n; r++)
		timeline_totals(tl, r, seconds);
	timeline_levels(tl, 0, n, 0, end, 16, share, &err);
	timeline_levels(tl, 0, n, end / 3, end / 3 + 100, 16, share, &err);
	timeline_spans(tl, 0, n, end / 2, end, count_span, &left, &err);
	left = 1000;
	timeline_messages(tl, 0, end, count_arrow, &left, &err);
	timeline_destroy(tl);
}

static void read_patterns(const struct trace *t)
{
	struct trace *run = (struct trace *)t;
	struct pattern_set set;
	struct errbuf err = {""};

	if (patterns_learn(&set, &run, 1, &err) < 0 && !*err.text)
		__builtin_trap();
	patterns_free(&set);
}

static void read_trace(const struct trace *t)
{
	uint32_t n = trace_n_ranks(t) < RANKS_MAX ? trace_n_ranks(t) : RANKS_MAX, all = trace_n_ranks(t);
	uint64_t events = 0;
	struct errbuf err;
	struct trace_clock *clock;
	struct loops loops;

	trace_check(t, hear, NULL, NULL, &err);
	trace_job_get(t, "program");
	for (uint32_t r = 0; !trace_is_imported(t) && r < all; r++) {
		uint64_t more = trace_get_rank(t, r)->events.length;

		events += more < EVENTS_MAX ? more : EVENTS_MAX;
	}
	if (events < EVENTS_MAX) {
		read_timeline(t, n);
		trace_messages(t, count_message, &all, NULL, &err);
		ending_destroy(ending_create(t, &err));
		clock = trace_clock_create(t, &err);
		if (clock)
			trace_clock_control(clock, t, NULL, &err);
		trace_clock_destroy(clock);
		read_patterns(t);
	}
	for (uint32_t r = 0; r < n && trace_is_imported(t); r++)
		if (trace_get_rank(t, r)->present)
			__builtin_trap();
	if (trace_is_imported(t))
		return;
	for (uint32_t r = 0; r < n; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);
		uint64_t after_ns;

		/* A valid end is one that a process could have written. */
		if (!trace_end_unpack(r, trace_end_pack(r, k->defs.proc.after_ns), &after_ns) || after_ns != k->defs.proc.after_ns)
			__builtin_trap();
		if (!k->present)
			continue;
		read_rank(t, r);
		if (k->events.length < EVENTS_MAX && loops_build(t, r, &loops, &err) == 0)
			loops_free(&loops);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace *t = packed_open(data, size);

	if (t)
		read_trace(t);
	trace_close(t);
	return 0;
}
