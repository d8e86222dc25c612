/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merged tree of a trace: see build.h. */
#include "skelgen/merge/build.h"

#include "skelgen/merge/alphabet.h"
#include "skelgen/merge/convert.h"
#include "skelgen/merge/merge.h"
#include "skelgen/merge/verify.h"

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

int skel_tree_build_with(const struct trace *t, bool with_optional, struct skel_tree *out, struct errbuf *err)
{
	struct grouping best = {0};
	struct merge m = {0};
	int rv = -1;

	*out = (struct skel_tree){.trace = t, .n_ranks = trace_n_ranks(t)};
	if (check_usable(t, err) < 0 || grouping_choose(t, with_optional, &best, err) < 0)
		goto out;
	out->alphabet = (uint8_t)best.groups.alphabet;
	if (merge_groups(&m, t, &best.groups, err) < 0)
		goto out;
	/* The tree keeps the arena: the variant runs are in it. */
	out->arena = best.arena;
	if (merge_to_tree(out, &m, err) < 0)
		goto out;
	if (skel_verify(out, NULL, err) < 0) {
		err_prefix(err, "the merged tree is not the trace");
		goto out;
	}
	rv = 0;
out:
	merge_free(&m);
	if (best.arena)
		rank_groups_free(&best.groups);
	if (rv < 0) {
		arena_destroy(best.arena);
		*out = (struct skel_tree){0};
	}
	return rv;
}

int skel_tree_build(const struct trace *t, struct skel_tree *out, struct errbuf *err)
{
	return skel_tree_build_with(t, true, out, err);
}
