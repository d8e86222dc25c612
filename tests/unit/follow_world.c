/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fake cluster of the daemon's tests: see follow_world.h. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/limits/raise.h"
#include "predictor/probe/probes.h"
#include "predictor/limits/lower.h"
#include "predictor/limits/proof.h"
#include "predictor/spool/spool.h"
#include "predictor/follow/poll_cache.h"
#include "predictor/store/probes.h"
#include "follow_world.h"

struct world *w;

/* ---- the fake cluster ---- */

static int fake_submit(void *arg, const struct cluster_submission *s, uint32_t *job_id, struct errbuf *errp)
{
	struct cluster_job *j;

	(void)arg;
	if (w->refuse_submit)
		return err_set(errp, "invalid account");
	assert_true(w->n_submitted < SUBMITTED && w->n < JOBS);
	*job_id = 500 + w->n_submitted;
	snprintf(w->submitted[w->n_submitted].script, 1024, "%s", s->script);
	snprintf(w->submitted[w->n_submitted].partition, 64, "%s", s->partition);
	snprintf(w->submitted[w->n_submitted].features, 64, "%s", s->features);
	snprintf(w->submitted[w->n_submitted].out, 256, "%s", s->std_out);
	snprintf(w->submitted[w->n_submitted].account, 64, "%s", s->account);
	w->submitted[w->n_submitted].job_id = *job_id;
	w->submitted[w->n_submitted].uid = s->uid;
	w->submitted[w->n_submitted].nodes = s->nodes;
	w->submitted[w->n_submitted].tasks = s->tasks;
	w->submitted[w->n_submitted].limit_min = s->limit_min;
	j = &w->jobs[w->n];
	*j = (struct cluster_job){.job_id = *job_id, .uid = s->uid, .phase = CLUSTER_PENDING, .end_state = "",
				  .submit_time = w->now, .limit_min = s->limit_min, .nodes = s->nodes, .tasks = s->tasks,
				  .nice = CLUSTER_LOWEST_NICE, .name = s->name,
				  .partition = w->submitted[w->n_submitted].partition,
				  .features = w->submitted[w->n_submitted].features, .account = "", .qos = ""};
	for (int i = 0; i < CLUSTER_WANTS; i++) {
		snprintf(w->submitted[w->n_submitted].want[i], 64, "%s", s->want[i] ? s->want[i] : "");
		j->want[i] = w->submitted[w->n_submitted].want[i];
	}
	snprintf(w->comments[w->n], COMMENT_TEXT_MAX, "%s", s->admin_comment);
	j->admin_comment = w->comments[w->n++];
	w->n_submitted++;
	return 0;
}

/* The snapshot under way has the old one. comment NULL: it stays. */
static void comment_take(uint32_t job_id, const char *comment)
{
	for (size_t i = 0; comment && i < w->n; i++) {
		char *other = w->jobs[i].admin_comment == w->comments[i] ? w->comments_set[i] : w->comments[i];

		if (w->jobs[i].job_id != job_id)
			continue;
		snprintf(other, COMMENT_TEXT_MAX, "%s", comment);
		w->jobs[i].admin_comment = other;
	}
}

static int fake_limit(void *arg, uint32_t job_id, uint32_t limit_min, const char *comment, struct errbuf *errp)
{
	(void)arg;
	w->n_limits++;
	w->clock_ms += w->limit_ms;
	w->last_limit_job = job_id;
	w->last_limit_min = limit_min;
	if (w->refuse_limit)
		return err_set(errp, "no");
	comment_take(job_id, comment);
	return 0;
}

static int fake_cancel(void *arg, uint32_t job_id, struct errbuf *errp)
{
	(void)arg;
	if (w->refuse_cancel)
		return err_set(errp, "no");
	w->n_cancelled++;
	w->last_cancelled = job_id;
	return 0;
}

static int fake_arm(void *arg, uint32_t job_id, uint32_t before_s, struct errbuf *errp)
{
	(void)arg;
	assert_int_equal(before_s, LIMIT_RAISE_ARM_S);
	w->n_armed++;
	w->clock_ms += w->arm_ms;
	if (w->refuse_arm)
		return err_set(errp, "too many triggers");
	assert_true(w->n_triggers < JOBS);
	w->triggers[w->n_triggers++] = job_id;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int fake_armed(void *arg, uint32_t before_s, uint32_t **ids, size_t *n, struct errbuf *errp)
{
	(void)arg;
	assert_int_equal(before_s, LIMIT_RAISE_ARM_S);
	*n = 0;
	if (w->refuse_armed)
		return err_set(errp, "no answer");
	*ids = calloc(JOBS, sizeof(**ids));
	memcpy(*ids, w->triggers, w->n_triggers * sizeof(**ids));
	*n = w->n_triggers;
	qsort(*ids, *n, sizeof(**ids), by_number);
	return 0;
}

static int fake_time_min(void *arg, uint32_t job_id, uint32_t time_min_min, const char *comment, struct errbuf *errp)
{
	struct cluster_job *j = job_find(job_id);

	(void)arg;
	if (w->refuse_limit || !j || time_min_min > j->limit_min)
		return err_set(errp, "Invalid time-min specification");
	w->n_time_mins++;
	w->clock_ms += w->limit_ms;
	if (j->phase == CLUSTER_PENDING) /* of another job slurmctld changes the comment alone, and refuses nothing */
		j->time_min_min = time_min_min;
	comment_take(job_id, comment);
	return 0;
}

static int fake_overtime(void *arg, struct overtime_table *table, struct errbuf *errp)
{
	(void)arg;
	strcpy(w->partitions[0].name, "fast");
	strcpy(w->partitions[1].name, "slow");
	*table = (struct overtime_table){w->partitions, 2, w->soft_works, w->longest_min};
	return w->refuse_overtime ? err_set(errp, "no partitions") : 0;
}

static int fake_ended(void *arg, uint32_t job_id, int64_t submit_time, struct cluster_end *end)
{
	(void)arg;
	w->last_asked = job_id;
	assert_true(submit_time > 0);
	*end = w->end;
	return w->end_known;
}

static int64_t fake_time(void *arg)
{
	(void)arg;
	return w->now - w->clock_ahead_s;
}

static int64_t fake_boot(void *arg)
{
	(void)arg;
	return w->boot;
}

static double fake_clock_ms(void *arg)
{
	(void)arg;
	return w->clock_ms;
}

static void fake_say(enum log_level level, const char *line)
{
	size_t n = strlen(w->log);

	(void)level;
	snprintf(w->log + n, sizeof(w->log) - n, "%s\n", line);
}

/* ---- building and looking ---- */

void conf_make(const char *candidates)
{
	char file[128];
	struct errbuf e;
	FILE *f;

	snprintf(file, sizeof(file), "%s/precedent.conf", w->dir);
	f = fopen(file, "w");
	fprintf(f, "%s\nSpoolDir=%s\nStateDir=%s\nPollInterval=10\nProbeAccount=probes\nInstallDir=/opt/pre cedent\n",
		candidates, w->spool, w->dir);
	fclose(f);
	conf_free(&w->conf);
	poll_cache_forget(w->memory.cache); /* as precedentd does */
	if (conf_load(file, &w->conf, &e) < 0)
		fail_msg("%s", e.text);
}

int world_setup(void **state)
{
	struct errbuf e = {""};

	(void)state;
	w = calloc(1, sizeof(*w));
	strcpy(w->dir, "/tmp/precedent-follow-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->spool, sizeof(w->spool), "%s/spool", w->dir);
	snprintf(w->store_file, sizeof(w->store_file), "%s/precedent.db", w->dir);
	mkdir(w->spool, 0755);
	conf_make("Candidates=fast,slow:big");
	if (store_open(w->store_file, STORE_WRITE | STORE_WAIT, &w->store, &e) < 0)
		fail_msg("%s", e.text);
	w->ops = (struct cluster_ops){NULL, fake_submit, fake_limit, fake_time_min, fake_cancel, fake_arm, fake_armed, fake_overtime,
				      fake_ended, fake_time, fake_boot, fake_clock_ms};
	w->memory.lower = limit_lower_create();
	w->memory.proof = limit_proof_create();
	w->end_known = -1;
	w->env = (struct daemon_env){&w->conf, w->store, &w->ops, fake_say, &w->counts, 0};
	w->memory.cache = poll_cache_create();
	w->memory.probes = &w->turn;
	w->now = START;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int world_teardown(void **state)
{
	(void)state;
	store_close(w->store);
	limit_lower_destroy(w->memory.lower);
	limit_proof_destroy(w->memory.proof);
	poll_cache_destroy(w->memory.cache);
	conf_free(&w->conf);
	assert_int_equal(nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(w);
	return 0;
}

struct cluster_job *job_add(uint32_t id, enum job_act act)
{
	struct cluster_job *j = &w->jobs[w->n];
	struct job_comment c;

	*j = (struct cluster_job){.job_id = id, .uid = getuid(), .gid = getgid(), .phase = CLUSTER_PENDING, .end_state = "",
				  .submit_time = w->now, .limit_min = 60, .nodes = 2, .tasks = 4, .tasks_per_node = 2,
				  .name = "app", .partition = "fast", .features = "", .account = "acct", .qos = ""};
	comment_init(&c);
	c.act = act;
	strcpy(c.key, KEY);
	strcpy(c.family, FAMILY);
	c.user_limit_min = 60;
	assert_true(comment_format(&c, w->comments[w->n], COMMENT_TEXT_MAX) > 0);
	j->admin_comment = w->comments[w->n++];
	return j;
}

struct cluster_job *job_add_member(uint32_t id, unsigned number, const char *vars)
{
	struct cluster_job *j;
	struct job_comment c;

	w->n = 0;
	j = job_add(id, ACT_OBSERVE);
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	snprintf(c.key, sizeof(c.key), "%032x", number);
	strcpy(c.kin, FAMILY);
	snprintf(c.vars, sizeof(c.vars), "%s", vars);
	assert_true(comment_format(&c, w->comments[0], COMMENT_TEXT_MAX) > 0);
	return j;
}

void job_run(struct cluster_job *j)
{
	j->phase = CLUSTER_RUNNING;
	j->start_time = w->now;
	j->end_time = w->now + j->limit_min * 60;
}

void job_end(struct cluster_job *j, const char *state, double elapsed_s)
{
	j->phase = CLUSTER_ENDED;
	if (!j->start_time)
		j->start_time = w->now;
	j->elapsed_s = elapsed_s;
	j->end_time = w->now;
	j->end_state = state;
}

struct cluster_job *job_find(uint32_t id)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->jobs[i].job_id == id)
			return &w->jobs[i];
	fail_msg("no job %u", id);
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct cluster_job *)a)->job_id, y = ((const struct cluster_job *)b)->job_id;

	return (x > y) - (x < y);
}

static void comments_read_of(struct cluster_job *jobs)
{
	static struct cluster_comments comments;
	struct errbuf e;

	assert_int_equal(cluster_comments_parse(&comments, jobs, w->n, &e), 0);
}

void comments_read(void)
{
	comments_read_of(w->jobs);
}

void look(void)
{
	static struct cluster_job copy[JOBS];
	struct cluster_snapshot snap = {copy, w->n, w->now};
	struct errbuf e = {""};

	memcpy(copy, w->jobs, sizeof(copy));
	qsort(copy, w->n, sizeof(*copy), by_id);
	comments_read_of(copy);
	w->log[0] = '\0';
	if (follow_poll(&w->env, &w->memory, &snap, w->now, &e) < 0)
		fail_msg("%s", e.text);
	w->now += 10;
}

void raises_prove(void)
{
	int64_t now = w->now;

	w->boot = 1;
	look();
	w->jobs[0].limit_min = w->last_limit_min;
	look();
	w->n = w->n_submitted = w->n_limits = w->n_cancelled = 0;
	w->now = now;
}

void job_dir(uint32_t job, char *path, size_t size)
{
	char user[192];

	snprintf(user, sizeof(user), "%s/%u", w->spool, getuid());
	mkdir(user, 0750);
	snprintf(path, size, "%s/%u", user, job);
	mkdir(path, 0750);
}

void trace_leave(uint32_t job)
{
	char dir[256], path[300];
	FILE *f;

	job_dir(job, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/0.ptrace", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

/* A probe's record: its skeleton stands for the whole run and takes skel_s of it here. */
void result_leave(uint32_t job, uint32_t probe_job, const char *candidate, double skel_s, const char *reason)
{
	static struct result r;
	char dir[256], name[128];
	struct errbuf e = {""};
	int dfd;

	memset(&r, 0, sizeof(r));
	r.job_id = probe_job;
	snprintf(r.candidate, sizeof(r.candidate), "%s", candidate);
	r.ok = !reason;
	snprintf(r.reason, sizeof(r.reason), "%s", reason ? reason : "");
	r.has_class = r.has_startup = r.has_hash = true;
	strcpy(r.class_hex, w->node_class[0] ? w->node_class : "0123456789abcdef");
	strcpy(r.class_text, "test node");
	strcpy(r.hash_hex, "0123456789abcdef");
	r.traces_n = 1;
	r.traces[0] = (struct result_trace){90, skel_s, skel_s * 0.99, skel_s * 1.01, 2, 1000, 1, {0}, {0}};
	job_dir(job, dir, sizeof(dir));
	dfd = open(dir, O_RDONLY | O_DIRECTORY);
	snprintf(name, sizeof(name), "probe.%s.result", candidate);
	if (result_write(dfd, name, &r, &e) < 0)
		fail_msg("%s", e.text);
	close(dfd);
}

struct store_program program(void)
{
	struct store_program p;
	struct errbuf e;

	assert_int_equal(store_program_get(w->store, KEY, &p, &e), 1);
	return p;
}

struct store_probe probe(const char *candidate)
{
	struct store_probe p;
	struct errbuf e;

	assert_int_equal(store_probe_get(w->store, KEY, candidate, &p, &e), 1);
	return p;
}

void assert_state(enum program_state state, const char *reason)
{
	struct store_program p = program();

	if (p.state != state || !strstr(p.reason, reason))
		fail_msg("program is %s (%s), not %s (%s)", program_state_name(p.state), p.reason,
			 program_state_name(state), reason);
}

/* Up to the point where the source probe has been submitted as job 500. */
void traced_job(void)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	look();
	assert_state(PROGRAM_NEW, "");
	job_run(j);
	look();
	trace_leave(1);
	job_end(j, "COMPLETED", 100);
	look();
	assert_state(PROGRAM_BUILDING, "");
	assert_int_equal(w->n_submitted, 1);
}

/* Its probe ends well; skel_s: what the skeleton took. */
void probe_end(uint32_t probe_job, const char *candidate, double skel_s, double elapsed_s)
{
	result_leave(1, probe_job, candidate, skel_s, NULL);
	job_end(job_find(probe_job), "COMPLETED", elapsed_s);
	look();
}

/* Both probes done: an estimate of 100 s on fast and 190 s on slow:big. */
void program_ready(void)
{
	traced_job();
	probe_end(500, "fast", 90, 20);
	probe_end(501, "slow_big", 180, 30);
	assert_state(PROGRAM_READY, "");
	assert_int_equal(w->n_submitted, 2);
}

/* From its submission to its end, of which the daemon sees every step. */
void job_play(struct cluster_job *j, const char *state, double elapsed_s)
{
	look();
	job_run(j);
	look();
	job_end(j, state, elapsed_s);
	look();
}
