/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part that runs as root trusts no data that the user can set: uid and job id come from slurmstepd, directories
 * from the configuration. The user's environment only decides whether the tracer is used. Messages go to
 * slurmstepd's log at debug level, never to the job's output.
 */
#include "spank/task_side.h"

#include <errno.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/inject.h"
#include "common/nodes.h"
#include "spank/collect_side.h"

#define FD_CLOSE_MAX 1024

enum step_kind { STEP_TASKS, STEP_BATCH, STEP_DAEMON, STEP_OTHER };

static struct plugin_context {
	bool off;     /* --predict=off */
	bool enabled; /* the tracer is used in this step */
	enum step_kind kind;
	char lib[PATH_MAX];
	char spool[PATH_MAX];
	char local_dir[PATH_MAX];
	struct collect collect;
} context;

void task_side_option(const char *value)
{
	enum precedent_mode mode;
	context.off = value && mode_parse(value, &mode) == 0 && mode == MODE_OFF;
}

/* The mark: '1' marked, '0' refused by the batch step, '-' none. */
static char mark_of(spank_t sp)
{
	char value[4];
	if (spank_getenv(sp, INJECT_MARK, value, sizeof(value)) != ESPANK_SUCCESS || value[0] == '\0' || value[1] != '\0')
		return '-';
	return value[0] == '1' || value[0] == '0' ? value[0] : '-';
}

/* The kind of a step. A daemon of mpirun is started by srun, but is no MPI process. */
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
		return STEP_DAEMON;
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

/* Partial traces are kept in the configured directory; a plugstack line without conf keeps none. */
static int name_collect(const struct precedent_conf *conf, struct errbuf *err)
{
	struct collect *c = &context.collect;
	int n = conf ? snprintf(c->program, sizeof(c->program), "%s/bin/precedent", conf->install_dir) : 0;
	if (n < 0 || (size_t)n >= sizeof(c->program))
		return err_set(err, "InstallDir: name too long");
	n = conf ? snprintf(context.local_dir, sizeof(context.local_dir), "%s", conf->local_dir) : 0;
	return n < 0 || (size_t)n >= sizeof(context.local_dir) ? err_set(err, "LocalDir: name too long") : 0;
}

/* collect_wait=SECONDS of the plugstack line; 0: the default. */
static unsigned collect_patience(int ac, char **av)
{
	const char *text = argument(ac, av, "collect_wait");
	char *end;
	unsigned long s = text ? strtoul(text, &end, 10) : 0;

	return text && *text && !*end && s >= 1 && s <= 3600 ? (unsigned)s : 0;
}

/* Paths of tracer and spool: from precedent.conf, overridden by the plugstack line. */
static int read_config(int ac, char **av, struct errbuf *err)
{
	const char *file = argument(ac, av, "conf"), *lib = argument(ac, av, "lib"), *spool = argument(ac, av, "spool");
	struct precedent_conf *conf = NULL;
	int rc = -1, n, m;
	if (!lib || !spool) {
		conf = calloc(1, sizeof(*conf));
		if (!conf)
			return err_set(err, "no memory");
		/* The file is always named: root must not follow $PRECEDENT_CONF. */
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
		rc = name_collect(conf, err);
	if (conf)
		conf_free(conf);
	free(conf);
	return rc;
}

/* Nodes are known by their short host names. SLURMD_NODENAME comes from the user's environment, so it is not used. */
static void cut_domain(char *name)
{
	name[strcspn(name, ".")] = '\0';
}

/* Write whether this node has the tracer. Returns 0 if it has, and if this could be written. */
static int mark_node(struct errbuf *err)
{
	char node[256] = "";
	struct errbuf mark_err;
	int rc = inject_check_library(context.lib, err);
	gethostname(node, sizeof(node) - 1);
	cut_domain(node);
	if (nodes_mark(context.spool, node, rc == 0 ? context.lib : NULL, &mark_err) < 0 && rc == 0)
		rc = err_set(err, "%s", mark_err.text);
	return rc;
}

void task_side_slurmd(int ac, char **av)
{
	struct errbuf err;
	int status;
	/* A grandchild does the work: a file server that does not answer must not keep slurmd from starting. */
	pid_t child = fork();
	if (child == 0) {
		if (fork() == 0) {
			for (int fd = 3; fd < FD_CLOSE_MAX; fd++) /* slurmd's sockets must not stay open in it */
				close(fd);
			if (read_config(ac, av, &err) == 0)
				mark_node(&err);
		}
		_exit(0);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
}

/* Store the data that the end of the step needs, while SPANK still provides them. */
static void plan_collect(spank_t sp, uid_t uid, uint32_t job_id)
{
	struct collect *c = &context.collect;
	struct errbuf err;
	int n = snprintf(c->into, sizeof(c->into), "%s/%u/%u", context.spool, (unsigned)uid, (unsigned)job_id);
	if (n < 0 || (size_t)n >= sizeof(c->into) || collect_name(c, context.local_dir, uid, job_id, &err) < 0)
		c->local[0] = '\0';
	if (spank_get_item(sp, S_JOB_GID, &c->gid) != ESPANK_SUCCESS)
		c->local[0] = '\0';
	if (spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &c->groups, &c->n_groups) != ESPANK_SUCCESS)
		c->n_groups = 0;
	c->last = context.kind == STEP_BATCH;
}

void task_side_step(spank_t sp, int ac, char **av)
{
	struct errbuf err;
	uid_t uid;
	uint32_t job_id = 0;
	char mark = context.off ? '-' : mark_of(sp);
	context.enabled = false;
	if (mark == '-')
		return;
	context.kind = step_kind(sp);
	if (read_config(ac, av, &err) < 0 || mark_node(&err) < 0) {
		slurm_debug("precedent: not traced: %s", err.text);
		return;
	}
	if (mark != '1' || context.kind == STEP_OTHER || spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS)
		return;
	plan_collect(sp, uid, job_id);
	context.collect.patience_s = collect_patience(ac, av);
	if (inject_spool_user(context.spool, uid, &err) < 0)
		slurm_debug("precedent: not traced: %s", err.text);
	else
		context.enabled = true;
}

/* A variable of the job, or NULL. *too_long: the variable does not fit. */
static const char *job_env(spank_t sp, const char *name, char *buf, size_t cap, bool *too_long)
{
	spank_err_t rc = spank_getenv(sp, name, buf, (int)cap);
	if (rc == ESPANK_NOSPACE)
		*too_long = true;
	return rc == ESPANK_SUCCESS ? buf : NULL;
}

/* Do all nodes of the job have the tracer? */
static int check_nodes(spank_t sp, struct errbuf *err)
{
	static char list[64 * 1024];
	bool too_long = false;
	int rc = 0;
	char *node;
	if (!job_env(sp, "SLURM_JOB_NODELIST", list, sizeof(list), &too_long))
		return err_set(err, "SLURM_JOB_NODELIST is missing or too long");
	__auto_type nodes = slurm_hostlist_create(list); /* a pointer whose type depends on Slurm's version */
	if (!nodes)
		return err_set(err, "SLURM_JOB_NODELIST cannot be read");
	while (rc == 0 && (node = slurm_hostlist_shift(nodes))) {
		cut_domain(node);
		rc = nodes_check(context.spool, node, context.lib, err);
		free(node);
	}
	slurm_hostlist_destroy(nodes);
	return rc;
}

/* Does the script or the user's Open MPI configuration set the variables that mpirun would get? */
static bool user_objects(spank_t sp)
{
	char home[PATH_MAX], file[PATH_MAX];
	bool too_long = false;
	int argc = 0, n;
	char **argv = NULL;
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0 && inject_script_objects(argv[0]))
		return true;
	if (!job_env(sp, "HOME", home, sizeof(home), &too_long))
		return false;
	n = snprintf(file, sizeof(file), "%s/.openmpi/mca-params.conf", home);
	return n > 0 && (size_t)n < sizeof(file) && inject_script_objects(file);
}

/* Set the variables by which mpirun gives the tracer to its processes. The shell and its other programs do not
 * get the tracer. */
static int prepare_mpirun(spank_t sp, const char *dir, const char *local, struct errbuf *err)
{
	static char list[INJECT_VALUE_MAX], preload[INJECT_VALUE_MAX], value[2 * INJECT_VALUE_MAX];
	bool too_long = false;
	const char *name = INJECT_ENV_LIST, *old = job_env(sp, name, list, sizeof(list), &too_long);
	const char *user = job_env(sp, "LD_PRELOAD", preload, sizeof(preload), &too_long);
	if (!old && !too_long) {
		name = INJECT_ENV_LIST_INTERNAL;
		old = job_env(sp, name, list, sizeof(list), &too_long);
	}
	if (user_objects(sp))
		return err_set(err, "mpirun: the script or mca-params.conf sets LD_PRELOAD or mca_base_env_list itself");
	if (too_long || inject_env_list(old, user, context.lib, dir, local, value, sizeof(value)) < 0)
		return err_set(err, "mpirun: LD_PRELOAD or %s is too long, or has a ';' in it", name);
	spank_setenv(sp, name, value, 1);
	return 0;
}

static long job_number(spank_t sp, const char *name, long missing)
{
	char text[32], *end;
	bool too_long = false;
	const char *value = job_env(sp, name, text, sizeof(text), &too_long);
	long n = value ? strtol(value, &end, 10) : missing;
	return value && (end == value || *end) ? missing : n;
}

/* If the tracer has a fault, one job of the user fails, not a whole array and not the same job again. */
static int check_once(spank_t sp, struct errbuf *err)
{
	if (job_number(sp, "SLURM_RESTART_COUNT", 0) > 0)
		return err_set(err, "the job was queued again: it runs without the tracer now");
	if (job_number(sp, "SLURM_ARRAY_TASK_ID", 0) != job_number(sp, "SLURM_ARRAY_TASK_MIN", 0))
		return err_set(err, "of an array the first task alone is traced");
	return 0;
}

/* The batch step runs before all other steps: it decides for the job whether it is traced. */
static void prepare_batch(spank_t sp, const char *dir, const char *local)
{
	struct errbuf err;
	if (check_once(sp, &err) < 0 || check_nodes(sp, &err) < 0) {
		spank_setenv(sp, INJECT_MARK, "0", 1);
		slurm_debug("precedent: not traced: %s", err.text);
		inject_spool_note(dir, err.text);
	} else if (prepare_mpirun(sp, dir, local, &err) < 0) {
		slurm_debug("precedent: not traced: %s", err.text);
		inject_spool_note(dir, err.text);
	}
}

static void prepare_task(spank_t sp, const char *dir, const char *local)
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
	if (local)
		spank_setenv(sp, "PRECEDENT_TRACE_LOCAL", local, 1);
}

void task_side_task(spank_t sp)
{
	char dir[PATH_MAX];
	const char *local = NULL;
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
	if (collect_prepare(&context.collect, &err) == 0)
		local = context.collect.local;
	else
		slurm_debug("precedent: nothing will be kept of a run that dies: %s", err.text);
	if (context.kind == STEP_BATCH)
		prepare_batch(sp, dir, local);
	else if (context.kind == STEP_TASKS)
		prepare_task(sp, dir, local);
}

void task_side_task_ended(spank_t sp)
{
	int status;
	uint32_t task;
	if (!context.enabled || spank_get_item(sp, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
		return;
	/* A task of the batch step is the script. */
	if (context.kind != STEP_TASKS || spank_get_item(sp, S_TASK_GLOBAL_ID, &task) != ESPANK_SUCCESS || task > INT_MAX)
		collect_task_ended(&context.collect, -1, status);
	else
		collect_task_ended(&context.collect, (int)task, status);
}

void task_side_step_ended(void)
{
	if (context.enabled)
		collect_run(&context.collect);
}
