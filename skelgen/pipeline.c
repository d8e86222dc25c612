/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages from a trace to a skeleton: see pipeline.h. */
#include "skelgen/pipeline.h"

#include "skelgen/merge/build.h"
#include "skelgen/merge/verify.h"
#include "skelgen/simulate/plan_matched.h"

int skel_tree_build_with(const struct trace *t, bool with_optional, struct skel_tree *out, struct errbuf *err)
{
	struct grouping ranks;
	int rv;

	*out = (struct skel_tree){0};
	rv = skel_contract(t, with_optional, &ranks, err);
	if (rv == 0)
		rv = skel_merge(t, &ranks, out, err);
	else
		grouping_free(&ranks);
	if (rv == 0 && skel_verify(out, NULL, err) < 0)
		rv = err_prefix(err, "the merged tree is not the trace");
	if (rv == 0)
		rv = skel_tree_resolve(out, err);
	if (rv < 0)
		skel_tree_free(out);
	return rv;
}

int skel_tree_build(const struct trace *t, struct skel_tree *out, struct errbuf *err)
{
	return skel_tree_build_with(t, true, out, err);
}

int skel_understand(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	int rv = skel_tree_build(t, &out->tree, err);

	if (rv == 0)
		rv = skel_times_collect(&out->tree, &out->times, err);
	if (rv == 0)
		rv = compute_profile_collect(&out->tree, &out->times, &out->profile, err);
	if (rv == 0)
		rv = skel_plan_matched(&out->tree, &out->times, budget, &out->plan, &out->match, err);
	if (rv == 0)
		rv = skel_match_buffered(&out->tree, &out->plan, &out->buffered, err);
	return rv;
}

int skel_write(const struct skel_stages *s, const char *dir, const struct skel_emit_options *opt, struct errbuf *err)
{
	const struct skel_planned planned = {&s->tree, &s->times, &s->profile, &s->plan, &s->buffered};

	return skel_emit_c(&planned, dir, opt, err);
}

void skel_stages_free(struct skel_stages *s)
{
	skel_plan_free(&s->plan);
	compute_profile_free(&s->profile);
	skel_times_free(&s->times);
	skel_tree_free(&s->tree);
}
