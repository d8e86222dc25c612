/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What daemon and commands ask of a store with 10^6 jobs of history: a year of runs of 10^5 programs of 500 users, with
 * estimates and probes on two candidates each.
 *
 *   bench_store [RUNS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/comment.h"
#include "common/duration.h"
#include "predictor/query/answer.h"
#include "predictor/follow/follow.h"
#include "predictor/store/keep.h"
#include "predictor/store/probes.h"
#include "predictor/store/runs.h"

#define USERS	  500
#define YEAR_S	  (365 * 86400)
#define NOW	  1700000000
#define ROWS_A_TX 20000
#define QUEUE	  10000

static struct errbuf err;

static void must(int rv)
{
	if (rv >= 0)
		return;
	fprintf(stderr, "bench_store: %s\n", err.text);
	exit(1);
}

static double clock_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

static uint64_t random_next(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void key_of(uint64_t program, char key[IDENTITY_KEY_LEN + 1])
{
	snprintf(key, IDENTITY_KEY_LEN + 1, "%016llx%016llx", (unsigned long long)(program * 0x9e3779b97f4a7c15ULL),
		 (unsigned long long)program);
}

static uint32_t user_of(uint64_t program)
{
	return 1000 + (uint32_t)(program % USERS);
}

/* ---- filling ---- */

static const char *const candidates[] = {"fast", "slow"};

static void program_fill(struct store *s, uint64_t n, const char *record)
{
	struct store_program p = {.uid = user_of(n), .state = PROGRAM_READY, .name = "app", .source_candidate = "fast",
				  .source_elapsed_s = 3600, .n_traces = 1, .mpi_s = 3590, .nodes = 4, .tasks = 128,
				  .source_job = (uint32_t)n + 1, .created = NOW - YEAR_S, .updated = NOW - (int64_t)(n % YEAR_S)};

	key_of(n, p.key);
	key_of(n / 4, p.family);
	must(store_program_put(s, &p, &err));
	for (unsigned i = 0; i < 2; i++) {
		struct store_estimate e = {.e = {3600, 3500, 3700, ESTIMATE_BLEND, 5}, .node_class = "0123456789abcdef",
					   .updated = p.updated, .scale = 1};
		struct store_probe b = {.state = PROBE_DONE, .tries = 1, .jobid = 5, .cost_node_s = 40, .result = record,
					.class_hex = "0123456789abcdef"};

		snprintf(e.candidate, sizeof(e.candidate), "%s", candidates[i]);
		snprintf(b.candidate, sizeof(b.candidate), "%s", candidates[i]);
		memcpy(b.key, p.key, sizeof(b.key));
		must(store_estimate_put(s, p.key, &e, &err));
		must(store_probe_put(s, &b, &err));
	}
}

static void run_fill(struct store *s, uint64_t n, uint64_t runs, uint64_t programs)
{
	uint64_t program = random_next() % programs;
	int64_t submit = NOW - YEAR_S + (int64_t)((double)n / (double)runs * (YEAR_S - 7200));
	struct store_run r = {.jobid = (uint32_t)n + 1, .submit_time = submit, .uid = user_of(program), .name = "app",
			      .act = ACT_PREDICT, .mode = MODE_LIMIT, .pred_s = 3600, .lo_s = 3500, .hi_s = 3700,
			      .user_limit_min = 240, .limit_min = 71, .nodes = 4, .tasks = 128, .start_time = submit + 60,
			      .elapsed_s = 3500 + (double)(random_next() % 300), .end_state = "COMPLETED", .pred_scale = 1};
	const char *where = candidates[random_next() & 1];

	key_of(program, r.key);
	key_of(program / 4, r.family);
	snprintf(r.partition, sizeof(r.partition), "%s", where);
	snprintf(r.candidate, sizeof(r.candidate), "%s", where);
	snprintf(r.pred_candidate, sizeof(r.pred_candidate), "%s", where);
	r.end_time = r.start_time + (int64_t)r.elapsed_s;
	must(store_run_put(s, &r, &err));
}

static void fill(struct store *s, uint64_t runs, uint64_t programs)
{
	char record[1201];

	memset(record, 'r', sizeof(record) - 1);
	record[sizeof(record) - 1] = '\0';
	for (uint64_t n = 0; n < programs + runs; n++) {
		if (n % ROWS_A_TX == 0)
			must(store_begin(s, &err));
		if (n < programs)
			program_fill(s, n, record);
		else
			run_fill(s, n - programs, runs, programs);
		if (n % ROWS_A_TX == ROWS_A_TX - 1 || n == programs + runs - 1)
			must(store_commit(s, &err));
	}
	for (int day = 0; day < 365; day++)
		for (unsigned u = 0; u < USERS; u += 10)
			must(store_cost_add(s, NOW - day * 86400, 1000 + u, "fast", 40, &err));
}

/* ---- measuring ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *what, double *ms, size_t n)
{
	qsort(ms, n, sizeof(*ms), compare);
	printf("%-44s n %-6zu p50 %10.3f ms   p99 %10.3f ms\n", what, n, ms[n / 2], ms[n * 99 / 100]);
}

static void measure_lookup(struct store *s, uint64_t programs, size_t n)
{
	double *ms = calloc(n, sizeof(*ms));
	struct store_lookup l;
	char key[IDENTITY_KEY_LEN + 1];

	for (size_t warm = 0; warm < 2; warm++)
		for (size_t i = 0; i < n; i++) {
			double t = now_ms();

			key_of(random_next() % programs, key);
			must(store_lookup(s, key, &l, &err));
			ms[i] = now_ms() - t;
		}
	print("look-up of a program with two estimates", ms, n);
	free(ms);
}

static void measure_answer(struct store *s, const struct precedent_conf *conf, const char *what, const char *request, uint32_t uid,
			   size_t n)
{
	struct answer_env env = {.store = s, .conf = conf, .uid = uid, .admin = uid == 0, .now = NOW};
	double *ms = calloc(n, sizeof(*ms));

	for (size_t i = 0; i < n; i++) {
		double t = now_ms();
		char *text;

		env.uid = uid ? uid + (uint32_t)(i % USERS) : 0;
		text = answer_make(&env, request, strlen(request));
		ms[i] = now_ms() - t;
		if (!text || !strncmp(text, "{\"error\"", 8)) {
			fprintf(stderr, "bench_store: %s: %.200s\n", what, text ? text : "no memory");
			exit(1);
		}
		free(text);
	}
	print(what, ms, n);
	free(ms);
}

static int nothing(void *arg, uint32_t job, uint32_t number, struct errbuf *e)
{
	(void)arg;
	(void)job;
	(void)number;
	(void)e;
	return 0;
}

static int no_limit(void *arg, uint32_t job, uint32_t limit_min, const char *comment, struct errbuf *e)
{
	(void)comment;
	return nothing(arg, job, limit_min, e);
}

static int no_submission(void *arg, const struct cluster_submission *sub, uint32_t *job, struct errbuf *e)
{
	(void)arg;
	(void)sub;
	(void)job;
	return err_set(e, "none in here");
}

static int no_cancel(void *arg, uint32_t job, struct errbuf *e)
{
	return nothing(arg, job, 0, e);
}

static struct cluster_job *queue_make(uint64_t runs, uint64_t programs)
{
	struct cluster_job *jobs = calloc(QUEUE, sizeof(*jobs));

	for (unsigned i = 0; jobs && i < QUEUE; i++) {
		uint64_t program = random_next() % programs;
		char *text = malloc(COMMENT_TEXT_MAX);
		struct job_comment c;

		comment_init(&c);
		c.act = ACT_PREDICT;
		c.mode = MODE_LIMIT;
		key_of(program, c.key);
		key_of(program / 4, c.family);
		snprintf(c.candidate, sizeof(c.candidate), "fast");
		c.pred_s = 3600;
		c.lo_s = 3500;
		c.hi_s = 3700;
		c.user_limit_min = 240;
		c.limit_min = 71;
		if (!text || comment_format(&c, text, COMMENT_TEXT_MAX) < 0)
			exit(1);
		jobs[i] = (struct cluster_job){.job_id = (uint32_t)runs + 10 + i, .uid = user_of(program), .end_state = "",
					       .phase = i % 4 ? CLUSTER_PENDING : CLUSTER_RUNNING, .submit_time = NOW,
					       .start_time = i % 4 ? 0 : NOW, .end_time = i % 4 ? 0 : NOW + 71 * 60, .limit_min = 71,
					       .nodes = 4, .tasks = 128, .name = "app", .partition = "fast", .features = "",
					       .account = "", .qos = "", .admin_comment = text};
	}
	return jobs;
}

static void measure_poll(struct store *s, const struct precedent_conf *conf, uint64_t runs, uint64_t programs)
{
	struct cluster_ops ops = {.submit = no_submission, .set_limit = no_limit, .cancel = no_cancel, .arm = nothing};
	struct daemon_env env = {.conf = conf, .store = s, .ops = &ops};
	struct follow_memory memory = {0};
	struct cluster_job *jobs = queue_make(runs, programs);
	struct cluster_snapshot snap = {jobs, QUEUE, NOW};
	struct cluster_comments comments = {0};
	double ms[50], cpu[50], t = now_ms();

	must(cluster_comments_parse(&comments, jobs, QUEUE, &err));
	must(follow_poll(&env, &memory, &snap, NOW, &err));
	printf("%-44s n %-6d     %10.3f ms\n", "first look at 10000 jobs in the queue", 1, now_ms() - t);
	for (int i = 0; i < 50; i++) {
		t = now_ms();
		cpu[i] = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
		must(follow_poll(&env, &memory, &snap, NOW + 10 * i, &err));
		must(store_heartbeat_set(s, NOW + 10 * i, &err));
		ms[i] = now_ms() - t;
		cpu[i] = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu[i];
	}
	print("each further look, nothing new, heartbeat", ms, 50);
	print("  its processor time", cpu, 50);
	for (unsigned i = 0; i < QUEUE; i++)
		free((char *)(uintptr_t)jobs[i].admin_comment);
	free(jobs);
	free(comments.list);
}

static void measure_prune(struct store *s)
{
	struct store_pruning at = {0};
	double ms[200];

	for (int i = 0; i < 200; i++) {
		double t = now_ms();

		must(store_prune_step(s, NOW - YEAR_S / 2, 500, &at, &err));
		ms[i] = now_ms() - t;
	}
	print("retention: 500 runs dropped", ms, 200);
}

static void bench(const char *dir, uint64_t runs)
{
	uint64_t programs = runs / 10 ? runs / 10 : 1;
	struct precedent_conf conf = {.mode = MODE_LIMIT, .n_candidates = 2, .margin = 0.15, .spool_dir = (char *)(uintptr_t)dir,
				      .probe_budget = 0.01, .probe_seconds = 5};
	char path[256], copy[256];
	struct store *writer, *reader;
	struct store_counts c;
	double t = now_ms();

	conf.candidates[0] = (struct conf_candidate){"fast", "fast", ""};
	conf.candidates[1] = (struct conf_candidate){"slow", "slow", ""};
	snprintf(path, sizeof(path), "%s/precedent.db", dir);
	snprintf(copy, sizeof(copy), "%s/backup", dir);
	must(store_open(path, STORE_WRITE | STORE_WAIT, &writer, &err));
	fill(writer, runs, programs);
	must(store_open(path, STORE_READ, &reader, &err));
	must(store_counts(reader, &c, &err));
	printf("store: %llu runs, %llu programs, %.0f MB, written in %.0f s\n", (unsigned long long)c.runs,
	       (unsigned long long)c.programs, (double)c.file_bytes / 1e6, (now_ms() - t) / 1e3);
	measure_lookup(reader, programs, 20000);
	measure_answer(reader, &conf, "jobs: one user's latest 20", "{\"precedent\":1,\"verb\":\"jobs\",\"max\":20}", 1000, 500);
	measure_answer(reader, &conf, "jobs: everybody's latest 500",
		       "{\"precedent\":1,\"verb\":\"jobs\",\"max\":500,\"all\":true}", 0, 20);
	measure_answer(reader, &conf, "show: one job", "{\"precedent\":1,\"verb\":\"show\",\"job\":500}", 0, 100);
	measure_answer(reader, &conf, "accuracy: 90 days, one user", "{\"precedent\":1,\"verb\":\"accuracy\",\"days\":90}", 1000, 100);
	measure_answer(reader, &conf, "accuracy: 90 days, everybody", "{\"precedent\":1,\"verb\":\"accuracy\",\"days\":90}", 0, 3);
	measure_answer(reader, &conf, "cost: 90 days, one user", "{\"precedent\":1,\"verb\":\"cost\",\"days\":90}", 1000, 100);
	measure_answer(reader, &conf, "cost: 90 days, everybody", "{\"precedent\":1,\"verb\":\"cost\",\"days\":90}", 0, 3);
	measure_poll(writer, &conf, runs, programs);
	t = now_ms();
	must(store_backup(path, copy, &err));
	printf("%-44s n %-6d     %10.3f ms\n", "backup, with its check", 1, now_ms() - t);
	measure_prune(writer);
	store_close(reader);
	store_close(writer);
}

static void clean(const char *dir)
{
	static const char *const names[] = {"precedent.db", "precedent.db-wal", "precedent.db-shm", "backup"};
	char path[300];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int main(int argc, char **argv)
{
	uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	const char *base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char dir[200];

	snprintf(dir, sizeof(dir), "%s/precedent-bench.XXXXXX", base);
	if (runs < 1000 || !mkdtemp(dir)) {
		fprintf(stderr, "usage: bench_store [RUNS]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	bench(dir, runs);
	clean(dir);
	return 0;
}
