/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop: see sim.h. */
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "predictor/limits/raise.h"
#include "predictor/replay/sim_state.h"

#define KILL_WAIT_S 30 /* Slurm's default */

/* In the order in which they happen at one moment: a job that ends at its limit has ended by itself, and the daemon comes
 * too late for a limit that ends now. */
enum { EVENT_END, EVENT_LIMIT, EVENT_POLL };

const char *sim_policy_name(enum sim_policy policy)
{
	static const char *const names[] = {"easy", "conservative", "slurm"};

	return (unsigned)policy < SIM_POLICIES ? names[policy] : "unknown";
}

const char *sim_guard_name(enum sim_guard guard)
{
	static const char *const names[] = {"raise", "soft", "overtime"};

	return (unsigned)guard < SIM_GUARDS ? names[guard] : "unknown";
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	if (a->at_s != b->at_s)
		return a->at_s < b->at_s;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->job < b->job;
}

static int push(struct sim *s, int64_t at_s, uint32_t kind, size_t job, struct errbuf *err)
{
	struct sim_event e = {at_s, kind, s->out[job].extensions, job};
	size_t i;

	if (s->n_heap == s->heap_room) {
		size_t room = s->heap_room ? 2 * s->heap_room : 256;
		struct sim_event *more = reallocarray(s->heap, room, sizeof(*more));

		if (!more)
			return err_set(err, "out of memory for %zu events", room);
		s->heap = more;
		s->heap_room = room;
	}
	for (i = s->n_heap++; i && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
	return 0;
}

static struct sim_event pop(struct sim *s)
{
	struct sim_event top = s->heap[0], last = s->heap[--s->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->n_heap) {
		if (child + 1 < s->n_heap && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return top;
}

/* ---- what runs, by planned end ---- */

static bool ends_before(const struct sim *s, size_t a, size_t b)
{
	int64_t x = sim_planned_end(s, a), y = sim_planned_end(s, b);

	return x != y ? x < y : a < b;
}

static size_t running_at(const struct sim *s, size_t job)
{
	size_t lo = 0, hi = s->n_running;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ends_before(s, s->running[mid], job))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void running_add(struct sim *s, size_t job)
{
	size_t i = running_at(s, job);

	memmove(&s->running[i + 1], &s->running[i], (s->n_running - i) * sizeof(s->running[0]));
	s->running[i] = job;
	s->n_running++;
}

static int64_t user_end(const struct sim *s, size_t job)
{
	return s->out[job].start_s + (int64_t)s->jobs[job].request_min * 60;
}

/* What Slurm expects of jobs that run past their planned end. */
static void late_replan(struct sim *s)
{
	while (s->n_running && sim_planned_end(s, s->running[0]) <= s->now) {
		size_t job = s->running[0];
		struct sim_state *st = &s->state[job];
		/* cons_tres: end + KillWait + OverTimeLimit. Backfill with a soft limit: half of the time that is left. */
		int64_t next = s->conf->guard == SIM_OVERTIME ? st->planned_s + KILL_WAIT_S + s->conf->overtime_s
							      : s->now + (user_end(s, job) - s->now) / 2;

		st->planned_s = next > s->now ? next : s->now + 1;
		memmove(&s->running[0], &s->running[1], --s->n_running * sizeof(s->running[0]));
		running_add(s, job);
		s->extended = true;
	}
}

/* Before its planned end changes. */
static int running_remove(struct sim *s, size_t job, struct errbuf *err)
{
	size_t i = running_at(s, job);

	if (i == s->n_running || s->running[i] != job)
		return err_set(err, "job %zu ends at %lld s but does not run", job, (long long)s->now);
	s->n_running--;
	memmove(&s->running[i], &s->running[i + 1], (s->n_running - i) * sizeof(s->running[0]));
	return 0;
}

/* ---- the queue ---- */

static void queue_add(struct sim *s, size_t job)
{
	struct sim_state *st = &s->state[job];

	st->next = SIM_NONE;
	st->previous = s->queue_last;
	if (s->queue_last == SIM_NONE)
		s->queue_first = job;
	else
		s->state[s->queue_last].next = job;
	s->queue_last = job;
	s->queued++;
}

static void queue_remove(struct sim *s, size_t job)
{
	struct sim_state *st = &s->state[job];

	if (st->previous == SIM_NONE)
		s->queue_first = st->next;
	else
		s->state[st->previous].next = st->next;
	if (st->next == SIM_NONE)
		s->queue_last = st->previous;
	else
		s->state[st->next].previous = st->previous;
	s->queued--;
}

/* ---- limits ---- */

/* The daemon's first look at which the rule would give the job more time; it never looks again before. */
static int push_poll(struct sim *s, size_t job, struct errbuf *err)
{
	const struct sim_state *st = &s->state[job];
	uint32_t poll_s = s->conf->poll_interval_s;
	int64_t due = sim_planned_end(s, job) - (int64_t)limit_raise_threshold_s(poll_s, (uint32_t)(st->limit_s / 60)) + 1;

	if (s->conf->guard != SIM_RAISE || st->fixed || st->limit_s >= (int64_t)s->jobs[job].request_min * 60)
		return 0;
	if (due <= s->now)
		due = s->now + 1;
	due = (due + poll_s - 1) / poll_s * poll_s;
	return due < s->out[job].start_s + st->run_s ? push(s, due, EVENT_POLL, job, err) : 0;
}

int sim_start(struct sim *s, size_t job, struct errbuf *err)
{
	struct sim_state *st = &s->state[job];
	struct sim_outcome *o = &s->out[job];
	int64_t end = s->now + st->run_s, kill;

	if (st->phase != SIM_WAITING || s->jobs[job].nodes > s->free)
		return err_set(err, "job %zu of %u nodes is started at %lld s with %lld free", job, s->jobs[job].nodes,
			       (long long)s->now, (long long)s->free);
	queue_remove(s, job);
	st->phase = SIM_RUNNING;
	o->start_s = s->now;
	st->planned_s = s->now + st->limit_s;
	kill = s->conf->guard == SIM_RAISE ? st->planned_s : user_end(s, job);
	s->free -= s->jobs[job].nodes;
	running_add(s, job);
	if (push(s, end, EVENT_END, job, err) < 0 || (end > kill && push(s, kill, EVENT_LIMIT, job, err) < 0))
		return -1;
	return push_poll(s, job, err);
}

static int job_end(struct sim *s, size_t job, struct errbuf *err)
{
	struct sim_state *st = &s->state[job];

	if (running_remove(s, job, err) < 0)
		return -1;
	s->free += s->jobs[job].nodes;
	s->out[job].end_s = s->now;
	st->phase = SIM_ENDED;
	if (s->free > s->conf->nodes)
		return err_set(err, "%lld nodes are free of %u", (long long)s->free, s->conf->nodes);
	if (sim_planned_end(s, job) > s->now && sim_release(s, job, err) < 0)
		return -1;
	if (s->predictor->ended)
		s->predictor->ended(s->predictor->arg, job, s->now, s);
	return 0;
}

static int job_kill(struct sim *s, size_t job, struct errbuf *err)
{
	struct sim_outcome *o = &s->out[job];

	if (s->now >= user_end(s, job)) {
		o->killed_by_user = true;
		s->totals->killed_by_user++;
	} else {
		o->killed_by_us = true;
		s->totals->killed_by_us++;
	}
	return job_end(s, job, err);
}

/* The product's own rule, at one look of the daemon. */
static int job_poll(struct sim *s, size_t job, struct errbuf *err)
{
	struct sim_state *st = &s->state[job];
	uint32_t limit_min = (uint32_t)(st->limit_s / 60), next;
	struct cluster_job seen = {.phase = CLUSTER_RUNNING,
				   .limit_min = limit_min,
				   .time_min_min = DURATION_UNSET,
				   .end_time = sim_planned_end(s, job)};

	if (!limit_raise_is_due(&seen, limit_min, s->jobs[job].request_min, s->conf->poll_interval_s, s->now, &next))
		return push_poll(s, job, err);
	if (running_remove(s, job, err) < 0)
		return -1;
	st->limit_s = (int64_t)next * 60;
	st->planned_s = s->out[job].start_s + st->limit_s;
	running_add(s, job);
	s->out[job].extensions++;
	s->totals->extensions++;
	s->extended = true;
	if (st->run_s > st->limit_s && push(s, sim_planned_end(s, job), EVENT_LIMIT, job, err) < 0)
		return -1;
	return push_poll(s, job, err);
}

static int64_t limit_guarded(const struct sim *s, size_t job, int64_t limit_s)
{
	int64_t least = (int64_t)s->jobs[job].request_min * 60 - s->conf->overtime_s;

	return s->conf->guard == SIM_OVERTIME && limit_s < least ? least : limit_s;
}

bool sim_waits(const struct sim *s, size_t job)
{
	return s->state[job].phase == SIM_WAITING;
}

void sim_plan_anew(struct sim *s, size_t job, int64_t limit_s)
{
	if (!sim_waits(s, job) || limit_s <= 0 || limit_s > (int64_t)s->jobs[job].request_min * 60)
		return;
	s->state[job].limit_s = s->out[job].limit_s = limit_guarded(s, job, limit_s);
	s->extended = true; /* reservations are made afresh */
}

static int job_submit(struct sim *s, size_t job, struct errbuf *err)
{
	const struct sim_job *j = &s->jobs[job];
	struct sim_state *st = &s->state[job];
	struct sim_plan plan = {.limit_s = (int64_t)j->request_min * 60};

	s->predictor->submitted(s->predictor->arg, job, s->now, &plan);
	if (plan.limit_s <= 0 || plan.limit_s > (int64_t)j->request_min * 60)
		return err_set(err, "job %zu has a limit of %lld s and asked for %u min", job, (long long)plan.limit_s,
			       j->request_min);
	st->limit_s = s->out[job].limit_s = limit_guarded(s, job, plan.limit_s);
	st->run_s = plan.run_s ? plan.run_s : j->run_s;
	st->fixed = plan.fixed;
	st->phase = SIM_WAITING;
	st->reserved_s = SIM_NEVER;
	queue_add(s, job);
	return 0;
}

/* ---- the run ---- */

static int happen(struct sim *s, const struct sim_event *e, struct errbuf *err)
{
	const struct sim_state *st = &s->state[e->job];

	switch (e->kind) {
	case EVENT_END:
		return st->phase == SIM_RUNNING ? job_end(s, e->job, err) : 0;
	case EVENT_LIMIT: /* of a limit that still holds? */
		return st->phase == SIM_RUNNING && e->extra == s->out[e->job].extensions ? job_kill(s, e->job, err) : 0;
	default:
		return st->phase == SIM_RUNNING ? job_poll(s, e->job, err) : 0;
	}
}

static int check_input(const struct sim_conf *conf, const struct sim_job *jobs, size_t n, struct errbuf *err)
{
	if (!conf->nodes || !conf->poll_interval_s)
		return err_set(err, "a machine has nodes, and a daemon looks at it every second or less often");
	for (size_t i = 0; i < n; i++) {
		const struct sim_job *j = &jobs[i];

		if (!j->nodes || j->nodes > conf->nodes || j->run_s <= 0 || !j->request_min || j->submit_s < 0 ||
		    (i && j->submit_s < jobs[i - 1].submit_s))
			return err_set(err, "job %zu makes no sense: %u nodes of %u, %lld s of %u min, submitted at %lld s", i,
				       j->nodes, conf->nodes, (long long)j->run_s, j->request_min, (long long)j->submit_s);
	}
	return 0;
}

/* Every job has run once, for as long as it had to. */
static int check_output(const struct sim *s, struct errbuf *err)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct sim_outcome *o = &s->out[i];
		int64_t run = o->end_s - o->start_s;

		if (s->state[i].phase != SIM_ENDED || o->start_s < s->jobs[i].submit_s)
			return err_set(err, "job %zu has not run", i);
		if (run > s->state[i].run_s || (run < s->state[i].run_s && !o->killed_by_us && !o->killed_by_user))
			return err_set(err, "job %zu ran %lld s and had work for %lld s", i, (long long)run,
				       (long long)s->state[i].run_s);
	}
	return s->free == s->conf->nodes ? 0 : err_set(err, "%lld nodes are free in the end", (long long)s->free);
}

static int run(struct sim *s, struct errbuf *err)
{
	size_t submitted = 0;

	while (submitted < s->n || s->n_heap || s->wake_s != SIM_NEVER) {
		int64_t next = s->n_heap ? s->heap[0].at_s : SIM_NEVER;

		if (submitted < s->n && s->jobs[submitted].submit_s < next)
			next = s->jobs[submitted].submit_s;
		if (s->wake_s < next)
			next = s->wake_s;
		s->now = next;
		while (s->n_heap && s->heap[0].at_s == next) {
			struct sim_event e = pop(s);

			s->totals->events++;
			if (happen(s, &e, err) < 0)
				return -1;
		}
		for (; submitted < s->n && s->jobs[submitted].submit_s == next; submitted++)
			if (job_submit(s, submitted, err) < 0)
				return -1;
		s->totals->passes++;
		late_replan(s);
		s->wake_s = SIM_NEVER;
		if ((s->conf->policy == SIM_EASY ? sim_pass_easy(s, err) : sim_pass_conservative(s, err)) < 0)
			return -1;
		s->released = s->extended = false; /* EASY plans afresh anyway */
	}
	return check_output(s, err);
}

int sim_run(const struct sim_conf *conf, const struct sim_job *jobs, size_t n, const struct sim_predictor *predictor,
	    struct sim_outcome *outcomes, struct sim_totals *totals, struct errbuf *err)
{
	struct sim s = {.conf = conf,
			.jobs = jobs,
			.n = n,
			.predictor = predictor,
			.out = outcomes,
			.totals = totals,
			.free = conf->nodes,
			.queue_first = SIM_NONE,
			.queue_last = SIM_NONE,
			.head = SIM_NONE,
			.wake_s = SIM_NEVER};
	int rv = -1;

	*totals = (struct sim_totals){0};
	memset(outcomes, 0, n * sizeof(*outcomes));
	if (check_input(conf, jobs, n, err) < 0)
		return -1;
	s.state = calloc(n + 1, sizeof(*s.state));
	s.running = calloc(conf->nodes + 1, sizeof(*s.running));
	if (!s.state || !s.running)
		err_set(err, "out of memory for %zu jobs", n);
	else if (profile_reset(&s.profile, 0, conf->nodes, err) == 0)
		rv = run(&s, err);
	profile_free(&s.profile);
	free(s.heap);
	free(s.running);
	free(s.state);
	return rv;
}
