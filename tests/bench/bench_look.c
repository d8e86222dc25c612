/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a look of precedentd costs without slurmctld's share: following, waits and questions, over a queue of jobs of which
 * none or some change. Processor time, medians of looks.
 *
 *   bench_look [JOBS [CHANGING [PROGRAMS [WAITING]]]]    10,000 in the queue, of which 100 start and 100 end between two looks.
 *                                                        PROGRAMS of 5,000 users are known, and WAITING of these wait for probes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/identity.h"
#include "predictor/follow/follow.h"
#include "predictor/follow/poll_cache.h"
#include "predictor/follow/start_forecast.h"
#include "predictor/probe/probes.h"
#include "predictor/store/layout.h"
#include "predictor/store/probes.h"
#include "predictor/store/programs.h"

#define LOOKS 25
#define POLL_S 10

static void die(const char *what)
{
	fprintf(stderr, "bench_look: %s\n", what);
	exit(1);
}

/* ---- a cluster that does as it is told ---- */

static int fake_limit(void *arg, uint32_t job_id, uint32_t limit_min, const char *comment, struct errbuf *errp)
{
	(void)arg, (void)job_id, (void)limit_min, (void)comment, (void)errp;
	return 0;
}

static int fake_arm(void *arg, uint32_t job_id, uint32_t before_s, struct errbuf *errp)
{
	(void)arg, (void)job_id, (void)before_s, (void)errp;
	return 0;
}

static int fake_cancel(void *arg, uint32_t job_id, struct errbuf *errp)
{
	(void)arg, (void)job_id, (void)errp;
	return 0;
}

static int fake_will_run(void *arg, const struct cluster_submission *s, int64_t *start, struct errbuf *errp)
{
	(void)arg, (void)s, (void)errp;
	*start = 0;
	return 1;
}

static int fake_groups(void *arg, uint32_t uid, const char *groups)
{
	(void)arg, (void)uid, (void)groups;
	return 1;
}

static double fake_clock(void *arg)
{
	(void)arg;
	return 0;
}

/* ---- jobs ---- */

struct job_text {
	char comment[COMMENT_TEXT_MAX];
};

struct bench {
	struct cluster_job *jobs;
	struct job_text *texts;
	size_t n, n_asked; /* probes come last */
	size_t pending, running; /* jobs before `running` have ended, before `pending` they have started */
	int64_t now;
	struct daemon_env env;
	struct follow_memory memory;
	struct cluster_comments comments;
	struct start_forecast *forecast;
};

static void job_make(struct bench *b, size_t i)
{
	struct job_comment c;

	comment_init(&c);
	c.act = ACT_TRACE;
	c.user_limit_min = 60;
	snprintf(c.key, sizeof(c.key), "%016zx%016zx", (i + 1) * 0x9e3779b97f4a7c15u, i);
	memcpy(c.family, c.key, sizeof(c.family));
	memcpy(c.kin, c.key, sizeof(c.kin));
	snprintf(c.vars, sizeof(c.vars), "12.2,4.1,%zu", i);
	comment_format(&c, b->texts[i].comment, sizeof(b->texts[i].comment));
	b->jobs[i] = (struct cluster_job){.job_id = (uint32_t)i + 1, .uid = 1000, .gid = 1000, .batch = true, .end_state = "",
					  .submit_time = b->now - 60, .limit_min = 60, .nodes = 2, .tasks = 2, .name = "melt",
					  .partition = "fast", .features = "", .admin_comment = b->texts[i].comment,
					  .account = "", .qos = ""};
}

/* A probe, which stays in the queue. */
static int fake_submit(void *arg, const struct cluster_submission *s, uint32_t *job_id, struct errbuf *errp)
{
	struct bench *b = arg;
	struct cluster_job *j = &b->jobs[b->n];

	(void)errp;
	*job_id = (1u << 30) + (uint32_t)b->n;
	snprintf(b->texts[b->n].comment, sizeof(b->texts[0].comment), "%s", s->admin_comment);
	*j = (struct cluster_job){.job_id = *job_id, .uid = s->uid, .batch = true, .end_state = "", .submit_time = b->now,
				  .limit_min = s->limit_min, .nodes = s->nodes, .tasks = s->tasks, .nice = CLUSTER_LOWEST_NICE,
				  .name = "precedent-probe", .partition = "fast", .features = "",
				  .admin_comment = b->texts[b->n++].comment, .account = "", .qos = ""};
	return 0;
}

static void jobs_change(struct bench *b, size_t n)
{
	for (size_t k = 0; k < n && b->pending < b->n_asked; k++) {
		struct cluster_job *j = &b->jobs[b->pending++];

		j->phase = CLUSTER_RUNNING;
		j->start_time = b->now;
		j->end_time = b->now + 3600;
	}
	for (size_t k = 0; k < n && b->pending - b->running > 5 * n; k++) {
		struct cluster_job *j = &b->jobs[b->running++];

		j->phase = CLUSTER_ENDED;
		j->end_time = b->now;
		j->elapsed_s = (double)(b->now - j->start_time);
		j->end_state = "FAILED";
	}
}

/* ---- programs ---- */

#define USERS 5000

static void program_make(struct store *s, size_t i, bool waits, int64_t now, struct errbuf *err)
{
	struct store_estimate e = {.candidate = "fast", .e = {.mean_s = 100, .lo_s = 90, .hi_s = 110, .n = 3}, .updated = now, .scale = 1};
	const struct cluster_layout layout = {.gid = 1000};
	struct store_probe probe = {.candidate = "fast", .state = PROBE_WAITING, .updated = now};
	struct store_program p = {.uid = 2000 + (uint32_t)(i % USERS), .state = waits ? PROGRAM_BUILDING : PROGRAM_READY, .nodes = 2,
				  .tasks = 2, .source_job = 1, .source_elapsed_s = 100, .source_candidate = "fast", .n_traces = 1,
				  .created = now, .updated = now - (int64_t)(i % 1000)};

	snprintf(p.key, sizeof(p.key), "%016zx%016zx", (i + 1) * 0x9e3779b97f4a7c15u, i | 1ul << 40);
	memcpy(p.family, p.key, sizeof(p.family));
	memcpy(probe.key, p.key, sizeof(probe.key));
	snprintf(p.name, sizeof(p.name), "program-%zu", i);
	if (store_program_put(s, &p, err) < 0 || (waits && store_layout_put(s, p.key, &layout, err) < 0) ||
	    (waits ? store_probe_put(s, &probe, err) : store_estimate_put(s, p.key, &e, err)) < 0)
		die(err->text);
}

static void programs_make(struct store *s, size_t n, size_t waiting, int64_t now)
{
	struct errbuf err = {""};

	if (store_begin(s, &err) < 0)
		die(err.text);
	for (size_t i = 0; i < n; i++)
		program_make(s, i, i < waiting, now, &err);
	if (store_commit(s, &err) < 0)
		die(err.text);
}

/* ---- looks ---- */

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void look(struct bench *b, double *follow_ms, double *waits_ms)
{
	static const struct start_forecast_ops ops = {NULL, fake_will_run, fake_groups, fake_clock};
	struct cluster_snapshot snap = {b->jobs, b->n, b->now};
	struct errbuf err = {""};
	double t0 = cpu_ms(), t1;

	if (cluster_comments_parse(&b->comments, b->jobs, b->n, &err) < 0)
		die(err.text);
	if (follow_poll(&b->env, &b->memory, &snap, b->now, &err) < 0 || store_heartbeat_set(b->env.store, b->now, &err) < 0)
		die(err.text);
	t1 = cpu_ms();
	if (start_forecast_poll(b->forecast, &b->env, &ops, &snap, b->now, &err) < 0)
		die(err.text);
	*follow_ms = t1 - t0;
	*waits_ms = cpu_ms() - t1;
	b->now += POLL_S;
}

static void looks(struct bench *b, const char *what, size_t change)
{
	double follow[LOOKS], waits[LOOKS];

	for (int i = 0; i < LOOKS; i++) {
		jobs_change(b, change);
		look(b, &follow[i], &waits[i]);
	}
	qsort(follow, LOOKS, sizeof(follow[0]), compare);
	qsort(waits, LOOKS, sizeof(waits[0]), compare);
	printf("%-32s follow %7.2f ms   waits %6.2f ms\n", what, follow[LOOKS / 2], waits[LOOKS / 2]);
}

int main(int argc, char **argv)
{
	struct cluster_ops ops = {.submit = fake_submit, .set_limit = fake_limit, .cancel = fake_cancel,
						.arm = fake_arm};
	struct precedent_conf conf = {.mode = MODE_OBSERVE, .n_candidates = 2, .margin = 0.15, .min_limit_min = 1,
				      .heartbeat_timeout_s = 120, .poll_interval_s = POLL_S, .spool_dir = "/nowhere", .install_dir = "/usr", .probe_seconds = 10,
				      .probe_budget = 1};
	struct probes_turn turn = {0};
	struct bench b = {.n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000, .now = 1700000000};
	size_t change = argc > 2 ? strtoul(argv[2], NULL, 10) : 100, programs = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	char dir[] = "/tmp/precedent-bench.XXXXXX", path[64], what[64];
	struct errbuf err = {""};
	double follow, waits;

	if (!b.n || argc > 5 || !mkdtemp(dir)) {
		fprintf(stderr, "usage: bench_look [JOBS [CHANGING [PROGRAMS [WAITING]]]]\n");
		return 2;
	}
	conf.candidates[0] = (struct conf_candidate){"fast", "fast", ""};
	conf.candidates[1] = (struct conf_candidate){"slow", "slow", ""};
	snprintf(path, sizeof(path), "%s/precedent.db", dir);
	ops.arg = &b;
	b.n_asked = b.n;
	b.jobs = calloc(b.n + PROBES_OPEN_MAX, sizeof(*b.jobs));
	b.texts = calloc(b.n + PROBES_OPEN_MAX, sizeof(*b.texts));
	b.forecast = start_forecast_create();
	b.env = (struct daemon_env){.conf = &conf, .ops = &ops};
	b.memory.cache = poll_cache_create();
	b.memory.probes = &turn;
	if (!b.jobs || !b.texts || !b.forecast || store_open(path, STORE_WRITE | STORE_WAIT, &b.env.store, &err) < 0)
		die(err.text[0] ? err.text : "out of memory");
	programs_make(b.env.store, programs, argc > 4 ? strtoul(argv[4], NULL, 10) : 0, b.now);
	for (size_t i = 0; i < b.n_asked; i++)
		job_make(&b, i);
	look(&b, &follow, &waits);
	printf("%-32s follow %7.2f ms   waits %6.2f ms\n", "all of them new", follow, waits);
	looks(&b, "nothing changes", 0);
	snprintf(what, sizeof(what), "%zu start and %zu end", change, change);
	looks(&b, what, change);
	poll_cache_destroy(b.memory.cache);
	b.memory.cache = NULL;
	looks(&b, "nothing changes, no memory", 0);
	store_close(b.env.store);
	start_forecast_destroy(b.forecast);
	free(b.jobs);
	free(b.texts);
	for (const char *const *s = (const char *const[]){"", "-wal", "-shm", NULL}; *s; s++) {
		snprintf(path, sizeof(path), "%s/precedent.db%s", dir, *s);
		unlink(path);
	}
	rmdir(dir);
	return 0;
}
