/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that could be traced but are not: after a traced run that failed, while tracing is stopped, and at the
 * same time as another traced run. */
#include "tests/unit/decide_world.h"

static struct {
	struct store_trial row;
	int rv;
	unsigned asked;
	char name[IDENTITY_KEY_LEN + 1], key[IDENTITY_KEY_LEN + 1]; /* keys that were looked up */
} guard;

static int world_trial(struct store *s, const char *name, const char *key, struct store_trial *out, struct errbuf *err)
{
	(void)s;
	guard.asked++;
	snprintf(guard.name, sizeof(guard.name), "%s", name);
	snprintf(guard.key, sizeof(guard.key), "%s", key);
	if (guard.rv < 0)
		return err_set(err, "store is locked");
	*out = guard.row;
	return guard.rv;
}

/* An unknown program, of which job 123 failed while it was traced. */
static int guarded_setup(void **state)
{
	setup(state);
	memset(&guard, 0, sizeof(guard));
	guard.row = (struct store_trial){.guard = TRIAL_DOUBT, .traced_job = 123, .end_state = "FAILED"};
	guard.rv = 1;
	reads.trial = world_trial;
	w.lookup_rv = 0;
	return 0;
}

/* A known program without a prediction, due to be traced. */
static void known_and_due(enum program_state state)
{
	w.lookup_rv = 1;
	w.known.n_estimates = 0;
	w.known.program.state = state;
	w.known.program.retrace_at = NOW;
}

static void assert_untraced(const struct decision *d, const char *message)
{
	assert_int_equal(d->act, ACT_OBSERVE); /* followed: its end decides */
	assert_false(d->trace || wishes(*d) || d->set_partition);
	assert_string_equal(d->message, message);
	assert_string_equal(comment_of(d).key, d->id.key);
}

#define DOUBT                                                                                                                            \
	"precedent: not traced: job 123 of this program ended FAILED while it was traced; this run is without the tracer; --predict=off to " \
	"opt out"

static void test_after_failure(void **state)
{
	struct decision d = run();

	(void)state;
	assert_untraced(&d, DOUBT);
	assert_string_equal(guard.name, d.id.kin); /* has all numbers of the program */
	assert_string_equal(guard.key, d.id.key);
	guard.row.guard = TRIAL_DOUBT_KEY;
	d = run();
	assert_untraced(&d, DOUBT);
	strcpy(guard.row.end_state, "UNKNOWN");
	assert_non_null(strstr(run().message, "job 123 of this program ended unseen while it was traced"));
	guard.rv = 0; /* no mark was set */
	assert_true(run().trace);
}

/* A run that its limit ended may have hung: the user learns who can tell. */
static void test_time_limit(void **state)
{
	struct decision d;

	(void)state;
	strcpy(guard.row.end_state, "TIMEOUT");
	d = run();
	assert_untraced(&d, "precedent: not traced: job 123 of this program ended TIMEOUT while it was traced; this run is without the "
			    "tracer; precedent explain 123 says what job 123 did when its limit ended it; --predict=off to opt out");
}

/* A program with too many numbers has no kin in its comment: its runs are found by their key. */
static void test_many_numbers(void **state)
{
	static char script[1024] = "#!/bin/bash\nsrun ./heat";
	struct decision d;

	(void)state;
	for (size_t n = strlen(script); n + 8 < sizeof(script); n += 7)
		strcpy(script + n, " 123456");
	w.in.script = script;
	d = run();
	assert_untraced(&d, DOUBT);
	assert_string_equal(comment_of(&d).kin, "");
	assert_string_equal(guard.name, d.id.key);
}

static void test_suspect(void **state)
{
	struct decision d;

	(void)state;
	guard.row.guard = TRIAL_SUSPECT;
	guard.row.control_job = 124;
	d = run();
	assert_untraced(&d, "precedent: not traced: job 123 of this program ended FAILED while it was traced, job 124 without the tracer "
			    "completed; precedent retrace 123 traces it again; --predict=off to opt out");
}

static void test_known(void **state)
{
	struct decision d;

	(void)state;
	known_and_due(PROGRAM_FAILED);
	d = run();
	assert_untraced(&d, DOUBT);
	w.known.program.retrace_at = NOW + 1; /* it failed within the second of its submission, and this is that second */
	d = run();
	assert_untraced(&d, DOUBT);
	known_and_due(PROGRAM_NEW);
	d = run();
	assert_untraced(&d, DOUBT);
	w.known.program.retrace_at = NOW + 2; /* not due for tracing anyway */
	assert_non_null(strstr(run().message, "is being traced"));
	w.known.program.retrace_at = NOW;
	guard.rv = 0;
	assert_true(run().trace);
}

/* The prediction is made all the same. */
static void test_predicted(void **state)
{
	struct decision d;

	(void)state;
	w.lookup_rv = 1;
	w.known.program.retrace_at = NOW;
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_non_null(strstr(d.message, "precedent: 00:03:12 on fast"));
	guard.rv = 0;
	assert_non_null(strstr(run().message, "this run is traced again"));
}

static char ranges[256];

static int kin_lookup(struct store *s, const char *family, const char *kin, struct store_family *out, size_t max, struct errbuf *err)
{
	(void)s;
	(void)family;
	(void)kin;
	(void)max;
	(void)err;
	*out = (struct store_family){.candidate = "fast", .e = {100, 95, 105, ESTIMATE_FAMILY, 5}, .scale = 1};
	strcpy(out->ranges, ranges);
	return 1;
}

/* Runs of a known program with other numbers, and without a prediction of their own. */
static void test_predicted_by_others(void **state)
{
	struct decision d = run();

	(void)state;
	for (unsigned i = 0; i < d.id.n_vars; i++)
		snprintf(ranges + strlen(ranges), sizeof(ranges) - strlen(ranges), "%s%g:%g", i ? "," : "", d.id.vars[i], d.id.vars[i]);
	known_and_due(PROGRAM_FAILED);
	reads.family = kin_lookup;
	d = run();
	assert_int_equal(d.act, ACT_PREDICT);
	assert_non_null(strstr(d.message, "00:01:40 on fast"));
	guard.rv = 0;
	assert_true(run().trace);
}

static void test_fault(void **state)
{
	struct decision d;
	struct errbuf err = {""};

	(void)state;
	guard.rv = -1;
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), -1);
	untouched(&d);
	known_and_due(PROGRAM_FAILED);
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), -1);
	untouched(&d);
}

static void test_silent_daemon(void **state)
{
	struct decision d;

	(void)state;
	source.heartbeat = NOW - 1000;
	d = run();
	assert_untraced(&d, "");
	assert_int_equal(guard.asked, 0);
}

/* Jobs run as without Precedent, but are followed. */
static void test_stopped(void **state)
{
	struct decision d;

	(void)state;
	guard.rv = 0;
	source.stopped = true;
	d = run();
	assert_untraced(&d, "");
	assert_int_equal(guard.asked, 0);
	known_and_due(PROGRAM_NEW);
	d = run();
	assert_untraced(&d, "");
	known_and_due(PROGRAM_FAILED);
	d = run();
	assert_untraced(&d, "");
	setup(state);
	source.stopped = true;
	w.known.program.retrace_at = NOW;
	assert_int_equal(run().act, ACT_PREDICT); /* known predictions are made */
	w.lookup_rv = 0;
	assert_false(run().trace);
	source.stopped = false;
	assert_true(run().trace); /* no mark was set */
}

/* A burst of submissions of a program that is due for tracing: a fault of the tracer costs one of them. */
static void test_one_of_a_burst(void **state)
{
	struct decision d;

	(void)state;
	guard.rv = 0;
	w.in.now = NOW - 5; /* the first run, which has ended */
	source.heartbeat = NOW - 5;
	assert_true(run().trace);
	known_and_due(PROGRAM_FAILED);
	w.in.now = NOW;
	assert_true(run().trace); /* precedentd has allowed it again */
	d = run();
	assert_untraced(&d, "precedent: the first run of this job is being traced, no prediction yet; --predict=off to opt out");
	setup(state);
	w.known.program.retrace_at = NOW;
	assert_true(run().trace);
	assert_int_equal(run().act, ACT_PREDICT);
}

#define G(f) cmocka_unit_test_setup(f, guarded_setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		G(test_after_failure), G(test_many_numbers), G(test_time_limit), G(test_suspect), G(test_known),   G(test_predicted), G(test_predicted_by_others),
		G(test_fault),	       G(test_silent_daemon), G(test_stopped), G(test_one_of_a_burst),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("untraced", tests, NULL, NULL);
}
