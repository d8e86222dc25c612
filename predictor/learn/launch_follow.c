/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See launch_follow.h. */
#include "predictor/learn/launch_follow.h"
#include "predictor/store/launches.h"

#define LOOK_MAX 64 /* runs of the key: among the latest runs of a large array may be no other submission */

struct seen {
	uint32_t array_job;
	bool array; /* another task of the same array: the same submission */
	bool again; /* an earlier submission */
};

static int see(const struct store_run *r, void *arg)
{
	struct seen *s = arg;

	if (s->array_job && r->array_job == s->array_job)
		s->array = true;
	else
		s->again = true;
	return s->again;
}

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
	const struct store_run_filter of = {.uid = run->uid, .key = run->key, .max = LOOK_MAX};
	struct seen seen = {.array_job = run->array_job};

	if (launch_keep(env, run, c->launch, now, errp) < 0 ||
	    store_runs_each(env->store, &of, see, &seen, errp) < 0)
		return -1;
	if (seen.array && !seen.again)
		return 0;
	/* A job that was predicted did not need to come again. */
	return store_kind_add(env->store, store_kind_name(run->uid, run->name, run->family),
			      seen.again || run->act == ACT_PREDICT, run->uid, now, errp);
}
