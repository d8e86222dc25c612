/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the event loop (sim.c) and the two schedulers (easy.c, conservative.c) share. */
#ifndef PRECEDENT_PREDICTOR_REPLAY_SIM_STATE_H
#define PRECEDENT_PREDICTOR_REPLAY_SIM_STATE_H

#include "predictor/replay/profile.h"
#include "predictor/replay/sim.h"

#define SIM_NONE SIZE_MAX
#define SIM_NEVER INT64_MAX

enum sim_phase { SIM_FUTURE, SIM_WAITING, SIM_RUNNING, SIM_ENDED };

/* Of a job, beside its outcome. */
struct sim_state {
	enum sim_phase phase;
	bool fixed;
	int64_t run_s;	      /* until it ends by itself */
	int64_t limit_s;      /* now */
	int64_t planned_s;    /* of a job that runs: when the scheduler expects its end */
	int64_t reserved_s;   /* promised start; SIM_NEVER: none */
	size_t next, previous; /* in the queue, or among those that run, by their planned end */
};

struct sim_event {
	int64_t at_s;
	uint32_t kind, extra;
	size_t job;
};

struct sim {
	const struct sim_conf *conf;
	const struct sim_job *jobs;
	size_t n;
	const struct sim_predictor *predictor;
	struct sim_outcome *out;
	struct sim_totals *totals;
	struct sim_state *state;
	int64_t now;
	int64_t free;		      /* nodes */
	size_t queue_first, queue_last; /* by submission */
	size_t queued;
	size_t *running; /* by planned end, then by number */
	size_t n_running;
	struct sim_event *heap;
	size_t n_heap, heap_room;
	/* since the last pass: nodes came free before their planned end; a planned end was moved back */
	bool released, extended;
	/* EASY: whose reservation was noted, and for when. */
	size_t head;
	int64_t head_s;
	/* Conservative: what is planned, and the next promise. */
	struct profile profile;
	bool planned; /* SIM_SLURM: the profile is that of the last pass */
	int64_t wake_s;
};

static inline int64_t sim_planned_end(const struct sim *s, size_t job)
{
	return s->state[job].planned_s;
}
/* Start a waiting job now. */
int sim_start(struct sim *s, size_t job, struct errbuf *err);

/* One pass of a scheduler over the queue at s->now. */
int sim_pass_easy(struct sim *s, struct errbuf *err);
int sim_pass_conservative(struct sim *s, struct errbuf *err);
/* The job has ended before its planned end: what it had still reserved is free. */
int sim_release(struct sim *s, size_t job, struct errbuf *err);

#endif
