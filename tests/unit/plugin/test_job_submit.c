/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The job_submit plugin as built, loaded as by slurmctld, with Slurm's allocator from libslurm. Checks its changes
 * to a descriptor, and that any fault leaves the descriptor unchanged byte for byte.
 */
#include "predictor/store/limits.h"
#include "common/slurm_compat.h"
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
	/* "sbatch --test-only" is no run: the submission after it is the first */
	new_job(&d);
	d.alloc_sid = NO_VAL;
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	x_free((void **)&msg);
	free_job(&d);
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
	assert_int_equal(d.env_size, 3);
	assert_string_equal(d.environment[2], INJECT_LIMITS "=120:4");
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
	static const char *const env[] = {INJECT_MARK "=1", INJECT_LIMITS "=9:1"};
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
	assert_string_equal(d.environment[1], INJECT_LIMITS "=120:4");
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
	assert_string_equal(d.environment[1], INJECT_LIMITS "=");
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

/* A new store is used at once: the first job after an installation is traced, although the files were checked just before. */
static void test_new_store(void **state)
{
	char *msg = NULL;
	job_desc_msg_t d;
	struct store *s;

	(void)state;
	break_missing();
	reload();
	new_job(&d);
	assert_unchanged(&d, 1000);
	free_job(&d);
	s = writer();
	new_job(&d);
	p_submit(&d, 1000, &msg);
	assert_null(msg); /* precedentd may never look */
	free_job(&d);
	ok(store_heartbeat_set(s, time(NULL), &err));
	store_close(s);
	new_job(&d);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_non_null(msg);
	assert_non_null(strstr(msg, "precedent: first run of this job: it is traced"));
	x_free((void **)&msg);
	free_job(&d);
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
/* In the store: 7 with a time_min, 8 with a short limit, 9 with a wish. */
static void changed_jobs(void)
{
	static const struct store_limit ours = {.jobid = 7, .asked_min = 120, .wish_min = 4, .set_min = 4, .soft = true},
					short_limit = {.jobid = 8, .asked_min = 120, .wish_min = 4, .set_min = 60},
					waits = {.jobid = 9, .asked_min = 120, .wish_min = 4, .set_min = DURATION_UNSET, .soft = true};
	char key[IDENTITY_KEY_LEN + 1];
	struct store *s;

	write_conf("limit");
	learn(key);
	s = writer();
	ok(store_limit_put(s, &ours, &err));
	ok(store_limit_put(s, &short_limit, &err));
	ok(store_limit_put(s, &waits, &err));
	store_close(s);
}

static void test_modify_soft_limit(void **state)
{
	static const struct {
		uint32_t job_id, time_limit, time_min, want;
		char *text;
	} cases[] = {
	    {7, 3, NO_VAL, 0, NULL},	       {7, NO_VAL, NO_VAL, NO_VAL, NULL}, {7, 3, 2, 2, NULL},
	    {8, 3, NO_VAL, NO_VAL, NULL},      {9, 3, NO_VAL, NO_VAL, NULL},      {10, 3, NO_VAL, NO_VAL, NULL},
	    {NO_VAL, 3, NO_VAL, 0, "7_3"},     {NO_VAL, 3, NO_VAL, 0, "7"},       {NO_VAL, 3, NO_VAL, NO_VAL, "x"},
	};
	char *msg = NULL;

	(void)state;
	changed_jobs();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		job_desc_msg_t d;

		x_init(&d);
		COMPAT_JOB_ID(&d) = cases[i].job_id;
		d.job_id_str = cases[i].text;
		d.time_limit = cases[i].time_limit;
		d.time_min = cases[i].time_min;
		assert_int_equal(p_modify(&d, NULL, 1000, &msg), SLURM_SUCCESS);
		if (d.time_min != cases[i].want)
			fail_msg("case %zu: time_min is %u", i, d.time_min);
		assert_int_equal(d.time_limit, cases[i].time_limit);
	}
}

/* Slurm's protocol lets a user send lists of strings with NULL among them. */
static void test_null_strings(void **state)
{
	static char *holes[] = {"job.sh", NULL, "x", NULL};
	job_desc_msg_t d;
	char *msg = NULL;

	(void)state;
	new_job(&d);
	d.argv = holes;
	d.argc = 4;
	d.spank_job_env = holes;
	d.spank_job_env_size = 4;
	x_free((void **)&d.environment[0]);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	assert_non_null(strstr(d.admin_comment, "act=trace"));
	x_free((void **)&msg);
	free_job(&d);
}

/* Numbers and texts as no sbatch sends them, changed by job_modify too. */
static void test_hostile_descriptors(void **state)
{
	static const uint32_t numbers[] = {0, 1, 2, 120, NO_VAL - 1, NO_VAL, INFINITE, 0x80000000, 0xffff};
	static const char *const texts[] = {"", ",", "fast", "slow,fast", "\033[2J", "0-4294967295:0%0", "precedent:1 act=probe", "\xff\xfe"};
	const uint32_t n = sizeof(numbers) / sizeof(*numbers), m = sizeof(texts) / sizeof(*texts);
	job_desc_msg_t d;
	char *msg;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t r = i * 2654435761u;
		uint32_t *const fields[] = {&d.time_limit, &d.time_min,  &d.min_nodes, &d.max_nodes, &d.num_tasks,
					    &d.min_cpus,   &d.priority,  &d.argc,      &COMPAT_JOB_ID(&d), &d.het_job_offset};

		msg = NULL;
		new_job(&d);
		for (size_t k = 0; k < sizeof(fields) / sizeof(*fields); k++, r = r * 1103515245u + 12345)
			if (fields[k] != &d.argc || numbers[(r >> 16) % n] < 3 || numbers[(r >> 16) % n] == NO_VAL)
				*fields[k] = numbers[(r >> 16) % n];
		x_free((void **)&d.partition);
		d.partition = x_strdup(texts[(r >> 8) % m]);
		d.features = x_strdup(texts[(r >> 12) % m]);
		d.admin_comment = x_strdup(texts[(r >> 16) % m]);
		d.array_inx = (char *)(uintptr_t)texts[(r >> 20) % m];
		d.job_id_str = (char *)(uintptr_t)texts[(r >> 24) % m];
		d.warn_signal = d.warn_time = d.mail_type = (uint16_t)numbers[r % n];
		d.begin_time = d.deadline = (time_t)numbers[(r >> 4) % n];
		assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
		assert_true(!msg || !strchr(msg, '\033'));
		assert_int_equal(p_modify(&d, NULL, 1000, &msg), SLURM_SUCCESS);
		x_free((void **)&msg);
		free_job(&d);
	}
}

/* A shortened job takes its user's limit along to another partition, QOS or account. */
static void test_modify_place(void **state)
{
	static const struct {
		uint32_t job_id, time_limit, want;
		char *partition, *qos, *account;
	} cases[] = {
	    {8, NO_VAL, 120, "slow", NULL, NULL},	{8, NO_VAL, 120, NULL, "brief", NULL},
	    {8, NO_VAL, 120, NULL, NULL, "science"},	{8, 30, 30, "slow", NULL, NULL},
	    {8, NO_VAL, NO_VAL, NULL, NULL, NULL},	{7, NO_VAL, NO_VAL, "slow", NULL, NULL},
	    {9, NO_VAL, NO_VAL, "slow", NULL, NULL},	{10, NO_VAL, NO_VAL, "slow", "brief", "science"},
	};
	char *msg = NULL;

	(void)state;
	changed_jobs();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		job_desc_msg_t d;

		x_init(&d);
		COMPAT_JOB_ID(&d) = cases[i].job_id;
		d.time_limit = cases[i].time_limit;
		d.partition = cases[i].partition;
		d.qos = cases[i].qos;
		d.account = cases[i].account;
		assert_int_equal(p_modify(&d, NULL, 1000, &msg), SLURM_SUCCESS);
		if (d.time_limit != cases[i].want || d.time_min != NO_VAL)
			fail_msg("case %zu: time_limit is %u, time_min %u", i, d.time_limit, d.time_min);
	}
}

/* slurmctld may take an errno that is left for its own. */
static void test_errno(void **state)
{
	job_desc_msg_t d;
	char *msg = NULL;

	(void)state;
	changed_jobs();
	break_missing();
	for (int i = 0; i < 2; i++) {
		p_fini(); /* the files are looked at anew */
		new_job(&d);
		d.partition = x_strdup("slow");
		errno = 0;
		assert_int_equal(i ? p_modify(&d, NULL, 1000, &msg) : p_submit(&d, 1000, &msg), SLURM_SUCCESS);
		assert_int_equal(errno, 0);
		free_job(&d);
	}
	assert_int_equal(p_init(), SLURM_SUCCESS);
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

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_symbols), T(test_first),	     T(test_untraced), T(test_known), T(test_overtime),  T(test_index),
	    T(test_off),     T(test_inherited_mark), T(test_probe),  T(test_interactive),
	    T(test_faults),  T(test_new_store),	     T(test_notices), T(test_modify),	 T(test_modify_soft_limit),
	    T(test_modify_place), T(test_errno),
	    T(test_null_strings), T(test_hostile_descriptors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (!load()) {
		printf("Bail out! cannot load the plugin: %s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests_name("job_submit", tests, NULL, NULL);
}
