/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decide() about jobs with a new text. Their launches are known, or the keys of their kind never come again. */
#include "tests/unit/decide_world.h"

#define KNOWN	 "00112233445566778899aabbccddeeff"
#define LAUNCHES "SPANK_PRECEDENT_LAUNCHES=v1:0123456789abcdef0123456789abcdef"
#define THIRD	 "PRECEDENT_LAUNCHES=v1:0123456789abcdef0123456789abcded"
#define OTHER	 "PRECEDENT_LAUNCHES=v1:0123456789abcdef0123456789abcdee"

static struct {
	uint64_t launch; /* of KNOWN */
	uint32_t fresh;
} row; /* what the store has */
static unsigned looks;
static int store_rv, known_rv; /* known_rv: of the look-up of KNOWN, if below 0 */
static bool own_key_known;
static char *env[1];

static int world_launch(struct store *s, uint64_t launch, char key[IDENTITY_KEY_LEN + 1], struct errbuf *err)
{
	(void)s;
	looks++;
	if (store_rv < 0)
		return err_set(err, "store is locked");
	if (launch != row.launch)
		return 0;
	memcpy(key, KNOWN, sizeof(KNOWN));
	return 1;
}

static int world_kind(struct store *s, uint64_t kind, uint32_t *fresh, struct errbuf *err)
{
	(void)s;
	assert_true(kind != 0);
	if (store_rv < 0)
		return err_set(err, "store is locked");
	*fresh = row.fresh;
	return row.fresh >= STORE_KIND_FRESH;
}

static int lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	if (known_rv < 0 && !strcmp(key, KNOWN))
		return err_set(err, "store is locked");
	return own_key_known || !strcmp(key, KNOWN) ? world_lookup(s, key, out, err) : 0;
}

static int launch_setup(void **state)
{
	setup(state);
	reads.lookup = lookup;
	reads.launch = world_launch;
	reads.kind = world_kind;
	env[0] = LAUNCHES;
	w.in.spank_env = env;
	w.in.n_spank_env = 1;
	w.in.name = "melt-12";
	row.launch = store_launch_name(1000, &w.in.layout, strchr(LAUNCHES, '=') + 1);
	row.fresh = 0;
	looks = 0;
	store_rv = known_rv = 0;
	own_key_known = false;
	return 0;
}

static void test_known_by_launches(void **state)
{
	struct decision d = run();
	struct job_comment c = comment_of(&d);

	(void)state;
	assert_int_equal(d.act, ACT_PREDICT);
	assert_string_equal(c.key, KNOWN); /* its run is learned there */
	assert_string_equal(c.similar, "launch/17");
	assert_true(c.launch == row.launch && c.pred_s == 192);
	assert_non_null(strstr(d.message, "precedent: 00:03:12 on fast ("));
	assert_non_null(strstr(d.message, "; same program, arguments and inputs as job 17; "));
	assert_true(wishes(d));
	w.known.program.source_job = 0; /* from past runs alone */
	d = run();
	assert_non_null(strstr(d.message, "; same program, arguments and inputs as past runs; "));
	assert_string_equal(d.comment.similar, "launch/0");
}

/* The traced run of another text left no trace. */
static void fail_trace(const char *reason)
{
	w.known.n_estimates = 0;
	w.known.program.state = PROGRAM_FAILED;
	w.known.program.n_traces = 0;
	w.known.program.retrace_at = NOW;
	snprintf(w.known.program.reason, sizeof(w.known.program.reason), "%s", reason);
}

/* It was cancelled before it ran: the next run is traced, under its own key, though the launches were marked a moment ago. */
static void test_failed_trace(void **state)
{
	struct decision d;

	(void)state;
	row.launch = 0;
	w.in.script = "#!/bin/sh\nmpirun ./first\n";
	w.in.now = NOW - 10;
	assert_int_equal(run().act, ACT_TRACE);
	row.launch = store_launch_name(1000, &w.in.layout, strchr(LAUNCHES, '=') + 1);
	w.in.script = "#!/bin/sh\nmpirun ./second\n";
	w.in.now = NOW;
	fail_trace("traced job 17 ended CANCELLED; the next run is traced again");
	d = run();
	assert_int_equal(d.act, ACT_TRACE);
	assert_string_not_equal(d.comment.key, KNOWN);
	assert_string_equal(d.comment.similar, "");
	/* not before its time, and not twice */
	w.known.program.retrace_at = NOW + 2;
	assert_int_equal(run().act, ACT_OBSERVE);
	w.known.program.retrace_at = NOW;
	assert_int_equal(run().act, ACT_OBSERVE);
}

/* The tracer may be why it failed: one run goes without it, under its own key. */
static void test_suspected_trace(void **state)
{
	static const char *const reasons[] = {"traced job 17 ended FAILED; the next run goes without the tracer",
					      "traced job 17 ended FAILED, job 18 without the tracer ended COMPLETED; "
					      "it is not traced again by itself"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct decision d;

		fail_trace(reasons[i]);
		d = run();
		assert_int_equal(d.act, ACT_OBSERVE);
		assert_string_not_equal(d.comment.key, KNOWN);
		assert_string_equal(d.message, "precedent: not traced: job 17, which launched the same, failed while it was traced; "
					       "this run is without the tracer; --predict=off to opt out");
	}
	w.known.program.state = PROGRAM_NEW; /* by `precedent retrace` */
	assert_int_equal(run().act, ACT_TRACE);
}

/* Past runs predict it, though its trace failed. */
static void test_failed_trace_with_past_runs(void **state)
{
	struct decision d;
	unsigned n = w.known.n_estimates;

	(void)state;
	fail_trace("traced job 17 ended CANCELLED; the next run is traced again");
	w.known.n_estimates = n;
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_string_equal(d.comment.key, KNOWN);
}

static void test_own_key_first(void **state)
{
	struct decision d;

	(void)state;
	own_key_known = true;
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_string_not_equal(d.comment.key, KNOWN);
	assert_string_equal(d.comment.similar, "");
	assert_true(d.comment.launch == row.launch);
	assert_int_equal(looks, 0);
}

static void test_unknown(void **state)
{
	struct decision d;

	(void)state;
	env[0] = OTHER;
	d = run();
	assert_int_equal(d.act, ACT_TRACE);
	assert_string_not_equal(d.comment.key, KNOWN);
	w.in.script = "#!/bin/sh\nmpirun ./x\n";
	w.in.n_spank_env = 0; /* without the plugin in sbatch */
	d = run();
	assert_int_equal(d.act, ACT_TRACE);
	assert_true(d.comment.launch == 0);
	w.in.n_spank_env = 1;
	env[0] = "PRECEDENT_LAUNCHES=v1:0123456789abcdef0123456789abcdeF"; /* malformed */
	assert_true(run().comment.launch == 0);
	env[0] = LAUNCHES;
	w.in.layout.tasks = 8; /* another layout is another launch */
	w.in.script = "#!/bin/sh\nmpirun ./y\n";
	assert_int_equal(run().act, ACT_TRACE);
	w.in.layout.tasks = 0;
	w.known.program.uid = 1001; /* damage */
	w.in.script = "#!/bin/sh\nmpirun ./z\n";
	assert_int_equal(run().act, ACT_TRACE);
	w.known.program.uid = 1000;
	known_rv = -1; /* no fault of the decision */
	w.in.script = "#!/bin/sh\nmpirun ./zzz\n";
	memset(&w.memo, 0, sizeof(w.memo));
	assert_int_equal(run().act, ACT_TRACE);
	known_rv = 0;
	w.in.script = "#!/bin/sh\nmpirun ./zz\n";
	store_rv = -1; /* the same */
	env[0] = OTHER;
	memset(&w.memo, 0, sizeof(w.memo));
	assert_int_equal(run().act, ACT_TRACE);
}

static void test_one_of_several_texts_is_traced(void **state)
{
	(void)state;
	row.launch = 0;
	w.in.script = "#!/bin/sh\nmpirun ./x\n";
	assert_int_equal(run().act, ACT_TRACE);
	w.in.script = "#!/bin/sh\ntime mpirun ./x\n";
	assert_int_equal(run().act, ACT_OBSERVE);
	env[0] = OTHER; /* the key alone is the same: the launches hold a name that a tool made up */
	assert_int_equal(run().act, ACT_OBSERVE);
	env[0] = THIRD;
	w.in.script = "#!/bin/sh\ntime mpirun ./y\n";
	assert_int_equal(run().act, ACT_TRACE);
}

/* Of 4,096 new keys of a kind, so many are traced. */
static unsigned traced(void)
{
	char script[64];
	unsigned n = 0;

	w.in.script = script;
	w.in.n_spank_env = 0;
	for (unsigned i = 0; i < 4096; i++) {
		snprintf(script, sizeof(script), "#!/bin/sh\nmpirun ./prog-%c%c%c\n", 'a' + i % 16, 'a' + i / 16 % 16, 'a' + i / 256);
		memset(&w.memo, 0, sizeof(w.memo));
		n += run().act == ACT_TRACE;
	}
	return n;
}

static void test_keys_that_never_come_again(void **state)
{
	static char *option[] = {DECIDE_OPTION_VAR "=observe"};
	struct decision d;
	unsigned n;

	(void)state;
	row.fresh = STORE_KIND_FRESH - 1;
	assert_int_equal(traced(), 4096);
	row.fresh = STORE_KIND_FRESH;
	n = traced();
	assert_in_range(n, 4096 / 16 - 64, 4096 / 16 + 64); /* four standard deviations of a binomial distribution */
	assert_int_equal(traced(), n);			     /* the key alone decides */
	w.in.script = SCRIPT;
	d = run();
	while (d.act == ACT_TRACE && w.in.uid++ < 1100)
		d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_non_null(strstr(d.message, "precedent: not traced: the last 8 jobs with this name and script were all new ones; to trace it: --predict=limit; "));
	assert_string_equal(comment_of(&d).similar, "fresh/8");
	w.in.spank_env = option;
	w.in.n_spank_env = 1;
	assert_int_equal(run().act, ACT_TRACE);
}

/* Nothing is said of new keys if the run would not be traced anyway. */
static void test_other_reasons_first(void **state)
{
	struct decision d;

	(void)state;
	env[0] = OTHER;
	row.fresh = STORE_KIND_FRESH;
	while (run().act == ACT_TRACE && w.in.uid++ < 1100)
		;
	assert_non_null(strstr(run().message, "not traced: the last 8 jobs"));
	source.heartbeat = NOW - 1000;
	d = run();
	assert_string_equal(d.message, "");
	assert_string_equal(d.comment.similar, "");
	source.heartbeat = NOW - 5;
	source.stopped = true;
	assert_string_equal(run().message, "");
}

static int world_model(struct store *s, const char *kin, struct store_model *out, size_t max, struct errbuf *err)
{
	(void)s, (void)kin, (void)max, (void)err;
	*out = (struct store_model){.candidate = "fast", .law = "of no use for these inputs"};
	return 1;
}

/* A job beyond what the model over inputs knows is none of many that differ. */
static void test_beyond_the_model(void **state)
{
	(void)state;
	env[0] = OTHER;
	row.fresh = STORE_KIND_FRESH;
	while (run().act == ACT_TRACE && w.in.uid++ < 1100)
		;
	assert_string_equal(run().comment.similar, "fresh/8");
	reads.model = world_model;
	memset(&w.memo, 0, sizeof(w.memo));
	assert_int_equal(run().act, ACT_TRACE);
	assert_non_null(strstr(run().message, "first run of this job is being traced"));
}

static void test_names(void **state)
{
	const struct identity_layout l = {.tasks = 4};
	const char *launches = strchr(OTHER, '=') + 1;

	(void)state;
	assert_true(store_launch_name(1, &l, launches) != store_launch_name(2, &l, launches));
	assert_true(store_launch_name(1, &l, launches) >> 61 == 1);
	assert_true(store_launch_name(1, &l, NULL) == 0 && store_launch_name(1, &l, "v1:") == 0);
	assert_true(store_kind_name(1, "run-1", KNOWN) == store_kind_name(1, "run-22", KNOWN));
	assert_true(store_kind_name(1, "run-1", KNOWN) != store_kind_name(1, "run_1", KNOWN));
	assert_true(store_kind_name(1, "run-1", KNOWN) != store_kind_name(2, "run-1", KNOWN));
	assert_true(store_kind_name(1, NULL, KNOWN) >> 60 == 1 && store_kind_name(1, "x", "") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_known_by_launches, launch_setup),
	    cmocka_unit_test_setup(test_failed_trace, launch_setup),
	    cmocka_unit_test_setup(test_suspected_trace, launch_setup),
	    cmocka_unit_test_setup(test_failed_trace_with_past_runs, launch_setup),
	    cmocka_unit_test_setup(test_own_key_first, launch_setup),
	    cmocka_unit_test_setup(test_unknown, launch_setup),
	    cmocka_unit_test_setup(test_one_of_several_texts_is_traced, launch_setup),
	    cmocka_unit_test_setup(test_keys_that_never_come_again, launch_setup),
	    cmocka_unit_test_setup(test_other_reasons_first, launch_setup),
	    cmocka_unit_test_setup(test_beyond_the_model, launch_setup),
	    cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
