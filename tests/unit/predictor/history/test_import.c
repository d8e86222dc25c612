/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sacct prints, read and stored: good lines, each kind of bad line, and the same file twice. */
#include <time.h>

#include "predictor/history/import.h"
#include "predictor/store/groups.h"
#include "predictor/store/runs.h"
#include "tests/unit/store_fixture.h"

#define HEAD                                                                                                         \
	"JobID|User|Account|Partition|JobName|Submit|Start|End|Elapsed|Timelimit|NNodes|NCPUS|NTasks|State|"         \
	"ExitCode|WorkDir|SubmitLine|AdminComment\n"
#define TAIL "|0:0|/home/ann|sbatch job.sh|"
/* A whole line but for its id, times and state. */
#define LINE(id, state)                                                                                              \
	id "|ann|physics|fast|melt|1700000000|1700000100|1700000400|00:05:00|1-00:00:00|2|64||" state TAIL "\n"

static char told[4096];

static void bad(void *arg, const char *text)
{
	size_t len = strlen(told);

	(void)arg;
	snprintf(told + len, sizeof(told) - len, "%s\n", text);
}

static int user(void *arg, const char *name, uint32_t *uid)
{
	(void)arg;
	*uid = 1000;
	return !strcmp(name, "ann");
}

static int import_text(struct store *s, const char *text, size_t len, struct import_report *r)
{
	struct precedent_conf conf = {0};
	struct import_run run = {.store = s, .conf = &conf, .user = user, .bad = bad};
	FILE *in = fmemopen((void *)(uintptr_t)text, len, "r");
	int rc;

	told[0] = '\0';
	assert_non_null(in);
	rc = history_import(&run, in, "jobs", r, &err);
	fclose(in);
	return rc;
}

#define IMPORT(s, text, r) ok(import_text(s, text, sizeof(text) - 1, r))

static void test_run(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct import_report r;
	struct store_run run;

	(void)state;
	IMPORT(s,
	       HEAD LINE("17", "COMPLETED") LINE("17.batch", "COMPLETED") LINE("17.0", "COMPLETED")
		   LINE("18", "RUNNING") LINE("19", "CANCELLED by 1000") LINE("20+0", "COMPLETED")
		       LINE("21_[2-9]", "PENDING"),
	       &r);
	assert_string_equal(told, "");
	assert_int_equal(r.jobs, 2);
	assert_int_equal(r.added, 2);
	assert_int_equal(r.left_out, 5);
	assert_int_equal(store_run_get(s, 17, &run, &err), 1);
	assert_true(run.uid == 1000 && run.submit_time == 1700000000 && run.start_time == 1700000100 &&
		    run.end_time == 1700000400);
	assert_true(run.elapsed_s == 300 && run.user_limit_min == 1440 && run.limit_min == DURATION_UNSET &&
		    run.nodes == 2);
	assert_string_equal(run.name, "melt");
	assert_string_equal(run.candidate, "fast");
	assert_string_equal(run.end_state, "COMPLETED");
	assert_string_equal(run.key, "");
	assert_int_equal(store_run_get(s, 19, &run, &err), 1);
	assert_string_equal(run.end_state, "CANCELLED");
	store_close(s);
}

static void test_twice(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_run run = {.jobid = 17, .submit_time = 1700000000, .uid = 7, .pred_kind = -1};
	struct import_report r;

	(void)state;
	ok(store_run_put(s, &run, &err)); /* precedentd follows it still */
	for (int i = 0; i < 2; i++) {
		IMPORT(s, HEAD LINE("17", "COMPLETED") LINE("18", "FAILED"), &r);
		assert_int_equal(r.jobs, 2);
		assert_int_equal(r.added, 1 - i);
	}
	assert_int_equal(store_run_get(s, 17, &run, &err), 1);
	assert_int_equal(run.uid, 7);
	store_close(s);
}

/* A job as it is submitted finds the runs that were imported, once each. */
static void test_groups(void **state)
{
	static const struct group_job job = {.uid = 1000,
					     .nodes = 2,
					     .limit_min = 1440,
					     .partition = "fast",
					     .command = "sbatch job.sh",
					     .name = "melt",
					     .work_dir = "/home/ann",
					     .account = "physics"};
	struct store *s = must_open(STORE_WRITE);
	struct ladder_group g[LADDER_RUNGS];
	struct import_report r;
	struct group_ids ids;

	(void)state;
	for (int i = 0; i < 2; i++)
		IMPORT(s, HEAD LINE("17", "COMPLETED") LINE("18", "TIMEOUT"), &r);
	group_ids_of(&job, &ids);
	assert_int_equal(store_groups_get(s, &ids, g, &err), LADDER_RUNGS - 2); /* their scripts are not known */
	for (int rung = 0; rung < LADDER_RUNGS; rung++)
		assert_true(rung == LADDER_SCRIPT || rung == LADDER_NUMBERS ? !g[rung].n : g[rung].n == 2 && g[rung].censored == 1 && g[rung].seconds[0] == 300);
	store_close(s);
}

static void test_comment(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct import_report r;
	struct store_run run;

	(void)state;
	IMPORT(s,
	       "JobID|JobIDRaw|UID|Partition|Submit|Start|End|Elapsed|State|AdminComment\n"
	       "9_4|12|1001|fast|1700000000|1700000100|1700000400|00:05:00|TIMEOUT|by hand | precedent:1 act=predict "
	       "mode=limit key=" KEY1 " family=" FAMILY " user_limit=60 limit=10 cand=fast pred=280 lo=270 hi=300\n"
	       "13|13|1001|fast|1700000000|1700000100|1700000400|00:05:00|COMPLETED|precedent:1 act=probe "
	       "mode=observe key=" KEY1 "\n"
	       "9_5||1001|fast|1700000000|1700000100|1700000400|00:05:00|COMPLETED|precedent:1 act=trace key=short\n",
	       &r);
	assert_string_equal(told, "");
	assert_int_equal(r.added, 2);
	assert_int_equal(r.with_key, 1);
	assert_int_equal(r.probes, 1);
	assert_int_equal(store_run_get(s, 12, &run, &err), 1);
	assert_true(run.uid == 1001 && run.array_job == 9 && run.array_task == 4 && run.act == ACT_PREDICT &&
		    run.mode == MODE_LIMIT);
	assert_string_equal(run.key, KEY1);
	assert_string_equal(run.family, FAMILY);
	assert_true(run.user_limit_min == 60 && run.limit_min == 10 && run.pred_s == 280 && run.lo_s == 270 &&
		    run.hi_s == 300);
	assert_int_equal(store_run_get(s, 13, &run, &err), 0);
	assert_int_equal(store_run_get(s, sacct_synthetic_id(9, 5), &run, &err), 1);
	assert_true(run.array_job == 9 && run.array_task == 5 && !run.key[0]);
	assert_true(sacct_synthetic_id(9, 5) > 0x7fffffff && sacct_synthetic_id(9, 5) != sacct_synthetic_id(9, 4));
	store_close(s);
}

/* Each bad line is told with its number; the lines behind it are read. */
static void test_bad_lines(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
	    {"x|ann|a|fast|n|1|2|3|00:05:00|1|1|1||COMPLETED" TAIL "\n", "JobID is no id of a job"},
	    {"0|ann|a|fast|n|1|2|3|00:05:00|1|1|1||COMPLETED" TAIL "\n", "JobID is no id of a job"},
	    {"99999999|ann|a|fast|n|1|2|3|00:05:00|1|1|1||COMPLETED" TAIL "\n", "JobID is no id of a job"},
	    {"5|ann|a|fast|n|soon|2|3|00:05:00|1|1|1||COMPLETED" TAIL "\n", "Submit, Start or End is no time"},
	    {"5|ann|a|fast|n|2026-13-01T00:00:00|2|3|00:05:00|1|1|1||COMPLETED" TAIL "\n",
	     "Submit, Start or End is no time"},
	    {"5|ann|a|fast|n|1|2|3|5 min|1|1|1||COMPLETED" TAIL "\n", "Elapsed is no time"},
	    {"5|ann|a|fast|n|1|2|3|00:05:00|long|1|1||COMPLETED" TAIL "\n", "Timelimit is no time"},
	    {"5|ann|a|fast|n|1|2|3|00:05:00|1|two|1||COMPLETED" TAIL "\n", "NNodes, NCPUS or NTasks is no number"},
	    {"5|ann|a|fast|n|1|2|3|00:05:00|1|1|1||completed!" TAIL "\n", "State is no state of a job"},
	    {"5||a|fast|n|1|2|3|00:05:00|1|1|1||COMPLETED" TAIL "\n", "no user"},
	};
	struct store *s = must_open(STORE_WRITE);
	char text[2048], want[256];
	struct import_report r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s\n%s%s", HEAD, cases[i].line, LINE("17", "COMPLETED"));
		ok(import_text(s, text, strlen(text), &r));
		snprintf(want, sizeof(want), "jobs:3: %s: the line is left out\n", cases[i].why);
		assert_string_equal(told, want);
		assert_int_equal(r.bad, 1);
		assert_int_equal(r.jobs, 1);
	}
	store_close(s);
}

static void test_broken_lines(void **state)
{
	static char text[3 * SACCT_LINE_MAX];
	struct store *s = must_open(STORE_WRITE);
	struct import_report r;
	struct store_run run;
	int n;

	(void)state;
	/* a command of three lines; a line that was cut off before a whole one; the last one is cut off */
	IMPORT(s,
	       HEAD "17|ann|a|fast|n|1700000000|1700000001|1700000003|00:05|1|1|1||COMPLETED|0:0|/home|sbatch --wrap "
		    "'a\n17 b c\nd'|\n"
		    "18|ann|a|fast\n" LINE("19", "COMPLETED") "20|ann\n",
	       &r);
	assert_int_equal(r.jobs, 2);
	assert_string_equal(told, "jobs:5: 4 fields instead of 18: the line is left out\njobs:7: 2 fields instead of "
				  "18: the line is left out\n");
	assert_int_equal(store_run_get(s, 17, &run, &err), 1);
	assert_true(run.elapsed_s == 5);
	n = snprintf(text, sizeof(text), "%s5|", HEAD);
	memset(text + n, 'x', SACCT_LINE_MAX);
	snprintf(text + n + SACCT_LINE_MAX, 1024, "\n%s", LINE("21", "COMPLETED"));
	ok(import_text(s, text, strlen(text), &r));
	assert_int_equal(r.jobs, 1);
	assert_string_equal(told, "jobs:2: longer than 256 KiB: the line is left out\n");
	IMPORT(s, HEAD "5|a\0b|\n" LINE("22", "COMPLETED"), &r);
	assert_int_equal(r.jobs, 1);
	assert_string_equal(told, "jobs:2: it contains a byte 0: the line is left out\n");
	store_close(s);
}

static void test_no_table(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct import_report r;

	(void)state;
	assert_int_equal(import_text(s, "\n", 1, &r), -1);
	assert_string_equal(err.text, "jobs: has no column JobID: print it with 'sacct --parsable2 --format=...'");
	assert_int_equal(import_text(s, "JobID|Submit|Start|End|Elapsed|State|Partition\n", 47, &r), -1);
	assert_string_equal(err.text,
			    "jobs: has neither column User nor UID: print one with 'sacct --parsable2 --format=...'");
	store_close(s);
}

/* Times in sacct's own form are of the machine's zone; users that nobody knows are counted. */
static void test_times_and_users(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct import_report r;
	struct store_run run;
	struct tm tm = {
	    .tm_year = 126, .tm_mon = 6, .tm_mday = 3, .tm_hour = 4, .tm_min = 5, .tm_sec = 6, .tm_isdst = -1};

	(void)state;
	setenv("TZ", "Europe/Berlin", 1);
	IMPORT(
	    s,
	    "jobid|user|partition|submit|start|end|elapsed|timelimit|state\n"
	    "17|ann|fast|2026-07-03T04:05:06|2026-07-03T04:05:06|2026-07-05T05:06:08|2-01:01:02|UNLIMITED|COMPLETED\n"
	    "18|bob|fast|2026-07-03T04:05:06|2026-07-03T04:05:06|2026-07-05T05:06:08|2-01:01:02|Partition_Limit|"
	    "COMPLETED\n"
	    "19|bob|fast|2026-07-03T04:05:06|Unknown|Unknown|00:00:00|1|CANCELLED by 0\n",
	    &r);
	assert_string_equal(told, "");
	assert_int_equal(r.unknown, 1);
	assert_int_equal(r.left_out, 1);
	assert_int_equal(store_run_get(s, 17, &run, &err), 1);
	assert_int_equal(run.submit_time, mktime(&tm));
	assert_true(run.elapsed_s == 2 * 86400 + 3662 && run.user_limit_min == DURATION_UNLIMITED);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_run, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_comment, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_bad_lines, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_broken_lines, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_no_table, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_times_and_users, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
