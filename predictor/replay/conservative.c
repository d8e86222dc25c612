/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conservative backfill (Mu'alem and Feitelson 2001): every waiting job has a reservation, made in order of submission at
 * the first moment that delays nobody's. When a job ends early, reservations move forward one after the other, never
 * back. When a planned end moves back, the reservations may not fit any more, and are made afresh. Slurm keeps none from
 * one pass to the next.
 */
#include "predictor/replay/sim_state.h"

int sim_release(struct sim *s, size_t job, struct errbuf *err)
{
	s->released = true;
	if (s->conf->policy == SIM_EASY)
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

static int replan(struct sim *s, struct errbuf *err)
{
	size_t left = s->conf->depth ? s->conf->depth : SIZE_MAX;

	if (profile_reset(&s->profile, s->now, s->conf->nodes, err) < 0)
		return -1;
	for (size_t i = 0; i < s->n_running; i++) {
		size_t job = s->running[i];

		if (profile_add(&s->profile, s->now, sim_planned_end(s, job), -(int64_t)s->jobs[job].nodes, err) < 0)
			return -1;
	}
	for (size_t job = s->queue_first; job != SIM_NONE; job = s->state[job].next) {
		int64_t was = s->state[job].reserved_s;

		s->state[job].reserved_s = SIM_NEVER;
		if (!left)
			continue;
		left--;
		if (promise(s, job, err) < 0)
			return -1;
		s->totals->moved += s->state[job].reserved_s > was;
	}
	return 0;
}

/* Make or improve the reservations of the first `depth` jobs. */
static int plan(struct sim *s, struct errbuf *err)
{
	size_t left = s->conf->depth ? s->conf->depth : SIZE_MAX;

	if (s->conf->policy == SIM_SLURM)
		return replan(s, err);
	if (s->extended)
		return s->conf->never_late ? err_set(err, "a planned end was moved back at %lld s", (long long)s->now) : replan(s, err);
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

/* Start what was promised for now; how many there were, or -1. */
static int start_promised(struct sim *s, struct errbuf *err)
{
	int started = 0;
	size_t next;

	s->wake_s = SIM_NEVER;
	for (size_t job = s->queue_first; job != SIM_NONE; job = next) {
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

/* Again while jobs start, as others may then be among the first `depth`. */
int sim_pass_conservative(struct sim *s, struct errbuf *err)
{
	int started;

	profile_trim(&s->profile, s->now);
	do {
		if (plan(s, err) < 0)
			return -1;
		s->released = s->extended = false;
		started = start_promised(s, err);
	} while (started > 0 && s->conf->depth);
	return started < 0 ? -1 : 0;
}
