/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The job_submit plugin as built, loaded as by slurmctld, with Slurm's allocator from libslurm. Checks its changes
 * to a descriptor, and that any fault leaves the descriptor unchanged byte for byte.
 */
#include "predictor/store/limits.h"
#include "tests/unit/submit_world.h"

static void test_symbols(void **state)
{
	(void)state;
	assert_string_equal((const char *)dlsym(plugin, "plugin_type"), "job_submit/precedent");
	assert_non_null(dlsym(plugin, "plugin_name"));
	assert_int_equal(*(const uint32_t *)dlsym(plugin, "plugin_version"), SLURM_VERSION_NUMBER);
	/* No other symbol reaches slurmctld. */
	assert_null(dlsym(plugin, "store_open"));
	assert_null(dlsym(plugin, "decide"));
	assert_null(dlsym(plugin, "err_set"));
}

static void test_first(void **state)
{
	job_desc_msg_t d;
	char *msg = NULL;

	(void)state;
	new_job(&d);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_non_null(strstr(msg, "precedent: first run of this job: it is traced"));
	assert_int_equal(d.env_size, 3);
	assert_string_equal(d.environment[1], "PATH=/bin");
	assert_string_equal(d.environment[2], INJECT_MARK "=1");
	assert_null(d.environment[3]);
	assert_int_equal(d.time_limit, 120);
	assert_non_null(strstr(d.admin_comment, "precedent:1 act=trace mode=limit key="));
	x_free((void **)&msg);
	free_job(&d);
	/* the second in the hour is not marked */
	new_job(&d);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_int_equal(d.env_size, 2);
	assert_non_null(strstr(d.admin_comment, "act=observe"));
	x_free((void **)&msg);
	free_job(&d);
}

/* Submit a job that is not traced. says: a part of its message; NULL: no message. *c: its comment. */
static void submit_untraced(const char *says, struct job_comment *c)
{
	job_desc_msg_t d;
	char *msg = NULL;

	new_job(&d);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_int_equal(d.env_size, 2);
	assert_int_equal(comment_parse(d.admin_comment, c), 0);
	assert_int_equal(c->act, ACT_OBSERVE);
	if (says ? !msg || !strstr(msg, says) : msg != NULL)
		fail_msg("%s", msg ? msg : "nothing is said");
	x_free((void **)&msg);
	free_job(&d);
}

/* Tracing is stopped, or the program failed while it was traced; with and without the index. */
static void test_untraced(void **state)
{
	struct store_tracing t = {TRACING_STOPPED, 1};
	struct store_trial trial = {.uid = 1000, .guard = TRIAL_DOUBT, .traced_job = 123, .end_state = "FAILED", .updated = 1};
	struct store *s = writer();
	struct job_comment c;

	(void)state;
	assert_int_equal(store_index_renew(s, &err), 1);
	ok(store_tracing_set(s, &t, &err));
	reload();
	submit_untraced(NULL, &c);
	t.state = TRACING_SUSPECTED;
	ok(store_tracing_set(s, &t, &err));
	strcpy(trial.name, c.kin);
	strcpy(trial.key, c.key);
	ok(store_trial_put(s, &trial, &err));
	reload();
	submit_untraced("precedent: not traced: job 123 of this program ended FAILED while it was traced", &c);
	ok(store_trial_lift(s, trial.name, 2, &err));
	ok(store_meta_drop(s, "index", &err));
	trial.guard = TRIAL_SUSPECT;
	ok(store_trial_put(s, &trial, &err));
	reload();
	submit_untraced("without the tracer completed", &c);
	store_close(s);
}

/* With the index beside the store: data learned while the plugin runs are used at once, and an index that is cut
 * short does no harm. */
static void test_index(void **state)
{
	char key[IDENTITY_KEY_LEN + 1], index[128];
	struct store *s = writer();
	job_desc_msg_t d;
	char *msg = NULL;

	(void)state;
	assert_int_equal(store_index_renew(s, &err), 1);
	store_close(s);
	reload();
	new_job(&d);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_non_null(strstr(d.admin_comment, "act=trace"));
	key_of(&d, key);
	x_free((void **)&msg);
	free_job(&d);
	make_known(key);
	snprintf(index, sizeof(index), "%s" STORE_INDEX_SUFFIX, db);
	for (int round = 0; round < 3; round++) {
		new_job(&d);
		assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
		assert_non_null(strstr(d.admin_comment, "act=predict"));
		x_free((void **)&msg);
		free_job(&d);
		assert_int_equal(round == 0 ? truncate(index, 0) : round == 1 ? unlink(index) : 0, 0);
		if (round) /* the plugin checks its files */
			reload();
	}
}

static void test_known(void **state)
{
	char key[IDENTITY_KEY_LEN + 1], *msg = NULL;
	job_desc_msg_t d;

	(void)state;
	learn(key);
	new_job(&d);
	d.admin_comment = x_strdup("by ops");
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_int_equal(d.time_limit, 120); /* precedentd sets the limit */
	assert_non_null(strstr(d.admin_comment, " user_limit=120 wish=4 limit=- "));
	assert_string_equal(d.partition, "fast");
	assert_non_null(strstr(d.admin_comment, "by ops | precedent:1 act=predict mode=limit"));
	assert_non_null(strstr(msg, "limit will be 00:04:00 (you asked 02:00:00)"));
	assert_int_equal(d.env_size, 2);
	x_free((void **)&msg);
	free_job(&d);
}

/* The wish of a job under LimitGuard = overtime; 0: none. change: a further request of the user. */
static uint32_t overtime_wish(void (*change)(job_desc_msg_t *d), const char *says)
{
	struct job_comment c;
	job_desc_msg_t d;
	char *msg = NULL;

	new_job(&d);
	if (change)
		change(&d);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_int_equal(comment_parse(d.admin_comment, &c), 0);
	assert_int_equal(c.act, ACT_PREDICT);
	assert_int_equal(c.user_limit_min, 120);
	if (says ? !strstr(msg, says) : strstr(msg, "limit will be") != NULL)
		fail_msg("%s", msg);
	x_free((void **)&msg);
	free_job(&d);
	return c.wish_min == DURATION_UNSET ? 0 : c.wish_min;
}

static void ask_signal(job_desc_msg_t *d)
{
	d->warn_signal = 10;
	d->warn_time = 60;
}

static void ask_deadline(job_desc_msg_t *d)
{
	d->deadline = time(NULL) + 86400;
}

static void ask_mail(job_desc_msg_t *d)
{
	d->mail_type = MAIL_JOB_END | MAIL_JOB_TIME80;
}

static void ask_end_mail(job_desc_msg_t *d)
{
	d->mail_type = MAIL_JOB_END;
}

static void ask_reservation(job_desc_msg_t *d)
{
	d->reservation = x_strdup("course");
}

static void ask_time_min(job_desc_msg_t *d)
{
	d->time_min = 5;
}

/* A comment, so that the program stays the same. */
static void ask_in_script(job_desc_msg_t *d)
{
	char *more = NULL;

	assert_true(asprintf(&more, "%s# squeue -h -o %%L\n", d->script) > 0);
	x_free((void **)&d->script);
	d->script = x_strdup(more);
	free(more);
}

static void test_overtime(void **state)
{
	static void (*const watches[])(job_desc_msg_t *d) = {ask_signal, ask_deadline, ask_mail, ask_reservation, ask_time_min, ask_in_script};
	char key[IDENTITY_KEY_LEN + 1];

	(void)state;
	guard = "overtime";
	fast_overtime_min = 110;
	write_conf("limit");
	learn(key);
	assert_int_equal(overtime_wish(NULL, "limit will be 00:10:00 (you asked 02:00:00)"), 10);
	assert_int_equal(overtime_wish(ask_end_mail, "limit will be 00:10:00 (you asked 02:00:00)"), 10);
	for (size_t i = 0; i < sizeof(watches) / sizeof(watches[0]); i++)
		assert_int_equal(overtime_wish(watches[i], NULL), 0);
	fast_overtime_min = OVERTIME_UNLIMITED;
	make_known(key);
	reload();
	assert_int_equal(overtime_wish(NULL, "limit will be 00:04:00 (you asked 02:00:00)"), 4);
	fast_overtime_min = 0; /* none: nothing is shortened */
	make_known(key);
	reload();
	assert_int_equal(overtime_wish(NULL, NULL), 0);
	guard = "raise";
}

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
	d->submit_line = "sbatch --test-only job.sh";
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

/* Everything that the plugin may write, before and after. */
static void assert_unchanged(job_desc_msg_t *d, uint32_t uid)
{
	job_desc_msg_t before = *d;
	char **env = d->environment, *msg = NULL;

	assert_int_equal(p_submit(d, uid, &msg), SLURM_SUCCESS);
	assert_memory_equal(d, &before, sizeof(before));
	assert_ptr_equal(d->environment, env);
	assert_null(msg);
}

static void test_off(void **state)
{
	char key[IDENTITY_KEY_LEN + 1];
	char *off[] = {"_SLURM_SPANK_OPTION_precedent_predict=off"};
	job_desc_msg_t d;

	(void)state;
	learn(key);
	new_job(&d);
	d.spank_job_env = off;
	d.spank_job_env_size = 1;
	assert_unchanged(&d, 1000);
	free_job(&d);
}

static void test_inherited_mark(void **state)
{
	static const char *const env[] = {INJECT_MARK "=1", "A=b"};
	char key[IDENTITY_KEY_LEN + 1], *msg = NULL;
	job_desc_msg_t d;

	(void)state;
	learn(key);
	new_job(&d);
	free_env(&d);
	set_env(&d, env, 2);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_int_equal(d.env_size, 2);
	assert_string_equal(d.environment[0], INJECT_MARK "=0");
	x_free((void **)&msg);
	free_job(&d);
	/* An unknown job that already has a mark gets no second mark. */
	new_job(&d);
	d.min_nodes = 3;
	free_env(&d);
	set_env(&d, env, 2);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_int_equal(d.env_size, 2);
	assert_string_equal(d.environment[0], INJECT_MARK "=1");
	x_free((void **)&msg);
	free_job(&d);
}

static void test_probe(void **state)
{
	job_desc_msg_t d;

	(void)state;
	new_job(&d);
	d.admin_comment = x_strdup("precedent:1 act=probe mode=observe cand=fast");
	assert_unchanged(&d, 0);
	free_job(&d);
}

static void test_interactive(void **state)
{
	job_desc_msg_t d;
	char *msg = NULL;

	(void)state;
	x_init(&d);
	d.het_job_offset = NO_VAL;
	d.user_id = 1000;
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_null(msg);
	assert_int_equal(d.time_limit, NO_VAL);
	assert_non_null(strstr(d.admin_comment, "act=observe"));
	x_free((void **)&d.admin_comment);
	assert_int_equal(p_submit(NULL, 1000, &msg), SLURM_SUCCESS);
	/* A descriptor with counts but no arrays, which only a broken client sends. */
	x_init(&d);
	d.het_job_offset = NO_VAL;
	d.script = x_strdup(SCRIPT);
	d.argc = 7;
	d.env_size = 9;
	d.spank_job_env_size = 5;
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_null(d.environment);
	x_free((void **)&d.script);
	x_free((void **)&d.admin_comment);
	x_free((void **)&msg);
}

static void break_missing(void)
{
	assert_int_equal(unlink(db), 0);
}

static void break_junk(void)
{
	char wal[128];
	FILE *f;

	/* As long as the log exists, SQLite repairs the file from it. */
	snprintf(wal, sizeof(wal), "%s-wal", db);
	assert_int_equal(unlink(wal), 0);
	f = fopen(db, "w");
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		fputs("not a database", f);
	fclose(f);
}

static void break_directory(void)
{
	assert_int_equal(unlink(db), 0);
	assert_int_equal(mkdir(db, 0755), 0);
}

static void break_conf(void)
{
	FILE *f = fopen(conf, "w");

	assert_non_null(f);
	fputs("Mode=limit\nNonsense=1\n", f);
	fclose(f);
}

static void break_conf_missing(void)
{
	assert_int_equal(unlink(conf), 0);
}

static void test_faults(void **state)
{
	static void (*const breaks[])(void) = {break_missing, break_junk, break_directory, break_conf,
					       break_conf_missing};
	char key[IDENTITY_KEY_LEN + 1];
	job_desc_msg_t d;

	for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		learn(key);
		breaks[i]();
		reload();
		new_job(&d);
		assert_unchanged(&d, 1000);
		free_job(&d);
		teardown(state);
		setup(state);
	}
}

/* The job's limit. Submits until the plugin has checked its files: at most two of its seconds. */
static uint32_t limit_within_check(uint32_t want)
{
	time_t end = time(NULL) + 5;
	struct job_comment c;
	uint32_t limit;

	do {
		job_desc_msg_t d;
		char *msg = NULL;

		new_job(&d);
		p_submit(&d, 1000, &msg);
		limit = comment_parse(d.admin_comment, &c) == 0 && c.wish_min != DURATION_UNSET ? c.wish_min : d.time_limit;
		x_free((void **)&msg);
		free_job(&d);
		usleep(50000);
	} while (limit != want && time(NULL) < end);
	return limit;
}

static void test_notices(void **state)
{
	char key[IDENTITY_KEY_LEN + 1], moved[128];

	(void)state;
	learn(key);
	assert_int_equal(limit_within_check(4), 4);
	write_conf("observe"); /* a changed configuration */
	assert_int_equal(limit_within_check(120), 120);
	write_conf("limit");
	assert_int_equal(limit_within_check(4), 4);
	break_conf(); /* an error: the last valid configuration stays */
	assert_int_equal(limit_within_check(120), 4);
	write_conf("limit");
	snprintf(moved, sizeof(moved), "%s.old", db);
	assert_int_equal(rename(db, moved), 0); /* the store is moved away */
	assert_int_equal(limit_within_check(120), 120);
	make_known(key); /* and there is a new one */
	assert_int_equal(limit_within_check(4), 4);
}

/* A limit that somebody changes is his: a time_min of ours goes in the same request, as slurmctld would refuse it. */
static void test_modify_soft_limit(void **state)
{
	static const struct store_limit ours = {.jobid = 7, .asked_min = 120, .wish_min = 4, .set_min = 4, .soft = true},
					short_limit = {.jobid = 8, .asked_min = 120, .wish_min = 4, .set_min = 60},
					waits = {.jobid = 9, .asked_min = 120, .wish_min = 4, .set_min = DURATION_UNSET, .soft = true};
	static const struct {
		uint32_t job_id, time_limit, time_min, want;
		char *text;
	} cases[] = {
	    {7, 3, NO_VAL, 0, NULL},	       {7, NO_VAL, NO_VAL, NO_VAL, NULL}, {7, 3, 2, 2, NULL},
	    {8, 3, NO_VAL, NO_VAL, NULL},      {9, 3, NO_VAL, NO_VAL, NULL},      {10, 3, NO_VAL, NO_VAL, NULL},
	    {NO_VAL, 3, NO_VAL, 0, "7_3"},     {NO_VAL, 3, NO_VAL, 0, "7"},       {NO_VAL, 3, NO_VAL, NO_VAL, "x"},
	};
	char key[IDENTITY_KEY_LEN + 1], *msg = NULL;
	struct store *s;

	(void)state;
	write_conf("limit");
	learn(key);
	s = writer();
	ok(store_limit_put(s, &ours, &err));
	ok(store_limit_put(s, &short_limit, &err));
	ok(store_limit_put(s, &waits, &err));
	store_close(s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		job_desc_msg_t d;

		x_init(&d);
		d.job_id = cases[i].job_id;
		d.job_id_str = cases[i].text;
		d.time_limit = cases[i].time_limit;
		d.time_min = cases[i].time_min;
		assert_int_equal(p_modify(&d, NULL, 1000, &msg), SLURM_SUCCESS);
		if (d.time_min != cases[i].want)
			fail_msg("case %zu: time_min is %u", i, d.time_min);
		assert_int_equal(d.time_limit, cases[i].time_limit);
	}
}

static void test_modify(void **state)
{
	job_desc_msg_t d, before;
	char *msg = NULL;

	(void)state;
	new_job(&d);
	before = d;
	assert_int_equal(p_modify(&d, NULL, 1000, &msg), SLURM_SUCCESS);
	assert_memory_equal(&d, &before, sizeof(d));
	assert_null(msg);
	free_job(&d);
}

/* build/tests/unit/plugin/test_job_submit -> build/job_submit_precedent.so */
static void *load_plugin(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);

	if (n < 0)
		return NULL;
	path[n] = '\0';
	for (int i = 0; i < 4; i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return NULL;
		*slash = '\0';
	}
	strcat(path, "/job_submit_precedent.so");
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static bool load(void)
{
	void *slurm = dlopen("libslurm.so", RTLD_NOW | RTLD_GLOBAL);

	if (!slurm)
		return false;
	*(void **)&x_strdup = dlsym(slurm, "slurm_xstrdup");
	*(void **)&x_calloc = dlsym(slurm, "slurm_xcalloc");
	*(void **)&x_free = dlsym(slurm, "slurm_xfree");
	*(void **)&x_init = dlsym(slurm, "slurm_init_job_desc_msg");
	plugin = load_plugin();
	if (!plugin || !x_strdup || !x_calloc || !x_free || !x_init)
		return false;
	*(void **)&p_init = dlsym(plugin, "init");
	*(void **)&p_fini = dlsym(plugin, "fini");
	*(void **)&p_submit = dlsym(plugin, "job_submit");
	*(void **)&p_modify = dlsym(plugin, "job_modify");
	return p_init && p_fini && p_submit && p_modify;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_symbols), T(test_first),	     T(test_untraced), T(test_known), T(test_overtime),  T(test_index), T(test_place), T(test_place_asks), T(test_place_changed),
	    T(test_off),     T(test_inherited_mark), T(test_probe),  T(test_interactive),
	    T(test_faults),  T(test_notices),	     T(test_modify), T(test_modify_soft_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (!load()) {
		printf("Bail out! cannot load the plugin: %s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests_name("job_submit", tests, NULL, NULL);
}
