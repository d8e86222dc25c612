/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Placement by decide(): policies, waits, access to partitions, and jobs that stay. */
#include "tests/unit/decide_world.h"

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
	assert_false(d.set_partition); /* already on the best partition */
	assert_int_equal(d.wish.limit_min, 4);
	/* The wait counts. */
	set_waits(2 * H, 0);
	d = run();
	assert_string_equal(d.partition, "slow");
	assert_int_equal(d.wish.limit_min, 10);
	assert_string_equal(d.message,
			    "precedent: 00:07:40 on slow (00:07:20-00:08:00), 00:03:12 on fast; placed on slow: starts "
			    "at once, ends 1h56m earlier than on fast; limit will be 00:10:00 (you asked 02:00:00); "
			    "--predict=off to opt out");
	assert_string_equal(comment_of(&d).at, "slow/0/460,fast/7200/192");
	set_waits(300, 20);
	d = run();
	assert_non_null(strstr(d.message, "; placed on slow: starts in about 20s, ends 12s earlier than on fast;"));
	set_waits(268, 0); /* equal: the job stays */
	stays();
	w.in.partition = "gpu,slow"; /* only among the named partitions */
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
	set_waits(2 * H, -1); /* never to a partition without a known wait */
	stays();
	set_waits(-1, 0); /* nor away from one without a known wait */
	stays();
	set_waits(2 * H, 0);
	w.waits[1].asked = NOW - PLACES_FRESH_S - 1; /* an old answer does not count */
	stays();
	w.waits[1].asked = NOW - PLACES_FRESH_S;
	goes_to("slow");
	w.waits[1].answer = PLACE_AT_LEAST;
	stays();
	w.waits[1].answer = PLACE_REFUSED;
	stays();
	set_waits(2 * H, 0);
	w.waits[0].answer = PLACE_AT_LEAST; /* as the start, a lower bound is sufficient */
	assert_non_null(strstr(run().message, "ends at least 1h56m earlier than on fast"));
	w.waits[0].answer = PLACE_REFUSED;
	assert_non_null(strstr(run().message, "; placed on slow: starts at once, cannot start on fast;"));
	set_waits(2 * H, 0);
	w.waits[1].limit_min = 30; /* known for jobs of another limit */
	stays();
	set_waits(2 * H, 0);
	w.known.program.shape = 0;
	stays();
	w.known.program.shape = 4711; /* an unknown shape */
	stays();
	w.known.program.shape = w.shape.id;
	source.places = NULL;
	stays();
}

/* Access of users, and jobs that differ from the shape that the scheduler was asked about. */
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
	stays(); /* the job names no account, and its user has another default account */
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
	w.places.n_partitions = 1; /* a partition without known access */
	stays();
}

/* The job must be allowed to run as long as in its own partition. */
static void test_place_keeps_the_limit(void **state)
{
	(void)state;
	place_run();
	set_waits(2 * H, 0);
	w.in.time_limit_min = 600;
	goes_to("slow");
	w.in.time_limit_min = 601;
	stays();
	w.in.time_limit_min = DURATION_UNSET; /* then the default of its partition counts: half an hour */
	goes_to("slow");
	w.doors[1].default_min = 29;
	stays();
	w.doors[1].default_min = 30;
	goes_to("slow");
	w.in.partition = "fast,slow";
	goes_to("slow");
	w.in.partition = NULL;
	w.doors[0].default_min = DURATION_UNSET; /* without a default, its maximum counts: a day */
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
	w.conf.policy = POLICY_FASTEST; /* waits do not count */
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
	w.doors[0].is_default = false;
	w.doors[1].is_default = true;
	d = run();
	assert_string_equal(d.partition, "fast");
	assert_non_null(strstr(d.message, "; placed on fast: starts in about 2h, runs 4m less than on slow; limit"));
	set_waits(-1, 0); /* no proof that the job can run there */
	stays();
	set_waits(2 * H, -1);
	goes_to("fast");
	w.conf.policy = POLICY_CHEAPEST;
	goes_to("fast");
	w.conf.costs[0] = (struct conf_cost){"fast", 2.5};
	w.conf.n_costs = 1;
	stays();
	w.doors[0].is_default = true;
	w.doors[1].is_default = false;
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

/* Jobs sent since the scheduler's answer count too, so that not all go where one would start at once. */
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
	/* Each job takes half the nodes of slow for 460 s, so the next one waits 230 s more; on fast 96 s more. */
	assert_int_equal(there, 8);
	set_waits(1000, 0);
	w.waits[0].asked = w.waits[1].asked = NOW + 1; /* asked again: the answer includes them */
	w.waits[0].wait_s = 1000;
	w.waits[1].wait_s = 0;
	w.in.now = NOW + 1;
	goes_to("slow");
	w.in.test_only = true;
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
	/* A partition that the administrator excludes, unless the user asks for it. */
	w.conf.n_partition_modes = 1;
	w.conf.partition_modes[0] = (struct conf_partition_mode){"slow", MODE_OBSERVE};
	stays();
	w.in.spank_env = env;
	w.in.n_spank_env = 1;
	goes_to("slow");
	/* a partition that could never start the job */
	w.doors[1].max_min = 9;
	stays();
	w.places.n_partitions = 1; /* or whose limit is not known */
	stays();
}

/* A candidate without a published prediction may be the best one: the job is not moved away from it. */
static void test_place_unknown(void **state)
{
	struct decision d;

	(void)state;
	place_run();
	set_waits(2 * H, 0);
	w.known.n_estimates = 1; /* of slow; the default is fast */
	stays();
	w.known.estimates[1].e.hi_s = 1000; /* too uncertain to be published */
	w.known.n_estimates = 2;
	stays();
	/* A default partition that is no candidate never has estimates: the administrator wants the candidates. */
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
	w.in.features = "ssd"; /* the user's features stay, and no candidate is known to have them */
	stays();
	w.in.features = "big";
	d = run();
	assert_string_equal(d.partition, "slow");
	assert_false(d.set_features);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_place),
	    T(test_place_waits),
	    T(test_place_doors),
	    T(test_place_keeps_the_limit),
	    T(test_place_other_shape),
	    T(test_place_policy),
	    T(test_place_burst),
	    T(test_load),
	    T(test_place_not),
	    T(test_place_unknown),
	    T(test_place_constraint),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
