/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Job arrays: what the index does to how long a task takes, and what is said before the next submission, which has one limit. */
#include "plugin/decide_internal.h"
#include "predictor/estimate/array.h"
#include "predictor/learn/program_estimate.h"
#include "predictor/store/records.h"
#include "predictor/store/runs.h"
#include "tests/unit/store_fixture.h"

static struct array_view judged(const struct array_run *runs, size_t n)
{
	struct array_view v;

	array_judge(runs, n, &v);
	return v;
}

#define JUDGED(...) judged((const struct array_run[]){__VA_ARGS__}, sizeof((const struct array_run[]){__VA_ARGS__}) / sizeof(struct array_run))

static void test_judge(void **state)
{
	struct array_view v = judged(NULL, 0);

	(void)state;
	assert_int_equal(v.word, ARRAY_NONE);
	assert_int_equal(JUDGED({ARRAY_NO_INDEX, 10, false}, {ARRAY_NO_INDEX, 90, false}).word, ARRAY_NONE);
	v = JUDGED({1, 10, false}, {2, 10, false}, {3, 10, true});
	assert_int_equal(v.word, ARRAY_UNKNOWN);
	assert_string_equal(v.why.text, "a job array, of which 2 tasks have ended: 3 are needed to see what the index does");
	v = JUDGED({1, 100, false}, {2, 110, false}, {7, 125, false});
	assert_int_equal(v.word, ARRAY_ALIKE);
	assert_true(v.least_s == 100 && v.most_s == 125);
	v = JUDGED({1, 100, false}, {2, 110, false}, {7, 126, false});
	assert_int_equal(v.word, ARRAY_UNKNOWN);
	assert_string_equal(v.why.text, "the array's index matters: with some it took 100 s, with others 126 s; the longest, index 7, "
					"has run once: two runs are needed");
	v = JUDGED({7, 124, false}, {1, 100, false}, {2, 110, false}, {7, 128, false});
	assert_int_equal(v.word, ARRAY_LONGEST);
	assert_int_equal(v.longest, 7);
	assert_true(v.most_s == 126);
	assert_int_equal(JUDGED({7, 100, false}, {7, 101, false}, {7, 99, false}).word, ARRAY_ALIKE); /* always the same */
	v = JUDGED({9, 500, true}, {7, 124, false}, {1, 10, false}, {7, 128, false});
	assert_int_equal(v.word, ARRAY_UNKNOWN);
	assert_string_equal(v.why.text, "the array's index matters (10 to 126 s), and index 9 was ended after 500 s");
	assert_int_equal(JUDGED({9, 50, true}, {7, 124, false}, {1, 10, false}, {7, 128, false}).word, ARRAY_LONGEST);
}

static struct precedent_conf conf;

/* One array after the other, tasks 1 to n, task i of a + b * i seconds. */
static void arrays_run(struct store *s, unsigned arrays, unsigned n, double a, double b, const char *candidate)
{
	static uint32_t job = 100;

	for (unsigned k = 0; k < arrays; k++) {
		uint32_t first = ++job;

		for (unsigned i = 1; i <= n; i++, job++) {
			struct store_run r = {.jobid = job, .submit_time = NOW + first, .uid = 1000, .act = ACT_PREDICT, .start_time = NOW,
					      .end_time = NOW + job, .elapsed_s = a + b * i, .array_job = first, .array_task = i,
					      .user_limit_min = 60, .limit_min = DURATION_UNSET, .pred_kind = -1};

			strcpy(r.key, KEY1);
			strcpy(r.family, FAMILY);
			strcpy(r.candidate, candidate);
			strcpy(r.end_state, "COMPLETED");
			ok(store_run_put(s, &r, &err));
		}
	}
}

/* What is known of the array on the candidate then; false: nothing, *why says why. */
static bool known(struct store *s, const char *candidate, struct estimate *e, struct errbuf *why)
{
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct daemon_env env = {.conf = &conf, .store = s};
	struct program_estimates est;
	struct store_lookup l;

	strcpy(p.source_candidate, "fast");
	ok(store_program_put(s, &p, &err));
	ok(program_estimate(&env, &p, &(struct program_ended){.candidate = candidate}, NOW, &est, &err));
	*why = est.refused;
	assert_int_equal(store_lookup(s, KEY1, &l, &err), 1);
	for (unsigned i = 0; i < l.n_estimates; i++) {
		if (strcmp(l.estimates[i].candidate, candidate))
			continue;
		*e = l.estimates[i].e;
		return true;
	}
	return false;
}

/* The index decides on every candidate that was probed. The user reads why there is nothing where the job was traced. */
static void test_reason(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	static const char *const places[] = {"away", "fast", "slow"};
	static struct result probed = {.job_id = 9, .ok = true, .has_class = true, .class_hex = "0123456789abcdef", .class_text = "node",
				       .has_startup = true, .has_hash = true, .hash_hex = "0123456789abcdef", .traces_n = 1,
				       .traces = {{100, 90, 89, 91, 2, 1000, 1, {0}, {0}}}};
	struct errbuf why;
	struct estimate e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct store_probe row = {.state = PROBE_DONE};

		strcpy(row.key, KEY1);
		strcpy(row.candidate, places[i]);
		strcpy(probed.candidate, places[i]);
		ok(store_record_put(s, &row, &probed, &err));
	}
	arrays_run(s, 1, 10, 0, 10, "fast");
	assert_false(known(s, "fast", &e, &why));
	assert_true(!strncmp(why.text, "nothing for fast: the array's index matters: ", 45));
	store_close(s);
}

static void test_alike(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct errbuf why;
	struct estimate e;

	(void)state;
	arrays_run(s, 1, 2, 100, 1, "fast");
	assert_false(known(s, "fast", &e, &why));
	assert_non_null(strstr(why.text, "2 tasks have ended: 3 are needed"));
	arrays_run(s, 1, 20, 100, 1, "fast"); /* 101 to 120 s; the latest five are 116 and more */
	assert_true(known(s, "fast", &e, &why));
	assert_true(e.lo_s <= 101 && e.hi_s >= 120);
	store_close(s);
}

static void test_longest(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct errbuf why;
	struct estimate e;

	(void)state;
	arrays_run(s, 1, 10, 0, 10, "fast");
	assert_false(known(s, "fast", &e, &why));
	assert_non_null(strstr(why.text, "nothing for fast: the array's index matters: with some it took 10 s, with others 100 s"));
	arrays_run(s, 1, 10, 0, 10, "fast");
	assert_true(known(s, "fast", &e, &why)); /* of the two runs of index 10 */
	assert_int_equal(e.kind, ESTIMATE_HISTORY);
	assert_int_equal(e.n, 2);
	assert_true(e.mean_s == 100 && e.lo_s > 80 && e.hi_s >= 100 && e.hi_s < 120);
	assert_false(known(s, "slow", &e, &why)); /* nothing says how long that index takes there */
	assert_non_null(strstr(why.text, "the array's index matters on fast: 10 to 100 s"));
	arrays_run(s, 1, 3, 0, 10, "fast"); /* a part of it: the limit is still that of the longest */
	assert_true(known(s, "fast", &e, &why));
	assert_true(e.mean_s == 100);
	store_close(s);
}

/* Many tasks end beside each other, and the longest is none of the latest. */
static void test_long(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct errbuf why;
	struct estimate e;

	(void)state;
	arrays_run(s, 2, 100, 1100, -10, "fast"); /* index 1 takes 1090 s, index 100 takes 100 s */
	assert_true(known(s, "fast", &e, &why));
	assert_true(e.mean_s == 1090);
	store_close(s);
}

/* ---- the indexes that are asked for ---- */

static enum array_asked asked(const char *inx, uint32_t *unseen)
{
	static const struct store_array_run runs[] = {
		{"fast", {1, 10, false}}, {"slow", {2, 10, false}}, {"fast", {3, 10, false}}, {"fast", {4, 10, false}},
		{"fast", {5, 10, true}},  {"fast", {8, 10, false}}, {"fast", {12, 10, false}}};

	*unseen = 999;
	return decide_array_asked(inx, runs, sizeof(runs) / sizeof(*runs), unseen);
}

static void test_asked(void **state)
{
	static const struct {
		const char *inx;
		enum array_asked asked;
		uint32_t unseen;
	} cases[] = {{"1", ASKED_SEEN, 0},	      {"1-4", ASKED_SEEN, 0},	       {"1-4%2", ASKED_SEEN, 0},
		     {"4-12:4", ASKED_SEEN, 0},	      {"3,1-2,12", ASKED_SEEN, 0},     {"1-5", ASKED_UNSEEN, 5},
		     {"0-3", ASKED_UNSEEN, 0},	      {"4-16:4%1", ASKED_UNSEEN, 16},  {"1,3,9", ASKED_UNSEEN, 9},
		     {"1-4000000000", ASKED_UNSEEN, 5}, {"", ASKED_UNREADABLE, 0},     {"x", ASKED_UNREADABLE, 0},
		     {"1-", ASKED_UNREADABLE, 0},     {"1-4:0", ASKED_UNREADABLE, 0},  {"1,", ASKED_UNREADABLE, 0},
		     {"1;2", ASKED_UNREADABLE, 0},    {"-3", ASKED_UNREADABLE, 0},     {"99999999999999999999", ASKED_UNREADABLE, 0},
		     {"1-2-3", ASKED_UNREADABLE, 0},  {"4294967295", ASKED_UNREADABLE, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t unseen;

		if (asked(cases[i].inx, &unseen) != cases[i].asked || (cases[i].asked == ASKED_UNSEEN && unseen != cases[i].unseen))
			fail_msg("%s: %d, %u", cases[i].inx, asked(cases[i].inx, &unseen), unseen);
	}
}

/* Any text: it ends, and nothing is read beyond it. */
static void test_asked_any(void **state)
{
	static const char letters[] = "0123456789,-:%4x ";
	char text[24];

	(void)state;
	srand48(5);
	for (unsigned trial = 0; trial < 200000; trial++) {
		size_t len = (size_t)(drand48() * (sizeof(text) - 1));
		uint32_t unseen;

		for (size_t i = 0; i < len; i++)
			text[i] = letters[(size_t)(drand48() * (sizeof(letters) - 1))];
		text[len] = '\0';
		assert_in_range(asked(text, &unseen), ASKED_SEEN, ASKED_UNREADABLE);
	}
}

static int known_runs(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *errp)
{
	(void)key;
	return store_array_runs(s, KEY1, out, max, all, errp);
}

/* What is told of an array: 1 nothing, with the reason; 0 the prediction, with *unseen. */
static int told(struct store *s, const char *inx, uint32_t *unseen, char message[DECIDE_MESSAGE_MAX])
{
	struct decide_input in = {.array_inx = inx};
	const struct decide_reads reads = {.array_runs = known_runs};
	struct decide_source src = {.reads = &reads, .store = s};
	static struct decision out;
	struct deciding d = {.in = &in, .src = &src, .out = &out, .err = &err, .unseen = ARRAY_NO_INDEX};
	int rv;

	out.message[0] = '\0';
	rv = decide_array(&d);
	*unseen = d.unseen;
	memcpy(message, out.message, DECIDE_MESSAGE_MAX);
	return rv;
}

static void test_told(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	char message[DECIDE_MESSAGE_MAX];
	uint32_t unseen;

	(void)state;
	assert_int_equal(told(s, "1-4", &unseen, message), 0);
	assert_int_equal(unseen, 1); /* it has run as a single job */
	arrays_run(s, 1, 4, 100, 1, "fast");
	assert_int_equal(told(s, "1-4", &unseen, message), 0);
	assert_int_equal(unseen, ARRAY_NO_INDEX);
	assert_int_equal(told(s, "1-5", &unseen, message), 0); /* they are alike */
	assert_int_equal(unseen, 5);
	arrays_run(s, 2, 10, 0, 10, "slow");
	assert_int_equal(told(s, "1-10", &unseen, message), 0);
	assert_int_equal(told(s, "9-11", &unseen, message), 1); /* the index matters there */
	assert_string_equal(message, "precedent: no prediction: the array's index matters (10 to 100 s on slow), and index 11 has not run "
				     "yet; --predict=off to opt out");
	assert_int_equal(told(s, NULL, &unseen, message), 0);
	arrays_run(s, 1, STORE_ARRAY_RUNS, 100, 0, "fast"); /* the older indexes are not known here */
	assert_int_equal(told(s, "1-2000", &unseen, message), 0);
	assert_int_equal(unseen, ARRAY_NO_INDEX);
	store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_judge), T(test_reason), T(test_alike), T(test_longest), T(test_long),
					   T(test_asked), T(test_asked_any), T(test_told)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
