/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EASY backfill (Lifka 1995; Mu'alem and Feitelson 2001): jobs start in order; the first that cannot has a reservation for
 * when enough nodes are planned to be free, and a later job may start now if it ends before that or needs nodes that the
 * reservation leaves over.
 */
#include "predictor/replay/sim_state.h"

struct reservation {
	int64_t at_s;
	int64_t over; /* nodes that it leaves at that moment */
};

static struct reservation reserve(const struct sim *s, size_t job)
{
	struct reservation r = {SIM_NEVER, 0};
	int64_t free = s->free, need = s->jobs[job].nodes;

	for (size_t i = 0; i < s->n_running; i++) {
		int64_t end = sim_planned_end(s, s->running[i]);

		if (free >= need && end > r.at_s)
			break;
		free += s->jobs[s->running[i]].nodes;
		r.at_s = end;
	}
	r.over = free - need;
	return r;
}

/* Nobody who was let in front has moved the reservation back, unless by running longer than planned. */
static int note(struct sim *s, size_t job, int64_t at_s, struct errbuf *err)
{
	if (s->head == job && at_s > s->head_s) {
		if (s->conf->never_late)
			return err_set(err, "the reservation of job %zu moved from %lld s to %lld s", job, (long long)s->head_s,
				       (long long)at_s);
		s->totals->moved++;
	}
	s->head = job;
	s->head_s = at_s;
	return 0;
}

static int backfill(struct sim *s, size_t head, struct errbuf *err)
{
	struct reservation r = reserve(s, head), after;
	size_t next;

	if (note(s, head, r.at_s, err) < 0)
		return -1;
	for (size_t job = s->state[head].next; job != SIM_NONE && s->free > 0; job = next) {
		int64_t nodes = s->jobs[job].nodes;

		next = s->state[job].next;
		if (nodes > s->free)
			continue;
		if (s->now + s->state[job].limit_s > r.at_s) {
			if (nodes > r.over)
				continue;
			r.over -= nodes;
		}
		if (sim_start(s, job, err) < 0)
			return -1;
	}
	after = reserve(s, head);
	return after.at_s <= r.at_s ? 0
				    : err_set(err, "backfilled jobs have moved the reservation of job %zu from %lld s to %lld s",
					      head, (long long)r.at_s, (long long)after.at_s);
}

int sim_pass_easy(struct sim *s, struct errbuf *err)
{
	while (s->queue_first != SIM_NONE) {
		size_t head = s->queue_first;

		if (s->jobs[head].nodes > s->free)
			return backfill(s, head, err);
		if (s->conf->never_late && s->head == head && s->now > s->head_s)
			return err_set(err, "job %zu starts at %lld s and was promised %lld s", head, (long long)s->now,
				       (long long)s->head_s);
		if (sim_start(s, head, err) < 0)
			return -1;
	}
	return 0;
}
