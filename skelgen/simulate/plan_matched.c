/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans whose cuts are given up until the rest matches: see plan_matched.h. */
#include "skelgen/simulate/plan_matched.h"

#include "skelgen/tree/left_requests.h"

static const struct skel_node *node_by_id(const struct skel_node *n, uint32_t id)
{
	const struct skel_node *found = n->id == id ? n : NULL;

	for (uint32_t i = 0; found == NULL && n->kind != SKEL_LEAF && i < n->n_child; i++)
		found = node_by_id(n->child[i], id);
	return found;
}

/* The cut to give up: the outermost one around the node at fault, else the one that takes most time. */
static struct skel_cut *cut_to_blame(const struct skel_tree *tree, const struct skel_times *times,
				     struct skel_plan *plan, uint32_t node_id)
{
	const struct skel_node *n = node_id != UINT32_MAX ? node_by_id(tree->root, node_id) : NULL;
	struct skel_cut *blamed = NULL;
	double most = -1;

	for (; n != NULL; n = n->parent)
		if (plan->cut[n->id].run != plan->cut[n->id].total)
			blamed = &plan->cut[n->id];
	for (uint32_t i = 0; blamed == NULL && i < plan->n_node; i++)
		if (plan->cut[i].run != plan->cut[i].total && times->node_ns[i] > most)
			most = times->node_ns[i];
	for (uint32_t i = 0; blamed == NULL && i < plan->n_node; i++)
		if (plan->cut[i].run != plan->cut[i].total && times->node_ns[i] == most)
			blamed = &plan->cut[i];
	return blamed;
}

/* One thread records its calls in the order in which they are made. There a receive that is too short is an error, unless its
 * message may be of another piece of the run. */
static int rooms_find(const struct trace *t, bool any, struct skel_rooms *rooms, struct errbuf *err)
{
	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		any |= skel_rank_has_threads(t, r);
	return any ? skel_rooms_find(t, rooms, err) : 0;
}

/* The simulation makes the calls of all threads one after the other, as a skeleton would; the program did not. */
static int fail_threads(const struct trace *t, struct errbuf *err)
{
	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		if (skel_rank_has_threads(t, r))
			return err_prefix(err, "threads call MPI at once; their order between threads is not reproduced, so "
					       "that no skeleton is made: past runs predict such a job; one thread for all would fail");
	return -1;
}

/* Does the cut program leave more requests under way than the whole one? *whole: requests that the whole one leaves, or UINT64_MAX
 * if they are not counted yet. Returns 1 or 0; -1 without memory. */
static int leaves_more(const struct skel_tree *tree, const struct skel_plan *plan, const struct skel_match_report *report, uint64_t *whole)
{
	if (report->left == 0 || plan->n_cut == 0)
		return 0;
	if (*whole == UINT64_MAX && skel_count_left_requests(tree->trace, whole) != 0)
		return -1;
	return report->left > *whole;
}

/* As skel_match(); it also fails if requests are under way in the end that the whole program completes. */
static int match(const struct skel_tree *tree, const struct skel_plan *plan, uint64_t *whole, struct skel_match_report *report,
		 struct errbuf *err)
{
	int more;

	if (skel_match(tree, plan, report, err) != 0)
		return -1;
	more = leaves_more(tree, plan, report, whole);
	report->no_memory = more < 0;
	report->node = more > 0 ? report->left_node : report->node;
	if (more != 0)
		err_set(err, more < 0 ? "no memory to follow the requests of a rank" : "requests would not be completed");
	return more != 0 ? -1 : 0;
}

int skel_plan_matched(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
		      struct skel_plan *out, struct skel_match_report *report, struct errbuf *err)
{
	uint64_t whole = UINT64_MAX;

	if (skel_plan(tree, times, budget, out, err) != 0)
		return -1;
	if (rooms_find(tree->trace, budget->longer, &out->rooms, err) != 0) {
		skel_plan_free(out);
		return -1;
	}
	while (match(tree, out, &whole, report, err) != 0) {
		struct skel_cut *c = report->no_memory ? NULL : cut_to_blame(tree, times, out, report->node);

		if (c == NULL) {
			skel_plan_free(out);
			return report->no_memory ? -1 : fail_threads(tree->trace, err);
		}
		/* Iterations that hand something to the next one match when they are consecutive. */
		if (!c->consecutive && !c->varies)
			c->consecutive = true;
		else
			c->refused = true;
		skel_plan_again(tree, times, budget, out);
	}
	return 0;
}
