/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scripts of imported jobs: the questions to sacct, its answers, and the groups that a submission finds. */
#include "common/identity.h"
#include "predictor/history/scripts.h"
#include "predictor/store/groups.h"
#include "predictor/store/unscripted.h"
#include "tests/unit/store_fixture.h"

#define DASH10 "----------"
#define DASHES DASH10 DASH10 DASH10 DASH10 DASH10 DASH10 DASH10 DASH10
#define HEAD(id) "Batch Script for " id "\n" DASHES "\n"
#define SCRIPT	 "#!/bin/sh\nsrun ./melt 7\n"

/* ---- an answer ---- */

static char taken[1024];

static void take(void *arg, size_t id, const char *text, size_t len)
{
	size_t n = strlen(taken);

	(void)arg;
	assert_int_equal(strlen(text), len);
	snprintf(taken + n, sizeof(taken) - n, "%zu<%s>", id, text);
}

static const char *split(const char *answer, size_t len)
{
	static char ids[][SCRIPTS_ID_MAX] = {"1", "22", "4_0"};
	char *text = malloc(len + 1);

	assert_non_null(text);
	memcpy(text, answer, len);
	taken[0] = '\0';
	scripts_split(text, len, ids, 3, take, NULL);
	free(text);
	return taken;
}
#define SPLIT(answer) split(answer, sizeof(answer) - 1)

static size_t found[2]; /* bytes of each script */

static void count(void *arg, size_t id, const char *text, size_t len)
{
	(void)arg;
	(void)text;
	found[id] = len;
}

/* Answers as sacct 22.05 prints them: a head, 80 dashes, the script, a newline. */
static void test_split(void **state)
{
	(void)state;
	assert_string_equal(SPLIT(HEAD("1") "a\nb\n\n" HEAD("4_0") "c\n"), "0<a\nb\n>2<c>");
	assert_string_equal(SPLIT(HEAD("22") "a\n\n\n\n"), "1<a\n\n\n>");
	assert_string_equal(SPLIT(HEAD("1") "NONE\n" HEAD("22") "NONE of these\n"), "1<NONE of these>");
	assert_string_equal(SPLIT("sacct: a warning\n" HEAD("1") "a\n"), "0<a>");
	assert_string_equal(SPLIT(HEAD("1") "a"), "0<a>"); /* cut off */
	assert_string_equal(SPLIT(HEAD("1")), "");
	assert_string_equal(SPLIT(HEAD("1") HEAD("22") "\n"), "");
	assert_string_equal(SPLIT(""), "");
	assert_string_equal(SPLIT("\n"), "");
}

/* An answer of the greatest length is whole; one byte more, and its last script is cut. */
static void test_split_long(void **state)
{
	static const char start[] = HEAD("1") "a\n" HEAD("22");
	static char ids[][SCRIPTS_ID_MAX] = {"1", "22"};
	char *text = malloc(SCRIPTS_ANSWER_MAX + 2);

	(void)state;
	assert_non_null(text);
	for (size_t cut = 0; cut < 2; cut++) {
		memset(text, 'x', SCRIPTS_ANSWER_MAX + 1);
		memcpy(text, start, sizeof(start) - 1);
		found[0] = found[1] = 0;
		scripts_split(text, SCRIPTS_ANSWER_MAX + cut, ids, 2, count, NULL);
		assert_int_equal(found[0], 1);
		assert_int_equal(found[1], cut ? 0 : SCRIPTS_ANSWER_MAX - (sizeof(start) - 1));
	}
	free(text);
}

/* Lines of a script that look like a head. */
static void test_forged(void **state)
{
	(void)state;
	/* of a job that was not asked for, of other forms */
	assert_string_equal(SPLIT(HEAD("1") "a\n" HEAD("2") "b\n"), "0<a\n" HEAD("2") "b>");
	assert_string_equal(SPLIT(HEAD("1") "Batch Script for 22\n-----\n"), "0<Batch Script for 22\n----->");
	assert_string_equal(SPLIT(HEAD("1") "x" HEAD("22") "b\n"), "0<x" HEAD("22") "b>");
	/* of a job of the same question: the one that is forged cannot be told from the real one */
	assert_string_equal(SPLIT(HEAD("1") "a\n" HEAD("22") "b\n" HEAD("22") "c\n"), "0<a>");
	assert_string_equal(SPLIT(HEAD("1") "a\0b\n" HEAD("22") "c\n"), "1<c>");
}

/* ---- a whole import ---- */

struct accounting {
	unsigned asked;
	char lists[4096]; /* all questions, a line each */
	unsigned most;	  /* questions that there is time for */
	const char *script;
};

static char *ask(void *arg, const char *ids, size_t *len, struct errbuf *errp)
{
	struct accounting *a = arg;
	size_t n = strlen(a->lists);
	char copy[4096], *save = NULL, *text = calloc(1, 1 << 16);

	(void)errp;
	assert_non_null(text);
	a->asked++;
	snprintf(a->lists + n, sizeof(a->lists) - n, "%s\n", ids);
	snprintf(copy, sizeof(copy), "%s", ids);
	*len = 0;
	for (char *id = strtok_r(copy, ",", &save); id && a->script; id = strtok_r(NULL, ",", &save))
		*len += (size_t)snprintf(text + *len, (1 << 16) - *len, "Batch Script for %s\n" DASHES "\n%s\n", id, a->script);
	return text;
}

static bool go_on(void *arg, uint64_t asked, uint64_t of)
{
	const struct accounting *a = arg;

	assert_true(asked <= of);
	return a->asked < a->most;
}

static void note(struct scripts *s, uint32_t jobid, uint32_t uid, const char *line, double elapsed_s)
{
	const struct sacct_job job = {.jobid = jobid, .user = "ann", .account = "", .partition = "fast", .name = "melt",
				      .state = "COMPLETED", .work_dir = "/home/ann", .submit_line = line, .comment = "",
				      .start_time = NOW, .end_time = NOW + jobid, .elapsed_s = elapsed_s};

	ok(scripts_note(s, &job, uid, &err));
}

static struct scripts_report add(struct scripts *s, struct store *store, struct accounting *a)
{
	const struct scripts_run run = {store, ask, go_on, a};
	struct scripts_report r;

	ok(scripts_add(s, &run, &r, &err));
	scripts_destroy(s);
	return r;
}

/* The group of a job as it is submitted: with a fingerprint, from another directory, with a layout. */
static int group_of(struct store *store, uint32_t uid, const char *script, char *argument, struct ladder_group g[LADDER_RUNGS])
{
	const struct identity_input in = {.uid = uid, .script = script, .args = &argument, .n_args = argument != NULL,
					  .fingerprint = "v1:0123456789abcdef0123456789abcdef:3", .work_dir = "/elsewhere",
					  .layout = {.nodes_min = 4, .tasks = 64}};
	struct group_job job = {.uid = uid, .partition = "fast", .command = "sbatch other.sh", .name = "other", .work_dir = "/elsewhere"};
	struct identity id;
	struct group_ids ids;

	identity_compute(&in, &id);
	job.text = id.text;
	job.pattern = id.pattern;
	group_ids_of(&job, &ids);
	return store_groups_get(store, &ids, g, &err);
}

static void test_groups(void **state)
{
	struct store *store = must_open(STORE_WRITE);
	struct accounting a = {.most = 9, .script = SCRIPT};
	struct ladder_group g[LADDER_RUNGS];
	struct scripts *s = scripts_create();
	struct scripts_report r;
	char five[] = "5", six[] = "6";

	(void)state;
	note(s, 2, 1000, "sbatch -N 4 --mem 3G job.sh 5", 200); /* it ended after job 1 */
	note(s, 1, 1000, "sbatch -N 4 --mem 3G job.sh 5", 100);
	note(s, 3, 1000, "srun ./melt", 300); /* has no script */
	note(s, 5, 1000, "/opt/slurm/bin/salloc", 300);
	note(s, 6, 1002, "/opt/slurm/bin/sbatch srun 5", 300);
	note(s, 7, 1003, "", 300); /* a program that submits by itself */
	note(s, 4, 1001, "sbatch --wrap ./melt 7", 400);
	r = add(s, store, &a);
	assert_true(r.wanted == 5 && r.asked == 5 && r.found == 5 && !r.none);
	assert_string_equal(a.lists, "4\n7\n6\n1,2\n"); /* newest first, and never two users at once */
	assert_int_equal(group_of(store, 1000, SCRIPT, five, g), 2);
	assert_true(g[LADDER_SCRIPT].n == 2 && g[LADDER_SCRIPT].seconds[0] == 200 && g[LADDER_SCRIPT].seconds[1] == 100);
	assert_int_equal(group_of(store, 1000, SCRIPT, six, g), 1);
	assert_true(!g[LADDER_SCRIPT].n && g[LADDER_NUMBERS].n == 2);
	assert_int_equal(group_of(store, 1000, SCRIPT, NULL, g), 0);
	assert_int_equal(group_of(store, 1002, SCRIPT, five, g), 2);
	assert_int_equal(group_of(store, 1003, SCRIPT, NULL, g), 2);
	assert_int_equal(group_of(store, 1001, SCRIPT, NULL, g), 2);
	assert_true(g[LADDER_SCRIPT].seconds[0] == 400);
	store_close(store);
}

/* No more than a group keeps, of each command; as long as there is time; as long as there are scripts. */
static void test_bounds(void **state)
{
	struct store *store = must_open(STORE_WRITE);
	struct accounting a = {.most = 9, .script = SCRIPT}, short_of_time = {.most = 1, .script = SCRIPT}, none = {.most = 100};
	struct scripts *s = scripts_create();
	struct scripts_report r;
	char line[64];

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++)
		note(s, i, 1000, i % 2 ? "sbatch a.sh" : "sbatch b.sh", 100);
	r = add(s, store, &a);
	assert_true(r.wanted == 2 * LADDER_RUNS && r.found == 2 * LADDER_RUNS && a.asked == 1);
	assert_int_equal(strncmp(a.lists, "1000,999,998,", 13), 0);

	s = scripts_create();
	for (uint32_t i = 1; i <= SCRIPTS_KEPT + 100; i++) {
		snprintf(line, sizeof(line), "sbatch %u.sh", i);
		note(s, i, 1000, line, 100);
	}
	r = add(s, store, &short_of_time);
	assert_true(r.wanted == SCRIPTS_KEPT && r.asked == SCRIPTS_AT_ONCE && r.found == SCRIPTS_AT_ONCE && !r.none);
	assert_int_equal(strncmp(short_of_time.lists, "65636,65635,", 12), 0);

	s = scripts_create();
	for (uint32_t i = 1; i <= 5000; i++) {
		snprintf(line, sizeof(line), "sbatch %u.sh", i);
		note(s, i, 1000, line, 100);
	}
	r = add(s, store, &none);
	assert_true(r.none && r.asked == 256 && none.asked == 4);

	s = scripts_create();
	note(s, 1, 1000, "sbatch a.sh", 100);
	none.asked = 0;
	r = add(s, store, &none);
	assert_true(r.none && r.asked == 1);
	r = add(scripts_create(), store, &none);
	assert_true(!r.none && !r.wanted);
	store_close(store);
}

/* As an import does. */
static void note_unscripted(struct scripts *s, struct store *store, uint32_t jobid)
{
	note(s, jobid, 1000, "sbatch job.sh", 100);
	ok(store_unscripted_add(store, jobid, 0, &err));
}

static char *fail_second(void *arg, const char *ids, size_t *len, struct errbuf *errp)
{
	struct accounting *a = arg;

	if (!a->asked)
		return ask(arg, ids, len, errp);
	err_set(errp, "sacct is away");
	return NULL;
}

/* Only runs whose script was found are no longer unscripted. */
static void test_unscripted(void **state)
{
	struct store *store = must_open(STORE_WRITE);
	struct accounting a = {.most = 9, .script = SCRIPT};
	struct scripts *s = scripts_create();
	struct scripts_run run = {store, fail_second, go_on, &a};
	struct scripts_report r;

	(void)state;
	note_unscripted(s, store, 1);
	note_unscripted(s, store, 2);
	note(s, 3, 1001, "sbatch job.sh", 100); /* of another user: a question of its own, which comes first */
	ok(store_unscripted_add(store, 3, 0, &err));
	assert_int_equal(scripts_add(s, &run, &r, &err), -1);
	assert_string_equal(err.text, "sacct is away");
	scripts_destroy(s);
	for (uint32_t job = 1; job <= 3; job++)
		assert_int_equal(store_unscripted_has(store, job, 0, &err), job < 3);
	s = scripts_create();
	note_unscripted(s, store, 1);
	a = (struct accounting){.most = 9, .script = SCRIPT};
	add(s, store, &a);
	for (uint32_t job = 1; job <= 3; job++)
		assert_int_equal(store_unscripted_has(store, job, 0, &err), job == 2);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_split), cmocka_unit_test(test_split_long),
	    cmocka_unit_test(test_forged),
	    cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_unscripted, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
