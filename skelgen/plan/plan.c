/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans cuts from the top of the tree down, by bisection on the fraction of time that shall be left. */
#include "skelgen/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/plan/gap_sampling.h"
#include "trace/cpu_time/run_own.h"
#include "trace/functions.h"

#define BISECTIONS 50
#define FAR_AWAY   1.5   /* from the budget: then fewer iterations will do */
#define NEGLIGIBLE 0.005 /* of the budget: a loop whose iterations take less is left whole */
#define ROOM       1.1   /* times the least time possible: budget if the given one cannot be met and unevenness() > UNEVEN */
#define UNEVEN     1.5
#define UNSURE     0.25  /* of the run's time: a larger expected half-width may miss the longest iterations */

struct planner {
	const struct skel_tree *tree;
	const struct skel_times *times;
	struct skel_plan *plan;
	double budget_ns;
	uint64_t min_iterations;
	double precision; /* 0: as many iterations as the budget has room for */
	double short_ns;  /* least part of a gap */
};

/* ---- loops whose iterations vary ---- */

/* The trip counts of the first rank are used for all ranks. */
double skel_plan_kept(const struct skel_node *loop, const struct skel_cut *c)
{
	const struct skel_turns *t;
	uint64_t begin = 0;
	double made = 0, run = 0;

	if (!c->varies)
		return (double)c->run / (double)c->total;
	t = &loop->turns[0];
	for (uint32_t i = 0; i < t->n_run; i++) {
		double visits = (double)(t->run_end[i] - begin);

		made += visits * (double)t->run_turns[i];
		run += visits * (double)sampled_turns(c->total, c->run, t->run_turns[i]);
		begin = t->run_end[i];
	}
	return made > 0 ? run / made : 1;
}

/* Mean trip count of the executions that make at least one iteration. */
static double mean_turns(const struct skel_node *loop, const struct skel_cut *c)
{
	const struct skel_turns *t = loop->turns;
	uint64_t begin = 0;
	double made = 0, visits = 0;

	for (uint32_t i = 0; c->varies && i < t->n_run; i++) {
		made += (double)(t->run_end[i] - begin) * (double)t->run_turns[i];
		visits += t->run_turns[i] > 0 ? (double)(t->run_end[i] - begin) : 0;
		begin = t->run_end[i];
	}
	return visits > 0 ? made / visits : (double)c->total;
}

static bool turns_alike(const struct skel_node *loop)
{
	const struct skel_turns *t = loop->turns;
	uint32_t n = rank_set_count(&loop->ranks);

	for (uint32_t i = 0; i < n; i++)
		if (t[i].n_run == 0 || t[i].n_run != t[0].n_run ||
		    memcmp(t[i].run_end, t[0].run_end, t[0].n_run * sizeof *t[0].run_end) != 0 ||
		    memcmp(t[i].run_turns, t[0].run_turns, t[0].n_run * sizeof *t[0].run_turns) != 0)
			return false;
	return true;
}

/* ---- cuts ---- */

static bool can_cut(const struct planner *p, const struct skel_node *loop)
{
	const struct skel_cut *c = &p->plan->cut[loop->id];

	return !c->refused && !c->whole && !c->uneven && loop->count.form == RF_CONST &&
	       rank_set_count(&loop->ranks) == p->tree->n_ranks && c->total > p->min_iterations + 1 &&
	       mean_turns(loop, c) > (double)(p->min_iterations + 1);
}

/* Iterations to run, warm-up included, for a fraction f of the loop's time. */
static uint64_t iterations_for(const struct planner *p, uint64_t total, double f)
{
	double want = ceil(f * (double)total);
	uint64_t least = p->min_iterations + 1;

	if (want >= (double)total)
		return total;
	return want < (double)least ? least : (uint64_t)want;
}

static double plan_node(struct planner *p, const struct skel_node *n, double f);

static double plan_children(struct planner *p, const struct skel_node *n, double f)
{
	double sum = 0;

	for (uint32_t i = 0; i < n->n_child; i++)
		sum += plan_node(p, n->child[i], f);
	return sum;
}

/* Set the cuts inside n so that about f of its time is left, and return the time that will be. The entry of a loop runs
 * whole. */
static double plan_node(struct planner *p, const struct skel_node *n, double f)
{
	struct skel_cut *c = &p->plan->cut[n->id];
	double kept, all = p->times->node_ns[n->id], entry = p->times->entry_ns[n->id];

	if (n->kind == SKEL_LEAF)
		return all;
	if (n->kind == SKEL_SEQ)
		return plan_children(p, n, f);
	c->run = c->total;
	if (all - entry < NEGLIGIBLE * p->budget_ns)
		return plan_children(p, n, 1.0);
	if (!can_cut(p, n))
		return plan_children(p, n, f);
	c->run = iterations_for(p, c->total, f);
	kept = skel_plan_kept(n, c);
	if (!(kept < 1))
		c->run = c->total;
	/* If even the fewest iterations exceed the share, cut the inner loops. */
	return kept * (plan_children(p, n, kept > 1.1 * f ? f / kept : 1.0) - entry) + entry;
}

static void count_init(const struct skel_node *n, struct skel_plan *plan)
{
	if (n->kind == SKEL_LOOP) {
		bool constant = n->count.form == RF_CONST && n->count.a > 0;

		plan->cut[n->id].total = plan->cut[n->id].run = constant ? (uint64_t)n->count.a : 0;
		plan->cut[n->id].varies = n->turns != NULL;
		plan->cut[n->id].uneven = n->turns != NULL && !turns_alike(n);
	}
	for (uint32_t i = 0; n->kind != SKEL_LEAF && i < n->n_child; i++)
		count_init(n->child[i], plan);
}

/* Find the largest fraction of time whose plan meets the budget. Returns the time of the plan, ns. */
static double plan_by_bisection(struct planner *p)
{
	const struct skel_node *root = p->tree->root;
	double lo = 0, hi = 1;

	if (p->times->node_ns[root->id] <= p->budget_ns)
		return plan_node(p, root, 1);
	for (int i = 0; i < BISECTIONS; i++) {
		double f = (lo + hi) / 2;

		if (plan_node(p, root, f) > p->budget_ns)
			hi = f;
		else
			lo = f;
	}
	return plan_node(p, root, lo > 0 ? lo : hi);
}

/* ---- windows ---- */

/* Drop up to half of a loop's iterations if fewer are precise enough. */
static void precision_apply(const struct planner *p)
{
	for (uint32_t i = 0; i < p->plan->series->n; i++) {
		const struct skel_loop_series *l = &p->plan->series->loop[i];
		struct skel_cut *c = &p->plan->cut[l->node];
		uint64_t wanted = series_wanted(&l->stats, c->total, p->precision) + 1;

		wanted = wanted > c->run / 2 ? wanted : c->run / 2;
		wanted = wanted > p->min_iterations + 1 ? wanted : p->min_iterations + 1;
		if (c->run != c->total && wanted < c->run)
			c->run = wanted;
	}
}

/* Place the windows of the cut loops. The windows may use a few iterations less than `run`. */
static void windows_lay(struct skel_plan *plan, const struct skel_node *n)
{
	const struct skel_loop_series *l = skel_series_of(plan->series, n->id);
	struct skel_cut *c = &plan->cut[n->id];
	struct sampled_plan *w = plan->windows[n->id];

	for (uint32_t i = 0; n->kind != SKEL_LEAF && i < n->n_child; i++)
		windows_lay(plan, n->child[i]);
	c->windows = NULL;
	if (n->kind != SKEL_LOOP || c->run == c->total || c->consecutive || c->varies || w == NULL)
		return;
	series_windows(l != NULL ? &l->stats : NULL, c->total, l != NULL && l->placed ? l->visits : 2, c->run, w);
	if (w->n == 0 || sampled_run(w) >= c->total)
		return;
	if (l != NULL)
		w->spikes = l->spikes;
	c->windows = w;
	c->run = sampled_run(w);
}

double skel_plan_expected(const struct skel_plan *plan, uint32_t node)
{
	const struct skel_loop_series *l = skel_series_of(plan->series, node);

	return l != NULL && plan->cut[node].windows != NULL ? series_expected(&l->stats, plan->cut[node].windows) : 0;
}

/* Traced time of the calls, and of the computation before them, that stand in no cut loop or enter one. */
static double time_whole(const struct skel_plan *plan, const struct skel_times *times, const struct skel_node *n)
{
	const struct skel_cut *c = &plan->cut[n->id];
	double sum = 0;

	if (n->kind == SKEL_LEAF)
		return times->node_ns[n->id];
	if (n->kind == SKEL_LOOP && c->run != c->total)
		return times->entry_ns[n->id];
	for (uint32_t i = 0; i < n->n_child; i++)
		sum += time_whole(plan, times, n->child[i]);
	return sum;
}

/* Time that the cuts leave of a node. */
static double time_left(const struct skel_plan *plan, const struct skel_times *times, const struct skel_node *n)
{
	const struct skel_cut *c = &plan->cut[n->id];
	double sum = 0, entry = times->entry_ns[n->id];

	if (n->kind == SKEL_LEAF)
		return times->node_ns[n->id];
	for (uint32_t i = 0; i < n->n_child; i++)
		sum += time_left(plan, times, n->child[i]);
	return n->kind == SKEL_LOOP && c->run != c->total ? (sum - entry) * skel_plan_kept(n, c) + entry : sum;
}

/* Returns what sharing saves of the mean time. The share is chosen by the rank that saves most, as if it were the
 * longest. */
static double share_gaps(struct planner *p, double whole)
{
	double longest = p->plan->longest;

	return gap_share_choose(p->tree, p->times, (whole - p->budget_ns) * longest, p->plan) / longest;
}

/* Cut loops first. If the time still exceeds the budget, run only a share of each long gap. Returns the time of the plan,
 * ns. */
static double plan_within(struct planner *p)
{
	double whole = plan_by_bisection(p), left = whole;

	p->plan->gap_share = 1;
	p->plan->gap_least_ns = GAP_LONG_NS;
	if (left > FAR_AWAY * p->budget_ns)
		left -= share_gaps(p, whole);
	while (left > SKEL_WITHIN * p->budget_ns && p->plan->gap_least_ns > p->short_ns) {
		p->plan->gap_least_ns = fmax(p->plan->gap_least_ns / 2, p->short_ns);
		left = whole - share_gaps(p, whole);
	}
	if (left > FAR_AWAY * p->budget_ns && p->times->polled_ns > GAP_POLLED * left) {
		p->plan->gap_least_ns = GAP_POLLED_NS;
		left = whole - share_gaps(p, whole);
	}
	return left;
}

/* Sums over calls and the gaps before them. */
struct evenness {
	double all, run; /* their time; the part of the time that runs */
	double square;   /* sum of run time times weight squared; weight: represented time over run time. Proportional to
			  * the variance of the estimate under random delays. */
};

static void evenness_add(struct evenness *e, double ns, double kept)
{
	e->all += ns;
	e->run += ns * kept;
	e->square += ns / kept;
}

/* The cuts leave `kept` of the executions of n, and `entered` of the executions of the node around it. */
static void evenness_of(const struct planner *p, const struct skel_node *n, double kept, double entered,
			struct evenness *e)
{
	const struct skel_cut *c = &p->plan->cut[n->id];
	double inside = kept, entry_ns = p->times->entry_ns[n->id];

	if (n->kind == SKEL_LEAF) {
		evenness_add(e, p->times->node_ns[n->id] - entry_ns, kept);
		evenness_add(e, entry_ns, entered);
		return;
	}
	if (n->kind == SKEL_LOOP && c->run != c->total)
		inside *= skel_plan_kept(n, c);
	for (uint32_t i = 0; i < n->n_child; i++)
		evenness_of(p, n->child[i], inside, kept, e);
}

/* Variance of the estimate, relative to the variance with equal weights. At least 1, by Cauchy-Schwarz. */
static double unevenness(const struct planner *p)
{
	struct evenness e = {0, 0, 0};

	evenness_of(p, p->tree->root, 1, 1, &e);
	return e.all > 0 ? e.run * e.square / (e.all * e.all) : 1;
}

/* Make the weights of iterations more even if the budget cannot be met. Then the deepest cuts save little and cost much:
 * in a short loop inside a cut loop, one iteration may represent hundreds. A random delay of this iteration counts
 * hundreds of times. A slightly larger budget makes the weights more equal. */
static void plan_even(struct planner *p, double left)
{
	double budget = p->budget_ns, most = FAR_AWAY * budget;

	if (left <= budget || p->plan->gap_share < 1 || unevenness(p) <= UNEVEN)
		return;
	p->budget_ns = left < most ? fmin(ROOM * left, most) : ROOM * left;
	plan_by_bisection(p);
	p->budget_ns = budget;
}

/* Returns the time of the plan, ns. */
static double plan_once(struct planner *p, uint32_t least)
{
	const struct skel_node *root = p->tree->root;
	double left;

	p->min_iterations = least > 0 ? least : SKEL_MIN_ITERATIONS;
	left = plan_within(p);
	while (left > FAR_AWAY * p->budget_ns && least == 0 && p->min_iterations > SKEL_FEWEST_ITERATIONS) {
		p->min_iterations /= 2;
		left = plan_within(p);
	}
	plan_even(p, left);
	if (p->precision > 0)
		precision_apply(p);
	windows_lay(p->plan, root);
	return time_left(p->plan, p->times, root) - gap_share_saved(p->tree, p->times, p->plan) / p->plan->longest;
}

/* The series of a loop with several visits has what enters it, too, which runs whole. */
static bool is_unsure(const struct planner *p, const struct skel_loop_series *l)
{
	double iterations_ns = p->times->node_ns[l->node] - p->times->entry_ns[l->node];

	return l->visits == 1 && p->plan->cut[l->node].run != p->plan->cut[l->node].total &&
	       iterations_ns * skel_plan_expected(p->plan, l->node) > UNSURE * p->times->node_ns[p->tree->root->id];
}

/* Where few iterations take most of a loop's time, the loop stays whole, and parts of long computations run. The loop
 * is cut if that plan exceeds the budget, or if waits for messages take more of the time than a sample may miss.
 * Returns the time of the plan, ns. */
static double plan_sure(struct planner *p, uint32_t least, double left)
{
	const struct skel_series *series = p->plan->series;
	const double short_ns = p->short_ns;
	bool any = false, worse = false;

	for (uint32_t i = 0; i < series->n; i++) {
		p->plan->cut[series->loop[i].node].whole = is_unsure(p, &series->loop[i]);
		any |= p->plan->cut[series->loop[i].node].whole;
	}
	if (!any)
		return left;
	p->short_ns = GAP_MANY_NS;
	left = plan_once(p, least);
	for (uint32_t i = 0; i < series->n; i++)
		worse |= is_unsure(p, &series->loop[i]);
	if (skel_plan_shares_gaps(p->plan))
		worse |= gap_share_most_lost(p->tree, p->times) > UNSURE;
	if (!worse && left <= SKEL_WITHIN * p->budget_ns)
		return left;
	for (uint32_t i = 0; i < series->n; i++)
		p->plan->cut[series->loop[i].node].whole = false;
	p->short_ns = short_ns;
	return plan_once(p, least);
}

void skel_plan_again(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
		     struct skel_plan *plan)
{
	double all = times->node_ns[tree->root->id], left;
	struct planner p = {.tree = tree, .times = times, .plan = plan, .budget_ns = all};

	p.short_ns = budget->short_parts ? GAP_MANY_NS : GAP_SHORT_NS;
	if (!(budget->scale > 1))
		p.precision = budget->precision > 0 ? budget->precision : SKEL_PRECISION;

	if (budget->seconds > 0)
		p.budget_ns = fmin(p.budget_ns, budget->seconds * 1e9 / fmax(plan->crowd, plan->longest));
	if (budget->scale > 1)
		p.budget_ns = fmin(p.budget_ns, all / budget->scale);
	for (uint32_t i = 0; i < plan->n_node; i++)
		plan->cut[i].whole = false;
	left = plan_sure(&p, budget->min_iterations, plan_once(&p, budget->min_iterations));
	plan->n_cut = 0;
	for (uint32_t i = 0; i < plan->n_node; i++)
		plan->n_cut += plan->cut[i].run != plan->cut[i].total;
	plan->full_s = times->wall_ns * 1e-9;
	plan->whole_s = all > 0 ? plan->full_s * time_whole(plan, times, tree->root) / all : plan->full_s;
	plan->predicted_s = all > 0 ? plan->full_s * left / all : plan->full_s;
	if (plan->crowd > 0) /* without the time that other programs had */
		plan->predicted_s = fmin(plan->predicted_s, fmax(plan->crowd, plan->longest) * left * 1e-9);
}

/* Allocate the windows of every loop that might be cut. */
static int windows_alloc(const struct skel_tree *tree, const struct skel_node *n, struct skel_plan *plan)
{
	if (n->kind == SKEL_LOOP && n->count.form == RF_CONST && n->count.a > SKEL_FEWEST_ITERATIONS &&
	    rank_set_count(&n->ranks) == tree->n_ranks &&
	    (plan->windows[n->id] = calloc(1, sizeof **plan->windows)) == NULL)
		return -1;
	for (uint32_t i = 0; n->kind != SKEL_LEAF && i < n->n_child; i++)
		if (windows_alloc(tree, n->child[i], plan) != 0)
			return -1;
	return 0;
}

/* Own times of the ranks, without waits in unsuccessful tests. Without memory they count as equal. */
static double longest_over_mean(const struct skel_tree *tree, const struct skel_times *times)
{
	double *own_ns = calloc(tree->n_ranks + 1u, sizeof *own_ns), longest = 0, sum = 0;

	for (uint32_t i = 0; own_ns != NULL && i < tree->n_leaf; i++) {
		const struct rank_set *ranks = &tree->leaf[i]->ranks;
		uint32_t k = 0;

		for (uint32_t r = rank_set_first(ranks); r != UINT32_MAX; r = rank_set_next(ranks, r), k++)
			if (trace_fn[tree->leaf[i]->fn].cls != TC_INIT)
				own_ns[r] += times->leaf[i][k].gap_ns + times->leaf[i][k].dur_ns;
	}
	for (uint32_t r = 0; own_ns != NULL && r < tree->n_ranks; r++) {
		longest = fmax(longest, own_ns[r]);
		sum += own_ns[r];
	}
	free(own_ns);
	return sum > 0 ? longest * tree->n_ranks / sum : 1;
}

int skel_plan(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
	      struct skel_plan *out, struct errbuf *err)
{
	struct run_place place;

	memset(out, 0, sizeof *out);
	if (run_place_find(tree->trace, &place) < 0)
		return err_set(err, "no memory to plan %u ranks", tree->n_ranks);
	out->crowd = place.processors > 0 ? fmax(1, place.crowd) : 0;
	out->longest = longest_over_mean(tree, times);
	out->cut = calloc(tree->n_node + 1u, sizeof *out->cut);
	out->windows = calloc(tree->n_node + 1u, sizeof *out->windows);
	out->meets = calloc(tree->n_node + 1u, sizeof *out->meets);
	out->n_node = tree->n_node;
	if (out->cut == NULL || out->windows == NULL || out->meets == NULL || windows_alloc(tree, tree->root, out) != 0) {
		err_set(err, "no memory to plan %u nodes", tree->n_node);
		goto fail;
	}
	out->series = &times->series;
	count_init(tree->root, out);
	skel_plan_again(tree, times, budget, out);
	return 0;
fail:
	skel_plan_free(out);
	return -1;
}

void skel_plan_free(struct skel_plan *p)
{
	for (uint32_t i = 0; p->windows != NULL && i < p->n_node; i++)
		free(p->windows[i]);
	free(p->windows);
	free(p->meets);
	free(p->cut);
	skel_rooms_free(&p->rooms);
	memset(p, 0, sizeof *p);
}
