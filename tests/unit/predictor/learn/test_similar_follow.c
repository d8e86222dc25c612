/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs end under precedentd, and their groups of similar runs learn how long they took: once each, and only what says something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_ends), T(test_nothing_learned)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
