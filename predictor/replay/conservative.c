/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conservative backfill (Mu'alem and Feitelson 2001): every waiting job has a reservation, made in order of submission at
 * the first moment that delays nobody's. When a job ends early, reservations move forward one after the other, never
 * back. When a planned end moves back, the reservations may not fit any more, and are made afresh. Slurm keeps none from
 * one pass to the next. Only the first `depth` jobs of the queue have a reservation: the others behind them have none.
 */
#include "predictor/replay/sim_state.h"

int sim_release(struct sim *s, size_t job, struct errbuf *err)
{
	s->released = true;
	if (s->conf->policy != SIM_CONSERVATIVE)
		return 0;
	return profile_add(&s->profile, s->now, sim_planned_end(s, job), s->jobs[job].nodes, err);
}

static int promise(struct sim *s, size_t job, struct errbuf *err)
{
	struct sim_state *st = &s->state[job];
	int64_t nodes = s->jobs[job].nodes;

	st->reserved_s = profile_find(&s->profile, s->now, st->limit_s, nodes);
	return profile_add(&s->profile, st->reserved_s, st->reserved_s + st->limit_s, -nodes, err);
}

/* Forward, if there is room now. */
static int improve(struct sim *s, size_t job, struct errbuf *err)
{
	struct sim_state *st = &s->state[job];
	int64_t was = st->reserved_s;

	if (was == s->now)
		return 0;
	if (profile_add(&s->profile, was, was + st->limit_s, s->jobs[job].nodes, err) < 0 || promise(s, job, err) < 0)
		return -1;
	return st->reserved_s <= was ? 0
				     : err_set(err, "the reservation of job %zu moved from %lld s to %lld s", job,
					       (long long)was, (long long)st->reserved_s);
}

/* What runs is planned to end later than now. */
static int running_plan(struct sim *s, struct errbuf *err)
{
	if (profile_reset(&s->profile, s->now, s->free, err) < 0)
		return -1;
	for (size_t i = 0; i < s->n_running; i++)
		if (profile_append(&s->profile, sim_planned_end(s, s->running[i]), s->jobs[s->running[i]].nodes, err) < 0)
			return -1;
	return 0;
}

static size_t depth_of(const struct sim *s)
{
	return s->conf->depth ? s->conf->depth : SIZE_MAX;
}

/* All reservations afresh. */
static int replan(struct sim *s, struct errbuf *err)
{
	size_t job = s->queue_first;

	if (running_plan(s, err) < 0)
		return -1;
	for (size_t left = depth_of(s); job != SIM_NONE && left; job = s->state[job].next, left--) {
		int64_t was = s->state[job].reserved_s;

		if (promise(s, job, err) < 0)
			return -1;
		s->totals->moved += s->state[job].reserved_s > was;
	}
	return 0;
}

/* Make or improve the reservations of the first `depth` jobs. */
static int plan(struct sim *s, struct errbuf *err)
{
	size_t left = depth_of(s);

	for (size_t job = s->queue_first; job != SIM_NONE && left; job = s->state[job].next, left--) {
		if (s->state[job].reserved_s == SIM_NEVER) {
			if (promise(s, job, err) < 0)
				return -1;
		} else if (s->released && improve(s, job, err) < 0) {
			return -1;
		}
	}
	return 0;
}

/* Without promises, no fewer nodes are free later than now. So the first jobs start if their nodes are free now. */
static int start_first(struct sim *s, struct errbuf *err)
{
	while (s->queue_first != SIM_NONE && s->jobs[s->queue_first].nodes <= s->free)
		if (sim_start(s, s->queue_first, err) < 0)
			return -1;
	return 0;
}

/* Start what was promised for now; how many there were, or -1. */
static int start_promised(struct sim *s, struct errbuf *err)
{
	int started = 0;
	size_t next;

	s->wake_s = SIM_NEVER;
	for (size_t job = s->queue_first; job != SIM_NONE && s->state[job].reserved_s != SIM_NEVER; job = next) {
		int64_t at_s = s->state[job].reserved_s;

		next = s->state[job].next;
		if (at_s < s->now)
			return err_set(err, "job %zu was promised %lld s and has not started at %lld s", job, (long long)at_s,
				       (long long)s->now);
		if (at_s == s->now) {
			if (sim_start(s, job, err) < 0)
				return -1;
			started++;
		} else if (at_s < s->wake_s) {
			s->wake_s = at_s;
		}
	}
	return started;
}

/*
 * Slurm: without an early end or a later end since the last pass, a plan from nothing is the plan of that pass. But
 * while no job waits, nothing is planned. Returns whether a plan from nothing is due, or -1.
 */
static int begin_slurm(struct sim *s, struct errbuf *err)
{
	bool changed = s->released || s->extended || !s->planned;

	if (changed && start_first(s, err) < 0)
		return -1;
	s->planned = s->queue_first != SIM_NONE;
	return changed;
}

static int begin_conservative(const struct sim *s, struct errbuf *err)
{
	if (s->extended && s->conf->never_late)
		return err_set(err, "a planned end was moved back at %lld s", (long long)s->now);
	return s->extended;
}

/* Again while jobs start, as others may then be among the first `depth`. */
int sim_pass_conservative(struct sim *s, struct errbuf *err)
{
	bool slurm = s->conf->policy == SIM_SLURM;
	int anew = slurm ? begin_slurm(s, err) : begin_conservative(s, err), started;

	if (anew < 0 || (slurm && !s->planned))
		return anew < 0 ? -1 : 0;
	profile_trim(&s->profile, s->now);
	do {
		if ((anew ? replan(s, err) : plan(s, err)) < 0)
			return -1;
		anew = s->released = s->extended = false;
		started = start_promised(s, err);
	} while (started > 0 && s->conf->depth);
	return started < 0 ? -1 : 0;
}
