/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs end under precedentd, and their groups of similar runs learn how long they took: once each, and only what says something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/query/answer.h"
#include "predictor/store/forget.h"
#include "predictor/store/groups.h"
#include "predictor/store/runs.h"
#include "tests/unit/follow_world.h"

static struct group_ids ids;

/* A job of these groups, as the plugin has written them. */
static struct cluster_job *job_of_groups(uint32_t id)
{
	static char texts[64][COMMENT_TEXT_MAX];
	static const struct group_job job = {.uid = 1000, .nodes = 2, .limit_min = 60, .partition = "fast", .command = "sbatch job.sh",
					     .name = "melt", .work_dir = "/home/ann", .account = "physics"};
	struct cluster_job *j = job_add(id, ACT_OBSERVE);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	group_ids_of(&job, &ids);
	group_ids_format(&ids, c.groups);
	strcpy(c.similar, "user/600/120/4200");
	assert_true(comment_format(&c, texts[id % 64], sizeof(texts[0])) > 0);
	j->admin_comment = texts[id % 64];
	return j;
}

static struct ladder_group user_group(void)
{
	struct ladder_group g[LADDER_RUNGS];
	struct errbuf e;

	assert_true(store_groups_get(w->store, &ids, g, &e) >= 0);
	assert_memory_equal(&g[LADDER_USER], &g[LADDER_COMMAND], sizeof(g[0]));
	return g[LADDER_USER];
}

static void test_ends(void **state)
{
	struct cluster_job *j = job_of_groups(1);
	struct ladder_group g;
	struct store_run r;
	struct errbuf e;

	(void)state;
	look();
	assert_int_equal(user_group().n, 0);
	job_end(j, "COMPLETED", 300);
	look();
	look(); /* it is still in the queue */
	g = user_group();
	assert_true(g.n == 1 && g.seconds[0] == 300 && g.censored == 0);
	assert_int_equal(store_run_get(w->store, 1, &r, &e), 1);
	assert_string_equal(r.similar, "user/600/120/4200");
	job_play(job_of_groups(2), "TIMEOUT", 3600);
	job_play(job_of_groups(3), "FAILED", 5);
	g = user_group();
	assert_true(g.n == 2 && g.seconds[0] == 3600 && g.censored == 1 && g.early == 1 && g.ended == 3);
}

static void test_nothing_learned(void **state)
{
	struct cluster_job *j;

	(void)state;
	j = job_of_groups(1);
	j->restarts = 1;
	job_play(j, "COMPLETED", 300);
	assert_int_equal(user_group().n, 0);
	job_play(job_add(2, ACT_OBSERVE), "COMPLETED", 300); /* of an older plugin */
	assert_int_equal(user_group().n, 0);
	job_play(job_of_groups(3), "COMPLETED", 300);
	assert_int_equal(user_group().n, 1);
}

static char *ask(const char *verb, uint32_t job)
{
	const struct answer_env env = {.store = w->store, .conf = &w->conf, .admin = true, .now = w->now};
	char request[96];

	snprintf(request, sizeof(request), "{\"precedent\": 1, \"verb\": \"%s\", \"job\": %u}", verb, job);
	return answer_make(&env, request, strlen(request));
}

/* Jobs of srun and salloc, and heterogeneous jobs, have no key: they are observed, and nothing is asked of programs. */
static void test_without_key(void **state)
{
	static char text[COMMENT_TEXT_MAX];
	struct cluster_job *j = job_of_groups(1);
	struct job_comment c;
	struct store_run r;
	struct errbuf e;
	char *reply;

	(void)state;
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.key[0] = c.family[0] = c.kin[0] = c.vars[0] = '\0';
	assert_true(comment_format(&c, text, sizeof(text)) > 0);
	j->admin_comment = text;
	look();
	reply = ask("show", 1);
	assert_non_null(strstr(reply, "\"key\":\"\""));
	free(reply);
	job_run(j);
	look();
	job_end(j, "COMPLETED", 300);
	look();
	assert_int_equal(store_run_get(w->store, 1, &r, &e), 1);
	assert_string_equal(r.key, "");
	assert_string_equal(r.end_state, "COMPLETED");
	assert_int_equal(user_group().n, 1); /* similar runs learn from it */
	reply = ask("show", 1);
	assert_non_null(strstr(reply, "\"source\":\"user\""));
	assert_null(strstr(reply, "\"program\""));
	free(reply);
	reply = ask("retrace", 1);
	assert_non_null(strstr(reply, "\"error\":\"job 1 has no predictions: only batch scripts are traced"));
	free(reply);
	reply = ask("jobs", 0);
	assert_non_null(strstr(reply, "\"job\":1"));
	free(reply);
	/* Its user is forgotten while slurmctld still has the job. */
	assert_true(store_user_forget(w->store, r.uid, w->now, &e) > 0);
	look();
	assert_int_equal(store_run_get(w->store, 1, &r, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_ends), T(test_nothing_learned), T(test_without_key)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
