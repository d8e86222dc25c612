/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Excerpts of runs: what they contain is the run's, nothing in them lacks its other end, and their weights add up. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/temp_dir.h"
#include "skelgen/pieces/excerpt.h"
#include "skelgen/pieces/excerpt_check.h"
#include "skelgen/pieces/pieces.h"
#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"
#include "trace/messages/messages.h"

enum { SLOTS = 64 };

struct fixture {
	struct syn *s;
	struct trace *t, *excerpt;
	struct survey v;
	struct pieces p;
	struct errbuf err;
};

static double own_seconds(const struct trace *t)
{
	double sum = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		sum += trace_get_rank(t, r)->wall_ns * 1e-9;
	return sum / trace_n_ranks(t);
}

/* An excerpt of this share of the run; false if the run cannot be cut. */
static bool set_up(struct fixture *f, struct syn *s, double share, uint64_t events)
{
	double seconds;
	int rv;

	memset(f, 0, sizeof *f);
	f->s = s;
	f->t = syn_open(s);
	seconds = share * own_seconds(f->t);
	rv = survey_make(f->t, seconds, &f->v, &f->err);
	if (rv < 0)
		fail_msg("%s", f->err.text);
	if (rv == 1)
		return false;
	if (pieces_choose(&f->v, seconds, events, &f->p, &f->err) != 0 || pieces_excerpt(&f->v, &f->p, &f->excerpt, &f->err) != 0)
		fail_msg("%s", f->err.text);
	return true;
}

static void tear_down(struct fixture *f)
{
	if (f->excerpt != NULL)
		trace_close(f->excerpt);
	pieces_free(&f->p);
	survey_free(&f->v);
	trace_close(f->t);
	syn_destroy(f->s);
}

/* ---- oracles ---- */

/* The number of the piece whose border the symbol is; -1: another call. */
static int64_t border(const struct trace_defs *d, uint32_t sym)
{
	bool control = d->sigs.sig[sym].fn == FN_MPI_Pcontrol;
	int64_t level = control ? sig_scalar(d, sym, TK_INT, TRACE_NULL) - EXCERPT_LEVEL : -1;

	return level >= 0 && level < 1 << 16 ? level : -1;
}

/* name[slot]: number of the slot in the excerpt plus 1, or 0 if it is not known yet; of request slots below SLOTS. */
static void assert_same_call(const struct trace_defs *a, uint32_t x, const struct trace_defs *b, uint32_t y, int64_t name[SLOTS])
{
	const struct trace_sig *s = &a->sigs.sig[x], *t = &b->sigs.sig[y];
	struct sig_walk v, w;

	assert_int_equal(s->fn, t->fn);
	assert_int_equal(s->site, t->site);
	assert_int_equal(sig_values(a, x, NULL), sig_values(b, y, NULL));
	sig_walk_begin(&v, a, x);
	sig_walk_begin(&w, b, y);
	while (sig_walk_next(&v) && sig_walk_next(&w))
		for (uint32_t i = 0; i < v.n; i++) {
			bool slot = (v.kind == TK_NEWREQ || v.kind == TK_REQ || v.kind == TK_REQS || v.kind == TK_DONE) && v.val[i] >= 0;

			if (slot && name[v.val[i]] == 0)
				name[v.val[i]] = w.val[i] + 1;
			assert_int_equal(w.val[i], slot ? name[v.val[i]] - 1 : v.val[i]);
		}
}

static uint64_t segment_end(const struct fixture *f, uint32_t seg, uint32_t rank)
{
	return seg < f->v.cuts.n ? f->v.cuts.at[seg * f->v.n_ranks + rank] : f->s->rank[rank].n - 1;
}

/* Between its borders, a piece has all calls of its segment, and no others. MPI_Init and MPI_Finalize are in no piece. */
static void assert_pieces_are_the_runs(const struct fixture *f, uint32_t rank)
{
	const struct trace_rank *k = trace_get_rank(f->excerpt, rank), *from = trace_get_rank(f->t, rank);
	const uint32_t *whole = f->s->rank[rank].sym;
	struct folded_iter it;
	uint64_t at = 0, end = 0;
	int64_t name[SLOTS] = {0};
	uint32_t sym, pieces = 0;
	bool inside = false;

	folded_begin(&it, &k->events);
	while (folded_next(&it, &sym)) {
		int64_t b = border(&k->defs, sym);

		if (b < 0) {
			if (inside)
				assert_same_call(&from->defs, whole[at++], &k->defs, sym, name);
			continue;
		}
		assert_int_equal(at, end);
		inside = b < f->p.n;
		if (!inside)
			continue;
		assert_int_equal(b, pieces++);
		memset(name, 0, sizeof name);
		at = f->p.segment[b] > 0 ? segment_end(f, f->p.segment[b] - 1, rank) : 1;
		end = segment_end(f, f->p.segment[b], rank);
	}
	assert_int_equal(pieces, f->p.n);
}

/* Each piece takes as long in the excerpt as it should, to 1 ns a call. MPI_Finalize is in the last segment, in no piece. */
static void assert_same_times(const struct fixture *f)
{
	double *ns = calloc(f->p.n + 1u, sizeof *ns);
	struct trace_event ev;
	struct errbuf err;

	assert_non_null(ns);
	for (uint32_t r = 0; r < f->v.n_ranks; r++) {
		struct trace_iter *it = trace_iter_create(f->excerpt, r, &err);
		uint32_t piece = f->p.n;

		while (trace_iter_next(it, &ev, NULL)) {
			int64_t b = border(&trace_get_rank(f->excerpt, r)->defs, ev.sym);

			piece = b >= 0 ? (uint32_t)b : piece;
			ns[piece < f->p.n ? piece : f->p.n] += b < 0 ? (double)(ev.gap_ns + ev.dur_ns) / f->v.n_ranks : 0;
		}
		trace_iter_destroy(it);
	}
	for (uint32_t i = 0; i < f->p.n; i++)
		assert_true(f->p.segment[i] == f->v.cuts.n ||
			    fabs(ns[i] - f->p.ns[i]) < 1e-3 * ns[i] + (double)f->v.segments.at[f->p.segment[i]].events);
	free(ns);
}

static int count(const struct trace_message *m, void *arg)
{
	(void)m;
	++*(uint64_t *)arg;
	return 0;
}

static void assert_excerpt(const struct fixture *f, double share)
{
	struct trace_messages_report whole, report;
	double all = 0, sum = 0;
	uint64_t messages = 0;
	struct errbuf err;

	assert_int_equal(trace_messages(f->t, count, &messages, &whole, &err), 0);
	assert_int_equal(trace_messages(f->excerpt, count, &messages, &report, &err), 0);
	assert_true(report.unmatched_sends <= whole.unmatched_sends);
	assert_true(report.unmatched_receives <= whole.unmatched_receives);
	for (uint32_t r = 0; r < f->v.n_ranks; r++)
		assert_pieces_are_the_runs(f, r);
	assert_same_times(f);
	assert_int_equal(f->p.late_ns == NULL, f->v.roles[0].under_way);
	for (uint32_t i = 0, n = f->v.n_ranks; f->p.late_ns != NULL && i < f->p.n * n; i++)
		assert_true(f->p.late_ns[i] == f->v.segments.at[f->p.segment[i / n]].part *
						       f->v.segments.late_ns[f->p.segment[i / n] * n + i % n]);
	for (uint32_t i = 0; i < f->p.n; i++) {
		assert_true(f->p.weight[i] >= 1);
		all += f->p.weight[i] * f->p.ns[i];
		sum += cuts_must_run(&f->v.cuts, f->p.segment[i]) ? 0 : f->p.ns[i];
	}
	assert_true(fabs(all - f->v.segments.ns) < 1e-6 * all);
	assert_true(sum <= 1.5 * share * all || f->p.n <= f->p.n_kind);
}

/* ---- messages of an excerpt ---- */

struct link {
	uint32_t src, dst;
	uint64_t send, recv; /* calls of the run */
};

struct links {
	struct link *at;
	uint32_t n, cap;
	uint64_t **run; /* NULL, or by rank and call of the excerpt: the call of the run, UINT64_MAX of a border */
};

static int link_add(const struct trace_message *m, void *arg)
{
	struct links *l = arg;
	struct link k = {m->src, m->dst, m->send_event, m->recv_event};

	if (l->run != NULL) {
		k.send = l->run[m->src][m->send_event];
		k.recv = l->run[m->dst][m->recv_event];
	}
	if (l->n == l->cap)
		assert_non_null(l->at = realloc(l->at, (l->cap = 2 * l->cap + 64) * sizeof *l->at));
	l->at[l->n++] = k;
	return 0;
}

static int compare_links(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct link));
}

static uint64_t *calls_of_run(const struct fixture *f, uint32_t rank)
{
	const struct trace_rank *k = trace_get_rank(f->excerpt, rank);
	uint64_t *run = malloc(k->events.length * sizeof *run), at = 0;
	struct folded_iter it;
	uint32_t sym;
	bool inside = false;

	assert_non_null(run);
	folded_begin(&it, &k->events);
	for (uint64_t e = 0; folded_next(&it, &sym); e++) {
		int64_t b = border(&k->defs, sym);

		run[e] = b < 0 && inside ? at++ : UINT64_MAX;
		if (b < 0)
			continue;
		inside = b < f->p.n;
		if (inside)
			at = f->p.segment[b] > 0 ? segment_end(f, f->p.segment[b] - 1, rank) : 1;
	}
	return run;
}

/* Each receive of the excerpt gets the message that it got in the run. */
static void assert_same_messages(const struct fixture *f)
{
	struct links whole = {.n = 0}, part = {.run = calloc(f->v.n_ranks, sizeof *part.run)};
	struct trace_messages_report report;
	struct errbuf err;

	assert_non_null(part.run);
	for (uint32_t r = 0; r < f->v.n_ranks; r++)
		part.run[r] = calls_of_run(f, r);
	assert_int_equal(trace_messages(f->t, link_add, &whole, &report, &err), 0);
	assert_int_equal(trace_messages(f->excerpt, link_add, &part, &report, &err), 0);
	assert_int_equal(report.unmatched_sends + report.unmatched_receives, 0);
	assert_true(part.n > 0);
	qsort(whole.at, whole.n, sizeof *whole.at, compare_links);
	for (uint32_t i = 0; i < part.n; i++)
		assert_non_null(bsearch(&part.at[i], whole.at, whole.n, sizeof *whole.at, compare_links));
	for (uint32_t r = 0; r < f->v.n_ranks; r++)
		free(part.run[r]);
	free(part.run);
	free(part.at);
	free(whole.at);
}

/* Steps of different length that post the receive of the next step before they wait for their own. */
static struct syn *ahead(uint32_t n_ranks, uint32_t steps, uint64_t seed)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t t = 0; t < steps; t++) {
		int64_t now = t % 2, next = (t + 1) % 2;
		uint32_t inner = (uint32_t)(syn_random(&seed) % 5);

		for (uint32_t r = 0; r < n_ranks; r++) {
			uint32_t left = (r + n_ranks - 1) % n_ranks;

			if (t == 0)
				syn_call(s, r, "MPI_Irecv", 10, SYN(.src = left, .tag = now, .count = 5, .req = now));
			if (t + 1 < steps)
				syn_call(s, r, "MPI_Irecv", 11, SYN(.src = left, .tag = next, .count = 5, .req = next));
			for (uint32_t i = 0; i < inner; i++)
				syn_call(s, r, "MPI_Allreduce", 12, SYN(.count = 1));
			syn_call(s, r, "MPI_Isend", 13, SYN(.dst = (r + 1) % n_ranks, .tag = now, .count = 5, .req = 2));
			syn_call(s, r, "MPI_Wait", 14, SYN(.reqs = (const int64_t[]){now}, .n_reqs = 1));
			syn_call(s, r, "MPI_Wait", 15, SYN(.reqs = (const int64_t[]){2}, .n_reqs = 1));
		}
	}
	syn_end(s);
	return s;
}

/* Rank 0 has three receives from any rank open all the time, after so many calls of each other rank. */
static struct syn *posted(uint32_t n_ranks, uint32_t set_up, uint32_t tasks, uint64_t seed)
{
	struct syn *s = syn_create(n_ranks);
	uint64_t *now = calloc(n_ranks, sizeof *now); /* a call takes 1500 ns */

	assert_non_null(now);
	syn_begin(s);
	for (uint32_t r = 0; set_up > 0 && r < n_ranks; r++)
		syn_call(s, r, "MPI_Ibarrier", 8, SYN(.req = 3));
	for (uint32_t i = 0; i < (n_ranks - 1) * set_up; i++)
		syn_call(s, 1 + i % (n_ranks - 1), "MPI_Send", 30 + syn_random(&seed) % 200,
			 SYN(.dst = TRACE_PROC_NULL, .gap_ns = 20, .dur_ns = 1));
	for (int64_t slot = 0; slot < 3; slot++)
		syn_call(s, 0, "MPI_Irecv", 10, SYN(.src = TRACE_ANY_SOURCE, .count = 2, .req = slot));
	for (uint32_t r = 0; set_up > 0 && r < n_ranks; r++)
		syn_call(s, r, "MPI_Wait", 9, SYN(.reqs = (int64_t[]){3}, .n_reqs = 1, .gap_ns = r ? 9 : 21 * set_up));
	for (uint32_t k = 0; k < tasks; k++) {
		uint32_t w = 1 + (uint32_t)(syn_random(&seed) % (n_ranks - 1));
		int64_t from = w, tag = 0, slot = k % 3;

		uint64_t waits = now[0] > now[w] ? now[0] - now[w] : 0;

		syn_call(s, w, "MPI_Send", 20, SYN(.dst = 0, .count = 2, .gap_ns = 1000 + waits));
		now[w] += waits + 3000;
		now[0] += 4500;
		syn_call(s, 0, "MPI_Waitall", 11, SYN(.reqs = &slot, .n_reqs = 1, .asrcs = &from, .atags = &tag));
		if (k + 3 < tasks)
			syn_call(s, 0, "MPI_Irecv", 12, SYN(.src = TRACE_ANY_SOURCE, .count = 2, .req = slot));
		syn_call(s, 0, "MPI_Send", 13, SYN(.dst = w, .count = 1 + (int64_t)(syn_random(&seed) % 9)));
		syn_call(s, w, "MPI_Recv", 21, SYN(.src = 0, .count = 9));
	}
	syn_end(s);
	free(now);
	return s;
}

/* A master gives tasks of different length to workers; the clocks of all agree. */
static struct syn *farm(uint32_t n_ranks, uint32_t tasks, uint64_t seed)
{
	struct syn *s = syn_create(n_ranks);
	uint64_t *ready = calloc(n_ranks, sizeof *ready), *free_since = calloc(n_ranks, sizeof *free_since), master = 0;

	assert_non_null(ready);
	assert_non_null(free_since);
	syn_begin(s);
	for (uint32_t k = 0; k < tasks + n_ranks - 1; k++) {
		uint32_t w = 1 + k % (n_ranks - 1);
		uint64_t work = 20000 + syn_random(&seed) % 80000;

		for (uint32_t r = 1; k >= n_ranks - 1 && r < n_ranks; r++)
			w = ready[r] < ready[w] ? r : w;
		if (k >= n_ranks - 1) { /* the result of the task before */
			uint64_t end = (ready[w] > master ? ready[w] : master) + 1000;

			syn_call(s, w, "MPI_Send", 30, SYN(.dst = 0, .count = 3, .gap_ns = ready[w] - free_since[w], .dur_ns = 500));
			syn_call(s, 0, "MPI_Recv", 20, SYN(.src = TRACE_ANY_SOURCE, .asrc = w, .count = 3, .gap_ns = 100, .dur_ns = end - master - 100));
			free_since[w] = ready[w] + 500;
			master = end;
		}
		syn_call(s, 0, "MPI_Send", 21, SYN(.dst = w, .count = 1 + (int64_t)(k % 7), .gap_ns = 100, .dur_ns = 400));
		master += 500;
		syn_call(s, w, "MPI_Recv", 31, SYN(.src = 0, .count = 9, .gap_ns = 100, .dur_ns = master - free_since[w] - 100));
		free_since[w] = master;
		ready[w] = master + work;
	}
	syn_end(s);
	free(ready);
	free(free_since);
	return s;
}

/* Rank 0 takes answers of two others, of which one ends after a tenth of the run. The clocks of all agree. */
static struct syn *straggler(uint32_t answers, uint64_t seed)
{
	struct syn *s = syn_create(3);
	uint64_t now[3] = {0};

	syn_begin(s);
	for (uint32_t k = 0; k < answers; k++) {
		uint32_t w = k < answers / 10 ? 1 + k % 2 : 1;
		uint64_t work = 20000 + syn_random(&seed) % 80000, waits;

		syn_call(s, w, "MPI_Send", 30, SYN(.dst = 0, .count = 3, .gap_ns = work, .dur_ns = 500));
		now[w] += work + 500;
		waits = now[w] > now[0] ? now[w] - now[0] : 0;
		syn_call(s, 0, "MPI_Recv", 20 + syn_random(&seed) % 9, SYN(.src = w, .count = 3, .gap_ns = 100, .dur_ns = waits + 400));
		now[0] += waits + 500;
	}
	syn_end(s);
	return s;
}

/* ---- tests ---- */

static void check(struct syn *s, double share, bool must)
{
	struct fixture f;

	if (set_up(&f, s, share, UINT64_MAX))
		assert_excerpt(&f, share);
	else
		assert_false(must);
	tear_down(&f);
}

static void test_programs(void **arg)
{
	(void)arg;
	check(syn_cg(4, 2, 300), 0.1, true);
	check(syn_stencil(3, 2, 400, SYN_PERIODIC), 0.1, true);
	check(syn_stencil(3, 2, 400, SYN_PROC_NULL), 0.1, true);
	check(syn_wavefront(3, 2, 5, 100), 0.1, true);
	check(syn_ring(5, 400), 0.1, true);
	check(syn_pipeline(4, 300), 0.1, true);
	check(syn_reneighbour(4, 600, 20), 0.1, true);
	check(syn_checkpoint(3, 400), 0.1, true);
	check(farm(5, 800, 3), 0.1, true);
	check(syn_graph(6, 3, 200, 7), 0.1, true);
	check(syn_master_worker(5, 800, 3), 0.1, true);
}

static void test_random_programs(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= 15; seed++)
		check(syn_irregular(2 + seed % 5, seed), 0.2, false);
}

/* The run is cut as long as a rank goes on. */
static void test_straggler_is_cut(void **arg)
{
	const double share = 0.1;
	struct fixture f;

	(void)arg;
	assert_true(set_up(&f, straggler(2000, 3), share, UINT64_MAX));
	assert_excerpt(&f, share);
	for (uint32_t i = 0; i < f.v.segments.n; i++)
		assert_true(f.v.segments.at[i].ns < 3 * f.v.segments.ns * share / 40);
	tear_down(&f);
}

/* Where receives are open all the time, the run is cut all the same. */
static void test_open_requests(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct syn *program[] = {ahead(2 + seed % 3, 400, seed), posted(2 + seed % 3, 0, 900, seed)};

		for (size_t i = 0; i < 2; i++) {
			struct fixture f;

			assert_true(set_up(&f, program[i], 0.2, UINT64_MAX));
			assert_true(cuts_must_run(&f.v.cuts, 0));
			assert_in_range(f.p.n, 4, f.v.segments.n - 4);
			assert_excerpt(&f, 0.2);
			assert_same_messages(&f);
			tear_down(&f);
		}
	}
}

/* An excerpt of other segments, of segments that end elsewhere, or of another run is refused. */
static void test_excerpt_is_proved(void **arg)
{
	struct fixture f, other;
	bool *chosen;
	struct errbuf err;

	(void)arg;
	assert_true(set_up(&f, syn_master_worker(5, 800, 3), 0.1, UINT64_MAX));
	assert_true(set_up(&other, syn_master_worker(5, 801, 4), 0.1, UINT64_MAX));
	chosen = calloc(f.v.segments.n, sizeof *chosen);
	assert_non_null(chosen);
	for (uint32_t i = 0; i < f.p.n; i++)
		chosen[f.p.segment[i]] = true;
	assert_int_equal(excerpt_check(f.t, &f.v.cuts, chosen, f.excerpt, &err), 0);
	assert_int_equal(excerpt_check(f.t, &f.v.cuts, chosen, other.excerpt, &err), -1);
	assert_int_equal(excerpt_check(f.t, &f.v.cuts, chosen, f.t, &err), -1);
	for (uint32_t i = 0; i < f.v.segments.n; i++) {
		chosen[i] = !chosen[i];
		assert_int_equal(excerpt_check(f.t, &f.v.cuts, chosen, f.excerpt, &err), -1);
		chosen[i] = !chosen[i];
	}
	for (uint32_t k = 0; k < f.v.cuts.n; k++)
		for (uint32_t r = 0; r < f.v.n_ranks; r++) {
			uint64_t *at = &f.v.cuts.at[(size_t)k * f.v.n_ranks + r];

			if (k > 0 && at[-(int64_t)f.v.n_ranks] == *at)
				continue; /* an empty segment cannot end earlier */
			--*at; /* only cuts of pieces show in the excerpt */
			assert_int_equal(excerpt_check(f.t, &f.v.cuts, chosen, f.excerpt, &err), chosen[k] || chosen[k + 1] ? -1 : 0);
			++*at;
		}
	assert_non_null(strstr(err.text, "the excerpt is not the run: rank "));
	free(chosen);
	tear_down(&other);
	tear_down(&f);
}

static void check_farm(double share)
{
	struct syn *s = farm(5, 2000, 3);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = share * own_seconds(t)};
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err = {{0}};

	if (skel_understand(t, &budget, &stages, &err) != 0)
		fail_msg("%s", err.text);
	assert_non_null(stages.excerpt);
	if (stages.plan.predicted_s > SKEL_WITHIN * budget.seconds)
		fail_msg("%g s are planned, %g s were asked for", stages.plan.predicted_s, budget.seconds);
	assert_in_range(stages.lines, 1, SKEL_LINES_MAX);
	assert_int_equal(stages.match.unreceived + stages.match.oddities, 0);
	assert_ptr_equal(stages.plan.series, &stages.times.series); /* not those of stages that were given up */
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

/* A farm is run in full as a whole; of its pieces, the budget says how much. A run that is a little too long is cut, too. */
static void test_farm_is_cut(void **arg)
{
	(void)arg;
	check_farm(0.1);
	check_farm(0.82);
}

static uint32_t lines_written(const struct skel_stages *s)
{
	static const struct skel_emit_options none;
	char dir[] = "/tmp/test-pieces-XXXXXX", path[64], line[4096];
	struct errbuf err = {{0}};
	uint32_t n = 0;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	if (skel_write(s, dir, &none, &err) != 0)
		fail_msg("%s", err.text);
	snprintf(path, sizeof path, "%s/skel.c", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f) != NULL)
		n += strchr(line, '\n') != NULL;
	fclose(f);
	temp_dir_remove(dir);
	return n;
}

/* Exchanges of random length with a partner that varies. With a collective under way all the time the run cannot be cut. */
static struct syn *exchanges(uint32_t n_ranks, uint32_t steps, uint64_t seed, bool under_way)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; under_way && r < n_ranks; r++)
		syn_call(s, r, "MPI_Ibarrier", 11, SYN(.req = 0));
	for (uint32_t t = 0; t < steps; t++) {
		uint32_t from = (uint32_t)(syn_random(&seed) % n_ranks);
		uint32_t to = (from + 1 + (uint32_t)(syn_random(&seed) % (n_ranks - 1))) % n_ranks;
		uint64_t site = 20 + syn_random(&seed) % 40;
		int64_t count = 1 + (int64_t)(syn_random(&seed) % 100);

		syn_call(s, from, "MPI_Send", site, SYN(.dst = to, .count = count));
		syn_call(s, to, "MPI_Recv", 100 + site, SYN(.src = from, .count = count));
	}
	for (uint32_t r = 0; under_way && r < n_ranks; r++)
		syn_call(s, r, "MPI_Wait", 12, SYN(.req = 0, .reqs = (int64_t[]){0}, .n_reqs = 1));
	syn_end(s);
	return s;
}

/* The lines that are compared with the limit are those of the file. */
static void test_lines_are_counted(void **arg)
{
	struct syn *s = exchanges(2, 8000, 7, false);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 0.15 * own_seconds(t)};
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err = {{0}};

	(void)arg;
	if (skel_understand(t, &budget, &stages, &err) != 0)
		fail_msg("%s", err.text);
	assert_non_null(stages.excerpt);
	assert_true(stages.tree.n_leaf > SKEL_LINES_MAX / 20); /* few calls are not counted */
	assert_int_equal(stages.lines, lines_written(&stages));
	assert_in_range(stages.lines, 1, SKEL_LINES_MAX);
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

/* With a budget, no skeleton exceeds the limits; without one, the skeleton is the whole run. */
static void test_large_is_refused(void **arg)
{
	struct syn *s = exchanges(4, 3000, 5, true);
	struct trace *t = syn_open(s);
	struct skel_budget budget = {.seconds = 0.2 * own_seconds(t)};
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err = {{0}};
	char reason[64];

	(void)arg;
	assert_int_equal(skel_understand(t, &budget, &stages, &err), -1);
	skel_stages_free(&stages);
	assert_non_null(strstr(err.text, "lines, and at most 5000"));
	assert_non_null(strstr(err.text, "under way"));
	budget.seconds = 0;
	if (skel_understand(t, &budget, &stages, &err) != 0)
		fail_msg("%s", err.text);
	assert_in_range(lines_written(&stages), SKEL_LINES_MAX + 1, UINT32_MAX);
	snprintf(reason, sizeof reason, "would have %u lines", lines_written(&stages)); /* nothing of this run can be cut */
	assert_non_null(strstr(err.text, reason));
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

/* A run of thousands of pieces is cut into windows. They are chosen, and not what lies between them, which is longer. */
static void test_windows_of_long_run(void **arg)
{
	const double share = 0.015;
	struct fixture f;

	(void)arg;
	assert_true(set_up(&f, syn_ring(3, 20000), share, UINT64_MAX));
	assert_excerpt(&f, share);
	assert_in_range(f.p.n, 20, 60);
	for (uint32_t i = 0; i < f.p.n; i++)
		assert_true(f.p.ns[i] < 3 * f.v.segments.ns * share / 40);
	tear_down(&f);
}

/* An epoch is open from the first call, which takes so long, to the last one. */
static struct syn *locked(uint32_t steps, uint64_t ns)
{
	struct syn *s = syn_create(2);
	uint32_t win[2];

	for (uint32_t r = 0; r < 2; r++)
		win[r] = syn_win(s, r, 0, 64);
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		syn_call(s, r, "MPI_Win_lock", 10, SYN(.win = win[r], .dst = 0, .integer = TLOCK_SHARED, .dur_ns = ns));
	for (uint32_t k = 0; k < steps; k++)
		for (uint32_t r = 0; r < 2; r++)
			syn_call(s, r, "MPI_Barrier", 11, SYN(.comm = 0));
	for (uint32_t r = 0; r < 2; r++)
		syn_call(s, r, "MPI_Win_unlock", 12, SYN(.win = win[r], .dst = 0));
	syn_end(s);
	return s;
}

/* Where receives or epochs are open, the first and the last segment are chosen too. They are no longer than windows. */
static void test_windows_at_edges(void **arg)
{
	struct syn *program[] = {posted(2, 0, 60000, 7), locked(60000, 0), locked(60000, 60000)};
	const double share = 0.005;
	struct fixture f;

	(void)arg;
	for (size_t k = 0; k < 3; k++) {
		assert_true(set_up(&f, program[k], share, UINT64_MAX));
		assert_true(cuts_must_run(&f.v.cuts, 0));
		assert_excerpt(&f, share);
		if (k == 0)
			assert_same_messages(&f);
		assert_int_equal(f.p.segment[0], 0);
		assert_int_equal(f.p.segment[f.p.n - 1], f.v.cuts.n);
		assert_true(f.v.segments.at[0].events < 60);
		for (uint32_t i = k == 2; i < f.p.n; i++)
			assert_true(f.p.ns[i] < 3 * f.v.segments.ns * share / 40);
		tear_down(&f);
	}
}

static uint32_t directories_made(int events)
{
	char buf[65536] __attribute__((aligned(8)));
	ssize_t n = read(events, buf, sizeof buf);
	uint32_t made = 0;

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e = (const struct inotify_event *)(buf + at);

		made += e->len > 0 && strncmp(e->name, "precedent-pieces-", 17) == 0;
		at += (ssize_t)sizeof *e + e->len;
	}
	return made;
}

/* Files have no room here. Other pieces would not help: an excerpt is tried once. */
static void test_unwritable_is_tried_once(void **arg)
{
	struct syn *s = farm(5, 2000, 3);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 0.1 * own_seconds(t)};
	const struct rlimit none = {100, RLIM_INFINITY};
	struct rlimit before;
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err = {{0}};
	char dir[] = "/tmp/test-pieces-XXXXXX";
	int events = inotify_init1(IN_NONBLOCK);

	(void)arg;
	assert_non_null(mkdtemp(dir));
	assert_true(events >= 0 && inotify_add_watch(events, dir, IN_CREATE) >= 0);
	assert_int_equal(setenv("TMPDIR", dir, 1), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(skel_understand_pieces(t, &budget, &stages, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	unsetenv("TMPDIR");
	assert_int_equal(directories_made(events), 1);
	assert_non_null(strstr(err.text, "File too large"));
	close(events);
	skel_stages_free(&stages);
	temp_dir_remove(dir);
	trace_close(t);
	syn_destroy(s);
}

static int understand_posted(uint32_t set_up, uint32_t *pieces, struct errbuf *err)
{
	struct syn *s = posted(2, set_up, 6000, 3);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 0.1 * own_seconds(t)};
	struct skel_stages stages = {.excerpt = NULL};
	int rv = skel_understand_pieces(t, &budget, &stages, err);

	*pieces = stages.pieces.n;
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
	return rv;
}

/* A collective is under way until receives are open, so that the run's first segment has no cut. An excerpt has it. */
static void test_long_set_up_is_refused(void **arg)
{
	struct errbuf err = {{0}};
	uint32_t pieces;

	(void)arg;
	if (understand_posted(2000, &pieces, &err) != 0)
		fail_msg("%s", err.text);
	assert_in_range(pieces, 3, 100);
	assert_int_equal(understand_posted(80000, &pieces, &err), -1);
	assert_int_equal(pieces, 0);
	assert_non_null(strstr(err.text, "the fewest pieces have "));
	assert_non_null(strstr(err.text, "the run cannot be cut in its first 80007 calls"));
}

/* Fewer calls than the budget has time for. */
static void test_calls_are_bounded(void **arg)
{
	struct fixture f;

	(void)arg;
	assert_true(set_up(&f, syn_graph(6, 3, 400, 11), 0.5, 2000));
	assert_true(f.p.events <= 2000 || f.p.n <= f.p.n_kind);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_random_programs),
		cmocka_unit_test(test_straggler_is_cut),
		cmocka_unit_test(test_open_requests),
		cmocka_unit_test(test_excerpt_is_proved),
		cmocka_unit_test(test_farm_is_cut),
		cmocka_unit_test(test_calls_are_bounded),
		cmocka_unit_test(test_long_set_up_is_refused),
		cmocka_unit_test(test_lines_are_counted),
		cmocka_unit_test(test_large_is_refused),
		cmocka_unit_test(test_windows_of_long_run),
		cmocka_unit_test(test_windows_at_edges),
		cmocka_unit_test(test_unwritable_is_tried_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
