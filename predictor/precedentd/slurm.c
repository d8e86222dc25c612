/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cluster as it is: Slurm's jobs as plain data, and what precedentd does to them. Only the main thread comes here.
 * Written for the API of 22.05 and later; an older one lacks slurm_init.
 */
#include <errno.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/duration.h"
#include "common/slurm_compat.h"
#include "predictor/limits/raise.h"
#include "predictor/precedentd/daemon.h"

/*
 * Keeps the heap's memory: getting the kernel's pages for a message of 10,000 jobs takes as long as reading the message. Large
 * blocks come from the heap too, because setting one bound stops glibc from raising the other. Freed blocks are joined at once.
 * With these settings a message takes 37 ms of processor time, without them 55 ms.
 */
#define HEAP_KEPT  (128 << 20)
#define HEAP_BLOCK (32 << 20) /* the most that glibc takes */

/* The snapshot is a copy: Slurm's message takes four times as much room, and is given back at once. */
#define CHUNK_BYTES (256 << 10)
struct chunk {
	struct chunk *next;
	size_t size, len;
	char text[];
};
static struct chunk *chunks, *chunk_at; /* what the snapshot's strings are in; those from chunk_at on have room */
static struct cluster_job *jobs;
static size_t jobs_room;
static struct cluster_comments comments;
static struct cluster_snapshot snapshot;
static time_t jobs_seen; /* slurmctld's time of the snapshot; 0: there is none */

void slurm_side_init(void)
{
	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK);
	mallopt(M_MXFAST, 0);
	slurm_init(NULL);
}

static int slurm_error(struct errbuf *errp, const char *what)
{
	int code = errno;

	return err_set(errp, "%s: %s", what, code ? slurm_strerror(code) : "unknown error");
}

/* ---- jobs ---- */

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

const char *slurm_side_end_state(uint32_t job_state)
{
	static const char *const names[] = {
		[JOB_COMPLETE] = "COMPLETED",	[JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
		[JOB_TIMEOUT] = "TIMEOUT",	[JOB_NODE_FAIL] = "NODE_FAIL", [JOB_PREEMPTED] = "PREEMPTED",
		[JOB_BOOT_FAIL] = "BOOT_FAIL", [JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEMORY",
	};

	uint32_t base = job_state & JOB_STATE_BASE;

	return base < sizeof(names) / sizeof(names[0]) && names[base] ? names[base] : "ENDED";
}

static enum cluster_phase phase_of(const slurm_job_info_t *j)
{
	switch (j->job_state & JOB_STATE_BASE) {
	case JOB_PENDING:
		return CLUSTER_PENDING;
	case JOB_RUNNING:
		return CLUSTER_RUNNING;
	case JOB_SUSPENDED:
		return CLUSTER_SUSPENDED;
	default: /* one that will be queued again has not ended */
		return j->job_state & (JOB_REQUEUE | JOB_REQUEUE_HOLD) ? CLUSTER_PENDING : CLUSTER_ENDED;
	}
}

static double elapsed_of(const slurm_job_info_t *j, enum cluster_phase phase)
{
	time_t until = phase == CLUSTER_ENDED ? j->end_time : (time_t)slurm_side_now();
	double s;

	if (phase == CLUSTER_PENDING || !j->start_time)
		return 0;
	if (phase == CLUSTER_SUSPENDED)
		return (double)j->pre_sus_time;
	/* suspend_time of a job that runs again is when it was resumed */
	s = j->suspend_time ? difftime(until, j->suspend_time) + (double)j->pre_sus_time : difftime(until, j->start_time);
	return s > 0 ? s : 0;
}

static double suspended_of(const slurm_job_info_t *j, enum cluster_phase phase, double elapsed_s)
{
	time_t until = phase == CLUSTER_ENDED ? j->end_time : (time_t)slurm_side_now();
	double s;

	if (phase == CLUSTER_PENDING || !j->start_time || !j->suspend_time)
		return 0;
	s = difftime(until, j->start_time) - elapsed_s;
	return s > 0 ? s : 0;
}

static uint32_t small_number(uint16_t v)
{
	return v == NO_VAL16 || v == INFINITE16 ? 0 : v;
}

static bool is_set(const char *s)
{
	return s && *s;
}

/* Waits for nodes, or behind others, and for nothing that another job may not have to wait for. */
static bool waits_in_turn(const slurm_job_info_t *j)
{
	return (j->job_state & JOB_STATE_BASE) == JOB_PENDING && j->priority && !is_set(j->req_nodes) && !is_set(j->licenses) &&
	       !is_set(j->resv_name) && !is_set(j->tres_per_node) && !is_set(j->tres_per_job) && !is_set(j->tres_per_task) &&
	       (j->state_reason == WAIT_RESOURCES || j->state_reason == WAIT_PRIORITY);
}

/* Nobody may have it start by making its limit shorter. */
static bool asks_too_long(const slurm_job_info_t *j)
{
	return j->state_reason == WAIT_PART_TIME_LIMIT || j->state_reason == WAIT_QOS_MAX_WALL_PER_JOB ||
	       j->state_reason == WAIT_ASSOC_MAX_WALL_PER_JOB;
}

static bool is_put_off(const slurm_job_info_t *j)
{
	return (j->job_state & JOB_STATE_BASE) == JOB_PENDING &&
	       (!j->priority || j->state_reason == WAIT_DEPENDENCY || j->state_reason == WAIT_TIME);
}

/* Where Slurm has them in a job, and in a submission. */
static const struct {
	size_t job, description;
} wants[CLUSTER_WANTS] = {
#define WANT(which, field) [which] = {offsetof(slurm_job_info_t, field), offsetof(job_desc_msg_t, field)}
	WANT(WANT_TRES_PER_JOB, tres_per_job), WANT(WANT_TRES_PER_NODE, tres_per_node), WANT(WANT_TRES_PER_SOCKET, tres_per_socket),
	WANT(WANT_TRES_PER_TASK, tres_per_task), WANT(WANT_CPUS_PER_TRES, cpus_per_tres), WANT(WANT_MEM_PER_TRES, mem_per_tres),
	WANT(WANT_LICENCES, licenses),
#undef WANT
};

/* Newer versions also have processors in tres_per_task, which the layout has as a number. */
static const char *want_of(const slurm_job_info_t *j, enum cluster_want i)
{
	const char *text = text_or_empty(*(char *const *)((const char *)j + wants[i].job));

	return i == WANT_LICENCES || strstr(text, "gres") ? text : "";
}

static void job_translate(const slurm_job_info_t *j, struct cluster_job *c)
{
	*c = (struct cluster_job){
		.job_id = j->job_id,
		.uid = j->user_id,
		.gid = j->group_id,
		.het = j->het_job_id != 0 && j->het_job_id != NO_VAL,
		.batch = j->batch_flag != 0,
		.exclusive = j->shared == JOB_SHARED_NONE,
		.queued = waits_in_turn(j),
		.barred = asks_too_long(j),
		.held = is_put_off(j),
		.requeue = j->requeue != 0,
		.preempted = j->preempt_time != 0,
		.nice = (int32_t)(j->nice - NICE_OFFSET),
		.deadline = j->deadline != 0,
		.phase = phase_of(j),
		.end_state = slurm_side_end_state(j->job_state),
		.submit_time = j->submit_time,
		.start_time = j->start_time,
		.restarts = j->restart_cnt,
		.array_job = j->array_job_id == NO_VAL ? 0 : j->array_job_id,
		.array_task = j->array_task_id == NO_VAL ? 0 : j->array_task_id,
		.end_time = j->end_time,
		.limit_min = j->time_limit == NO_VAL	 ? DURATION_UNSET
			     : j->time_limit == INFINITE ? DURATION_UNLIMITED
							 : j->time_limit,
		.time_min_min = j->time_min == NO_VAL ? 0 : j->time_min,
		.nodes = j->num_nodes,
		.tasks = j->num_tasks,
		.tasks_per_node = small_number(j->ntasks_per_node),
		.cpus_per_task = small_number(j->cpus_per_task),
		.memory = j->pn_min_memory == NO_VAL64 ? 0 : j->pn_min_memory,
		.name = text_or_empty(j->name),
		.partition = text_or_empty(j->partition),
		.features = text_or_empty(j->features),
		.admin_comment = text_or_empty(j->admin_comment),
		.account = text_or_empty(j->account),
		.qos = text_or_empty(j->qos),
	};
	for (enum cluster_want i = 0; i < CLUSTER_WANTS; i++)
		c->want[i] = want_of(j, i);
	c->elapsed_s = elapsed_of(j, c->phase);
	c->suspended_s = suspended_of(j, c->phase, c->elapsed_s);
}

/* ---- the snapshot ---- */

static int job_order(const void *a, const void *b)
{
	uint32_t x = ((const struct cluster_job *)a)->job_id, y = ((const struct cluster_job *)b)->job_id;

	return (x > y) - (x < y);
}

static void texts_clear(void)
{
	for (struct chunk *c = chunks; c; c = c->next)
		c->len = 0;
	chunk_at = chunks;
}

/* Of the first chunk that has room; those before it are full, or nearly. */
static char *texts_room(size_t n)
{
	size_t size = n > CHUNK_BYTES ? n : CHUNK_BYTES;
	struct chunk **end = &chunks, *c = chunk_at;

	while (c && c->size - c->len < n)
		c = c->next;
	if (!c) {
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct chunk){NULL, size, 0};
		while (*end)
			end = &(*end)->next;
		*end = c;
	}
	chunk_at = c;
	c->len += n;
	return c->text + c->len - n;
}

/* A copy of the text, or the previous job's copy if both are equal, as most are. */
static int text_keep(const char **text, const char *before)
{
	size_t n = strlen(*text) + 1;
	char *copy;

	if (before && !strcmp(*text, before)) {
		*text = before;
		return 0;
	}
	copy = texts_room(n);
	if (!copy)
		return -1;
	*text = memcpy(copy, *text, n);
	return 0;
}

static int job_keep(struct cluster_job *c, const struct cluster_job *before)
{
	int rv = 0;

	for (int i = 0; i < CLUSTER_WANTS; i++)
		rv |= text_keep(&c->want[i], before ? before->want[i] : NULL);
	return rv | text_keep(&c->name, before ? before->name : NULL) | text_keep(&c->partition, before ? before->partition : NULL) |
	       text_keep(&c->features, before ? before->features : NULL) |
	       text_keep(&c->account, before ? before->account : NULL) | text_keep(&c->qos, before ? before->qos : NULL) |
	       text_keep(&c->admin_comment, before ? before->admin_comment : NULL);
}

static int snapshot_take(const job_info_msg_t *msg, time_t now, struct errbuf *errp)
{
	size_t n = msg->record_count;
	bool sorted = true;

	snapshot = (struct cluster_snapshot){.taken = now};
	jobs_seen = 0;
	texts_clear();
	if (ARRAY_ROOM(jobs, jobs_room, n) < 0)
		return err_set(errp, "no memory for %zu jobs", n);
	for (size_t i = 0; i < n; i++) {
		job_translate(&msg->job_array[i], &jobs[i]);
		if (job_keep(&jobs[i], i ? &jobs[i - 1] : NULL) < 0)
			return err_set(errp, "no memory for %zu jobs", n);
		sorted = sorted && (!i || jobs[i - 1].job_id < jobs[i].job_id);
	}
	if (!sorted)
		qsort(jobs, n, sizeof(*jobs), job_order);
	if (cluster_comments_parse(&comments, jobs, n, errp) < 0)
		return -1;
	snapshot.jobs = jobs;
	snapshot.n = n;
	jobs_seen = msg->last_update;
	return 0;
}

void slurm_side_jobs_again(void)
{
	jobs_seen = 0;
}

int slurm_side_jobs(const struct cluster_snapshot **snap, struct errbuf *errp)
{
	time_t now = (time_t)slurm_side_now();
	job_info_msg_t *fresh = NULL;
	int rv;

	if (slurm_load_jobs(jobs_seen, &fresh, SHOW_ALL) != SLURM_SUCCESS) {
		if (errno != SLURM_NO_CHANGE_IN_DATA)
			return slurm_error(errp, "slurmctld gives no jobs");
		snapshot.taken = now;
		*snap = &snapshot;
		return 0;
	}
	rv = snapshot_take(fresh, now, errp);
	slurm_free_job_info_msg(fresh);
	*snap = &snapshot;
	return rv;
}

/* ---- deeds ---- */

#define ENV_MAX 8

/* A login's bare minimum; nothing of ours but where the configurations are. */
static int environment_fill(uid_t uid, char *env[ENV_MAX], uint32_t *n, struct errbuf *errp)
{
	const char *slurm_conf = getenv("SLURM_CONF");
	struct passwd pw, *found = NULL;
	char names[4096];
	int failed = 0;

	*n = 0;
	if (getpwuid_r(uid, &pw, names, sizeof(names), &found) != 0 || !found)
		return err_set(errp, "uid %u has no account on this host", (unsigned)uid);
	failed |= asprintf(&env[(*n)++], "PATH=/usr/local/bin:/usr/bin:/bin") < 0;
	failed |= asprintf(&env[(*n)++], "HOME=%s", pw.pw_dir) < 0;
	failed |= asprintf(&env[(*n)++], "USER=%s", pw.pw_name) < 0;
	failed |= asprintf(&env[(*n)++], "LOGNAME=%s", pw.pw_name) < 0;
	failed |= asprintf(&env[(*n)++], "SHELL=/bin/sh") < 0;
	failed |= asprintf(&env[(*n)++], "PRECEDENT_CONF=%s", conf_path(NULL)) < 0;
	if (slurm_conf && *slurm_conf)
		failed |= asprintf(&env[(*n)++], "SLURM_CONF=%s", slurm_conf) < 0;
	return failed ? err_set(errp, "no memory") : 0;
}

void slurm_side_describe(struct job_descriptor *d, const struct cluster_submission *s)
{
	slurm_init_job_desc_msg(d);
	d->user_id = s->uid;
	d->group_id = s->gid;
	d->name = (char *)(uintptr_t)s->name;
	d->work_dir = (char *)(uintptr_t)s->work_dir;
	d->admin_comment = (char *)(uintptr_t)s->admin_comment;
	if (*s->partition)
		d->partition = (char *)(uintptr_t)s->partition;
	if (*s->features)
		d->features = (char *)(uintptr_t)s->features;
	if (*s->account)
		d->account = (char *)(uintptr_t)s->account;
	if (*s->qos)
		d->qos = (char *)(uintptr_t)s->qos;
	d->min_nodes = d->max_nodes = s->nodes;
	d->num_tasks = s->tasks;
	if (s->tasks_per_node)
		d->ntasks_per_node = (uint16_t)s->tasks_per_node;
	if (s->cpus_per_task)
		d->cpus_per_task = (uint16_t)s->cpus_per_task;
	d->min_cpus = s->tasks * (s->cpus_per_task ? s->cpus_per_task : 1);
	if (s->memory)
		d->pn_min_memory = s->memory;
	if (s->exclusive)
		d->shared = JOB_SHARED_NONE;
	for (enum cluster_want i = 0; i < CLUSTER_WANTS; i++)
		if (s->want[i] && *s->want[i])
			*(char **)((char *)d + wants[i].description) = (char *)(uintptr_t)s->want[i];
	d->time_limit = s->limit_min == DURATION_UNLIMITED ? INFINITE : s->limit_min;
}

/* What only a job has that really is submitted. */
static void description_fill(job_desc_msg_t *d, const struct cluster_submission *s)
{
	slurm_side_describe(d, s);
	d->script = (char *)(uintptr_t)s->script;
	d->std_out = (char *)(uintptr_t)s->std_out;
	d->std_in = "/dev/null";
	d->open_mode = OPEN_MODE_TRUNCATE;
	d->nice = NICE_OFFSET + (uint32_t)CLUSTER_LOWEST_NICE;
	d->requeue = 0;
	if (s->held)
		d->priority = 0;
	d->kill_on_node_fail = 1;
}

static int op_submit(void *arg, const struct cluster_submission *s, uint32_t *job_id, struct errbuf *errp)
{
	char *env[ENV_MAX] = {0}, *argv[] = {(char *)(uintptr_t)s->name};
	submit_response_msg_t *answer = NULL;
	job_desc_msg_t d;
	uint32_t n;
	int rv = -1;

	(void)arg;
	if (environment_fill(s->uid, env, &n, errp) < 0)
		goto out;
	description_fill(&d, s);
	d.environment = env;
	d.env_size = n;
	d.argc = 1;
	d.argv = argv;
	if (slurm_submit_batch_job(&d, &answer) != SLURM_SUCCESS) {
		slurm_error(errp, s->partition);
		goto out;
	}
	*job_id = COMPAT_JOB_ID(answer);
	slurm_free_submit_response_response_msg(answer);
	rv = 0;
out:
	for (size_t i = 0; i < ENV_MAX; i++)
		free(env[i]);
	return rv;
}

static int op_set_limit(void *arg, uint32_t job_id, uint32_t limit_min, const char *comment, struct errbuf *errp)
{
	job_desc_msg_t d;

	(void)arg;
	slurm_init_job_desc_msg(&d);
	COMPAT_JOB_ID(&d) = job_id;
	d.time_limit = limit_min == DURATION_UNLIMITED ? INFINITE : limit_min;
	d.admin_comment = (char *)(uintptr_t)comment;
	return slurm_update_job(&d) == SLURM_SUCCESS ? 0 : slurm_error(errp, "slurmctld");
}

static int op_set_time_min(void *arg, uint32_t job_id, uint32_t time_min_min, const char *comment, struct errbuf *errp)
{
	job_desc_msg_t d;

	(void)arg;
	slurm_init_job_desc_msg(&d);
	COMPAT_JOB_ID(&d) = job_id;
	d.time_min = time_min_min;
	d.admin_comment = (char *)(uintptr_t)comment;
	return slurm_update_job(&d) == SLURM_SUCCESS ? 0 : slurm_error(errp, "slurmctld");
}

static int op_cancel(void *arg, uint32_t job_id, struct errbuf *errp)
{
	(void)arg;
	return slurm_kill_job(COMPAT_JOB(job_id), SIGKILL, 0) == SLURM_SUCCESS ? 0 : slurm_error(errp, "slurmctld");
}

/* ---- triggers ---- */

#define PROGRAM_MAX 1200

/* slurmctld runs it as the trigger's owner, which is this daemon's user, with the job id as last argument. */
static int trigger_program(const char *conf_file, char out[PROGRAM_MAX], struct errbuf *errp)
{
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return err_set(errp, "where is precedentd? %s", strerror(errno));
	self[n] = '\0';
	if (strchr(self, ' ') || strchr(conf_file, ' '))
		return err_set(errp, "a trigger's program may not have a space in its path: %s", self);
	n = snprintf(out, PROGRAM_MAX, "%s --conf=%s --extend", self, conf_file);
	return n < PROGRAM_MAX ? 0 : err_set(errp, "the path of the configuration is too long for a trigger");
}

static uint16_t trigger_offset(uint32_t before_s)
{
	return (uint16_t)(0x8000 - before_s);
}

static int op_arm(void *arg, uint32_t job_id, uint32_t before_s, struct errbuf *errp)
{
	char program[PROGRAM_MAX], id[16];
	trigger_info_t t = {0};

	if (trigger_program(arg, program, errp) < 0)
		return -1;
	snprintf(id, sizeof(id), "%u", job_id);
	t.res_type = TRIGGER_RES_TYPE_JOB;
	t.res_id = id;
	t.trig_type = TRIGGER_TYPE_TIME;
	t.offset = trigger_offset(before_s);
	t.program = program;
	if (slurm_set_trigger(&t) != SLURM_SUCCESS && errno != ESLURM_TRIGGER_DUP)
		return slurm_error(errp, "slurmctld");
	return 0;
}

static int id_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int op_armed(void *arg, uint32_t before_s, uint32_t **ids, size_t *n, struct errbuf *errp)
{
	trigger_info_msg_t *msg = NULL;
	char program[PROGRAM_MAX];

	*n = 0;
	if (trigger_program(arg, program, errp) < 0)
		return -1;
	if (slurm_get_triggers(&msg) != SLURM_SUCCESS)
		return slurm_error(errp, "slurmctld");
	*ids = calloc((size_t)msg->record_count + 1, sizeof(**ids));
	for (uint32_t i = 0; *ids && i < msg->record_count; i++) {
		const trigger_info_t *t = &msg->trigger_array[i];

		if (t->res_type == TRIGGER_RES_TYPE_JOB && t->trig_type == TRIGGER_TYPE_TIME &&
		    t->offset == trigger_offset(before_s) && !strcmp(text_or_empty(t->program), program))
			(*ids)[(*n)++] = (uint32_t)strtoul(text_or_empty(t->res_id), NULL, 10);
	}
	slurm_free_trigger_msg(msg);
	if (!*ids)
		return err_set(errp, "no memory");
	qsort(*ids, *n, sizeof(**ids), id_order);
	return 0;
}

static double op_clock_ms(void *arg)
{
	return slurm_side_forecast()->clock_ms(arg);
}

const struct cluster_ops *slurm_side_ops(const char *conf_file)
{
	static struct cluster_ops ops = {NULL, op_submit, op_set_limit, op_set_time_min, op_cancel, op_arm, op_armed, slurm_side_overtime_table,
					 slurm_side_ended, slurm_side_time, slurm_side_boot, op_clock_ms};

	ops.arg = (void *)(uintptr_t)conf_file;
	return &ops;
}

/* Slurm gives all tasks of an array for the id of its last one. */
static const slurm_job_info_t *record_of(const job_info_msg_t *msg, uint32_t job_id)
{
	for (uint32_t i = 0; i < msg->record_count; i++)
		if (msg->job_array[i].job_id == job_id)
			return &msg->job_array[i];
	return NULL;
}

/* 1: it is to be queued again, and cannot be changed until its nodes are free. */
static int limit_raise_once(uint32_t job_id, struct errbuf *errp)
{
	const slurm_job_info_t *record;
	char buf[LIMIT_COMMENT_MAX];
	job_info_msg_t *msg = NULL;
	struct cluster_job job;
	uint32_t limit;
	int rv = 0;

	if (slurm_load_job(&msg, COMPAT_JOB(job_id), SHOW_ALL) != SLURM_SUCCESS)
		return slurm_error(errp, "slurmctld does not give the job");
	record = record_of(msg, job_id);
	if (record) {
		job_translate(record, &job);
		rv = cluster_comments_parse(&comments, &job, 1, errp);
		if (rv == 0 && limit_raise_by_trigger(&job, &limit))
			rv = op_set_limit(NULL, job_id, limit, limit_comment(&job, &limit, buf), errp);
		if (rv < 0 && job.phase == CLUSTER_PENDING)
			rv = 1;
	} else {
		rv = err_set(errp, "slurmctld does not give the job");
	}
	slurm_free_job_info_msg(msg);
	return rv;
}

#define LIMIT_RAISE_WAIT_S 5
#define LIMIT_RAISE_TRIES  48 /* slurmctld ends what a trigger runs after five minutes */

int slurm_side_raise_limit(uint32_t job_id, struct errbuf *errp)
{
	int rv = limit_raise_once(job_id, errp);

	for (unsigned i = 1; rv == 1 && i < LIMIT_RAISE_TRIES; i++) {
		sleep(LIMIT_RAISE_WAIT_S);
		rv = limit_raise_once(job_id, errp);
	}
	return rv ? -1 : 0;
}
