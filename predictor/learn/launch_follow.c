/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See launch_follow.h. */
#include "predictor/learn/launch_follow.h"
#include "predictor/store/launches.h"

/* An untraced run may launch more than its key says, for instance if an input file is not named in its script. */
static int launch_keep(const struct daemon_env *env, const struct store_run *run, uint64_t launch, int64_t now,
		       struct errbuf *errp)
{
	return run->act == ACT_TRACE ? store_launch_put(env->store, launch, run->key, run->uid, now, errp)
				     : store_launch_yield(env->store, launch, run->key, run->uid, now, errp);
}

int launch_follow(const struct daemon_env *env, const struct store_run *run, const struct job_comment *c,
		  int64_t now, struct errbuf *errp)
{
	int seen;

	if (launch_keep(env, run, c->launch, now, errp) < 0)
		return -1;
	seen = store_run_key(env->store, run, errp);
	if (seen < 0 || seen == RUN_KEY_ARRAY) /* its first task has counted */
		return seen < 0 ? -1 : 0;
	/* A job that was predicted did not need to come again. */
	return store_kind_add(env->store, store_kind_name(run->uid, run->name, run->family),
			      seen == RUN_KEY_AGAIN || run->act == ACT_PREDICT, run->uid, now, errp);
}
