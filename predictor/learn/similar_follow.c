/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See similar_follow.h. */
#include "predictor/learn/similar_follow.h"
#include "predictor/store/groups.h"

int similar_follow(const struct ended_run *r, const struct job_comment *c, struct errbuf *errp)
{
	const struct store_run *row = r->row;
	const struct group_run run = {row->uid, row->end_state, row->elapsed_s, row->end_time};
	struct group_ids ids;

	if (!c || row->restarts || group_ids_parse(c->groups, &ids) < 0)
		return 0;
	return store_groups_add(r->env->store, &ids, &run, errp);
}
