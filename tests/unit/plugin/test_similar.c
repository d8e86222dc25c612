/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What decide() makes of similar runs, where nothing else is known: words, and under LimitGuard = soft a plan. */
#include "predictor/query/answer_similar.h"
#include "tests/unit/decide_world.h"

static int groups_rv, groups_asked;
static struct ladder_group rows[LADDER_RUNGS];

static int world_groups(struct store *s, const struct group_ids *ids, struct ladder_group out[LADDER_RUNGS],
			struct errbuf *err)
{
	(void)s;
	assert_true(ids->id[LADDER_USER] != 0);
	groups_asked++;
	if (groups_rv < 0)
		return err_set(err, "store is locked");
	memcpy(out, rows, sizeof(rows));
	return groups_rv;
}

/* An unknown job of a user with runs of this many seconds. */
static void similar_world(enum ladder_rung rung, double seconds, unsigned runs)
{
	memset(rows, 0, sizeof(rows));
	for (unsigned i = 0; i < runs; i++)
		ladder_group_add(&rows[rung], seconds, LADDER_WHOLE);
	reads.groups = world_groups;
	groups_rv = 1;
	groups_asked = 0;
	w.lookup_rv = 0;
	memset(&w.memo, 0, sizeof(w.memo));
	w.in.name = "melt";
	w.in.command = "sbatch job.sh";
}

static struct decision decided(enum ladder_rung rung, double seconds, unsigned runs)
{
	similar_world(rung, seconds, runs);
	return run();
}

#define FIRST	"precedent: first run of this job: it is traced, predictions from the next submission on"
#define OPT_OUT "; --predict=off to opt out"

static void test_told(void **state)
{
	struct decision d = decided(LADDER_COMMAND, 600, 16);
	struct job_comment c = comment_of(&d);
	struct group_ids ids;

	(void)state;
	assert_int_equal(d.act, ACT_TRACE);
	assert_non_null(strstr(d.message, FIRST "; similar runs (with the same command) took 00:10:00 (00:0"));
	assert_string_equal(d.message + strlen(d.message) - strlen(OPT_OUT), OPT_OUT);
	assert_null(strstr(strstr(d.message, OPT_OUT) + 1, OPT_OUT));
	assert_false(wishes(d) || d.set_partition);
	assert_true(c.pred_s == 0);
	assert_int_equal(strncmp(c.similar, "command/600/", 12), 0);
	assert_int_equal(group_ids_parse(c.groups, &ids), 0);
	assert_true(ids.id[LADDER_COMMAND] && ids.id[LADDER_NAME] && !ids.id[LADDER_ACCOUNT]);
	assert_true(ids.id[LADDER_SCRIPT] && ids.id[LADDER_NUMBERS]);
	/* the same run in the same second: no second mark */
	d = run();
	assert_int_equal(d.act, ACT_OBSERVE);
	assert_non_null(strstr(
	    d.message, "precedent: the first run of this job is being traced, no prediction yet; similar runs "));
}

/* One run of the same script is enough to be told. A script that stands for an unknown one names no groups. */
static void test_same_script(void **state)
{
	struct decision d = decided(LADDER_SCRIPT, 600, 1);
	struct group_ids ids;

	(void)state;
	assert_non_null(strstr(d.message, "; similar runs (of the same script) took 00:10:00 (00:0"));
	assert_int_equal(strncmp(d.comment.similar, "script/600/", 11), 0);
	d = decided(LADDER_NUMBERS, 600, 2);
	assert_null(strstr(d.message, "similar"));
	d = decided(LADDER_NUMBERS, 600, 3);
	assert_non_null(strstr(d.message, "; similar runs (of this script with other numbers) took 00:10:00 (00:0"));
	w.in.invented = true;
	d = run();
	assert_int_equal(group_ids_parse(d.comment.groups, &ids), 0);
	assert_true(!ids.id[LADDER_SCRIPT] && !ids.id[LADDER_NUMBERS] && ids.id[LADDER_COMMAND]);
}

static void test_untold(void **state)
{
	struct decision d;

	(void)state;
	assert_string_equal(decided(LADDER_COMMAND, 600, 2).message, FIRST OPT_OUT); /* too few */
	assert_string_equal(decided(LADDER_COMMAND, 59, 16).message, FIRST OPT_OUT); /* too short to matter */
	assert_string_equal(decided(LADDER_ACCOUNT, 600, 1).message, FIRST OPT_OUT);
	similar_world(LADDER_USER, 10000, 8);
	for (int i = 0; i < 8; i++)
		ladder_group_add(&rows[LADDER_USER], 100, LADDER_WHOLE);
	d = run();
	assert_string_equal(d.message, FIRST OPT_OUT); /* too wide to be told, kept for explain */
	assert_int_equal(strncmp(d.comment.similar, "user/", 5), 0);
	d = decided(LADDER_COMMAND, 600, 0);
	assert_string_equal(d.message, FIRST OPT_OUT);
	assert_string_equal(d.comment.similar, "");
}

static void test_modes(void **state)
{
	struct decision d;

	(void)state;
	similar_world(LADDER_NAME, 600, 8);
	for (int i = 0; i < 8; i++)
		ladder_group_add(&rows[LADDER_NAME], 3, LADDER_EARLY);
	d = run();
	assert_non_null(strstr(d.message, "similar runs (with the same name) took 00:10:00 ("));
	assert_non_null(strstr(d.message, "), 50 % failed at once; --predict"));
	similar_world(LADDER_NAME, 600, 8);
	for (int i = 0; i < 8; i++)
		ladder_group_add(&rows[LADDER_NAME], 600, LADDER_AT_LEAST);
	assert_non_null(strstr(run().message, "), 50 % were ended before; --predict"));
}

/* Under the soft guard Slurm plans with the median. The job keeps its limit, and is traced as before. */
static void test_plan(void **state)
{
	struct decision d;

	(void)state;
	w.conf.limit_guard = GUARD_SOFT;
	source.soft_works = true;
	d = decided(LADDER_COMMAND, 600, 16);
	assert_int_equal(d.act, ACT_TRACE);
	assert_true(wishes(d) && !d.lowers);
	assert_int_equal(d.wish.limit_min, 12); /* 600 s * 1.15 = 690 s */
	assert_int_equal(comment_of(&d).wish_min, 12);
	assert_int_equal(comment_of(&d).user_limit_min, 120);
	assert_non_null(strstr(d.message, "); Slurm plans with 00:12:00, your limit of 02:00:00 stays" OPT_OUT));
	/* too wide to be told, and good enough to plan with */
	d = decided(LADDER_ACCOUNT, 600, 1);
	assert_int_equal(d.wish.limit_min, 12);
	assert_string_equal(d.message, FIRST OPT_OUT);
	/* the limit is DefaultTime */
	w.in.time_limit_min = DURATION_UNSET;
	w.doors[0].default_min = 60;
	d = decided(LADDER_COMMAND, 600, 16);
	assert_int_equal(d.wish.limit_min, 12);
	assert_int_equal(comment_of(&d).user_limit_min, 60);
	w.in.time_limit_min = 120;
}

static void test_no_plan(void **state)
{
	struct decision d;

	(void)state;
	w.conf.limit_guard = GUARD_SOFT;
	source.soft_works = false;
	assert_false(wishes(decided(LADDER_COMMAND, 600, 16)));
	source.soft_works = true;
	w.in.time_limit_min = 12; /* no longer than the plan */
	assert_false(wishes(decided(LADDER_COMMAND, 600, 16)));
	w.in.time_limit_min = 120;
	assert_false(wishes(decided(LADDER_COMMAND, 600, 0)));
	w.in.time_min_min = 30;
	assert_false(wishes(decided(LADDER_COMMAND, 600, 16)));
	w.in.time_min_min = DURATION_UNSET;
	source.heartbeat = NOW - 3600; /* nobody would set it */
	assert_false(wishes(decided(LADDER_COMMAND, 600, 16)));
	source.heartbeat = NOW;
	w.conf.mode = MODE_OBSERVE;
	assert_false(wishes(decided(LADDER_COMMAND, 600, 16)));
	w.conf.mode = MODE_LIMIT;
	w.in.script = NULL;
	assert_false(wishes(decided(LADDER_COMMAND, 600, 16)));
	for (enum limit_guard guard = GUARD_OVERTIME; guard <= GUARD_RAISE; guard++) {
		w.conf.limit_guard = guard;
		d = decided(LADDER_COMMAND, 600, 16);
		assert_false(wishes(d));
		assert_null(strstr(d.message, "limit"));
	}
}

/* What is known otherwise comes first; a fault of the groups is none of the decision. */
static void test_others_first(void **state)
{
	struct decision with, without;

	(void)state;
	without = run();
	similar_world(LADDER_COMMAND, 600, 16);
	w.lookup_rv = 1;
	with = run();
	assert_int_equal(groups_asked, 0);
	assert_int_equal(with.act, ACT_PREDICT);
	assert_string_equal(with.message, without.message);
	assert_true(with.comment.groups[0] && !with.comment.similar[0]);
	w.known.program.retrace_at = NOW; /* traced again, although estimates are known */
	with = run();
	assert_int_equal(with.act, ACT_TRACE);
	assert_int_equal(groups_asked, 0);
	w.known.program.retrace_at = 0;
	similar_world(LADDER_COMMAND, 600, 16);
	groups_rv = -1;
	assert_string_equal(run().message, FIRST OPT_OUT);
	similar_world(LADDER_COMMAND, 600, 16);
	w.in.partition = "fast,slow"; /* not known where it will run */
	with = run();
	assert_int_equal(groups_asked, 0);
	assert_string_equal(with.comment.groups, "");
	w.in.partition = "fast";
	similar_world(LADDER_COMMAND, 600, 16);
	w.in.script = NULL; /* srun, salloc: kept for explain */
	with = run();
	assert_string_equal(with.message, "");
	assert_int_equal(strncmp(with.comment.similar, "command/600/", 12), 0);
}

static void test_answer(void **state)
{
	static const char *const none[] = {"",
					   "command",
					   "command/1/2/3",
					   "nobody/2/1/3",
					   "user/2/1/3x",
					   "user/2/1/nan",
					   "user/2/1/1e99",
					   "user/-2/-3/1",
					   "commandcommandcommand/2/1/3"};
	json_t *o = answer_similar("shape/600/120/4200");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(o, "source")), "shape");
	assert_true(json_number_value(json_object_get(o, "seconds")) == 600 &&
		    json_number_value(json_object_get(o, "hi_s")) == 4200);
	json_decref(o);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(answer_similar(none[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_told), T(test_same_script), T(test_untold), T(test_modes), T(test_plan), T(test_no_plan),
					   T(test_others_first), T(test_answer)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
