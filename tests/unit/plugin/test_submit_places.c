/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job_submit plugin as built chooses a partition for a job that may be moved, and for no other. */
#include "common/slurm_compat.h"
#include "tests/unit/submit_world.h"

/* Both partitions could start a job of two nodes and 1000 MiB at once. */
static void make_waits(const char *key)
{
	static const char *const candidates[] = {"fast", "slow"};
	struct place_shape shape = {.nodes = 2, .tasks = 2, .memory = 1000, .used = 1};
	struct store *s = writer();

	shape.id = place_shape_id(&shape);
	ok(store_shape_put(s, &shape, &err));
	ok(store_program_shape(s, key, shape.id, &err));
	for (int i = 0; i < 2; i++) {
		struct place_wait w = {.shape = shape.id, .limit_min = 15, .used = 1, .asked = time(NULL), .answer = PLACE_KNOWN};

		strcpy(w.candidate, candidates[i]);
		ok(store_wait_want(s, &w, &err));
		ok(store_wait_put(s, &w, &err));
	}
	store_close(s);
}

static void learn_places(void)
{
	char key[IDENTITY_KEY_LEN + 1];

	learn(key);
	make_waits(key);
	write_conf("place");
	reload();
}

static void pin_nodes(job_desc_msg_t *d)
{
	d->req_nodes = "fast1";
}

static void pin_without(job_desc_msg_t *d)
{
	d->exc_nodes = "slow1";
}

static void pin_reservation(job_desc_msg_t *d)
{
	d->reservation = "week";
}

static void pin_cluster(job_desc_msg_t *d)
{
	d->clusters = "other";
}

static void ask_gpu(job_desc_msg_t *d)
{
	d->tres_per_node = "gres:gpu:1";
}

static void ask_licence(job_desc_msg_t *d)
{
	d->licenses = "matlab";
}

static void ask_memory(job_desc_msg_t *d)
{
	d->pn_min_memory = 64000;
}

static void ask_alone(job_desc_msg_t *d)
{
	d->shared = JOB_SHARED_NONE;
}

static void ask_qos(job_desc_msg_t *d)
{
	d->qos = "high";
}

static void ask_account(job_desc_msg_t *d)
{
	d->account = "other";
}

static void begin_later(job_desc_msg_t *d)
{
	d->begin_time = time(NULL) + 3600;
}

static void depend(job_desc_msg_t *d)
{
	d->dependency = "afterok:17";
}

static void hold(job_desc_msg_t *d)
{
	d->priority = 0;
}

static void many(job_desc_msg_t *d)
{
	d->array_inx = "1-100";
}

static void het_part(job_desc_msg_t *d)
{
	d->het_job_offset = 1;
}

static void try_only(job_desc_msg_t *d)
{
	d->alloc_sid = NO_VAL;
}

static void one_task(job_desc_msg_t *d)
{
	d->array_inx = "7";
}

static void its_memory(job_desc_msg_t *d)
{
	d->pn_min_memory = 1000;
}

/* Other requests of a job that names no partition, and whether the job is placed. */
static void test_place_asks(void **state)
{
	static const struct {
		void (*ask)(job_desc_msg_t *d);
		bool placed;
	} asks[] = {{pin_nodes, false},	  {pin_without, false}, {pin_reservation, false}, {pin_cluster, false},
		    {ask_gpu, false},	  {ask_licence, false}, {ask_memory, false},	  {ask_alone, false},
		    {ask_qos, false},	  {ask_account, false}, {begin_later, false},	  {depend, false},
		    {hold, false},	  {many, false},	{het_part, false},	  {try_only, false},
		    {one_task, true},	  {its_memory, true}};

	(void)state;
	learn_places();
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		job_desc_msg_t d;
		char *msg = NULL;

		new_job(&d);
		x_free((void **)&d.partition);
		asks[i].ask(&d);
		assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
		if (asks[i].placed != (d.partition != NULL))
			fail_msg("request %zu: sent to %s", i, d.partition ? d.partition : "nowhere");
		x_free((void **)&msg);
		free_job(&d);
	}
}

static void test_place(void **state)
{
	char *msg = NULL;
	job_desc_msg_t d;

	(void)state;
	learn_places();
	new_job(&d);
	x_free((void **)&d.partition);
	msg = x_strdup("from another plugin");
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_string_equal(d.partition, "slow");
	assert_int_equal(d.time_limit, 120);
	assert_non_null(strstr(d.admin_comment, " wish=2 limit=- "));
	assert_int_equal(strncmp(msg, "from another plugin\nprecedent: 00:01:40 on slow", 47), 0);
	x_free((void **)&msg);
	free_job(&d);
}

/* A partition that changed after the look may be closed: this counts at once, not at the plugin's next check. */
static void test_place_changed(void **state)
{
	static const struct {
		time_t changed;
		bool placed;
	} times[] = {{DOORS_SEEN - 1, true}, {DOORS_SEEN, false}, {DOORS_SEEN + 1, false}, {DOORS_SEEN - 1, true}};

	(void)state;
	learn_places();
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		job_desc_msg_t d;
		char *msg = NULL;

		last_part_update = times[i].changed;
		new_job(&d);
		x_free((void **)&d.partition);
		assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
		assert_int_equal(d.partition != NULL, times[i].placed);
		/* The job is still predicted. */
		assert_non_null(strstr(d.admin_comment, " act=predict "));
		assert_int_equal(strstr(d.admin_comment, "/changed") == NULL, times[i].placed);
		x_free((void **)&msg);
		free_job(&d);
	}
	last_part_update = 0;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_place), T(test_place_asks), T(test_place_changed)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (!load()) {
		printf("Bail out! cannot load the plugin: %s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests_name("submit_places", tests, NULL, NULL);
}
