/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs planned with their time_min: see soft.h. */
#include "common/comment.h"
#include "common/duration.h"
#include "predictor/limits/raise.h"
#include "predictor/limits/soft.h"

/*
 * The plugin wishes for no job that has a time_min of its user's. Nor need the row say that we set it. A task of an array has the
 * time_min of its array. A slurmctld that was killed may have lost that we took it back. It may also have lost the new plan of a
 * waiting array: then it has lost the new wish in the comment, too, since one request changes both. Of a job that starts before
 * the request comes, slurmctld changes the comment alone. So the row keeps what was set until the new plan is seen.
 */
bool limit_soft_is_ours(const struct store_limit *row, const struct cluster_job *job)
{
	const struct job_comment *c = job->ours;

	return job->time_min_min && (job->time_min_min == row->wish_min || (row->soft && job->time_min_min == row->set_min) ||
				     (c && c->user_limit_min == row->asked_min && c->wish_min == job->time_min_min));
}

enum limit_soft_act limit_soft_judge(const struct store_limit *row, const struct cluster_job *job, bool may_set)
{
	bool is_whole = job->limit_min == row->asked_min, ours = limit_soft_is_ours(row, job);

	if (job->phase == CLUSTER_ENDED)
		return LIMIT_SOFT_FORGET;
	/* slurmctld changes the time_min of waiting jobs only, and says nothing. A job that is queued again waits. */
	if (ours && job->phase != CLUSTER_PENDING)
		return LIMIT_SOFT_LEAVE;
	if (ours && (!is_whole || !may_set || row->wish_min >= row->asked_min))
		return LIMIT_SOFT_CLEAR;
	if (ours && job->time_min_min == row->wish_min)
		return LIMIT_SOFT_LEAVE;
	if (!ours && (!is_whole || job->time_min_min || row->seen))
		return LIMIT_SOFT_FORGET;
	/* In the path that starts heterogeneous jobs, backfill lowers the limit with the parameter, too. */
	may_set = may_set && job->phase == CLUSTER_PENDING && !job->het && !job->deadline && !job->barred;
	return may_set && row->wish_min < row->asked_min ? LIMIT_SOFT_SET : LIMIT_SOFT_LEAVE;
}

/* time_min_min 0: none. The comment of a job that was planned anew gets the new wish: tasks that start later are known by it. */
static int time_min_set(const struct daemon_env *env, const struct store_limit *row, const struct cluster_job *job,
			uint32_t time_min_min, struct errbuf *why)
{
	const struct cluster_ops *ops = env->ops;
	bool new_wish = job->ours && job->ours->wish_min != row->wish_min;
	char text[DURATION_TEXT_MAX], comment[LIMIT_COMMENT_MAX];
	int rc = 0;

	duration_format_minutes(text, sizeof(text), time_min_min ? time_min_min : job->time_min_min);
	if (new_wish && comment_set_wish(job->admin_comment, row->wish_min, comment, sizeof(comment)) < 0) {
		rc = time_min_min ? err_set(why, "its comment has no room") : 0;
		new_wish = false;
	}
	if (rc < 0 || ops->set_time_min(ops->arg, job->job_id, time_min_min, new_wish ? comment : NULL, why) < 0) {
		daemon_say(env, LOG_LEVEL_WARN, "job %u: planned time of %s cannot be %s: %s", job->job_id, text,
			   time_min_min ? "set" : "taken back", why->text);
		return -1;
	}
	daemon_say(env, LOG_LEVEL_INFO, "job %u: planned time of %s %s", job->job_id, text, time_min_min ? "set" : "taken back");
	return 0;
}

/* The store comes first. If anything dies after that, the time_min is known to be ours. */
static int soft_set(const struct daemon_env *env, const struct store_limit *row, const struct cluster_job *job,
		    struct limit_tally *tally, struct errbuf *errp)
{
	struct store_limit next = *row;

	next.set_min = limit_soft_is_ours(row, job) ? job->time_min_min : row->wish_min;
	next.soft = true;
	next.seen = false;
	if (store_limit_put(env->store, &next, errp) < 0)
		return -1;
	if (time_min_set(env, row, job, row->wish_min, &tally->why) < 0) {
		tally->refused++;
		return store_limit_put(env->store, row, errp);
	}
	tally->obeyed++;
	if (env->counts)
		env->counts->limited += !row->soft;
	return 0;
}

/* The row stays: the wish is carried out again when the reason is gone. */
static int soft_clear(const struct daemon_env *env, const struct store_limit *row, const struct cluster_job *job,
		      struct limit_tally *tally, struct errbuf *errp)
{
	struct store_limit next = *row;

	if (time_min_set(env, row, job, 0, &tally->why) < 0)
		return 0; /* tried again with each look */
	next.set_min = job->time_min_min;
	next.soft = true;
	next.seen = false;
	return store_limit_put(env->store, &next, errp);
}

/* What the job has is noted when it is seen. Returns 0, or -1 if the store failed. */
static int soft_note(const struct daemon_env *env, const struct store_limit *row, const struct cluster_job *job, struct errbuf *errp)
{
	struct store_limit next = *row;
	bool gone = !job->time_min_min && job->phase == CLUSTER_PENDING;

	if (row->seen || (gone ? !row->soft : job->time_min_min != row->wish_min))
		return 0;
	next.set_min = gone ? DURATION_UNSET : row->wish_min;
	next.soft = next.seen = !gone;
	return store_limit_put(env->store, &next, errp);
}

int limit_soft_follow(const struct daemon_env *env, const struct store_limit *row, const struct cluster_job *job, bool may_set,
		      struct limit_tally *tally, struct errbuf *errp)
{
	switch (limit_soft_judge(row, job, may_set)) {
	case LIMIT_SOFT_SET:
		return soft_set(env, row, job, tally, errp);
	case LIMIT_SOFT_CLEAR:
		return soft_clear(env, row, job, tally, errp);
	case LIMIT_SOFT_FORGET:
		return store_limit_drop(env->store, row->jobid, errp);
	case LIMIT_SOFT_LEAVE:
		break;
	}
	return soft_note(env, row, job, errp);
}
