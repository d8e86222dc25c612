/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What precedentd asks the scheduler, how often, for whom, and what it makes of the answers; doors and shapes in the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/follow/start_forecast.h"
#include "predictor/store/places.h"
#include "tests/unit/follow_world.h"

#define OTHER "00112233445566778899aabbccddeeff"

/* slurmctld, as it answers here. */
static struct oracle {
	struct start_forecast *forecast;
	unsigned asked, groups_asked;
	struct cluster_submission last;
	char partition[CONF_NAME_MAX];
	int64_t wait_s;
	int rv, in_groups;
	const char *list; /* AllowGroups of fast */
	double clock_ms, takes_ms;
	struct places places;
	struct errbuf err;
} o;

static int fake_will_run(void *arg, const struct cluster_submission *sub, int64_t *start, struct errbuf *errp)
{
	(void)arg;
	o.asked++;
	o.last = *sub;
	snprintf(o.partition, sizeof(o.partition), "%s", sub->partition);
	o.clock_ms += o.takes_ms;
	if (o.rv <= 0)
		return err_set(errp, "it says so"), o.rv;
	*start = w->now + o.wait_s;
	return 1;
}

static int fake_groups(void *arg, uint32_t uid, const char *groups)
{
	(void)arg;
	assert_int_equal(uid, 1000);
	assert_string_equal(groups, o.list);
	o.groups_asked++;
	return o.in_groups;
}

static double fake_clock(void *arg)
{
	(void)arg;
	return o.clock_ms;
}

static void ok(int rv)
{
	if (rv < 0)
		fail_msg("%s", o.err.text);
}

static const struct start_forecast_ops ops = {NULL, fake_will_run, fake_groups, fake_clock};

/* A look after so many seconds; the questions of this look alone. */
static unsigned poll_after(int seconds)
{
	struct cluster_snapshot snap = {.jobs = w->jobs, .n = w->n, .taken = w->now + seconds};
	unsigned before = o.asked;

	w->now += seconds;
	comments_read();
	ok(start_forecast_poll(o.forecast, &w->env, &ops, &snap, w->now, &o.err));
	ok(store_places_load(w->store, 0, &o.places, &o.err));
	return o.asked - before;
}

static void put_estimate(const char *key, const char *candidate, double mean_s)
{
	struct store_estimate e = {.e = {mean_s, mean_s * 0.95, mean_s * 1.05, ESTIMATE_BLEND, 1}, .updated = START};

	snprintf(e.candidate, sizeof(e.candidate), "%s", candidate);
	ok(store_estimate_put(w->store, key, &e, &o.err));
}

static void put_program(const char *key)
{
	struct store_program p = {.uid = 1000, .state = PROGRAM_READY, .created = START, .updated = START};

	strcpy(p.key, key);
	ok(store_program_put(w->store, &p, &o.err));
	put_estimate(key, "fast", 100);
	put_estimate(key, "slow:big", 2000);
}

static void put_doors(uint32_t max_nodes, bool restricted)
{
	struct place_partition doors[] = {
		{"fast", true, restricted, 1, max_nodes, 8, restricted ? (char *)(uintptr_t)o.list : "", "", "", "", "", true, 60, 1440, 0},
		{"slow", true, false, 1, 8, 8, "", "", "", "", "", false, 60, 1440, 0}};

	ok(store_places_put(w->store, doors, 2, &o.err));
}

static struct cluster_job *job_submit(uint32_t id, const char *key, enum precedent_mode mode)
{
	struct cluster_job *j = job_add(id, ACT_PREDICT);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	strcpy(c.key, key);
	c.mode = mode;
	assert_true(comment_format(&c, w->comments[w->n - 1], sizeof(w->comments[0])) > 0);
	j->batch = true;
	j->nodes = 2;
	j->tasks = 8;
	j->memory = 500;
	j->account = "phys";
	j->submit_time = w->now;
	job_run(j);
	return j;
}

static int waits_setup(void **state)
{
	world_setup(state);
	memset(&o, 0, sizeof(o));
	o.rv = o.in_groups = 1;
	o.takes_ms = 2;
	o.list = "staff";
	o.forecast = start_forecast_create();
	w->conf.mode = MODE_PLACE;
	put_doors(8, false);
	put_program(KEY);
	return 0;
}

static int waits_teardown(void **state)
{
	start_forecast_destroy(o.forecast);
	places_free(&o.places);
	return world_teardown(state);
}

static const struct place_wait *wait_of(const char *candidate)
{
	for (size_t i = 0; i < o.places.n_waits; i++)
		if (!strcmp(o.places.waits[i].candidate, candidate))
			return &o.places.waits[i];
	return NULL;
}

static void test_asks(void **state)
{
	struct store_program p;
	const struct place_wait *row;
	double wait_s;

	(void)state;
	assert_int_equal(poll_after(1), 0); /* no job of the program was seen: its shape is not known */
	job_submit(7, KEY, MODE_PLACE)->phase = CLUSTER_PENDING;
	w->jobs[0].nodes = 1; /* a guess */
	assert_int_equal(poll_after(1), 0);
	job_run(&w->jobs[0]);
	w->jobs[0].nodes = 2;
	o.wait_s = 300;
	assert_int_equal(poll_after(1), 2);
	assert_int_equal(o.places.n_shapes, 1);
	assert_int_equal(o.places.shapes[0].memory, 500);
	assert_string_equal(o.places.shapes[0].account, "phys");
	assert_int_equal(store_program_get(w->store, KEY, &p, &o.err), 1);
	assert_int_equal(p.shape, o.places.shapes[0].id);
	assert_string_equal(o.partition, "slow");
	assert_string_equal(o.last.features, "big");
	assert_string_equal(o.last.account, "phys");
	assert_int_equal(o.last.uid, 1000);
	assert_int_equal(o.last.limit_min, 60); /* 2000 s and margins, in steps */
	assert_int_equal(wait_of("fast")->limit_min, 15);
	assert_int_equal(places_wait(&o.places, p.shape, "fast", 6, w->now + 20, 300, &wait_s, &row), PLACE_KNOWN);
	assert_true(wait_s == 280);
	assert_true(row->cost_ms == 2);
	assert_int_equal(places_wait(&o.places, p.shape, "fast", 16, w->now, 300, &wait_s, &row), PLACE_UNASKED);
	assert_int_equal(places_wait(&o.places, p.shape, "fast", 6, w->now + 301, 300, &wait_s, &row), PLACE_UNASKED);
	assert_int_equal(places_wait(&o.places, p.shape + 1, "fast", 6, w->now, 300, &wait_s, &row), PLACE_UNASKED);
	assert_int_equal(poll_after(10), 0); /* again after two looks */
	assert_int_equal(poll_after(10), 2);
}

static void test_nobody_places(void **state)
{
	(void)state;
	w->conf.mode = MODE_LIMIT;
	job_submit(7, KEY, MODE_LIMIT);
	assert_int_equal(poll_after(1), 0);
	assert_int_equal(o.places.n_waits, 2); /* what would be asked is known */
	w->now += 100;
	job_submit(8, KEY, MODE_PLACE); /* somebody asks for it himself */
	assert_int_equal(poll_after(1), 2);
}

/* ... also whose job was seen only when it waited, or was cancelled. */
static void test_wish_of_a_cancelled_job(void **state)
{
	struct cluster_job *j;

	(void)state;
	w->conf.mode = MODE_LIMIT;
	job_submit(7, KEY, MODE_LIMIT);
	assert_int_equal(poll_after(1), 0);
	w->now += 100;
	j = job_submit(8, KEY, MODE_PLACE);
	j->nodes = 1; /* a guess: not its shape */
	j->phase = CLUSTER_ENDED;
	j->end_state = "CANCELLED";
	assert_int_equal(poll_after(1), 2);
	assert_int_equal(o.places.n_shapes, 1);
}

static void test_bounded(void **state)
{
	char key[33];
	unsigned asked[7] = {0};

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "%032x", i + 1);
		put_program(key);
		job_submit(10 + i, key, MODE_PLACE)->tasks = 8 + i;
	}
	for (int i = 0; i < 7; i++)
		asked[i] = poll_after(10);
	assert_int_equal(o.places.n_waits, 20);
	for (int i = 0; i < 6; i++)
		assert_int_equal(asked[i], i % 3 < 2 ? START_FORECAST_QUESTIONS : asked[i]);
	for (size_t i = 0; i < o.places.n_waits; i++) /* in turn, and none is forgotten */
		assert_true(w->now - o.places.waits[i].asked <= 30);
	o.takes_ms = 100; /* 250 ms are three of these */
	assert_int_equal(poll_after(30), 3);
}

static void test_keeps_away(void **state)
{
	(void)state;
	job_submit(7, KEY, MODE_PLACE);
	o.rv = -1;
	assert_int_equal(poll_after(1), 1);
	assert_int_equal(wait_of("fast")->answer, PLACE_UNASKED);
	assert_non_null(strstr(w->log, "slurmctld does not say when a job would start on "));
	assert_int_equal(poll_after(START_FORECAST_PAUSE_S - 1), 0);
	o.rv = 1;
	o.takes_ms = START_FORECAST_SLOW_MS + 1;
	assert_int_equal(poll_after(1), 1);
	assert_int_equal(poll_after(2 * START_FORECAST_PAUSE_S - 1), 0);
	o.takes_ms = 1;
	assert_int_equal(poll_after(1), 2);
	assert_int_equal(poll_after(20), 2);
}

static void test_refused(void **state)
{
	(void)state;
	job_submit(7, KEY, MODE_PLACE);
	o.rv = 0;
	assert_int_equal(poll_after(1), 2);
	assert_int_equal(wait_of("fast")->answer, PLACE_REFUSED);
	assert_string_equal(wait_of("fast")->reason, "it says so");
}

/* Jobs that wait for the same nodes and are no larger come first. */
static void test_queue(void **state)
{
	struct cluster_job *first;

	(void)state;
	job_submit(7, KEY, MODE_PLACE);
	first = job_submit(8, OTHER, MODE_LIMIT);
	first->partition = "other,fast";
	first->features = "";
	first->limit_min = 10;
	first->phase = CLUSTER_PENDING;
	first->queued = true;
	first->start_time = w->now + 5000;
	poll_after(0);
	assert_int_equal(wait_of("fast")->answer, PLACE_KNOWN);
	assert_true(wait_of("fast")->wait_s == 5000);
	assert_true(wait_of("slow:big")->wait_s == 0);
	first->limit_min = 16; /* a longer one may be passed */
	poll_after(20);
	assert_true(wait_of("fast")->wait_s == 0);
	first->limit_min = 10;
	first->start_time = 0;
	poll_after(20); /* the scheduler has not looked at it yet */
	assert_int_equal(wait_of("fast")->answer, PLACE_KNOWN);
	poll_after(20);
	assert_int_equal(wait_of("fast")->answer, PLACE_AT_LEAST);
	first->queued = false; /* held, or for nodes by name */
	poll_after(20);
	assert_int_equal(wait_of("fast")->answer, PLACE_KNOWN);
	first->queued = true;
	first->nodes = 3;
	poll_after(20);
	assert_int_equal(wait_of("fast")->answer, PLACE_KNOWN);
}

static void test_doors(void **state)
{
	struct place_asker who = {1000, "", "", 2};
	const char *why;

	(void)state;
	put_doors(8, true);
	o.in_groups = 0;
	job_submit(7, KEY, MODE_PLACE);
	assert_int_equal(poll_after(1), 1);
	assert_int_equal(o.groups_asked, 1);
	assert_null(wait_of("fast"));
	assert_false(places_may_use(&o.places, "fast", &who, w->now, &why));
	assert_string_equal(why, "for other groups (AllowGroups)");
	assert_int_equal(poll_after(10), 0);
	assert_int_equal(o.groups_asked, 1); /* not with each look */
	o.in_groups = 1;
	poll_after(START_FORECAST_GROUPS_S);
	assert_int_equal(o.groups_asked, 2);
	assert_true(places_may_use(&o.places, "fast", &who, w->now, NULL));
	assert_non_null(wait_of("fast"));
	o.in_groups = -1; /* the name service is away: what was known stays, for a while */
	poll_after(START_FORECAST_GROUPS_S);
	assert_true(places_may_use(&o.places, "fast", &who, w->now, NULL));
	assert_false(places_may_use(&o.places, "fast", &who, w->now + PLACES_ACCESS_FRESH_S, NULL));
	o.in_groups = 1;
	put_doors(4, true); /* another change of the partition */
	poll_after(1);
	assert_true(places_may_use(&o.places, "fast", &who, w->now, NULL));
	o.list = "other"; /* another list: at once */
	put_doors(4, true);
	ok(store_places_load(w->store, 0, &o.places, &o.err));
	assert_false(places_may_use(&o.places, "fast", &who, w->now, NULL));
	poll_after(1);
	assert_true(places_may_use(&o.places, "fast", &who, w->now, NULL));
	o.in_groups = 0;
	poll_after(START_FORECAST_GROUPS_S);
	assert_false(places_may_use(&o.places, "fast", &who, w->now, NULL));
}

static void test_store(void **state)
{
	int64_t first, again;

	(void)state;
	put_doors(8, false);
	ok(store_places_generation(w->store, &first, &o.err));
	put_doors(8, false);
	ok(store_places_generation(w->store, &again, &o.err));
	assert_int_equal(again, first); /* nothing new */
	put_doors(4, false);
	ok(store_places_generation(w->store, &again, &o.err));
	assert_true(again > first);
	job_submit(7, KEY, MODE_PLACE);
	poll_after(1);
	assert_int_equal(places_partition(&o.places, "fast")->max_nodes, 4);
	assert_int_equal(places_partition(&o.places, "fast")->max_min, 1440);
	assert_true(places_partition(&o.places, "fast")->is_default);
	assert_null(places_partition(&o.places, "gpu"));
	assert_int_equal(o.places.n_waits, 2);
	ok(store_places_prune(w->store, w->now + 1, &o.err));
	ok(store_places_load(w->store, 0, &o.places, &o.err));
	assert_int_equal(o.places.n_waits + o.places.n_shapes, 0);
}

static void test_buckets(void **state)
{
	(void)state;
	assert_int_equal(places_bucket(0), 15);
	assert_int_equal(places_bucket(15), 15);
	assert_int_equal(places_bucket(16), 30);
	assert_int_equal(places_bucket(1441), 1920);
	assert_int_equal(places_bucket(DURATION_UNLIMITED), DURATION_UNLIMITED);
	assert_int_equal(places_bucket(DURATION_UNSET), DURATION_UNLIMITED);
}

#define W(name) cmocka_unit_test_setup_teardown(name, waits_setup, waits_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		W(test_asks), W(test_nobody_places), W(test_wish_of_a_cancelled_job), W(test_bounded), W(test_keeps_away),
		W(test_refused), W(test_queue), W(test_doors), W(test_store), W(test_buckets),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("start_forecast", tests, NULL, NULL);
}
