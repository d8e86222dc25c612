/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root's part trusts nothing that the user can set: uid and job id come from slurmstepd, directories from the
 * configuration. The user's environment only decides whether anything is done at all. Messages go to slurmstepd's log at
 * debug level, never to the job's output.
 */
#include "spank/task_side.h"

#include <limits.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf.h"
#include "common/inject.h"

enum step_kind { STEP_TASKS, STEP_BATCH, STEP_OTHER };

static struct plugin_context {
	bool off;     /* --predict=off */
	bool enabled; /* this step gets the tracer */
	enum step_kind kind;
	char lib[PATH_MAX];
	char spool[PATH_MAX];
} context;

void task_side_option(const char *value)
{
	enum precedent_mode mode;
	context.off = value && mode_parse(value, &mode) == 0 && mode == MODE_OFF;
}

static bool is_marked(spank_t sp)
{
	char value[4];
	return spank_getenv(sp, "PRECEDENT_TRACE", value, sizeof(value)) == ESPANK_SUCCESS && strcmp(value, "1") == 0;
}

/* The steps that the tracer goes into; a daemon of mpirun is started by srun, but is no MPI process. */
static enum step_kind step_kind(spank_t sp)
{
	uint32_t step = NO_VAL;
	int argc = 0;
	char **argv = NULL;
	if (spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return STEP_OTHER;
	if (step == SLURM_BATCH_SCRIPT)
		return STEP_BATCH;
	if (step > SLURM_MAX_NORMAL_STEP_ID)
		return STEP_OTHER;
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0 && inject_is_launch_daemon(argv[0]))
		return STEP_OTHER;
	return STEP_TASKS;
}

static const char *argument(int ac, char **av, const char *name)
{
	size_t n = strlen(name);
	for (int i = 0; i < ac; i++)
		if (strncmp(av[i], name, n) == 0 && av[i][n] == '=')
			return av[i] + n + 1;
	return NULL;
}

/* Where the tracer and the spool are: precedent.conf, and what the plugstack line says instead. */
static int read_config(int ac, char **av, struct errbuf *err)
{
	const char *file = argument(ac, av, "conf"), *lib = argument(ac, av, "lib"), *spool = argument(ac, av, "spool");
	struct precedent_conf *conf = NULL;
	int rc = -1, n, m;
	if (!lib || !spool) {
		conf = calloc(1, sizeof(*conf));
		if (!conf)
			return err_set(err, "no memory");
		/* Named always: $PRECEDENT_CONF must not lead root anywhere. */
		if (conf_load(file ? file : CONF_DEFAULT_FILE, conf, err) < 0) {
			free(conf);
			return -1;
		}
	}
	n = spool ? snprintf(context.spool, sizeof(context.spool), "%s", spool)
		  : snprintf(context.spool, sizeof(context.spool), "%s", conf->spool_dir);
	m = lib ? snprintf(context.lib, sizeof(context.lib), "%s", lib)
		: snprintf(context.lib, sizeof(context.lib), "%s/lib/precedent/%s", conf->install_dir, INJECT_LIBRARY_NAME);
	if (n < 0 || m < 0 || (size_t)n >= sizeof(context.spool) || (size_t)m >= sizeof(context.lib))
		err_set(err, "SpoolDir or InstallDir: name too long");
	else
		rc = 0;
	if (conf)
		conf_free(conf);
	free(conf);
	return rc;
}

void task_side_step(spank_t sp, int ac, char **av)
{
	struct errbuf err;
	uid_t uid;
	context.enabled = false;
	if (context.off || !is_marked(sp))
		return;
	context.kind = step_kind(sp);
	if (context.kind == STEP_OTHER)
		return;
	if (spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return;
	if (read_config(ac, av, &err) < 0 || inject_check_library(context.lib, &err) < 0 ||
	    inject_spool_user(context.spool, uid, &err) < 0) {
		slurm_debug("precedent: not traced: %s", err.text);
		return;
	}
	context.enabled = true;
}

/* A variable of the job, or NULL. *too_long when there is one that does not fit. */
static const char *job_env(spank_t sp, const char *name, char *buf, size_t cap, bool *too_long)
{
	spank_err_t rc = spank_getenv(sp, name, buf, (int)cap);
	if (rc == ESPANK_NOSPACE)
		*too_long = true;
	return rc == ESPANK_SUCCESS ? buf : NULL;
}

/* mpirun hands the tracer to its processes; the shell and what else it starts get nothing. */
static void prepare_batch(spank_t sp, const char *dir)
{
	char list[INJECT_VALUE_MAX], preload[INJECT_VALUE_MAX], value[2 * INJECT_VALUE_MAX];
	bool too_long = false;
	int argc = 0;
	char **argv = NULL;
	const char *name = INJECT_ENV_LIST, *old = job_env(sp, name, list, sizeof(list), &too_long);
	const char *user = job_env(sp, "LD_PRELOAD", preload, sizeof(preload), &too_long);
	if (!old && !too_long) {
		name = INJECT_ENV_LIST_INTERNAL;
		old = job_env(sp, name, list, sizeof(list), &too_long);
	}
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0 && inject_script_objects(argv[0])) {
		slurm_debug("precedent: mpirun not traced: the script sets LD_PRELOAD or mca_base_env_list itself");
		return;
	}
	if (too_long || inject_env_list(old, user, context.lib, dir, value, sizeof(value)) < 0) {
		slurm_debug("precedent: mpirun not traced: LD_PRELOAD or %s is too long", name);
		return;
	}
	spank_setenv(sp, name, value, 1);
}

static void prepare_task(spank_t sp, const char *dir)
{
	char preload[INJECT_VALUE_MAX], value[INJECT_VALUE_MAX];
	bool too_long = false;
	const char *user = job_env(sp, "LD_PRELOAD", preload, sizeof(preload), &too_long);
	if (too_long || inject_preload(user, context.lib, value, sizeof(value)) < 0) {
		slurm_debug("precedent: step not traced: LD_PRELOAD is too long");
		return;
	}
	spank_setenv(sp, "LD_PRELOAD", value, 1);
	spank_setenv(sp, "PRECEDENT_TRACE_DIR", dir, 1);
}

void task_side_task(spank_t sp)
{
	char dir[PATH_MAX];
	struct errbuf err;
	uint32_t job_id = 0;
	uid_t uid;
	if (!context.enabled)
		return;
	if (spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS || spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS)
		return;
	if (inject_spool_job(context.spool, uid, job_id, dir, sizeof(dir), &err) < 0) {
		slurm_debug("precedent: not traced: %s", err.text);
		return;
	}
	if (context.kind == STEP_BATCH)
		prepare_batch(sp, dir);
	else
		prepare_task(sp, dir);
}
