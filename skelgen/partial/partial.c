/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses where to stop a program, and estimates the whole run from the times until the stop: see partial.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/partial/impl.h"

#define PATIENCE_S 30
#define T_BATCHES  2.776 /* 97.5 % of Student's t with PARTIAL_BATCHES - 1 degrees of freedom */

/* ---- the main loop ---- */

struct main_loop {
	const struct skel_node *node;
	uint64_t iterations; /* over all executions */
	double ns;
};

/* The outermost loops that all ranks run equally often; around them there are only few iterations. */
static void find_main(const struct skel_tree *t, const struct skel_times *times, const struct skel_node *n, uint64_t outer,
		      struct main_loop *best)
{
	if (n->kind == SKEL_LEAF || rank_set_count(&n->ranks) != t->n_ranks)
		return;
	if (n->kind == SKEL_LOOP) {
		if (n->count.form != RF_CONST || n->count.a <= 0 || (uint64_t)n->count.a > UINT32_MAX ||
		    outer > UINT32_MAX)
			return;
		outer *= (uint64_t)n->count.a;
		if (outer >= PARTIAL_LEAST && times->node_ns[n->id] > best->ns) {
			*best = (struct main_loop){n, outer, times->node_ns[n->id]};
			return;
		}
	}
	for (uint32_t i = 0; i < n->n_child; i++)
		find_main(t, times, n->child[i], outer, best);
}

/* ---- marks of one rank ---- */

/* When the call before this event returned in the trace, without the recorder's cost. */
static int traced_time(struct trace_iter *it, const struct trace_rank *k, uint64_t event, double *ns)
{
	struct trace_event ev;
	uint64_t enter, leave;
	bool known;

	trace_iter_seek(it, event - 1);
	if (trace_iter_next(it, &ev, &known) != 1 || !known)
		return -1;
	trace_iter_when(it, &enter, &leave);
	*ns = fmax(0, (double)leave - (double)event * partial_recorder_ns(k));
	return 0;
}

static int rank_events(const struct skel_tree *tree, const struct partial_plan *p, const struct skel_node *loop,
		       uint32_t rank, struct stop_rank *r, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(tree->trace, rank);
	uint64_t hash = 0, event = 0, now = 0, *key = malloc((k->defs.sigs.n + 1u) * sizeof(*key));
	const struct skel_node *leaf;
	struct skel_iter it = {.index = NULL};
	uint32_t index, m = 0;
	uint64_t occ;
	bool seen = false;
	int rv = -1;

	if (!key || skel_iter_begin(&it, tree, rank) < 0) {
		free(key);
		return err_set(err, "no memory to look for the iterations of rank %u", rank);
	}
	for (uint32_t s = 0; s < k->defs.sigs.n; s++)
		key[s] = stop_key(&k->defs, s);
	while (m < PARTIAL_MARKS && skel_iter_next(&it, &leaf, &occ, &index)) {
		bool inside = partial_iteration_now(&it, loop, &now);

		seen = seen || inside;
		/* behind its last iteration the loop is left */
		while (m < PARTIAL_MARKS && seen && (inside ? now >= p->at[m] : p->at[m] >= p->iterations)) {
			r->event[m] = event;
			r->hash[m++] = hash;
		}
		hash = stop_hash_step(hash, key[skel_leaf_symbol(&leaf->by_rank[index], occ)]);
		event++;
	}
	if (m < PARTIAL_MARKS)
		err_set(err, "rank %u has calls in too few iterations of the main loop", rank);
	else
		rv = 0;
	for (m = 0; rv == 0 && m < PARTIAL_MARKS; m++)
		if (!r->event[m] || (m && r->event[m] <= r->event[m - 1]))
			rv = err_set(err, "rank %u has iterations of the main loop without any call", rank);
	skel_iter_end(&it);
	free(key);
	return rv;
}

/* Computation of the events from .. to. -1 when times among them were not kept. */
static int traced_gaps(struct trace_iter *it, uint64_t from, uint64_t to, double *ns)
{
	struct trace_event ev;
	bool known;

	*ns = 0;
	for (trace_iter_seek(it, from); from < to; from++) {
		if (trace_iter_next(it, &ev, &known) != 1 || !known)
			return -1;
		*ns += (double)ev.gap_ns;
	}
	return 0;
}

static int rank_times(const struct skel_tree *tree, uint32_t rank, struct partial_plan *p, struct errbuf *err)
{
	struct trace_iter *it = trace_iter_create(tree->trace, rank, err);
	const struct trace_rank *k = trace_get_rank(tree->trace, rank);
	const uint64_t *event = p->stop.rank[rank].event;
	int rv = 0;

	if (!it)
		return -1;
	for (uint32_t m = 0; m < PARTIAL_MARKS && !rv; m++)
		if (traced_time(it, k, event[m], &p->traced_ns[rank][m]) < 0)
			rv = err_set(err, "the trace has not kept the times of rank %u at the first iterations", rank);
	if (!rv && traced_gaps(it, event[0], event[PARTIAL_MARKS - 1], &p->gap_ns[rank]) < 0)
		p->gap_ns[rank] = 0;
	trace_iter_destroy(it);
	return rv;
}

/* ---- the plan ---- */

static int plan_fill(const struct skel_tree *tree, const struct skel_node *loop, struct partial_plan *p, struct errbuf *err)
{
	for (uint32_t r = 0; r < tree->n_ranks; r++) {
		const struct trace_rank *k = trace_get_rank(tree->trace, r);

		if (rank_events(tree, p, loop, r, &p->stop.rank[r], err) < 0 ||
		    rank_times(tree, r, p, err) < 0)
			return -1;
		p->end_ns[r] = (double)k->defs.proc.end_ticks * k->defs.proc.ns_per_tick -
			       (double)k->events.length * partial_recorder_ns(k);
		p->planned_s = fmax(p->planned_s, p->traced_ns[r][PARTIAL_MARKS - 1] * 1e-9);
		if (p->traced_ns[r][0] >= p->traced_ns[r][PARTIAL_MARKS - 1] ||
		    p->end_ns[r] < p->traced_ns[r][PARTIAL_MARKS - 1])
			return err_set(err, "the trace's times of rank %u go backwards", r);
	}
	return 0;
}

int partial_plan_make(const struct skel_tree *tree, const struct skel_times *times, double seconds,
		      struct partial_plan *out, struct errbuf *err)
{
	struct main_loop best = {0};
	double all = times->node_ns[tree->root->id];

	*out = (struct partial_plan){.stop = {.n_ranks = tree->n_ranks, .n_mark = PARTIAL_MARKS}};
	find_main(tree, times, tree->root, 1, &best);
	if (!best.node || !(all > 0) || best.ns < PARTIAL_SHARE * all)
		return err_set(err, "it has no main loop that all ranks run equally often, with %d or more iterations and half "
				    "of the time", PARTIAL_LEAST);
	out->node = best.node->id;
	out->iterations = best.iterations;
	out->share = best.ns / all;
	out->computed_s = fmax(0, times->gap_ns + times->delayed_ns - times->polled_ns) * 1e-9; /* as its marks are measured */
	if (partial_marks_choose(tree, best.node, seconds, out->at, err) < 0)
		return -1;
	out->stop.rank = calloc(tree->n_ranks, sizeof(*out->stop.rank));
	out->traced_ns = calloc(tree->n_ranks, sizeof(*out->traced_ns));
	out->gap_ns = calloc(tree->n_ranks, sizeof(*out->gap_ns));
	out->loop_ns = calloc(tree->n_ranks, sizeof(*out->loop_ns));
	out->end_ns = calloc(tree->n_ranks, sizeof(*out->end_ns));
	if (!out->stop.rank || !out->traced_ns || !out->gap_ns || !out->loop_ns || !out->end_ns)
		err_set(err, "no memory for the marks of %u ranks", tree->n_ranks);
	else if (plan_fill(tree, best.node, out, err) == 0 && partial_drift_collect(tree, best.node, out, err) == 0) {
		out->stop.patience_s = PATIENCE_S + (uint32_t)fmin(out->planned_s, 3600);
		return 0;
	}
	partial_plan_free(out);
	return -1;
}

void partial_plan_free(struct partial_plan *p)
{
	stop_plan_free(&p->stop);
	free(p->traced_ns);
	free(p->gap_ns);
	free(p->loop_ns);
	free(p->end_ns);
	p->traced_ns = NULL;
	p->gap_ns = NULL;
	p->loop_ns = NULL;
	p->end_ns = NULL;
}

/* ---- the estimate ---- */

/* Time between marks a and b, all ranks together. */
struct span {
	double measured, traced;
};

static struct span span_between(const struct partial_plan *p, const struct stop_marks *m, uint32_t a, uint32_t b)
{
	struct span s = {0, 0};

	for (uint32_t r = 0; r < m->n_ranks; r++) {
		s.measured += (double)(m->rank[r].t_ns[b] - m->rank[r].t_ns[a]);
		s.traced += p->traced_ns[r][b] - p->traced_ns[r][a];
	}
	return s;
}

static uint64_t windows_made(const struct partial_plan *p)
{
	uint64_t n = 0;

	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++)
		n += p->made[b];
	return n;
}

/* Relative deviation of the mean over the windows. Windows may differ in length. Their expected times are proportional to
 * the traced times or to the numbers of iterations, whichever fits better. */
static double windows_deviation(const struct partial_plan *p, const struct stop_marks *m)
{
	const uint32_t last = PARTIAL_MARKS - 1;
	struct span all = span_between(p, m, 0, last);
	double by_time = 0, by_number = 0, n = PARTIAL_BATCHES, made = (double)windows_made(p);

	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++) {
		struct span s = span_between(p, m, b, b + 1);
		double share = (double)p->made[b] / made;

		if (!(s.traced > 0))
			return NAN;
		by_time += pow(s.measured - all.measured * s.traced / all.traced, 2);
		by_number += pow(s.measured - all.measured * share, 2);
	}
	return sqrt(fmin(by_time, by_number) * n / (n - 1)) / all.measured;
}

/* Time of the iterations behind the last mark, ns. *doubt: possible error, ns, because the change in the trace may belong
 * to the program or to the traced run. */
static double loop_left(const struct partial_plan *p, const struct stop_marks *m, double measured, double *doubt)
{
	const uint32_t last = PARTIAL_MARKS - 1;
	double times = (double)p->made[PARTIAL_BATCHES] / (double)windows_made(p);
	double took = measured / m->n_ranks, work = 0, trust, left;

	for (uint32_t r = 0; r < m->n_ranks; r++)
		work = fmax(work, (double)(m->rank[r].gap_ns[last] - m->rank[r].gap_ns[0]));
	work = fmin(work, took);
	trust = partial_work_trust(p, m);
	left = times * (work * exp(trust * p->work.log) + (took - work) * exp(partial_change_beyond(&p->calls) * p->calls.log));
	*doubt = times * work * fmin(fabs(exp(p->work.log) - exp(trust * p->work.log)), fabs(exp(p->work.log) - 1) / 2);
	return left;
}

/* Ratio of the main loop's time in this run to its time in the trace, from the first mark to the end of the loop. The whole
 * rest of the loop is used, so that disturbances of the traced run count little. */
static double loop_ratio(const struct partial_plan *p, struct span windows, double left)
{
	for (uint32_t r = 0; r < p->stop.n_ranks; r++) {
		windows.measured += left;
		windows.traced += p->loop_ns[r];
	}
	return windows.measured / windows.traced;
}

/* Computation of the whole run, seconds; 0 if the trace does not hold enough of the computation. */
static double computed(const struct partial_plan *p, const struct stop_marks *m)
{
	double measured = 0, traced = 0;

	for (uint32_t r = 0; r < m->n_ranks; r++) {
		if (!(p->gap_ns[r] > 0))
			return 0;
		measured += (double)(m->rank[r].gap_ns[PARTIAL_MARKS - 1] - m->rank[r].gap_ns[0]);
		traced += p->gap_ns[r];
	}
	return p->computed_s * measured / traced;
}

int partial_estimate_make(const struct partial_plan *p, const struct stop_marks *m, struct partial_estimate *out,
			  struct errbuf *err)
{
	const uint32_t last = PARTIAL_MARKS - 1;
	double R, whole = 0, rest = 0, all = 0, loop, doubt, half, done;
	struct span s;

	if (m->n_ranks != p->stop.n_ranks || m->n_mark != PARTIAL_MARKS)
		return err_set(err, "the marks are those of another run");
	s = span_between(p, m, 0, last);
	loop = loop_left(p, m, s.measured, &doubt);
	R = loop_ratio(p, s, loop);
	if (!isfinite(R) || R <= 0)
		return err_set(err, "the iterations took no time");
	*out = (struct partial_estimate){.ratio = s.measured / s.traced};
	for (uint32_t r = 0; r < m->n_ranks; r++) {
		double left = loop + fmax(0, p->end_ns[r] - p->traced_ns[r][last] - p->loop_ns[r]) * R, t = (double)m->rank[r].t_ns[last];

		if (t + left > whole) {
			whole = t + left;
			rest = left;
		}
		all += p->end_ns[r];
		out->ran_s = fmax(out->ran_s, t * 1e-9);
		out->startup_s = fmax(out->startup_s, (double)(m->rank[r].before_ns + m->rank[r].init_ns) * 1e-9);
	}
	out->whole_s = whole * 1e-9;
	out->computed_s = fmin(computed(p, m), out->whole_s);
	/* Interval by batch means. The time until the stop is known. Time outside the loop may scale in another way. */
	done = s.traced / (all * p->share);
	half = rest / whole * T_BATCHES * windows_deviation(p, m) * sqrt(fmax(0, 1 - done));
	half = hypot(half, doubt / whole);
	half = hypot(half, (1 - p->share) * fabs(R - 1) / R / 2);
	if (!isfinite(half))
		return err_set(err, "the iterations took no time");
	out->lo_s = out->whole_s * fmax(0, 1 - half);
	out->hi_s = out->whole_s * (1 + half);
	return 0;
}
