/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin itself, loaded as slurmctld does, with a configuration and a store in a directory of its own. */
#ifndef PRECEDENT_TESTS_UNIT_SUBMIT_WORLD_H
#define PRECEDENT_TESTS_UNIT_SUBMIT_WORLD_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "common/inject.h"
#include "common/duration.h"
#include "predictor/cluster/overtime.h"
#include "predictor/store/places.h"
#include "predictor/store/busy.h"
#include "predictor/store/trials.h"

#define SCRIPT "#!/bin/bash\n#SBATCH -N 2\nsrun ./heat 100\n"

static char dir[64], db[96], conf[96];
static void *plugin;
static int (*p_init)(void), (*p_fini)(void);
static int (*p_submit)(job_desc_msg_t *, uint32_t, char **);
static int (*p_modify)(job_desc_msg_t *, void *, uint32_t, char **);

static char *(*x_strdup)(const char *);
static void *(*x_calloc)(size_t, size_t, bool, bool, const char *, int, const char *);
static void (*x_free)(void **);
static void (*x_init)(job_desc_msg_t *);

static struct errbuf err;

/* slurmctld's variable, which the plugin finds in the loading program. */
__attribute__((visibility("default"))) time_t last_part_update;
#define DOORS_SEEN 1000 /* last_part_update when the partitions were read */

static void ok(int rv)
{
	if (rv < 0)
		fail_msg("%s", err.text);
}

static const char *guard = "raise";
static uint32_t fast_overtime_min;

static void write_conf(const char *mode)
{
	FILE *f = fopen(conf, "w");

	assert_non_null(f);
	fprintf(f, "Mode=%s\nCandidates=fast,slow\nMinLimit=1\nLimitGuard=%s\nStateDir=%s\n", mode, guard, dir);
	assert_int_equal(fclose(f), 0);
}

static void set_env(job_desc_msg_t *d, const char *const *env, uint32_t n)
{
	d->environment = x_calloc(n + 1, sizeof(char *), true, false, __FILE__, __LINE__, __func__);
	for (uint32_t i = 0; i < n; i++)
		d->environment[i] = x_strdup(env[i]);
	d->env_size = n;
}

static char *argv[] = {"job.sh", "100"};

static void new_job(job_desc_msg_t *d)
{
	static const char *const env[] = {"HOME=/home/u", "PATH=/bin"};

	x_init(d);
	d->het_job_offset = NO_VAL; /* slurmctld sets this before it calls the plugin */
	d->alloc_sid = 1;	       /* sbatch fills it in when it submits */
	d->user_id = 1000;
	d->script = x_strdup(SCRIPT);
	d->argc = 2;
	d->argv = argv;
	d->work_dir = x_strdup("/home/u");
	d->partition = x_strdup("fast");
	d->time_limit = 120;
	d->min_nodes = d->max_nodes = 2;
	set_env(d, env, 2);
}

static void free_env(job_desc_msg_t *d)
{
	for (uint32_t i = 0; d->environment && i < d->env_size; i++)
		x_free((void **)&d->environment[i]);
	x_free((void **)&d->environment);
}

static void free_job(job_desc_msg_t *d)
{
	free_env(d);
	x_free((void **)&d->script);
	x_free((void **)&d->work_dir);
	x_free((void **)&d->partition);
	x_free((void **)&d->features);
	x_free((void **)&d->admin_comment);
}

/* The plugin checks its files once a second, so it is loaded anew for each state of the files. */
static void reload(void)
{
	p_fini();
	assert_int_equal(p_init(), SLURM_SUCCESS);
}

static struct store *writer(void)
{
	struct store *s = NULL;

	ok(store_open(db, STORE_WRITE | STORE_WAIT, &s, &err));
	return s;
}

static void make_known(const char *key)
{
	struct store *s = writer();
	struct store_program p = {.uid = 1000, .state = PROGRAM_READY, .updated = 1};
	struct store_estimate e = {.candidate = "fast", .e = {192, 185, 200, ESTIMATE_BLEND, 1}, .updated = 1};
	struct place_partition doors[] = {
	    {"fast", true, false, 1, 4, 4, "", "", "", "", "", true, 30, 1440, fast_overtime_min},
	    {"slow", true, false, 1, 4, 4, "", "", "", "", "", false, DURATION_UNSET, 1440, 0}};

	strcpy(p.key, key);
	ok(store_program_put(s, &p, &err));
	ok(store_estimate_put(s, key, &e, &err));
	strcpy(e.candidate, "slow");
	e.e = (struct estimate){100, 95, 104, ESTIMATE_BLEND, 1};
	ok(store_estimate_put(s, key, &e, &err));
	ok(store_places_put(s, doors, 2, &err));
	ok(store_doors_seen_set(s, DOORS_SEEN, &err));
	ok(store_heartbeat_set(s, time(NULL), &err));
	store_close(s);
}

static int setup(void **state)
{
	struct store *s;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/precedent-plugin.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(db, sizeof(db), "%s/precedent.db", dir);
	snprintf(conf, sizeof(conf), "%s/precedent.conf", dir);
	setenv("PRECEDENT_CONF", conf, 1);
	write_conf("limit");
	s = writer();
	ok(store_heartbeat_set(s, time(NULL), &err));
	store_close(s);
	reload();
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	p_fini();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static void key_of(const job_desc_msg_t *d, char key[IDENTITY_KEY_LEN + 1])
{
	struct job_comment c;

	assert_int_equal(comment_parse(d->admin_comment, &c), 0);
	memcpy(key, c.key, sizeof(c.key));
}

/* Submit an unknown job, then add it to the store. */
static void learn(char key[IDENTITY_KEY_LEN + 1])
{
	job_desc_msg_t d;
	char *msg = NULL;

	new_job(&d);
	assert_int_equal(p_submit(&d, 1000, &msg), SLURM_SUCCESS);
	key_of(&d, key);
	make_known(key);
	reload();
	x_free((void **)&msg);
	free_job(&d);
}

/* build/tests/unit/plugin/NAME -> build/job_submit_precedent.so */
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

#endif
