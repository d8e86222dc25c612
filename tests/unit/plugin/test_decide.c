/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of decide() without placement (test_place.c): modes, limits, messages, and jobs that are left alone. */
#include "tests/unit/decide_world.h"
#include "plugin/decide_internal.h"

static void test_limit(void **state)
{
	struct decision d = run();
	struct job_comment c = comment_of(&d);

	(void)state;
	assert_string_equal(
	    d.message,
	    "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow; limit will be 00:04:00 (you "
	    "asked 02:00:00); --predict=off to opt out");
	assert_int_equal(d.act, ACT_PREDICT);
	assert_true(wishes(d));
	assert_int_equal(d.wish.limit_min, 4); /* 200 s * 1.15 = 230 s */
	assert_false(d.set_partition || d.trace);
	assert_int_equal(c.mode, MODE_LIMIT);
	assert_int_equal(c.user_limit_min, 120);
	assert_int_equal(c.wish_min, 4);
	assert_int_equal(c.limit_min, DURATION_UNSET);
	assert_string_equal(c.candidate, "fast");
	assert_true(c.pred_s == 192 && c.lo_s == 185 && c.hi_s == 200);
	assert_string_equal(c.key, d.id.key);
	assert_string_equal(c.family, d.id.family);
}

/* Under the soft guard the limit stays, so that a job may look at it; the wish is what Slurm plans with. */
static void test_soft(void **state)
{
	struct decision d;

	(void)state;
	w.conf.limit_guard = GUARD_AUTO;
	source.soft_works = true;
	w.in.watches_limit = true;
	d = run();
	assert_string_equal(d.message, "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow; Slurm plans with 00:04:00, your "
				       "limit of 02:00:00 stays; --predict=off to opt out");
	assert_int_equal(d.wish.limit_min, 4);
	w.in.time_min_min = 30;
	d = run();
	assert_false(wishes(d));
	w.in.time_min_min = DURATION_UNSET;
	w.in.deadline = true;
	d = run();
	assert_false(wishes(d));
	w.in.deadline = false;
	w.in.time_limit_min = DURATION_UNSET;
	w.doors[0].default_min = 60;
	assert_int_equal(run().wish.limit_min, 4);
	w.doors[0].default_min = DURATION_UNSET; /* MaxTime counts: slurmctld would lose it */
	assert_false(wishes(run()));
	/* precedentd leaves such a job alone (predictor/limits/overtime.c) */
	w.in.time_limit_min = w.doors[0].max_min = DURATION_UNLIMITED;
	d = run();
	assert_false(wishes(d));
	assert_null(strstr(d.message, "limit"));
	w.doors[0].max_min = 1440;
	w.in.time_limit_min = 120;
	assert_int_equal(run().wish.limit_min, 4);
	w.conf.limit_guard = GUARD_SOFT;
	source.soft_works = false;
	d = run();
	assert_false(wishes(d));
	assert_null(strstr(d.message, "limit"));
}

static void test_never_above(void **state)
{
	struct decision d;

	(void)state;
	for (uint32_t asked = 1; asked <= 4; asked++) {
		w.in.time_limit_min = asked;
		d = run();
		assert_false(wishes(d));
		assert_int_equal(comment_of(&d).wish_min, DURATION_UNSET);
	}
	w.in.time_limit_min = 5;
	assert_int_equal(run().wish.limit_min, 4);
	w.in.time_limit_min = 1440;
	assert_int_equal(run().wish.limit_min, 4);
	/* above the partition's limit: the job waits there, and must not start because of Precedent */
	w.in.time_limit_min = 1441;
	assert_false(wishes(run()));
	w.in.time_limit_min = DURATION_UNLIMITED;
	assert_false(wishes(run()));
	w.doors[0].max_min = DURATION_UNLIMITED;
	d = run();
	assert_int_equal(d.wish.limit_min, 4);
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
	assert_false(wishes(d));
	w.known.estimates[1].e.hi_s = 300; /* also if only the upper bound does not fit */
	w.in.time_limit_min = 4;
	assert_non_null(strstr(run().message, "; you asked 00:04:00, less than the upper bound: it may need 00:06:00; "));
	w.conf.min_limit_min = 30; /* the least that Precedent sets is no need of the job */
	assert_non_null(strstr(run().message, "it may need 00:06:00; "));
	w.in.time_limit_min = 5;
	assert_null(strstr(run().message, "you asked"));
}

static void test_limit_bounds(void **state)
{
	(void)state;
	w.conf.min_limit_min = 30;
	assert_int_equal(run().wish.limit_min, 30);
	w.in.time_min_min = 45; /* Slurm wants limit >= --time-min */
	assert_int_equal(run().wish.limit_min, 45);
	w.in.time_min_min = 120;
	assert_false(wishes(run()));
	w.in.time_min_min = DURATION_UNSET;
	w.conf.min_limit_min = 1;
	w.in.warn_time_s = 600; /* with --signal=USR1@600, the signal must not come before the predicted end */
	assert_int_equal(run().wish.limit_min, 14);
}

static void test_partition_limit(void **state)
{
	struct decision d;

	(void)state;
	w.in.time_limit_min = DURATION_UNSET;
	d = run();
	assert_int_equal(d.wish.limit_min, 4);
	assert_int_equal(comment_of(&d).user_limit_min, 30);
	assert_non_null(strstr(d.message, "limit will be 00:04:00 (the partition's is 00:30:00)"));
	w.in.partition = "slow"; /* no default: the maximum counts */
	d = run();
	assert_int_equal(comment_of(&d).user_limit_min, 600);
	assert_int_equal(d.wish.limit_min, 10);
	w.doors[1].max_min = 8; /* less than the wanted limit */
	assert_false(wishes(run()));
	w.places.n_partitions = 1; /* slow is not known: its limit may be lower */
	d = run();
	assert_false(wishes(d));
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
	assert_false(wishes(d));
	assert_int_equal(comment_of(&d).mode, MODE_OBSERVE);
	assert_string_equal(d.message, "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow; "
				       "--predict=off to opt out");
	w.conf.n_partition_modes = 1;
	w.conf.partition_modes[0] = (struct conf_partition_mode){"fast", MODE_LIMIT};
	assert_true(wishes(run()));
	w.in.partition = "fast,slow"; /* the more careful mode of both */
	assert_false(wishes(run()));
	w.in.spank_env = env;
	w.in.n_spank_env = 1;
	env[0] = "_SLURM_SPANK_OPTION_precedent_predict=limit";
	assert_true(wishes(run()));
	env[0] = "_SLURM_SPANK_OPTION_precedent_predict=observe";
	assert_false(wishes(run()));
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

/* The site's choice, the user's instead of it, and whether standard error is a terminal. */
static void test_told(void **state)
{
	static const struct {
		enum conf_message site;
		const char *user, *terminal;
		bool told;
	} cases[] = {
	    {MESSAGE_ALWAYS, NULL, "0", true},	   {MESSAGE_TERMINAL, NULL, "1", true},	    {MESSAGE_TERMINAL, NULL, "0", false},
	    {MESSAGE_TERMINAL, NULL, NULL, false}, {MESSAGE_NEVER, NULL, "1", false},	    {MESSAGE_NEVER, "always", "0", true},
	    {MESSAGE_NEVER, "terminal", "1", true}, {MESSAGE_ALWAYS, "terminal", "0", false}, {MESSAGE_ALWAYS, "never", "1", false},
	    {MESSAGE_NEVER, "nonsense", "1", false},
	};
	char user[64], terminal[64];
	char *env[2];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decision d;

		snprintf(user, sizeof(user), "PRECEDENT_MESSAGE=%s", cases[i].user ? cases[i].user : "");
		snprintf(terminal, sizeof(terminal), "SPANK_PRECEDENT_TERMINAL=%s", cases[i].terminal ? cases[i].terminal : "");
		env[0] = cases[i].user ? user : NULL;
		env[1] = cases[i].terminal ? terminal : NULL;
		w.in.spank_env = env;
		w.in.n_spank_env = 2;
		w.conf.message = cases[i].site;
		d = run();
		assert_int_equal(d.act, ACT_PREDICT);
		assert_int_equal(d.message[0] != '\0', cases[i].told);
	}
}

static void test_first_run(void **state)
{
	struct decision d;

	(void)state;
	w.lookup_rv = 0;
	d = run();
	assert_int_equal(d.act, ACT_TRACE);
	assert_true(d.trace);
	assert_false(wishes(d));
	assert_string_equal(d.message,
			    "precedent: first run of this job: it is traced, predictions from the next "
			    "submission on; --predict=off to opt out");
	assert_int_equal(comment_of(&d).user_limit_min, 120);
	/* Not marked again before precedentd has seen the key. Another job is independent. */
	w.in.now += DECIDE_MEMO_S - 1;
	source.heartbeat = w.in.now;
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
	d = run();
	assert_true(d.trace);
	assert_int_equal(comment_of(&d).task, COMMENT_NO_TASK);
	/* Of an array the task of the least index is traced. */
	w.in.uid = 1002;
	w.in.array_inx = "8-20,4,6-7%2";
	d = run();
	assert_true(d.trace);
	assert_int_equal(comment_of(&d).task, 4);
}

static void test_first_run_not_marked(void **state)
{
	struct decision d;

	(void)state;
	w.lookup_rv = 0;
	w.in.test_only = true;
	assert_true(run().trace);
	w.in.test_only = false;
	assert_true(run().trace); /* the trial did not set the mark */
	w.in.uid = 1003;
	source.heartbeat = NOW - 1000; /* no daemon would read the trace */
	d = run();
	assert_false(d.trace);
	assert_string_equal(d.message, "");
	source.heartbeat = NOW;
	assert_true(run().trace);
	w.conf.n_candidates = 0; /* it is probed where it ran */
	w.in.uid = 1002;
	assert_true(run().trace);
}

/* Others are left alone. Their --predict has no effect. */
static void test_only(void **state)
{
	char *option[] = {(char[]){DECIDE_OPTION_VAR "=limit"}};
	struct decision d;

	(void)state;
	w.conf.n_only = 1;
	w.conf.only[0] = (struct conf_only){ONLY_ACCOUNT, "physics"};
	w.in.spank_env = option;
	w.in.n_spank_env = 1;
	d = run();
	assert_int_equal(d.act, ACT_NONE);
	assert_false(d.trace);
	assert_string_equal(d.message, "");
	source.only.defaults = " 1000 ";
	assert_int_equal(run().act, ACT_PREDICT);
	w.in.account = "chemistry";
	assert_int_equal(run().act, ACT_NONE);
	w.in.account = "physics";
	assert_int_equal(run().act, ACT_PREDICT);
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
	w.known.program.n_traces = 1; /* traced, and never again: no skeleton repeats it */
	strcpy(w.known.program.reason, "probe on fast: 4 of 4 ranks use CUDA");
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.trace);
	assert_string_equal(d.message, "precedent: no prediction: probe on fast: 4 of 4 ranks use CUDA; --predict=off to opt out");
	w.known.program.retrace_at = NOW + 2;
	assert_string_equal(run().message, "");
	assert_false(run().trace);
	w.known.program.retrace_at = NOW;
	assert_true(run().trace);
	w.known.program.uid = 4711; /* data of a damaged store are not used */
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(d.trace);
}

static void test_estimates_refused(void **state)
{
	struct decision d;

	(void)state;
	w.known.estimates[1].e.hi_s = 2000; /* fast: too uncertain */
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(wishes(d));
	assert_string_equal(d.message,
			    "precedent: 00:07:40 on slow (00:07:20-00:08:00); none for fast: its estimate is too uncertain; "
			    "--predict=off to opt out");
	assert_string_equal(comment_of(&d).candidate, "");
	w.known.estimates[0].e.mean_s = -1;
	assert_string_equal(run().message, "");
}

static int world_family(struct store *s, const char *family, const char *kin, struct store_family *out, size_t max, struct errbuf *err)
{
	(void)s, (void)family, (void)kin, (void)max, (void)err;
	*out = (struct store_family){.candidate = "fast", .e = {192, 185, 200, ESTIMATE_FAMILY, 5}, .scale = 1};
	strcpy(out->ranges, "0:999,0:999,0:999,0:999,0:999"); /* of the script and the layout */
	return 1;
}

/* A look-up of kin fills estimates only. The rest of its memory may hold anything. */
static void test_kin_has_no_reason(void **state)
{
	(void)state;
	reads.family = world_family;
	w.lookup_rv = 0;
	w.in.partition = "fast,slow";
	source.room = decide_room_create();
	assert_non_null(source.room);
	strcpy(source.room->d.others.program.reason, "nothing for slow: anything");
	strcpy(source.room->d.known.program.reason, "nothing for slow: anything");
	assert_non_null(strstr(run().message, "; none for slow: it has no estimate yet; "));
	decide_room_destroy(source.room);
}

static void test_not_a_candidate(void **state)
{
	struct decision d;

	(void)state;
	w.in.partition = "gpu";
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(wishes(d));
	assert_string_equal(d.message, "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow; none for gpu: it is no candidate; "
				       "--predict=off to opt out");
	strcpy(w.conf.candidates[w.conf.n_candidates].name, "gpu");
	strcpy(w.conf.candidates[w.conf.n_candidates++].partition, "gpu");
	assert_non_null(strstr(run().message, "; none for gpu: it has no estimate yet; "));
	strcpy(w.known.program.reason, "nothing for gpu: too uncertain: between 0.0 and 11.7 s");
	assert_non_null(strstr(run().message, "; none for gpu: too uncertain: between 0.0 and 11.7 s; "));
	strcpy(w.known.program.reason, "nothing for gpu2: another");
	assert_non_null(strstr(run().message, "; none for gpu: it has no estimate yet; "));
	w.known.program.reason[0] = '\0';
	w.conf.n_candidates--;
	add_estimate("gpu", 50, 49, 51); /* from its own history */
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_string_equal(comment_of(&d).candidate, "gpu");
	assert_string_equal(d.message,
			    "precedent: 00:00:50 on gpu (00:00:49-00:00:51), 00:03:12 on fast, 00:07:40 on "
			    "slow; limit will be 00:01:00 (you asked 02:00:00); --predict=off to opt out");
}

static void test_several_partitions(void **state)
{
	struct decision d;

	(void)state;
	w.in.partition = "fast,slow";
	d = run();
	/* The job may run on either partition: the slower one decides. */
	assert_string_equal(comment_of(&d).candidate, "slow");
	assert_int_equal(d.wish.limit_min, 10); /* 480 s * 1.15 = 552 s */
	assert_false(d.set_partition);
	w.in.partition = "fast,gpu"; /* gpu has no estimate: no limit is safe */
	d = run();
	assert_false(wishes(d));
	assert_int_equal(d.act, ACT_PREDICT);
	w.in.partition = ",,fast,,";
	assert_int_equal(run().wish.limit_min, 4);
}

static void test_default_partition(void **state)
{
	struct decision d;

	(void)state;
	w.in.partition = NULL;
	d = run();
	assert_string_equal(comment_of(&d).candidate, "fast");
	assert_int_equal(d.wish.limit_min, 4);
	w.places.n_partitions = 0; /* precedentd has not told the default partition yet */
	d = run();
	assert_false(wishes(d));
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

static void test_stale_heartbeat(void **state)
{
	static const int64_t beats[] = {0, NOW - 121, NOW + 121};
	struct decision d;

	(void)state;
	w.conf.mode = MODE_PLACE;
	w.in.partition = NULL;
	for (size_t i = 0; i < sizeof(beats) / sizeof(beats[0]); i++) {
		source.heartbeat = beats[i];
		d = run();
		assert_false(wishes(d) || d.set_partition);
		assert_int_equal(d.act, ACT_PREDICT);
		assert_non_null(strstr(d.message, "00:03:12 on fast"));
		assert_null(strstr(d.message, "limit"));
	}
	source.heartbeat = NOW - 120;
	assert_true(wishes(run()));
}

static void test_observed_only(void **state)
{
	struct decision d;

	(void)state;
	w.in.script = NULL;
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_string_equal(d.message, "");
	assert_false(wishes(d) || d.trace);
	assert_string_equal(comment_of(&d).key, "");
	w.in.script = SCRIPT;
	w.in.het = true;
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(wishes(d) || d.trace);
	assert_int_equal(w.lookups, 0);
}

static void test_own_probes(void **state)
{
	struct decision d;

	(void)state;
	w.in.admin_comment = "precedent:1 act=probe mode=observe cand=fast";
	d = run();
	assert_int_equal(d.act, ACT_PREDICT); /* any user can write such a comment */
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
	assert_false(wishes(d) || d.set_partition);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	w.in.partition = name;
	d = run();
	assert_false(wishes(d));
	/* With many long candidates, the message still has its usual end. */
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
	a = run();
	b = run();
	assert_string_equal(a.id.key, b.id.key);
}

static int world_array_runs(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *err)
{
	static const struct store_array_run runs[] = {{"fast", {1, 100, false}}, {"fast", {2, 200, false}}, {"fast", {2, 200, false}}};

	(void)s;
	(void)key;
	(void)err;
	assert_true(max >= 3);
	*all = true;
	memcpy(out, runs, sizeof(runs));
	return 3;
}

static void test_array_indexes(void **state)
{
	struct decision d;

	(void)state;
	reads.array_runs = world_array_runs;
	w.in.array_inx = "1-2";
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_true(wishes(d));
	assert_null(strstr(d.message, "has not run yet"));
	w.in.array_inx = "1-3";
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_false(wishes(d) || d.set_partition);
	assert_string_equal(d.message, "precedent: no prediction: the array's index matters (100 to 200 s on fast), and index 3 has not "
				       "run yet; --predict=off to opt out");
	assert_int_equal(comment_of(&d).wish_min, DURATION_UNSET);
	assert_true(comment_of(&d).pred_s <= 0);
	reads.array_runs = NULL;
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
}

static void test_memo(void **state)
{
	static struct decide_memo memo;
	char key[33];
	unsigned again = 0;

	(void)state;
	/* Far more keys than slots: the table is bounded, and the latest keys are still there. */
	for (unsigned i = 0; i < 3 * DECIDE_MEMO_SLOTS; i++) {
		snprintf(key, sizeof(key), "%08x%024x", i * 2654435761u, i);
		assert_true(decide_memo_mark(&memo, key, 0, NOW + i / 16));
		assert_false(decide_memo_mark(&memo, key, 0, NOW + i / 16));
	}
	for (unsigned i = 3 * DECIDE_MEMO_SLOTS - 512; i < 3 * DECIDE_MEMO_SLOTS; i++) {
		snprintf(key, sizeof(key), "%08x%024x", i * 2654435761u, i);
		again += decide_memo_mark(&memo, key, 0, NOW + i / 16);
	}
	assert_true(again < 16);
	assert_true(decide_memo_mark(&memo, key, 0, NOW - 10 * H)); /* the clock was set back */
	assert_false(decide_memo_mark(&memo, key, NOW - 10 * H, NOW - 10 * H + 9));
	/* that mark was for an earlier run */
	assert_true(decide_memo_mark(&memo, key, NOW - 10 * H + 1, NOW - 10 * H + 9));
	assert_false(decide_memo_mark(&memo, key, NOW - 10 * H + 1, NOW - 10 * H + 9));
}

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
	    T(test_told),
	    T(test_first_run),
	    T(test_first_run_not_marked),
	    T(test_only), T(test_states),
	    T(test_estimates_refused),
	    T(test_kin_has_no_reason),
	    T(test_not_a_candidate),
	    T(test_several_partitions),
	    T(test_default_partition),
	    T(test_constraints),
	    T(test_soft),
	    T(test_stale_heartbeat),
	    T(test_observed_only),
	    T(test_own_probes),
	    T(test_faults),
	    T(test_overlong),
	    T(test_array_index_is_not_identity), T(test_array_indexes),
	    T(test_memo),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
