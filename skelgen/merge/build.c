/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contraction and merging, as stages: see build.h. */
#include "skelgen/merge/build.h"

#include "skelgen/merge/convert.h"
#include "skelgen/merge/merge.h"

static int check_usable(const struct trace *t, struct errbuf *err)
{
	if (trace_is_partial(t))
		return err_set(err, "the trace is partial (the run did not reach MPI_Finalize): a skeleton needs a whole one");
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_rank *k = trace_get_rank(t, r);

		if (!k->present || !k->events.length)
			return err_set(err, "the trace has no events of rank %u: a skeleton needs all ranks", r);
	}
	return 0;
}

int skel_contract(const struct trace *t, bool with_optional, struct grouping *out, struct errbuf *err)
{
	*out = (struct grouping){.arena = NULL};
	return check_usable(t, err) < 0 ? -1 : grouping_choose(t, with_optional, out, err);
}

int skel_merge(const struct trace *t, struct grouping *from, struct skel_tree *out, struct errbuf *err)
{
	struct merge m = {0};
	int rv = -1;

	*out = (struct skel_tree){.trace = t, .n_ranks = trace_n_ranks(t), .alphabet = (uint8_t)from->groups.alphabet};
	if (merge_groups(&m, t, &from->groups, err) == 0) {
		/* The tree keeps the arena: the variant runs are in it. */
		out->arena = from->arena;
		rv = merge_to_tree(out, &m, err);
	}
	merge_free(&m);
	if (!out->arena)
		grouping_free(from);
	else
		rank_groups_free(&from->groups);
	*from = (struct grouping){.arena = NULL};
	if (rv < 0)
		skel_tree_free(out);
	return rv;
}
