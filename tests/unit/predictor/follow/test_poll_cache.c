/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of what looks have settled: what it says of jobs, and that a precedentd with one does and stores exactly what
 * one without does, over random lives of jobs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "tests/unit/follow_world.h"
#include "predictor/follow/poll_cache.h"
#include "predictor/store/busy.h"

/* ---- what it says ---- */

static struct cluster_job plain_job(uint32_t id)
{
	return (struct cluster_job){.job_id = id, .submit_time = 1000 + id, .phase = CLUSTER_PENDING, .end_state = "", .nodes = 2,
				    .tasks = 4, .limit_min = 60, .name = "a", .partition = "fast", .features = "",
				    .admin_comment = "precedent:1 act=trace", .account = "", .qos = ""};
}

/* One look at these jobs, all of which settle: how many it had to look at; the ids of those that are gone in *gone. */
static int one_look(struct poll_cache *s, struct cluster_job *jobs, size_t n, uint32_t *gone, size_t *n_gone)
{
	struct cluster_snapshot snap = {jobs, n, 0};
	const struct store_run_id *list;
	struct errbuf e = {""};
	int looked = 0;

	if (poll_cache_begin(s, w->store, &snap, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < n; i++) {
		if (poll_cache_settled(s, &jobs[i]))
			continue;
		looked++;
		poll_cache_note(s, &jobs[i], true);
	}
	list = poll_cache_gone(s, n_gone);
	for (size_t i = 0; list && i < *n_gone; i++)
		gone[i] = list[i].jobid;
	poll_cache_end(s);
	return list ? looked : -looked;
}

static void test_what_it_says(void **state)
{
	struct poll_cache *s = poll_cache_create();
	struct cluster_job jobs[5];
	uint32_t gone[8];
	size_t n;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		jobs[i] = plain_job(10 + i);
	assert_int_equal(one_look(s, jobs, 5, gone, &n), -5); /* the first: all open runs are to be looked at */
	assert_int_equal(one_look(s, jobs, 5, gone, &n), 0);
	assert_int_equal(n, 0);
	jobs[1].limit_min++;
	jobs[2].phase = CLUSTER_RUNNING;
	jobs[3].end_time = 5; /* a plan */
	assert_int_equal(one_look(s, jobs, 5, gone, &n), 2);
	assert_int_equal(one_look(s, jobs + 1, 3, gone, &n), 0); /* the first and the last have gone */
	assert_int_equal(n, 2);
	assert_int_equal(gone[0], 10);
	assert_int_equal(gone[1], 14);
	assert_int_equal(one_look(s, jobs, 5, gone, &n), 2); /* and are back */
	assert_int_equal(n, 0);
	jobs[0].submit_time++; /* queued again */
	assert_int_equal(one_look(s, jobs, 5, gone, &n), 1);
	assert_int_equal(n, 1);
	assert_int_equal(gone[0], 10);
	assert_int_equal(one_look(s, jobs, 0, gone, &n), 0);
	assert_int_equal(n, 5);
	poll_cache_destroy(s);
}

static void test_forgets(void **state)
{
	struct errbuf e = {""};
	struct poll_cache *s = poll_cache_create();
	struct cluster_job jobs[2] = {plain_job(1), plain_job(2)};
	struct store *other;
	uint32_t gone[8];
	size_t n;

	(void)state;
	one_look(s, jobs, 2, gone, &n);
	assert_int_equal(store_heartbeat_set(w->store, 5, &e), 0); /* our own writing changes nothing */
	assert_int_equal(one_look(s, jobs, 2, gone, &n), 0);
	assert_int_equal(store_open(w->store_file, STORE_WRITE | STORE_WAIT, &other, &e), 0);
	assert_int_equal(store_heartbeat_set(other, 6, &e), 0);
	store_close(other);
	assert_int_equal(one_look(s, jobs, 2, gone, &n), -2);
	assert_int_equal(one_look(s, jobs, 2, gone, &n), 0);
	poll_cache_forget(s);
	assert_int_equal(one_look(s, jobs, 2, gone, &n), -2);
	poll_cache_destroy(s);
	assert_false(poll_cache_settled(NULL, &jobs[0]));
	assert_null(poll_cache_gone(NULL, &n));
}

/* ---- with and without ---- */

#define LOOKS 150

static char *append_rows(char *text, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	size_t len = strlen(text);

	assert_int_equal(sqlite3_open_v2(w->store_file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const char *v = (const char *)sqlite3_column_text(st, i);

			text = realloc(text, len + (v ? strlen(v) : 0) + 2);
			len += (size_t)sprintf(text + len, "%s|", v ? v : "");
		}
		text[len - 1] = '\n';
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return text;
}

static unsigned chance(unsigned *x, unsigned n)
{
	*x = *x * 1103515245u + 12345u;
	return (*x >> 16) % n;
}

/* Something happens to a job. */
static void live(struct cluster_job *j, unsigned *x)
{
	static const char *const ends[] = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"};

	switch (chance(x, 10)) {
	case 0:
	case 1:
		if (j->phase == CLUSTER_PENDING)
			job_run(j);
		break;
	case 2:
	case 3:
		if (j->phase == CLUSTER_RUNNING) {
			job_end(j, ends[chance(x, 5)], 1 + chance(x, 3000));
			if (chance(x, 2))
				trace_leave(j->job_id);
		}
		break;
	case 4: /* queued again, with another time of submission or the same */
		j->submit_time += chance(x, 2) ? 10 : 0;
		j->restarts++;
		j->phase = CLUSTER_PENDING;
		j->end_state = "";
		j->start_time = j->end_time = 0;
		break;
	case 5:
		j->limit_min += chance(x, 20);
		break;
	case 6:
		j->partition = chance(x, 2) ? "slow" : "fast";
		break;
	case 7:
		if (j->phase == CLUSTER_RUNNING || j->phase == CLUSTER_SUSPENDED)
			j->phase = chance(x, 2) ? CLUSTER_SUSPENDED : CLUSTER_RUNNING;
		break;
	case 8: /* slurmctld takes a task out of an array */
		j->array_task = chance(x, 4);
		break;
	default:
		break;
	}
}

static struct cluster_job kept; /* out of sight */
static bool has;

/* slurmctld forgets it, or finds it again. */
static void vanish(unsigned *x)
{
	if (has && chance(x, 2) && w->n < JOBS - 1) {
		w->jobs[w->n++] = kept;
		has = false;
	} else if (!has && w->n > 2) {
		size_t i = chance(x, (unsigned)w->n - 1);

		kept = w->jobs[i];
		has = true;
		memmove(&w->jobs[i], &w->jobs[i + 1], (w->n - i - 1) * sizeof(kept)); /* comments stay where they are */
		w->n--;
	}
}

static void somebody_writes(unsigned *x)
{
	struct errbuf e = {""};
	struct store *other;

	assert_int_equal(store_open(w->store_file, STORE_WRITE | STORE_WAIT, &other, &e), 0);
	if (chance(x, 2))
		assert_true(store_key_forget(other, KEY, getuid(), w->now, &e) >= 0);
	else
		assert_int_equal(store_heartbeat_set(other, w->now, &e), 0);
	store_close(other);
}

/* The directory has another name each time. */
static void paths_hide(char *text)
{
	for (char *p = text; (p = strstr(p, w->dir)); p += strlen(w->dir))
		memset(p, '@', strlen(w->dir));
}

/* A life of the cluster: what it left in the store, in the log, and how often precedentd has acted. */
static char *cluster_life(unsigned seed, bool with_memory)
{
	char *text = strdup("");
	unsigned x = seed;
	uint32_t next = 100;
	void *none = NULL;
	size_t len;

	has = false;
	assert_int_equal(world_setup(&none), 0);
	if (!with_memory) {
		poll_cache_destroy(w->memory.cache);
		w->memory.cache = NULL;
	}
	for (int i = 0; i < LOOKS; i++) {
		if (chance(&x, 4) == 0 && next < 100 + JOBS / 3)
			job_add(next++, chance(&x, 2) ? ACT_TRACE : ACT_OBSERVE);
		for (size_t k = 0; k < w->n; k++)
			if (chance(&x, 6) == 0 && w->jobs[k].job_id < 1000)
				live(&w->jobs[k], &x);
		if (chance(&x, 12) == 0)
			vanish(&x);
		if (chance(&x, 25) == 0)
			somebody_writes(&x);
		if (chance(&x, 40) == 0)
			conf_make(chance(&x, 2) ? "Candidates=fast,slow:big" : "Candidates=fast");
		look();
		len = strlen(text);
		text = realloc(text, len + strlen(w->log) + 2);
		sprintf(text + len, "%s\n", w->log);
	}
	text = append_rows(text, "SELECT jobid, submit_time, hex(key), act, partition, candidate, limit_min, nodes, tasks, start_time,"
				 " end_time, elapsed_s, end_state, extensions, restarts, array_task FROM runs ORDER BY 1, 2");
	text = append_rows(text, "SELECT hex(key), state, reason, source_job, updated FROM programs ORDER BY 1");
	text = append_rows(text, "SELECT hex(key), candidate, jobid, state, tries, reason FROM probes ORDER BY 1, 2");
	paths_hide(text);
	world_teardown(&none);
	return text;
}

static void test_same_as_without(void **state)
{
	int rows = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++) {
		char *with = cluster_life(seed, true), *without = cluster_life(seed, false);

		assert_string_equal(with, without);
		for (const char *p = with; *p; p++)
			rows += *p == '\n';
		free(with);
		free(without);
	}
	assert_true(rows > 12 * LOOKS + 100); /* something did happen */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_what_it_says),
		T(test_forgets),
		cmocka_unit_test(test_same_as_without),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
