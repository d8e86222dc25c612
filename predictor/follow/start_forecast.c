/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to the scheduler and their answers: see start_forecast.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/duration.h"
#include "predictor/follow/start_forecast.h"
#include "predictor/store/places.h"
#include "predictor/store/programs.h"
#include "predictor/store/runs.h"

#define NOTED_SLOTS 4096
#define NOTED_S	    60
#define CHECKS_MAX  512
#define CHECKS_LOOK 4 /* groups are looked up by the name service, which may be slow */

/* A program in use, as it was last looked at. */
struct program_use {
	char key[IDENTITY_KEY_LEN + 1];
	uint32_t uid;
	int64_t shape, updated;
};

/* Whether a user is in a partition's groups, as it was last found. */
struct check {
	uint32_t uid;
	char partition[CONF_NAME_MAX];
	uint64_t groups; /* hash of the list */
	int64_t when;
};

struct start_forecast {
	struct places places;
	int64_t generation;
	int64_t submitted; /* the latest submission looked at */
	int64_t started;   /* when the latest job began that was noted */
	int64_t wanted;	   /* when questions were last looked for, ... */
	uint64_t wanted_hash; /* ... and for which programs */
	int64_t placing;   /* when a job that asked for mode place was last seen */
	int64_t pause_until;
	uint32_t pause_s;
	size_t n_programs, n_checks;
	struct program_use programs[START_FORECAST_PROGRAMS];
	struct check checks[CHECKS_MAX];
	/* Shapes of keys that were noted a moment ago: a burst of one job is noted once. */
	struct {
		uint64_t key;
		int64_t shape, when;
	} noted[NOTED_SLOTS];
};

struct start_forecast *start_forecast_create(void)
{
	return calloc(1, sizeof(struct start_forecast));
}

void start_forecast_destroy(struct start_forecast *w)
{
	if (w)
		places_free(&w->places);
	free(w);
}

/* One look. */
struct look {
	struct start_forecast *w;
	const struct daemon_env *env;
	const struct start_forecast_ops *ops;
	const struct cluster_snapshot *snap;
	int64_t now;
	struct errbuf *errp;
};

/* ---- which shapes there are ---- */

static void shape_of(const struct cluster_job *job, struct place_shape *s)
{
	*s = (struct place_shape){
		.nodes = job->nodes,
		.tasks = job->tasks,
		.tasks_per_node = job->tasks_per_node,
		.cpus_per_task = job->cpus_per_task,
		.memory = job->memory,
		.exclusive = job->exclusive,
		.used = job->submit_time,
	};
	snprintf(s->account, sizeof(s->account), "%s", job->account);
	snprintf(s->qos, sizeof(s->qos), "%s", job->qos);
	s->id = place_shape_id(s);
}

/* True when that was not noted a moment ago; it is now. */
static bool note_once(struct start_forecast *w, const char *key, int64_t shape, int64_t now)
{
	uint64_t hash = 0;
	unsigned slot;

	for (int i = 0; i < 16; i++)
		hash = hash << 4 | (uint64_t)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
	slot = (unsigned)(hash % NOTED_SLOTS);
	if (w->noted[slot].key == hash && w->noted[slot].shape == shape && now >= w->noted[slot].when &&
	    now - w->noted[slot].when < NOTED_S)
		return false;
	w->noted[slot].key = hash;
	w->noted[slot].shape = shape;
	w->noted[slot].when = now;
	return true;
}

static int note_job(struct look *l, const struct cluster_job *job)
{
	const struct job_comment *c = job->ours;
	struct place_shape shape;

	if (job->het || !job->batch || !job->nodes || !c || c->act == ACT_PROBE || !identity_key_valid(c->key))
		return 0;
	shape_of(job, &shape);
	if (!note_once(l->w, c->key, shape.id, l->now))
		return 0;
	if (store_shape_put(l->env->store, &shape, l->errp) < 0)
		return -1;
	return store_program_shape(l->env->store, c->key, shape.id, l->errp);
}

/* The first job with mode place starts the questions, even if it is not placed. */
static void note_wishes(struct look *l)
{
	int64_t since;

	if (l->w->submitted > l->now) /* the clock was set back */
		l->w->submitted = 0;
	since = l->w->submitted - 2;
	for (size_t i = 0; i < l->snap->n; i++) {
		const struct cluster_job *job = &l->snap->jobs[i];

		if (job->submit_time < since)
			continue;
		if (job->submit_time > l->w->submitted && job->submit_time <= l->now)
			l->w->submitted = job->submit_time;
		if (job->ours && job->ours->mode == MODE_PLACE)
			l->w->placing = l->now;
	}
}

static int note_jobs(struct look *l)
{
	int64_t since, latest;

	if (l->w->started > l->now)
		l->w->started = 0;
	latest = l->w->started;
	since = latest - 2;
	for (size_t i = 0; i < l->snap->n; i++) {
		const struct cluster_job *job = &l->snap->jobs[i];

		/* Of a job that has not started Slurm guesses at the number of nodes. */
		if (job->phase == CLUSTER_PENDING || job->start_time < since || !job->ours ||
		    !strcmp(job->end_state, "CANCELLED"))
			continue;
		if (note_job(l, job) < 0)
			return -1;
		if (job->start_time > latest && job->start_time <= l->now)
			latest = job->start_time;
	}
	l->w->started = latest;
	return 0;
}

/* ---- which questions there are ---- */

static int collect_program(const struct store_program *p, void *arg)
{
	struct start_forecast *w = arg;
	struct program_use *u = &w->programs[w->n_programs];

	if (!p->shape)
		return 0;
	memcpy(u->key, p->key, sizeof(u->key));
	u->uid = p->uid;
	u->shape = p->shape;
	u->updated = p->updated;
	return ++w->n_programs == START_FORECAST_PROGRAMS;
}

static int last_limit(const struct store_run *r, void *arg)
{
	*(uint32_t *)arg = r->user_limit_min;
	return 1;
}

/* The questions of one program: its limit on each candidate that it has an estimate for, and may use. */
static int want_program(struct look *l, const struct program_use *u)
{
	const struct precedent_conf *conf = l->env->conf;
	const struct place_shape *shape = places_shape(&l->w->places, u->shape);
	struct store_run_filter filter = {.uid = STORE_ALL_USERS, .key = u->key, .max = 1};
	uint32_t user_limit = DURATION_UNSET;
	struct store_lookup known;
	int rv = store_lookup(l->env->store, u->key, &known, l->errp);

	if (rv <= 0 || !shape)
		return rv < 0 ? -1 : 0;
	if (store_runs_each(l->env->store, &filter, last_limit, &user_limit, l->errp) < 0)
		return -1;
	for (unsigned i = 0; i < known.n_estimates; i++) {
		const struct store_estimate *e = &known.estimates[i];
		const struct conf_candidate *c = conf_candidate_find(conf, e->candidate);
		struct place_asker who = {u->uid, shape->account, shape->qos, shape->nodes};
		struct place_wait wait = {.shape = u->shape, .uid = u->uid, .used = u->updated};
		uint32_t limit = places_limit_min(conf, e->e.hi_s);

		if (!c || estimate_check(&e->e, NULL) < 0 || !places_may_use(&l->w->places, c->partition, &who, l->now, NULL))
			continue;
		wait.limit_min = places_bucket(user_limit < limit ? user_limit : limit);
		snprintf(wait.candidate, sizeof(wait.candidate), "%s", c->name);
		if (store_wait_want(l->env->store, &wait, l->errp) < 0)
			return -1;
	}
	return 0;
}

static int places_refresh(struct look *l)
{
	struct start_forecast *w = l->w;
	int64_t generation;

	if (store_places_generation(l->env->store, &generation, l->errp) < 0)
		return -1;
	if (generation == w->generation)
		return 0;
	if (store_places_load(l->env->store, PLACES_WAITS_MAX, &w->places, l->errp) < 0)
		return -1;
	w->generation = generation;
	return 0;
}

static struct check *check_find(struct start_forecast *w, uint32_t uid, const char *partition)
{
	struct check *oldest = w->checks;

	for (size_t i = 0; i < w->n_checks; i++) {
		struct check *c = &w->checks[i];

		if (c->uid == uid && !strcmp(c->partition, partition))
			return c;
		if (c->when < oldest->when)
			oldest = c;
	}
	if (w->n_checks < CHECKS_MAX)
		oldest = &w->checks[w->n_checks++];
	*oldest = (struct check){.uid = uid};
	snprintf(oldest->partition, sizeof(oldest->partition), "%s", partition);
	return oldest;
}

/* Look up whether users of programs in use are in the groups of candidates' partitions. */
static int check_groups(struct look *l)
{
	const struct precedent_conf *conf = l->env->conf;
	unsigned left = CHECKS_LOOK;

	for (size_t i = 0; i < conf->n_candidates; i++) {
		const struct place_partition *door = places_partition(&l->w->places, conf->candidates[i].partition);

		if (!door || !door->restricted)
			continue;
		for (size_t j = 0; j < l->w->n_programs && left; j++) {
			struct check *c = check_find(l->w, l->w->programs[j].uid, door->name);
			uint64_t groups = XXH3_64bits(door->allow_groups, strlen(door->allow_groups));
			int in;

			if (c->when && c->groups == groups && l->now >= c->when && l->now - c->when < START_FORECAST_GROUPS_S)
				continue;
			c->when = l->now;
			c->groups = groups;
			left--;
			in = l->ops->in_groups(l->ops->arg, c->uid, door->allow_groups);
			if (in >= 0 && store_access_put(l->env->store, c->uid, door->name, in > 0, l->now, l->errp) < 0)
				return -1;
		}
	}
	return 0;
}

static int want(struct look *l)
{
	if (places_refresh(l) < 0 || check_groups(l) < 0 || places_refresh(l) < 0)
		return -1;
	for (size_t i = 0; i < l->w->n_programs; i++) {
		if (want_program(l, &l->w->programs[i]) < 0)
			return -1;
	}
	return store_places_prune(l->env->store, l->now - START_FORECAST_USED_S, l->errp);
}

/* ---- asking ---- */

static bool list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		if (!strncmp(p, name, len) && (p[len] == ',' || !p[len]))
			return true;
	}
	return false;
}

/* Does this job, which waits already, come first, and would fit wherever the other one does? */
static bool comes_first(const struct cluster_job *job, const struct cluster_submission *sub, int64_t now)
{
	if (job->phase != CLUSTER_PENDING || !job->queued || !list_has(job->partition, sub->partition))
		return false;
	if (job->nodes > sub->nodes || job->tasks > sub->tasks || job->limit_min > sub->limit_min ||
	    (job->features[0] && strcmp(job->features, sub->features)))
		return false;
	/* The scheduler has not looked at it yet. */
	if (!job->start_time && now - job->submit_time < START_FORECAST_UNSEEN_S)
		return false;
	return !job->ours || job->ours->act != ACT_PROBE; /* ours have the lowest priority */
}

static void queue_look(struct look *l, const struct cluster_submission *sub, struct place_wait *w)
{
	for (size_t i = 0; i < l->snap->n; i++) {
		const struct cluster_job *job = &l->snap->jobs[i];

		if (!comes_first(job, sub, l->now))
			continue;
		if (!job->start_time)
			w->answer = PLACE_AT_LEAST;
		else if (job->start_time - l->now > w->wait_s)
			w->wait_s = (double)(job->start_time - l->now);
	}
}

/* Returns false when it could not be asked. */
static bool ask(struct look *l, struct place_wait *w)
{
	const struct conf_candidate *c = conf_candidate_find(l->env->conf, w->candidate);
	const struct place_shape *shape = places_shape(&l->w->places, w->shape);
	struct cluster_submission sub;
	struct store_partition part;
	struct errbuf why = {""};
	int64_t start = 0;
	double from;
	int rv;

	sub = (struct cluster_submission){
		.uid = w->uid, .name = "precedent-wait", .script = "", .work_dir = "/", .std_out = "/dev/null",
		.admin_comment = "precedent:1 act=probe mode=observe", .partition = c->partition,
		.features = c->constraint, .account = shape->account, .qos = shape->qos, .nodes = shape->nodes,
		.tasks = shape->tasks, .tasks_per_node = shape->tasks_per_node, .cpus_per_task = shape->cpus_per_task,
		.memory = shape->memory, .exclusive = shape->exclusive, .limit_min = w->limit_min,
	};
	if (store_partition_get(l->env->store, c->partition, &part, NULL) == 1 && part.max_min < sub.limit_min)
		sub.limit_min = part.max_min;
	from = l->ops->clock_ms(l->ops->arg);
	rv = l->ops->will_run(l->ops->arg, &sub, &start, &why);
	w->cost_ms = l->ops->clock_ms(l->ops->arg) - from;
	w->asked = l->now;
	w->wait_s = start > l->now ? (double)(start - l->now) : 0;
	w->answer = rv > 0 ? PLACE_KNOWN : rv < 0 ? PLACE_UNASKED : PLACE_REFUSED;
	snprintf(w->reason, sizeof(w->reason), "%.150s", rv > 0 ? "" : why.text);
	if (rv > 0)
		queue_look(l, &sub, w);
	daemon_say(l->env, LOG_LEVEL_DEBUG, "wait on %s for %u nodes, %u tasks, %u min: %s%.0f s%s (asked in %.1f ms)", c->name,
		   sub.nodes, sub.tasks, sub.limit_min, w->answer == PLACE_AT_LEAST ? "at least " : "", w->wait_s,
		   rv > 0 ? "" : w->reason, w->cost_ms);
	return rv >= 0;
}

static int compare_asked(const void *a, const void *b)
{
	const struct place_wait *x = *(struct place_wait *const *)a, *y = *(struct place_wait *const *)b;

	return (x->asked > y->asked) - (x->asked < y->asked);
}

static int compare_used(const void *a, const void *b)
{
	const struct place_wait *x = *(struct place_wait *const *)a, *y = *(struct place_wait *const *)b;

	return (x->used < y->used) - (x->used > y->used);
}

/* The next questions: of those that can be kept fresh, the ones with the oldest answers. */
static size_t due(struct look *l, struct place_wait *list[PLACES_WAITS_MAX])
{
	struct places *p = &l->w->places;
	uint32_t poll_s = daemon_period_s(l->env) ? daemon_period_s(l->env) : 1;
	size_t n = 0, keep = (size_t)START_FORECAST_QUESTIONS * PLACES_FRESH_S / poll_s * 3 / 4, k = 0;
	int64_t again_s = 2 * (int64_t)poll_s < 5 ? 5 : 2 * (int64_t)poll_s;

	for (size_t i = 0; i < p->n_waits && n < PLACES_WAITS_MAX; i++) {
		if (conf_candidate_find(l->env->conf, p->waits[i].candidate) && places_shape(p, p->waits[i].shape))
			list[n++] = &p->waits[i];
	}
	qsort(list, n, sizeof(list[0]), compare_used);
	if (keep < 2 * START_FORECAST_QUESTIONS)
		keep = 2 * START_FORECAST_QUESTIONS;
	if (n > keep)
		n = keep;
	qsort(list, n, sizeof(list[0]), compare_asked);
	while (k < n && k < START_FORECAST_QUESTIONS && (l->now - list[k]->asked >= again_s || list[k]->asked > l->now))
		k++;
	return k;
}

static void keep_away(struct look *l, const struct place_wait *w, bool answered)
{
	struct start_forecast *s = l->w;

	s->pause_s = s->pause_s ? 2 * s->pause_s : START_FORECAST_PAUSE_S;
	if (s->pause_s > START_FORECAST_PAUSE_MAX_S)
		s->pause_s = START_FORECAST_PAUSE_MAX_S;
	s->pause_until = l->now + s->pause_s;
	if (answered)
		daemon_say(l->env, LOG_LEVEL_WARN, "slurmctld took %.0f ms to say when a job would start on %s: not asked for %u s",
			   w->cost_ms, w->candidate, s->pause_s);
	else
		daemon_say(l->env, LOG_LEVEL_WARN, "slurmctld does not say when a job would start on %s: %s; not asked for %u s",
			   w->candidate, w->reason, s->pause_s);
}

static int ask_due(struct look *l)
{
	struct place_wait *list[PLACES_WAITS_MAX];
	size_t n = due(l, list), asked = 0;
	double spent_ms = 0;

	while (asked < n && spent_ms < START_FORECAST_BUDGET_MS) {
		struct place_wait *w = list[asked++];
		bool answered = ask(l, w);

		spent_ms += w->cost_ms;
		if (!answered || w->cost_ms > START_FORECAST_SLOW_MS) {
			keep_away(l, w, answered);
			break;
		}
		l->w->pause_s = 0;
	}
	if (!asked)
		return 0;
	if (store_begin(l->env->store, l->errp) < 0)
		return -1;
	for (size_t i = 0; i < asked; i++) {
		if (store_wait_put(l->env->store, list[i], l->errp) < 0) {
			store_rollback(l->env->store);
			return -1;
		}
	}
	return store_commit(l->env->store, l->errp);
}

/* ---- a look ---- */

static int learn(struct look *l)
{
	struct store_program_filter filter = {.uid = STORE_ALL_USERS, .state_mask = 1 << PROGRAM_READY,
					      .max = START_FORECAST_PROGRAMS, .within = START_FORECAST_LATEST};
	struct start_forecast *w = l->w;
	int64_t generation;
	uint64_t hash;

	note_wishes(l);
	if (note_jobs(l) < 0)
		return -1;
	memset(w->programs, 0, sizeof(w->programs));
	w->n_programs = 0;
	if (store_programs_each(l->env->store, &filter, collect_program, w, l->errp) < 0)
		return -1;
	hash = XXH3_64bits(w->programs, sizeof(w->programs));
	if (store_places_generation(l->env->store, &generation, l->errp) < 0)
		return -1;
	if (hash == w->wanted_hash && generation == w->generation && l->now - w->wanted < START_FORECAST_WANT_S && l->now >= w->wanted)
		return 0;
	w->wanted = l->now;
	w->wanted_hash = hash;
	return want(l);
}

int start_forecast_poll(struct start_forecast *w, const struct daemon_env *env, const struct start_forecast_ops *ops,
			const struct cluster_snapshot *snap, int64_t now, struct errbuf *errp)
{
	struct look l = {w, env, ops, snap, now, errp};

	if (!env->store || !env->conf->n_candidates)
		return 0;
	if (store_begin(env->store, errp) < 0)
		return -1;
	if (learn(&l) < 0) {
		store_rollback(env->store);
		return -1;
	}
	if (store_commit(env->store, errp) < 0)
		return -1;
	/* Nobody is placed, nobody needs to know. */
	if (!conf_places(env->conf) && (!w->placing || now - w->placing > START_FORECAST_USED_S))
		return 0;
	if (now < w->pause_until && w->pause_until - now <= START_FORECAST_PAUSE_MAX_S)
		return 0;
	return places_refresh(&l) < 0 ? -1 : ask_due(&l);
}
