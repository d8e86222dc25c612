/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates from similar runs (predictor/estimate/ladder.h), for jobs without a prediction. Such an estimate is told.
 * It changes no limit, no place and no trace; the scheduler may plan with it. The job's groups are written into its
 * comment, so that its end is learned from. A fault of the store here is no fault of the decision.
 */
#include <stdio.h>
#include <string.h>

#include "plugin/decide_internal.h"

#define TELL_RATIO 20	/* between the bounds: a wider interval says "minutes or hours" */
#define TELL_RUNS  3	/* with fewer runs the interval is a guess; one run of the very same script is told */
#define TELL_S	   60	/* nobody plans with less than a minute */
#define TELL_MODE  0.25 /* share of the last runs from which a second kind of end is worth a word */

static const char *const alike[LADDER_RUNGS] = {
    [LADDER_SCRIPT] = "of the same script",
    [LADDER_COMMAND] = "with the same command",
    [LADDER_NUMBERS] = "of this script with other numbers",
    [LADDER_NAME] = "with the same name",
    [LADDER_SHAPE] = "of the same size",
    [LADDER_USER] = "of yours",
    [LADDER_ACCOUNT] = "of the same account",
};

static void say_similar(struct deciding *d, const struct ladder_estimate *e)
{
	char mean[DURATION_TEXT_MAX], lo[DURATION_TEXT_MAX], hi[DURATION_TEXT_MAX], *end;
	struct decision *out = d->out;
	size_t tail = strlen(OPT_OUT);

	if (e->runs < (e->rung == LADDER_SCRIPT ? 1 : TELL_RUNS) || e->mean_s < TELL_S || e->hi_s > TELL_RATIO * e->lo_s)
		return;
	/* the way to opt out stays the end of the message */
	end = out->message + strlen(out->message);
	if ((size_t)(end - out->message) >= tail && !strcmp(end - tail, OPT_OUT))
		end[-(ptrdiff_t)tail] = '\0';
	decide_say(out, "%ssimilar runs (%s) took %s (%s-%s)", out->message[0] ? "; " : "precedent: ", alike[e->rung],
		   duration_format(mean, sizeof(mean), e->mean_s), duration_format(lo, sizeof(lo), e->lo_s),
		   duration_format(hi, sizeof(hi), e->hi_s));
	if (e->early_share >= TELL_MODE)
		decide_say(out, ", %.0f %% failed at once", 100 * e->early_share);
	if (e->limit_share >= TELL_MODE)
		decide_say(out, ", %.0f %% were ended before", 100 * e->limit_share);
	if (out->wish.limit_min != DURATION_UNSET)
		decide_say_limit(d);
	decide_say_opt_out(out);
}

/* The job's groups, if the partition where it will run is known. */
static bool groups_find(const struct deciding *d, struct group_ids *ids)
{
	const struct decide_input *in = d->in;
	const struct group_job job = {
	    .uid = in->uid,
	    .nodes = in->layout.nodes_min,
	    .limit_min = in->time_limit_min,
	    .command = in->command,
	    .name = in->name,
	    .work_dir = in->work_dir,
	    .account = in->account,
	    .partition = d->placed ? d->out->partition : d->partitions[0],
	    .text = in->script && !in->invented ? d->out->id.text : 0,
	    .pattern = in->script && !in->invented ? d->out->id.pattern : 0,
	};

	if (in->het || (!d->placed && d->n_partitions != 1))
		return false;
	group_ids_of(&job, ids);
	return true;
}

/* Where a limit would be shortened, the interval is too wide. */
static void plan_similar(struct deciding *d, const struct ladder_estimate *e)
{
	if (decide_guard(d) != GUARD_SOFT)
		return;
	decide_find_cap(d);
	decide_wish_limit(d, e->mean_s);
	if (d->out->wish.limit_min != DURATION_UNSET)
		d->out->wish.asked_min = d->cap_min;
}

/* Write the estimate from the groups, if nothing else is known. */
static void similar_estimate(struct deciding *d, const struct group_ids *ids)
{
	const struct ladder_group *groups[LADDER_RUNGS];
	struct job_comment *c = &d->out->comment;
	struct ladder_group row[LADDER_RUNGS];
	struct ladder_estimate e;

	if (d->n_options || d->src->reads->groups(d->src->store, ids, row, NULL) <= 0)
		return;
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		groups[r] = &row[r];
	if (ladder_predict(groups, &e) < 0)
		return;
	snprintf(c->similar, sizeof(c->similar), "%s/%.0f/%.0f/%.0f", ladder_rung_name(e.rung), e.mean_s, e.lo_s,
		 e.hi_s);
	if (!d->in->script)
		return;
	plan_similar(d, &e);
	say_similar(d, &e);
}

static void add_part(struct job_comment *c, const char *name, uint32_t n)
{
	size_t len = strlen(c->similar);

	snprintf(c->similar + len, sizeof(c->similar) - len, "%s%s/%u", len ? "," : "", name, n);
}

void decide_similar(struct deciding *d)
{
	struct job_comment *c = &d->out->comment;
	struct group_ids ids;

	if (d->src->reads->groups && groups_find(d, &ids)) {
		group_ids_format(&ids, c->groups);
		similar_estimate(d, &ids);
	}
	if (d->same_launches)
		add_part(c, "launch", d->same_job);
	else if (d->untraced == UNTRACED_FRESH)
		add_part(c, "fresh", d->fresh);
}
