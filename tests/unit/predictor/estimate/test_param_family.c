/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that differ in numbers only: what their runs say of one that has not run, from the arithmetic to the submission. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "plugin/decide.h"
#include "predictor/estimate/param_family.h"
#include "predictor/store/busy.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/normal.h"

/* ---- the arithmetic ---- */

static void refused(const struct param_family_run *runs, size_t n, const char *says)
{
	struct errbuf why = {""};
	struct estimate e;
	unsigned programs;

	if (param_family_estimate(runs, n, &e, &programs, &why) == 0 || !strstr(why.text, says))
		fail_msg("'%s', not '%s'", why.text, says);
}

static void test_seeds(void **state)
{
	struct param_family_run runs[] = {{"a", "1", 100, false}, {"b", "2", 104, false}, {"c", "3", 98, false}, {"a", "1", 102, false}};
	struct errbuf why = {""};
	struct estimate e;
	unsigned programs;

	(void)state;
	assert_int_equal(param_family_estimate(runs, 4, &e, &programs, &why), 0);
	assert_int_equal(programs, 3);
	assert_int_equal(e.kind, ESTIMATE_FAMILY);
	assert_int_equal(e.n, 4);
	assert_true(e.mean_s > 98 && e.mean_s < 104 && e.lo_s <= 98 && e.hi_s >= 104);
	refused(runs, 2, "2 runs of 2 programs");
	runs[1].key = runs[2].key = "a";
	refused(runs, 4, "4 runs of 1 program that");
}

static void test_sizes(void **state)
{
	struct param_family_run runs[] = {{"a", "1000", 100, false}, {"b", "1300", 130, false}, {"c", "1100", 110, false}};
	struct param_family_run apart[] = {{"a", "1", 80, false}, {"a", "1", 200, false}, {"b", "2", 140, false}, {"b", "2", 141, false}};
	struct param_family_run cut[] = {{"d", "4", 300, true}, {"a", "1", 100, false}, {"b", "2", 101, false}, {"c", "3", 99, false}};
	struct param_family_run bad[] = {{"a", "1", NAN, false}, {"b", "2", 145, false}, {"b", "2", 80, false}};

	(void)state;
	refused(runs, 3, "the numbers in script and arguments matter: with some it took 100 s, with others 130 s");
	refused(apart, 4, "too uncertain"); /* the programs agree, their own runs do not */
	refused(cut, 4, "a run was ended after 300 s");
	refused(bad, 3, "a past run took");
}

/* However many programs with whatever spread: when it is told, the next program is inside as often as it should be. */
static void test_coverage(void **state)
{
	struct param_family_run runs[PARAM_FAMILY_RUNS_MAX];
	static char keys[PARAM_FAMILY_RUNS_MAX][8];
	unsigned told = 0, inside = 0;

	(void)state;
	srand48(41);
	for (unsigned i = 0; i < PARAM_FAMILY_RUNS_MAX; i++)
		snprintf(keys[i], sizeof(keys[i]), "k%u", i);
	for (unsigned trial = 0; trial < 20000; trial++) {
		size_t n = 3 + (size_t)(drand48() * 10);
		double own = 0.03 * drand48(), between = 0.05 * drand48(), next;
		struct estimate e;
		struct errbuf why;
		unsigned programs;

		for (size_t i = 0; i < n; i++)
			runs[i] = (struct param_family_run){keys[i], "1", 100 * (1 + between * normal()) * (1 + own * normal()), false};
		if (param_family_estimate(runs, n, &e, &programs, &why) < 0)
			continue;
		next = 100 * (1 + between * normal()) * (1 + own * normal());
		told++;
		inside += next >= e.lo_s && next <= e.hi_s;
	}
	assert_true(told > 15000);
	assert_true((double)inside / told > 0.90);
}

static void test_ranges(void **state)
{
	struct param_family_run runs[] = {{"a", "1000,1,0.5", 1, false}, {"b", "1000,4,0.5", 1, false}, {"c", "1000,9,0.5", 1, true}};
	struct param_family_run uneven[] = {{"a", "1,2", 1, false}, {"b", "1", 1, false}}, noise[] = {{"a", "1,x", 1, false}};
	double inside[][3] = {{1000, 1, 0.5}, {1000, 7, 0.5}, {1000, -2, 0.5}, {1000 * (1 + 1e-10), 2.5, 0.5}};
	double outside[][3] = {{1001, 1, 0.5}, {1000, 7.01, 0.5}, {1000, -2.01, 0.5}, {1000, 2, 0.6}, {1000, NAN, 0.5}};
	char text[PARAM_FAMILY_RANGES_MAX];

	(void)state;
	param_family_ranges(runs, 3, text, sizeof(text));
	assert_string_equal(text, "1000:1000,1:4,0.5:0.5"); /* a run that was cut short agrees with nothing */
	for (unsigned i = 0; i < 4; i++)
		assert_true(param_family_covers(text, inside[i], 3));
	for (unsigned i = 0; i < 5; i++)
		assert_false(param_family_covers(text, outside[i], 3));
	assert_false(param_family_covers(text, inside[0], 2));
	assert_false(param_family_covers("", inside[0], 0));
	assert_false(param_family_covers("", inside[0], 1));
	assert_false(param_family_covers("1000:1000,1", inside[0], 2));
	assert_false(param_family_covers("1000", inside[0], 1));
	param_family_ranges(uneven, 2, text, sizeof(text));
	assert_string_equal(text, "");
	param_family_ranges(noise, 1, text, sizeof(text));
	assert_string_equal(text, "");
	param_family_ranges(runs, 3, text, 12); /* no room */
	assert_string_equal(text, "");
}

/* Text and back: what ran is covered, whatever its numbers; what is far off is not. */
static void test_ranges_of_all_numbers(void **state)
{
	(void)state;
	srand48(42);
	for (unsigned trial = 0; trial < 20000; trial++) {
		struct param_family_run runs[8];
		struct identity id[8];
		char vars[8][COMMENT_VARS_MAX], ranges[PARAM_FAMILY_RANGES_MAX];
		unsigned n_vars = 1 + (unsigned)(drand48() * 5), n = 2 + (unsigned)(drand48() * 6);
		double lo = INFINITY, hi = -INFINITY;

		for (unsigned i = 0; i < n; i++) {
			id[i].n_vars = n_vars;
			for (unsigned j = 0; j < n_vars; j++)
				id[i].vars[j] = floor(exp(30 * drand48())) * (drand48() < 0.5 ? 1 : 1e-3);
			lo = fmin(lo, id[i].vars[0]);
			hi = fmax(hi, id[i].vars[0]);
			identity_vars_format(&id[i], vars[i], sizeof(vars[i]));
			assert_true(vars[i][0]);
			runs[i] = (struct param_family_run){"k", vars[i], 1, false};
		}
		param_family_ranges(runs, n, ranges, sizeof(ranges));
		for (unsigned i = 0; i < n; i++)
			assert_true(param_family_covers(ranges, id[i].vars, n_vars));
		id[0].vars[0] = hi + (hi - lo) + 1e-6 * hi;
		assert_false(param_family_covers(ranges, id[0].vars, n_vars));
		id[0].vars[0] = lo - (hi - lo) - 1e-6 * hi;
		assert_false(param_family_covers(ranges, id[0].vars, n_vars));
	}
}

/* ---- who is kin ---- */

static struct identity identity_of(const char *script, const char *fingerprint)
{
	struct identity_input in = {.uid = 1000, .script = script, .fingerprint = fingerprint, .work_dir = "/home/u"};
	struct identity id;

	identity_compute(&in, &id);
	return id;
}

static void test_who_is_kin(void **state)
{
	static const char f1[] = "v1:0123456789abcdef0123456789abcdef:2", f2[] = "v1:ffffffffffffffff0123456789abcdef:2";
	struct identity a = identity_of("#!/bin/sh\nsrun ./app -s 1\n", f1), b = identity_of("#!/bin/sh\nsrun ./app -s 2\n", f1);
	struct identity other = identity_of("#!/bin/sh\nsrun ./app -s 1\n", f2), c = identity_of("#!/bin/sh\nsrun ./bpp -s 1\n", f1);
	char text[COMMENT_VARS_MAX], tiny[4];

	(void)state;
	assert_string_not_equal(a.key, b.key);
	assert_string_equal(a.kin, b.kin);
	assert_string_equal(a.family, other.family);
	assert_string_not_equal(a.kin, other.kin); /* another input is not another number */
	assert_string_not_equal(a.kin, c.kin);
	assert_true(identity_key_valid(a.kin));
	identity_vars_format(&b, text, sizeof(text));
	assert_string_equal(text, "1,1,1,0,2");
	b.n_vars = IDENTITY_VARS_MAX; /* perhaps not all */
	identity_vars_format(&b, text, sizeof(text));
	assert_string_equal(text, "");
	a.vars[0] = 123456; /* ranks */
	identity_vars_format(&a, tiny, sizeof(tiny));
	assert_string_equal(tiny, "");
}

/* Where there is no room for them in the comment it does without. */
static void test_comment(void **state)
{
	char text[COMMENT_TEXT_MAX];
	struct job_comment c, back;
	int with, without;

	(void)state;
	comment_init(&c);
	c.act = ACT_PREDICT;
	strcpy(c.key, KEY);
	strcpy(c.family, FAMILY);
	without = comment_format(&c, text, sizeof(text));
	strcpy(c.kin, FAMILY);
	strcpy(c.vars, "1,2.5");
	with = comment_format(&c, text, sizeof(text));
	assert_true(with > without);
	assert_int_equal(comment_parse(text, &back), 0);
	assert_string_equal(back.kin, FAMILY);
	assert_string_equal(back.vars, "1,2.5");
	assert_int_equal(comment_format(&c, text, (size_t)with), without);
	assert_int_equal(comment_parse(text, &back), 0);
	assert_string_equal(back.kin, "");
	assert_string_equal(back.key, KEY);
}

/* ---- the daemon ---- */

static void run_with(uint32_t id, const char *end, double elapsed_s, unsigned number)
{
	char vars[40];

	snprintf(vars, sizeof(vars), "1000,%u", number);
	job_play(job_add_member(id, number, vars), end, elapsed_s);
}

static bool family_of(const char *candidate, struct store_family *out)
{
	struct store_family list[STORE_ESTIMATES_MAX];
	struct errbuf e;
	int n = store_family_lookup(w->store, FAMILY, FAMILY, list, STORE_ESTIMATES_MAX, &e);

	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].candidate, candidate)) {
			*out = list[i];
			return true;
		}
	return false;
}

static void test_daemon(void **state)
{
	struct store_family f;
	struct errbuf e;

	(void)state;
	run_with(1, "COMPLETED", 100, 1);
	run_with(2, "COMPLETED", 101, 1);
	assert_false(family_of("fast", &f)); /* one program alone is no family */
	run_with(3, "FAILED", 5, 2);
	assert_false(family_of("fast", &f));
	run_with(4, "COMPLETED", 103, 3);
	assert_true(family_of("fast", &f));
	assert_false(family_of("slow:big", &f));
	assert_true(f.e.mean_s > 99 && f.e.mean_s < 104);
	assert_int_equal(f.programs, 2);
	assert_int_equal(f.e.n, 3);
	assert_string_equal(f.ranges, "1000:1000,1:3");
	assert_string_equal(f.reason, "");
	run_with(5, "COMPLETED", 180, 4);
	assert_true(family_of("fast", &f));
	assert_true(f.e.mean_s == 0);
	assert_non_null(strstr(f.reason, "the numbers in script and arguments matter"));
	assert_true(store_key_forget(w->store, "00000000000000000000000000000004", getuid(), w->now, &e) >= 0);
	assert_false(family_of("fast", &f)); /* it had a part in it: the next run makes it anew */
	run_with(6, "COMPLETED", 101, 1);
	assert_true(family_of("fast", &f));
	assert_true(f.e.mean_s > 99 && f.e.mean_s < 104);
}

/* ---- the plugin ---- */

static struct store_family known_kin;
static unsigned n_kin;
static struct decide_memo memo;

static int no_program(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	(void)s;
	(void)key;
	(void)out;
	(void)err;
	return 0;
}

static int kin_lookup(struct store *s, const char *family, const char *kin, struct store_family *out, size_t max, struct errbuf *err)
{
	(void)s;
	(void)max;
	assert_true(identity_key_valid(family) && identity_key_valid(kin));
	if (n_kin == UINT32_MAX)
		return err_set(err, "broken");
	out[0] = known_kin;
	return (int)n_kin;
}

static int submit(const char *partition, const char *seed, struct decision *out)
{
	static struct precedent_conf conf;
	const struct decide_reads reads = {.lookup = no_program, .family = kin_lookup};
	struct decide_source src = {.reads = &reads, .heartbeat = START, .memo = &memo};
	char script[128];
	struct decide_input in = {.uid = 1000, .script = script, .work_dir = "/home/u", .partition = partition,
				  .time_limit_min = 60, .time_min_min = DURATION_UNSET, .now = START};
	struct errbuf err = {""};

	snprintf(script, sizeof(script), "#!/bin/sh\nsrun ./app -n 1000 -s %s\n", seed);
	conf.mode = MODE_LIMIT;
	conf.limit_guard = GUARD_RAISE;
	conf.margin = 0.15;
	conf.min_limit_min = 1;
	conf.heartbeat_timeout_s = 120;
	conf.n_candidates = 1;
	conf.candidates[0] = (struct conf_candidate){"fast", "fast", ""};
	memset(&memo, 0, sizeof(memo));
	return decide(&in, &conf, &src, out, &err);
}

static void test_submission(void **state)
{
	struct decision out;
	struct job_comment c;

	(void)state;
	n_kin = 1;
	known_kin = (struct store_family){.candidate = "fast", .ranges = "1:1,1:1,1:1,0:0,1000:1000,1:4",
					  .e = {100, 95, 106, ESTIMATE_FAMILY, 5}};
	assert_int_equal(submit("fast", "6", &out), 0);
	assert_int_equal(out.act, ACT_PREDICT);
	assert_false(out.trace);
	assert_true(decide_memo_mark(&memo, out.id.key, 0, START)); /* it was not */
	assert_true((out.wish.limit_min != DURATION_UNSET));
	assert_int_equal(out.wish.limit_min, 3); /* 106 s * 1.15 */
	assert_non_null(strstr(out.message, "00:01:40 on fast (00:01:35-00:01:46, from runs with other numbers)"));
	c = out.comment;
	assert_string_equal(c.kin, out.id.kin);
	assert_string_equal(c.vars, "1,1,1,0,1000,6");
	/* another number than those that have been seen, another partition, nothing that is sure: its own first run */
	assert_int_equal(submit("fast", "9", &out), 0);
	assert_int_equal(out.act, ACT_TRACE);
	assert_false(decide_memo_mark(&memo, out.id.key, 0, START));
	assert_int_equal(submit("slow", "2", &out), 0);
	assert_int_equal(out.act, ACT_TRACE);
	known_kin.e = (struct estimate){0};
	assert_int_equal(submit("fast", "2", &out), 0);
	assert_int_equal(out.act, ACT_TRACE);
	n_kin = 0;
	assert_int_equal(submit("fast", "2", &out), 0);
	assert_int_equal(out.act, ACT_TRACE);
	assert_non_null(strstr(out.message, "first run of this job: it is traced"));
	n_kin = UINT32_MAX; /* the job passes as it is */
	assert_int_equal(submit("fast", "2", &out), -1);
	assert_int_equal(out.act, ACT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),	   cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_coverage),   cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_ranges_of_all_numbers),
		cmocka_unit_test(test_who_is_kin), cmocka_unit_test(test_comment),
		T(test_daemon),			   cmocka_unit_test(test_submission),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
