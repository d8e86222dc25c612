/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every rule of decide(): modes, limits, placement, messages, and what leaves a job alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plugin/decide.h"

#define NOW    1700000000
#define H      3600
#define SCRIPT "#!/bin/bash\n#SBATCH -N 2\nsrun ./heat 100\n"

/* The world that decide() sees. */
static struct world {
	struct precedent_conf conf;
	struct decide_input in;
	int lookup_rv;
	struct store_lookup known;
	int64_t heartbeat;
	int heartbeat_rv;
	struct store_partition parts[3];
	unsigned n_parts;
	int partition_rv; /* -1: fault */
	struct decide_memo memo;
	unsigned lookups;
	/* what is known for placing: a door per partition, waits of two hours' jobs on fast and slow */
	struct place_partition doors[3];
	struct place_shape shape;
	struct place_wait waits[3];
	struct places places;
	struct decide_load load;
} w;

static int world_lookup(void *arg, const char *key, struct store_lookup *out, struct errbuf *err)
{
	(void)arg;
	assert_true(identity_key_valid(key));
	w.lookups++;
	if (w.lookup_rv < 0)
		return err_set(err, "store is locked");
	if (w.lookup_rv)
		*out = w.known;
	return w.lookup_rv;
}

static int world_partition(void *arg, const char *name, struct store_partition *out, struct errbuf *err)
{
	(void)arg;
	if (w.partition_rv < 0)
		return err_set(err, "store is locked");
	for (unsigned i = 0; i < w.n_parts; i++) {
		if (name ? !strcmp(w.parts[i].name, name) : w.parts[i].is_default) {
			*out = w.parts[i];
			return 1;
		}
	}
	return 0;
}

static int world_heartbeat(void *arg, int64_t *when, struct errbuf *err)
{
	(void)arg;
	(void)err;
	*when = w.heartbeat;
	return w.heartbeat_rv;
}

static bool world_trace_ok(void *arg, const char *key, int64_t now)
{
	(void)arg;
	return decide_memo_mark(&w.memo, key, now);
}

static struct decide_source source;

static void add_estimate(const char *candidate, double mean, double lo, double hi)
{
	struct store_estimate *e = &w.known.estimates[w.known.n_estimates++];

	*e = (struct store_estimate){.e = {mean, lo, hi, ESTIMATE_BLEND, 1}};
	snprintf(e->candidate, sizeof(e->candidate), "%s", candidate);
}

/* How long a job would wait on fast and slow, as the scheduler said ten seconds ago; below 0: not asked. */
static void set_waits(double fast_s, double slow_s)
{
	const double s[] = {fast_s, slow_s};
	static const char *const names[] = {"fast", "slow"};

	w.places.n_waits = 0;
	w.places.waits = w.waits;
	for (int i = 0; i < 2; i++) {
		struct place_wait *p = &w.waits[w.places.n_waits];

		if (s[i] < 0)
			continue;
		*p = (struct place_wait){.shape = w.shape.id, .limit_min = 15, .asked = NOW - 10, .answer = PLACE_KNOWN,
					 .wait_s = s[i] + 10};
		strcpy(p->candidate, names[i]);
		w.places.n_waits++;
	}
}

static void set_doors(void)
{
	w.doors[0] = (struct place_partition){"fast", true, false, 1, 4, 4, "", "", "", "", "", false, 0, 0};
	w.doors[1] = (struct place_partition){"slow", true, false, 1, 4, 4, "", "", "", "", "", false, 0, 0};
	w.places.partitions = w.doors;
	w.places.n_partitions = 2;
	w.shape = (struct place_shape){.nodes = 2, .tasks = 4, .memory = 1000};
	w.shape.id = place_shape_id(&w.shape);
	w.places.shapes = &w.shape;
	w.places.n_shapes = 1;
	w.known.program.shape = w.shape.id;
	set_waits(0, 0);
}

/* A known job on a cluster in mode limit, two candidates, a living daemon; asks for two hours on fast. */
static int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	source = (struct decide_source){.lookup = world_lookup,
					.partition = world_partition,
					.heartbeat = world_heartbeat,
					.trace_ok = world_trace_ok,
					.places = &w.places};
	w.conf.mode = MODE_LIMIT;
	w.conf.margin = 0.15;
	w.conf.min_limit_min = 1;
	w.conf.heartbeat_timeout_s = 120;
	w.conf.n_candidates = 2;
	w.conf.candidates[0] = (struct conf_candidate){"fast", "fast", ""};
	w.conf.candidates[1] = (struct conf_candidate){"slow", "slow", ""};
	w.in = (struct decide_input){.uid = 1000,
				     .script = SCRIPT,
				     .work_dir = "/home/u",
				     .partition = "fast",
				     .time_limit_min = 120,
				     .time_min_min = DURATION_UNSET,
				     .now = NOW};
	w.heartbeat = NOW - 5;
	w.lookup_rv = 1;
	w.known.program.uid = 1000;
	w.known.program.state = PROGRAM_READY;
	w.known.program.source_job = 17;
	add_estimate("slow", 460, 440, 480);
	add_estimate("fast", 192, 185, 200);
	w.n_parts = 2;
	w.parts[0] = (struct store_partition){"fast", true, 30, 1440};
	w.parts[1] = (struct store_partition){"slow", false, DURATION_UNSET, 600};
	set_doors();
	return 0;
}

static struct decision run(void)
{
	struct decision d;
	struct errbuf err = {""};

	memset(&d, 0x5a, sizeof(d));
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), 0);
	return d;
}

static struct job_comment comment_of(const struct decision *d)
{
	struct job_comment c;

	assert_int_equal(comment_parse(d->admin_comment, &c), 0);
	assert_int_equal(c.act, d->act);
	return c;
}

static void untouched(const struct decision *d)
{
	assert_int_equal(d->act, ACT_NONE);
	assert_false(d->trace || d->set_limit || d->set_partition || d->set_features);
	assert_string_equal(d->message, "");
	assert_string_equal(d->admin_comment, "");
}

static void test_limit(void **state)
{
	struct decision d = run();
	struct job_comment c = comment_of(&d);

	(void)state;
	assert_string_equal(
	    d.message,
	    "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow; limit 00:04:00 (you "
	    "asked 02:00:00); --predict=off to opt out");
	assert_int_equal(d.act, ACT_PREDICT);
	assert_true(d.set_limit);
	assert_int_equal(d.limit_min, 4); /* 200 s * 1.15 = 230 s */
	assert_false(d.set_partition || d.trace);
	assert_int_equal(c.mode, MODE_LIMIT);
	assert_int_equal(c.user_limit_min, 120);
	assert_int_equal(c.limit_min, 4);
	assert_string_equal(c.candidate, "fast");
	assert_true(c.pred_s == 192 && c.lo_s == 185 && c.hi_s == 200);
	assert_string_equal(c.key, d.id.key);
	assert_string_equal(c.family, d.id.family);
}

static void test_never_above(void **state)
{
	struct decision d;

	(void)state;
	for (uint32_t asked = 1; asked <= 4; asked++) {
		w.in.time_limit_min = asked;
		d = run();
		assert_false(d.set_limit);
		assert_int_equal(comment_of(&d).limit_min, DURATION_UNSET);
	}
	w.in.time_limit_min = 5;
	assert_int_equal(run().limit_min, 4);
	w.in.time_limit_min = DURATION_UNLIMITED;
	d = run();
	assert_int_equal(d.limit_min, 4);
	assert_int_equal(comment_of(&d).user_limit_min, DURATION_UNLIMITED);
	assert_non_null(strstr(d.message, "(you asked UNLIMITED)"));
}

static void test_asked_less(void **state)
{
	struct decision d;

	(void)state;
	w.in.time_limit_min = 2;
	d = run();
	assert_string_equal(d.message,
			    "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow; you asked "
			    "00:02:00, less than predicted: it may need 00:04:00; --predict=off to opt out");
	assert_false(d.set_limit);
	w.known.estimates[1].e.hi_s = 300; /* and where only the upper bound does not fit */
	w.in.time_limit_min = 4;
	assert_non_null(strstr(run().message, "; you asked 00:04:00, less than the upper bound: it may need 00:06:00; "));
	w.in.time_limit_min = 5;
	assert_null(strstr(run().message, "you asked"));
}

static void test_limit_bounds(void **state)
{
	(void)state;
	w.conf.min_limit_min = 30;
	assert_int_equal(run().limit_min, 30);
	w.in.time_min_min = 45; /* Slurm wants limit >= --time-min */
	assert_int_equal(run().limit_min, 45);
	w.in.time_min_min = 120;
	assert_false(run().set_limit);
	w.in.time_min_min = DURATION_UNSET;
	w.conf.min_limit_min = 1;
	w.in.warn_time_s = 600; /* --signal=USR1@600 must not come before the job is done */
	assert_int_equal(run().limit_min, 14);
}

static void test_partition_limit(void **state)
{
	struct decision d;

	(void)state;
	w.in.time_limit_min = DURATION_UNSET;
	d = run();
	assert_int_equal(d.limit_min, 4);
	assert_int_equal(comment_of(&d).user_limit_min, 30);
	assert_non_null(strstr(d.message, "limit 00:04:00 (the partition's is 00:30:00)"));
	w.in.partition = "slow"; /* no default: the maximum counts */
	d = run();
	assert_int_equal(comment_of(&d).user_limit_min, 600);
	assert_int_equal(d.limit_min, 10);
	w.parts[1].max_min = 8; /* less than what we would set */
	assert_false(run().set_limit);
	w.n_parts = 1; /* nothing known of slow: it could be raised by us */
	d = run();
	assert_false(d.set_limit);
	assert_int_equal(comment_of(&d).user_limit_min, DURATION_UNSET);
}

static void test_modes(void **state)
{
	char *env[1];
	struct decision d;

	(void)state;
	w.conf.mode = MODE_OBSERVE;
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_false(d.set_limit);
	assert_int_equal(comment_of(&d).mode, MODE_OBSERVE);
	assert_string_equal(d.message, "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow; "
				       "--predict=off to opt out");
	w.conf.n_partition_modes = 1;
	w.conf.partition_modes[0] = (struct conf_partition_mode){"fast", MODE_LIMIT};
	assert_true(run().set_limit);
	w.in.partition = "fast,slow"; /* the more careful of both */
	assert_false(run().set_limit);
	w.in.spank_env = env;
	w.in.n_spank_env = 1;
	env[0] = "_SLURM_SPANK_OPTION_precedent_predict=limit";
	assert_true(run().set_limit);
	env[0] = "_SLURM_SPANK_OPTION_precedent_predict=observe";
	assert_false(run().set_limit);
	env[0] = "_SLURM_SPANK_OPTION_precedent_predict=(null)";
	assert_int_equal(run().mode, MODE_OBSERVE);
	env[0] = NULL;
	assert_int_equal(run().mode, MODE_OBSERVE);
}

static void test_off(void **state)
{
	char *env[] = {"OTHER=1", "_SLURM_SPANK_OPTION_precedent_predict=off"};
	struct decision d;

	(void)state;
	w.in.spank_env = env;
	w.in.n_spank_env = 2;
	d = run();
	untouched(&d);
	assert_int_equal(w.lookups, 0);
	w.lookup_rv = 0;
	d = run();
	untouched(&d);
}

static void test_first_run(void **state)
{
	struct decision d;

	(void)state;
	w.lookup_rv = 0;
	d = run();
	assert_int_equal(d.act, ACT_TRACE);
	assert_true(d.trace);
	assert_false(d.set_limit);
	assert_string_equal(d.message,
			    "precedent: first run of this job: it is traced, predictions from the next "
			    "submission on; --predict=off to opt out");
	assert_int_equal(comment_of(&d).user_limit_min, 120);
	/* not again before precedentd has seen it; another job is another matter */
	w.in.now += DECIDE_MEMO_S - 1;
	w.heartbeat = w.in.now;
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.trace);
	assert_string_equal(d.message,
			    "precedent: the first run of this job is being traced, no prediction yet; "
			    "--predict=off to opt out");
	w.in.uid = 1001;
	assert_true(run().trace);
	w.in.uid = 1000;
	w.in.now += 1;
	assert_true(run().trace);
}

static void test_first_run_not_marked(void **state)
{
	struct decision d;

	(void)state;
	w.lookup_rv = 0;
	w.in.submit_line = "sbatch --test-only job.sh";
	assert_true(run().trace);
	w.in.submit_line = "sbatch job.sh";
	assert_true(run().trace); /* the trial did not use the mark up */
	w.in.uid = 1003;
	w.heartbeat = NOW - 1000; /* nobody would look at the trace */
	d = run();
	assert_false(d.trace);
	assert_string_equal(d.message, "");
	w.heartbeat = NOW;
	assert_true(run().trace);
	w.conf.n_candidates = 0; /* nothing to probe on: nothing to trace for */
	w.in.uid = 1002;
	d = run();
	assert_false(d.trace);
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_string_equal(d.message, "");
}

static void test_states(void **state)
{
	struct decision d;

	(void)state;
	w.known.n_estimates = 0;
	w.known.program.state = PROGRAM_TRACED;
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.trace);
	assert_string_equal(d.message,
			    "precedent: the first run of this job (17) is being traced, no prediction yet; "
			    "--predict=off to opt out");
	w.known.program.state = PROGRAM_BUILDING;
	assert_non_null(strstr(run().message, "is being probed"));
	w.known.program.state = PROGRAM_FAILED;
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_string_equal(d.message, "");
	w.known.program.retrace_at = NOW + 1;
	assert_false(run().trace);
	w.known.program.retrace_at = NOW;
	assert_true(run().trace);
	assert_true(run().trace);   /* until precedentd has seen the first of them: marks do not count against
				       its word */
	w.known.program.uid = 4711; /* a damaged store is not believed */
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.trace);
}

static void test_estimates_refused(void **state)
{
	struct decision d;

	(void)state;
	w.known.estimates[1].e.hi_s = 2000; /* fast: too wide */
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.set_limit);
	assert_string_equal(d.message,
			    "precedent: 00:07:40 on slow (00:07:20-00:08:00); --predict=off to opt out");
	assert_string_equal(comment_of(&d).candidate, "");
	w.known.estimates[0].e.mean_s = -1;
	assert_string_equal(run().message, "");
}

static void test_not_a_candidate(void **state)
{
	struct decision d;

	(void)state;
	w.in.partition = "gpu";
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.set_limit);
	assert_non_null(strstr(d.message, "00:03:12 on fast"));
	add_estimate("gpu", 50, 49, 51); /* from its own history */
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_string_equal(comment_of(&d).candidate, "gpu");
	assert_string_equal(d.message,
			    "precedent: 00:00:50 on gpu (00:00:49-00:00:51), 00:03:12 on fast, 00:07:40 on "
			    "slow; limit 00:01:00 (you asked 02:00:00); --predict=off to opt out");
}

static void test_several_partitions(void **state)
{
	struct decision d;

	(void)state;
	w.in.partition = "fast,slow";
	d = run();
	/* it may run on either: the slower one decides */
	assert_string_equal(comment_of(&d).candidate, "slow");
	assert_int_equal(d.limit_min, 10); /* 480 s * 1.15 = 552 s */
	assert_false(d.set_partition);
	w.in.partition = "fast,gpu"; /* nothing known of gpu: no limit could be right */
	d = run();
	assert_false(d.set_limit);
	assert_int_equal(d.act, ACT_PREDICT);
	w.in.partition = ",,fast,,";
	assert_int_equal(run().limit_min, 4);
}

static void test_default_partition(void **state)
{
	struct decision d;

	(void)state;
	w.in.partition = NULL;
	d = run();
	assert_string_equal(comment_of(&d).candidate, "fast");
	assert_int_equal(d.limit_min, 4);
	w.n_parts = 0; /* precedentd has not said which is the default */
	d = run();
	assert_false(d.set_limit);
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_non_null(strstr(d.message, "00:03:12 on fast"));
}

static void test_constraints(void **state)
{
	struct decision d;

	(void)state;
	w.conf.candidates[w.conf.n_candidates++] = (struct conf_candidate){"slow:big", "slow", "big"};
	add_estimate("slow:big", 300, 295, 305);
	w.in.partition = "slow";
	w.in.features = "big";
	d = run();
	assert_string_equal(comment_of(&d).candidate, "slow:big");
	w.in.features = NULL;
	d = run();
	assert_string_equal(comment_of(&d).candidate, "slow");
}

static struct decision place_run(void)
{
	struct decision d;

	w.conf.mode = MODE_PLACE;
	w.in.partition = NULL;
	d = run();
	assert_int_equal(d.set_partition, d.partition[0] != '\0');
	return d;
}

static void stays(void)
{
	struct decision d = run();

	assert_false(d.set_partition || d.set_features);
	assert_null(strstr(d.message, "placed"));
}

static void goes_to(const char *partition)
{
	struct decision d = run();

	assert_string_equal(d.partition, partition);
	assert_true(d.set_partition);
}

static void test_place(void **state)
{
	struct decision d = place_run();

	(void)state;
	assert_false(d.set_partition); /* it is on the best one already */
	assert_int_equal(d.limit_min, 4);
	/* the wait counts */
	set_waits(2 * H, 0);
	d = run();
	assert_string_equal(d.partition, "slow");
	assert_int_equal(d.limit_min, 10);
	assert_string_equal(d.message,
			    "precedent: 00:07:40 on slow (00:07:20-00:08:00), 00:03:12 on fast; placed on slow: starts "
			    "at once, ends 1h56m earlier than on fast; limit 00:10:00 (you asked 02:00:00); "
			    "--predict=off to opt out");
	assert_string_equal(comment_of(&d).at, "slow/0/460,fast/7200/192");
	set_waits(300, 20);
	d = run();
	assert_non_null(strstr(d.message, "; placed on slow: starts in about 20s, ends 12s earlier than on fast;"));
	set_waits(268, 0); /* equals: it stays */
	stays();
	w.in.partition = "gpu,slow"; /* only among those named */
	goes_to("slow");
	w.in.partition = "gpu,other";
	stays();
	set_waits(2 * H, 0);
	w.in.partition = "fast,slow";
	d = run();
	assert_string_equal(d.partition, "slow");
	assert_non_null(strstr(d.message, "ends 1h56m earlier than on fast"));
}

static void test_place_waits(void **state)
{
	(void)state;
	place_run();
	set_waits(2 * H, -1); /* never where the wait is not known */
	stays();
	set_waits(-1, 0); /* nor away from where it is not */
	stays();
	set_waits(2 * H, 0);
	w.waits[1].asked = NOW - PLACES_FRESH_S - 1; /* an old answer is none */
	stays();
	w.waits[1].asked = NOW - PLACES_FRESH_S;
	goes_to("slow");
	w.waits[1].answer = PLACE_AT_LEAST;
	stays();
	w.waits[1].answer = PLACE_REFUSED;
	stays();
	set_waits(2 * H, 0);
	w.waits[0].answer = PLACE_AT_LEAST; /* there it is enough to know the least */
	assert_non_null(strstr(run().message, "ends at least 1h56m earlier than on fast"));
	w.waits[0].answer = PLACE_REFUSED;
	assert_non_null(strstr(run().message, "; placed on slow: starts at once, cannot start on fast;"));
	set_waits(2 * H, 0);
	w.waits[1].limit_min = 30; /* of jobs of another limit */
	stays();
	set_waits(2 * H, 0);
	w.known.program.shape = 0;
	stays();
	w.known.program.shape = 4711; /* one that was dropped */
	stays();
	w.known.program.shape = w.shape.id;
	source.places = NULL;
	stays();
}

/* Who is let in, and what is another job than the scheduler was asked about. */
static void test_place_doors(void **state)
{
	struct place_access member = {1000, "slow", NOW - 100};

	(void)state;
	place_run();
	set_waits(2 * H, 0);
	goes_to("slow");
	w.doors[1].open = false;
	stays();
	w.doors[1].open = w.doors[1].restricted = true;
	stays();
	w.places.access = &member;
	w.places.n_access = 1;
	goes_to("slow");
	member.checked = NOW - PLACES_ACCESS_FRESH_S - 1;
	stays();
	member.checked = NOW;
	member.uid = 1001;
	stays();
	w.doors[1].restricted = false;
	w.doors[1].max_nodes = 1;
	stays();
	w.doors[1].max_nodes = 4;
	w.doors[1].min_nodes = 3;
	stays();
	w.doors[1].min_nodes = 2;
	goes_to("slow");
	w.doors[1].allow_accounts = "physics,chem";
	stays(); /* it names no account, and has not the default one's name */
	w.in.account = "phys";
	strcpy(w.shape.account, "phys");
	stays();
	w.in.account = "Chem";
	strcpy(w.shape.account, "chem");
	goes_to("slow");
	w.doors[1].allow_accounts = "";
	w.doors[1].deny_accounts = "chem";
	stays();
	w.doors[1].deny_accounts = "";
	w.doors[1].allow_qos = "low";
	stays();
	w.doors[1].allow_qos = "";
	w.doors[1].deny_qos = "high";
	stays();
	w.doors[1].deny_qos = "";
	goes_to("slow");
	w.places.n_partitions = 1; /* a door that is not known */
	stays();
}

static void test_place_other_shape(void **state)
{
	(void)state;
	place_run();
	set_waits(2 * H, 0);
	goes_to("slow");
	w.in.account = "other";
	stays();
	w.in.account = NULL;
	w.in.qos = "high";
	stays();
	w.in.qos = "";
	w.in.memory = 2000;
	stays();
	w.in.memory = 1000;
	goes_to("slow");
	w.in.exclusive = true;
	stays();
	w.in.exclusive = false;
	w.in.more = true;
	stays();
	w.in.more = false;
	w.in.later = true;
	stays();
	w.in.later = false;
	w.in.array = true;
	stays();
	w.conf.policy = POLICY_FASTEST; /* which no wait decides */
	w.in.partition = "slow,fast";
	goes_to("fast");
}

static void test_place_policy(void **state)
{
	struct decision d;

	(void)state;
	place_run();
	set_waits(2 * H, 0);
	w.conf.policy = POLICY_FASTEST;
	stays();
	w.parts[0].is_default = false;
	w.parts[1].is_default = true;
	d = run();
	assert_string_equal(d.partition, "fast");
	assert_non_null(strstr(d.message, "; placed on fast: starts in about 2h, runs 4m less than on slow; limit"));
	set_waits(-1, 0); /* no proof that it can run there */
	stays();
	set_waits(2 * H, -1);
	goes_to("fast");
	w.conf.policy = POLICY_CHEAPEST;
	goes_to("fast");
	w.conf.costs[0] = (struct conf_cost){"fast", 2.5};
	w.conf.n_costs = 1;
	stays();
	w.parts[0].is_default = true;
	w.parts[1].is_default = false;
	set_waits(0, 10 * H);
	d = run();
	assert_string_equal(d.partition, "slow");
	assert_non_null(strstr(d.message, "; placed on slow: starts in about 10h, costs less than on fast; limit"));
	w.conf.costs[0].per_node_hour = 460.0 / 192; /* equals: the earliest */
	stays();
	set_waits(10 * H, 0);
	goes_to("slow");
	set_waits(-1, 0);
	stays();
}

/* What was sent there since the scheduler was asked counts as well: not all go where one would start at once. */
static void test_place_burst(void **state)
{
	unsigned there = 0;

	(void)state;
	source.load = &w.load;
	place_run();
	memset(&w.load, 0, sizeof(w.load));
	set_waits(1000, 0);
	for (int i = 0; i < 20; i++)
		there += run().set_partition;
	/* each takes half the nodes of slow for 460 s: 230 s more for the next one; on fast 96 s more */
	assert_int_equal(there, 8);
	set_waits(1000, 0);
	w.waits[0].asked = w.waits[1].asked = NOW + 1; /* asked anew: the answer holds them */
	w.waits[0].wait_s = 1000;
	w.waits[1].wait_s = 0;
	w.in.now = NOW + 1;
	goes_to("slow");
	w.in.submit_line = "sbatch --test-only job.sh";
	stays();
}

static void test_load(void **state)
{
	static struct decide_load load;

	(void)state;
	decide_load_add(&load, &w.conf, "slow", 100, NOW);
	decide_load_add(&load, &w.conf, "slow", 50, NOW + 1);
	decide_load_add(&load, &w.conf, "gpu", 50, NOW + 1);
	assert_true(decide_load_since(&load, &w.conf, "slow", NOW, NOW + 5) == 150);
	assert_true(decide_load_since(&load, &w.conf, "slow", NOW + 1, NOW + 5) == 50);
	assert_true(decide_load_since(&load, &w.conf, "fast", NOW, NOW + 5) == 0);
	assert_true(decide_load_since(&load, &w.conf, "gpu", NOW, NOW + 5) == 0);
	assert_true(decide_load_since(&load, &w.conf, "slow", 0, NOW + DECIDE_LOAD_S) == 50);
	decide_load_add(&load, &w.conf, "slow", 7, NOW + DECIDE_LOAD_S);
	assert_true(decide_load_since(&load, &w.conf, "slow", 0, NOW + DECIDE_LOAD_S) == 57);
}

static void test_place_not(void **state)
{
	char *env[] = {"_SLURM_SPANK_OPTION_precedent_predict=place"};
	struct decision d;

	(void)state;
	w.conf.mode = MODE_PLACE;
	set_waits(2 * H, 0);
	w.in.partition = "fast"; /* the user's choice stands */
	d = run();
	assert_false(d.set_partition);
	assert_string_equal(comment_of(&d).candidate, "fast");
	assert_string_equal(comment_of(&d).at, "");
	w.in.partition = NULL;
	w.in.pinned = true;
	stays();
	w.in.pinned = false;
	w.in.het = true;
	stays();
	w.in.het = false;
	w.in.script = NULL;
	stays();
	w.in.script = SCRIPT;
	goes_to("slow");
	/* a partition that the admin keeps out of it, unless the user asks */
	w.conf.n_partition_modes = 1;
	w.conf.partition_modes[0] = (struct conf_partition_mode){"slow", MODE_OBSERVE};
	stays();
	w.in.spank_env = env;
	w.in.n_spank_env = 1;
	goes_to("slow");
	/* one that could never start the job */
	w.parts[1].max_min = 9;
	stays();
	w.n_parts = 1; /* or of which that is not known */
	stays();
}

/* A candidate whose prediction is withheld may be the best one: the job is not sent away from it. */
static void test_place_unknown(void **state)
{
	struct decision d;

	(void)state;
	place_run();
	set_waits(2 * H, 0);
	w.known.n_estimates = 1; /* of slow; the default is fast */
	stays();
	w.known.estimates[1].e.hi_s = 1000; /* too uncertain to be told */
	w.known.n_estimates = 2;
	stays();
	/* where the default is no candidate, nothing is ever known of it: the candidates are what the admin wants */
	w.conf.candidates[0] = w.conf.candidates[1];
	w.conf.n_candidates = 1;
	d = run();
	assert_true(d.set_partition);
	assert_string_equal(d.partition, "slow");
	assert_non_null(strstr(d.message, "; placed on slow: starts at once; limit"));
}

static void test_place_constraint(void **state)
{
	struct decision d;

	(void)state;
	w.conf.candidates[w.conf.n_candidates++] = (struct conf_candidate){"slow:big", "slow", "big"};
	add_estimate("slow:big", 100, 95, 105);
	place_run();
	w.waits[2] = w.waits[1];
	strcpy(w.waits[2].candidate, "slow:big");
	w.places.n_waits = 3;
	d = run();
	assert_string_equal(d.partition, "slow");
	assert_true(d.set_features);
	assert_string_equal(d.features, "big");
	w.in.features = "ssd"; /* the user's own features stand, and no candidate is known to have them */
	stays();
	w.in.features = "big";
	d = run();
	assert_string_equal(d.partition, "slow");
	assert_false(d.set_features);
}

static void test_stale_heartbeat(void **state)
{
	static const int64_t beats[] = {0, NOW - 121, NOW + 121};
	struct decision d;

	(void)state;
	w.conf.mode = MODE_PLACE;
	w.in.partition = NULL;
	for (size_t i = 0; i < sizeof(beats) / sizeof(beats[0]); i++) {
		w.heartbeat = beats[i];
		d = run();
		assert_false(d.set_limit || d.set_partition);
		assert_int_equal(d.act, ACT_PREDICT);
		assert_non_null(strstr(d.message, "00:03:12 on fast"));
		assert_null(strstr(d.message, "limit"));
	}
	w.heartbeat = NOW - 120;
	assert_true(run().set_limit);
}

static void test_observed_only(void **state)
{
	struct decision d;

	(void)state;
	w.in.script = NULL;
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_string_equal(d.message, "");
	assert_false(d.set_limit || d.trace);
	assert_string_equal(comment_of(&d).key, "");
	w.in.script = SCRIPT;
	w.in.het = true;
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.set_limit || d.trace);
	assert_int_equal(w.lookups, 0);
}

static void test_own_probes(void **state)
{
	struct decision d;

	(void)state;
	w.in.admin_comment = "precedent:1 act=probe mode=observe cand=fast";
	d = run();
	assert_int_equal(d.act, ACT_PREDICT); /* anybody can write that */
	w.in.privileged = true;
	d = run();
	untouched(&d);
	w.in.admin_comment = "checked by ops";
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
}

static void test_faults(void **state)
{
	struct decision d;
	struct errbuf err = {""};

	(void)state;
	w.lookup_rv = -1;
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), -1);
	assert_string_equal(err.text, "store is locked");
	untouched(&d);
	setup(NULL);
	w.heartbeat_rv = -1;
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), -1);
	untouched(&d);
	setup(NULL);
	w.partition_rv = -1;
	w.in.partition = NULL;
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), -1);
	untouched(&d);
	w.in.partition = "fast";
	w.in.time_limit_min = DURATION_UNSET;
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), -1);
	untouched(&d);
	setup(NULL);
	source.heartbeat = NULL; /* no way to tell whether the daemon lives */
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), -1);
	untouched(&d);
}

static void test_overlong(void **state)
{
	char list[64 * 40] = "", name[160];
	struct decision d;

	(void)state;
	for (int i = 0; i < 40; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "p%d,", i);
	w.in.partition = list;
	d = run();
	assert_false(d.set_limit || d.set_partition);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	w.in.partition = name;
	d = run();
	assert_false(d.set_limit);
	/* many long candidates: the message ends as every message does */
	w.in.partition = "fast";
	for (int i = 0; i < 12; i++) {
		name[0] = (char)('a' + i);
		add_estimate(name, 500 + i, 490, 520);
	}
	d = run();
	assert_true(strlen(d.message) < sizeof(d.message));
	assert_string_equal(d.message + strlen(d.message) - 26, "; --predict=off to opt out");
}

static void test_array_index_is_not_identity(void **state)
{
	struct decision a, b;

	(void)state;
	w.lookup_rv = 0;
	w.in.submit_line = "sbatch --array=1-5 job.sh";
	a = run();
	w.in.submit_line = "sbatch --array=6-9 job.sh";
	b = run();
	assert_string_equal(a.id.key, b.id.key);
}

static void test_memo(void **state)
{
	static struct decide_memo memo;
	char key[33];
	unsigned again = 0;

	(void)state;
	/* far more keys than slots: bounded, and the latest are still known */
	for (unsigned i = 0; i < 3 * DECIDE_MEMO_SLOTS; i++) {
		snprintf(key, sizeof(key), "%08x%024x", i * 2654435761u, i);
		assert_true(decide_memo_mark(&memo, key, NOW + i / 16));
		assert_false(decide_memo_mark(&memo, key, NOW + i / 16));
	}
	for (unsigned i = 3 * DECIDE_MEMO_SLOTS - 512; i < 3 * DECIDE_MEMO_SLOTS; i++) {
		snprintf(key, sizeof(key), "%08x%024x", i * 2654435761u, i);
		again += decide_memo_mark(&memo, key, NOW + i / 16);
	}
	assert_true(again < 16);
	assert_true(decide_memo_mark(&memo, key, NOW - 10 * H)); /* the clock was set back */
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_limit),
	    T(test_never_above),
	    T(test_asked_less),
	    T(test_limit_bounds),
	    T(test_partition_limit),
	    T(test_modes),
	    T(test_off),
	    T(test_first_run),
	    T(test_first_run_not_marked),
	    T(test_states),
	    T(test_estimates_refused),
	    T(test_not_a_candidate),
	    T(test_several_partitions),
	    T(test_default_partition),
	    T(test_constraints),
	    T(test_place),
	    T(test_place_waits),
	    T(test_place_doors),
	    T(test_place_other_shape),
	    T(test_place_policy),
	    T(test_place_burst),
	    T(test_load),
	    T(test_place_not),
	    T(test_place_unknown),
	    T(test_place_constraint),
	    T(test_stale_heartbeat),
	    T(test_observed_only),
	    T(test_own_probes),
	    T(test_faults),
	    T(test_overlong),
	    T(test_array_index_is_not_identity),
	    T(test_memo),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
