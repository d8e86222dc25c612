/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part that runs as root trusts no data that the user can set: uid and job id come from slurmstepd, directories
 * from the configuration. The user's environment only decides whether the tracer is used. Messages go to slurmd's log,
 * below the level of errors, because slurmstepd writes errors into the job's output.
 *
 * No process of Slurm or of the user waits long for the spool: see bounded.h. Only the configuration is read directly,
 * as Slurm reads its own.
 */
#include "spank/task_side.h"

#include <fcntl.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/inject.h"
#include "common/nodes.h"
#include "spank/bounded.h"
#include "spank/collect_side.h"

/* After the spool did not answer, no step of this node waits for it for so long. */
#define SILENT_S    60
#define SILENT_FILE "spool-silent"

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
	int n = conf ? snprintf(c->program, sizeof(c->program), "%s/lib/precedent/precedent-collect", conf->install_dir) : 0;
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

/* The arguments of the plugstack line. */
struct arguments {
	int ac;
	char **av;
};

static int look_at_node(void *arg, struct errbuf *err)
{
	const struct arguments *line = arg;
	int top;
	if (read_config(line->ac, line->av, err) < 0 || mark_node(err) < 0)
		return -1;
	top = context.local_dir[0] ? collect_open_top(context.local_dir, err) : 0;
	return top < 0 ? -1 : 0; /* the process ends */
}

void task_side_slurmd(int ac, char **av)
{
	struct arguments line = {.ac = ac, .av = av};
	const struct bounded look = {look_at_node, &line, sizeof(line), BOUNDED_MS, "spool"};
	struct errbuf err;
	if (bounded_run(&look, NULL, &err) < 0)
		slurm_error("precedent: jobs on this node are not traced, or leave nothing when they die: %s", err.text);
}

/* Open the file that remembers a silent spool. Returns -1 if there is none. */
static int open_silent(int flags)
{
	struct errbuf err;
	int fd = -1, top = context.local_dir[0] ? collect_open_top(context.local_dir, &err) : -1;
	if (top >= 0) {
		fd = openat(top, SILENT_FILE, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
		close(top);
	}
	return fd;
}

static bool was_silent(void)
{
	struct stat st;
	int fd = open_silent(O_RDONLY);
	bool silent = fd >= 0 && fstat(fd, &st) == 0 && st.st_mtime <= time(NULL) && time(NULL) - st.st_mtime < SILENT_S;
	if (fd >= 0)
		close(fd);
	return silent;
}

static int remember_silent(void *arg, struct errbuf *err)
{
	int fd = open_silent(O_WRONLY | O_CREAT);
	(void)arg;
	(void)err;
	return futimens(fd, NULL); /* the process ends */
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

/* What root prepares for a step. */
struct preparation {
	bool marked; /* the step is to be traced; else the node is marked and nothing more */
	uid_t uid;
	bool silent; /* the spool did not answer an earlier step */
	int local;   /* as of collect_make */
	struct errbuf local_err;
};

static int prepare_step(void *arg, struct errbuf *err)
{
	struct preparation *p = arg;
	if (!p->marked)
		return mark_node(err);
	p->silent = was_silent();
	if (p->silent)
		return err_set(err, "%s did not answer a moment ago", context.spool);
	p->local = collect_make(&context.collect, context.local_dir, &p->local_err);
	return mark_node(err) < 0 ? -1 : inject_spool_user(context.spool, p->uid, err);
}

/* Prepare a marked step. Returns whether it is traced. The log tells a loss once for each job, or once in SILENT_S. */
static bool enable(spank_t sp, uid_t uid, uint32_t job_id)
{
	struct preparation p = {.marked = true, .uid = uid};
	const struct bounded prepare = {prepare_step, &p, sizeof(p), BOUNDED_MS, context.spool};
	const struct bounded remember = {remember_silent, &p, sizeof(p), 0, SILENT_FILE};
	struct errbuf err, unused;
	bool late;
	plan_collect(sp, uid, job_id);
	if (bounded_run(&prepare, &late, &err) < 0) {
		if (late)
			bounded_run(&remember, NULL, &unused);
		if (p.silent)
			slurm_debug("precedent: job %u is not traced: %s", (unsigned)job_id, err.text);
		else
			slurm_info("precedent: error: job %u is not traced: %s", (unsigned)job_id, err.text);
		return false;
	}
	context.collect.made = p.local == 1;
	if (context.collect.local[0] && p.local < 0) {
		slurm_info("precedent: error: job %u leaves nothing if it dies: %s", (unsigned)job_id, p.local_err.text);
		context.collect.local[0] = '\0';
	}
	return true;
}

/* A variable of the job, or NULL. *too_long: the variable does not fit. */
static const char *job_env(spank_t sp, const char *name, char *buf, size_t cap, bool *too_long)
{
	spank_err_t rc = spank_getenv(sp, name, buf, (int)cap);
	if (rc == ESPANK_NOSPACE)
		*too_long = true;
	return rc == ESPANK_SUCCESS ? buf : NULL;
}

static long job_number(spank_t sp, const char *name, long missing)
{
	char text[32], *end;
	bool too_long = false;
	const char *value = job_env(sp, name, text, sizeof(text), &too_long);
	long n = value ? strtol(value, &end, 10) : missing;
	return value && (end == value || *end) ? missing : n;
}

/* Of an array the first task alone is traced. The others, which may be thousands, leave nothing in the spool. */
static bool is_later_task(spank_t sp)
{
	return job_number(sp, "SLURM_ARRAY_TASK_ID", 0) != job_number(sp, "SLURM_ARRAY_TASK_MIN", 0);
}

void task_side_step(spank_t sp, int ac, char **av)
{
	struct preparation node = {.marked = false};
	const struct bounded mark_alone = {prepare_step, &node, sizeof(node), 0, context.spool};
	struct errbuf err;
	uid_t uid;
	uint32_t job_id = 0;
	char mark = context.off ? '-' : mark_of(sp);
	context.enabled = false;
	if (mark == '-')
		return;
	context.kind = step_kind(sp);
	if (read_config(ac, av, &err) < 0) {
		slurm_debug("precedent: not traced: %s", err.text);
		return;
	}
	if (mark == '1' && is_later_task(sp)) {
		mark = '0';
		if (context.kind == STEP_BATCH)
			spank_setenv(sp, INJECT_MARK, "0", 1);
	}
	if (mark != '1' || context.kind == STEP_OTHER || spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS) {
		bounded_run(&mark_alone, NULL, &err);
		return;
	}
	context.collect.patience_s = collect_patience(ac, av);
	context.enabled = enable(sp, uid, job_id);
	/* The batch step decides for the job. */
	if (!context.enabled && context.kind == STEP_BATCH)
		spank_setenv(sp, INJECT_MARK, "0", 1);
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

/* Does the script or the user's configuration of Open MPI or PRRTE set the variables that mpirun would get? */
static bool user_objects(spank_t sp)
{
	static const char *const FILES[] = {".openmpi/mca-params.conf", ".prte/mca-params.conf"};
	char home[PATH_MAX], file[PATH_MAX];
	bool too_long = false, found = false;
	int argc = 0, n;
	char **argv = NULL;
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0 && inject_script_objects(argv[0]))
		return true;
	if (!job_env(sp, "HOME", home, sizeof(home), &too_long))
		return false;
	for (size_t i = 0; !found && i < sizeof(FILES) / sizeof(FILES[0]); i++) {
		n = snprintf(file, sizeof(file), "%s/%s", home, FILES[i]);
		found = n > 0 && (size_t)n < sizeof(file) && inject_script_objects(file);
	}
	return found;
}

/* Have PRRTE, which is mpirun since Open MPI 5, start its processes by our exec agent. A user's own agent stays. */
static int prepare_prrte(spank_t sp, const char *dir, const char *local, struct errbuf *err)
{
	static const char *const NAMES[] = {INJECT_AGENT, INJECT_AGENT_OMPI};
	char value[INJECT_VALUE_MAX];
	bool too_long = false;
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		const char *user = job_env(sp, NAMES[i], value, sizeof(value), &too_long);
		if (too_long || (user && !inject_is_agent(user)))
			return err_set(err, "mpirun: %s is set to another program, which stays", NAMES[i]);
	}
	if (inject_agent(context.lib, dir, local, value, sizeof(value)) < 0)
		return err_set(err, "mpirun: %s or %s: too long, or with a blank or '='", context.lib, dir);
	spank_setenv(sp, INJECT_AGENT, value, 1);
	return 0;
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
	if (too_long || inject_env_list(old, user, context.lib, dir, local, value, sizeof(value)) < 0)
		return err_set(err, "mpirun: LD_PRELOAD or %s is too long, or has a ';' in it", name);
	spank_setenv(sp, name, value, 1);
	return prepare_prrte(sp, dir, local, err);
}

/* If the tracer has a fault, one job of the user fails, and not the same job again. */
static int check_once(spank_t sp, struct errbuf *err)
{
	return job_number(sp, "SLURM_RESTART_COUNT", 0) > 0
		   ? err_set(err, "the job was queued again: it runs without the tracer now")
		   : 0;
}

/* What a task prepares as the user. */
struct task_files {
	spank_t sp;
	uid_t uid;
	uint32_t job_id;
	char dir[PATH_MAX];
	bool local;       /* LocalDir can be used */
	bool refused;     /* the whole job is not traced; why says why not */
	bool own_objects; /* what mpirun starts is not traced */
	struct errbuf why, local_err;
};

static int prepare_files(void *arg, struct errbuf *err)
{
	struct task_files *f = arg;
	if (inject_spool_job(context.spool, f->uid, f->job_id, f->dir, sizeof(f->dir), err) < 0)
		return -1;
	f->local = collect_check(&context.collect, &f->local_err) == 0;
	if (context.kind != STEP_BATCH)
		return 0;
	f->refused = check_once(f->sp, &f->why) < 0 || check_nodes(f->sp, &f->why) < 0;
	f->own_objects = !f->refused && user_objects(f->sp);
	if (f->own_objects)
		err_set(&f->why, "mpirun: the script or mca-params.conf sets LD_PRELOAD, mca_base_env_list or exec_agent itself");
	if (f->refused || f->own_objects)
		inject_spool_note(f->dir, f->why.text);
	return 0;
}

static int write_note(void *arg, struct errbuf *err)
{
	const struct task_files *f = arg;
	(void)err;
	inject_spool_note(f->dir, f->why.text);
	return 0;
}

/* The batch step runs before all other steps: it decides for the job whether it is traced. */
static void prepare_batch(spank_t sp, struct task_files *f)
{
	const struct bounded note = {write_note, f, sizeof(*f), BOUNDED_MS, f->dir};
	struct errbuf err;
	if (f->refused)
		spank_setenv(sp, INJECT_MARK, "0", 1);
	else if (!f->own_objects && prepare_mpirun(sp, f->dir, f->local ? context.collect.local : NULL, &f->why) < 0)
		bounded_run(&note, NULL, &err);
	else if (!f->own_objects)
		return;
	slurm_debug("precedent: not traced: %s", f->why.text);
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

/* Tell once for each step and node what is lost. */
static void tell_task(spank_t sp, uint32_t job_id, const char *what, const char *why)
{
	int task;
	if (spank_get_item(sp, S_TASK_ID, &task) == ESPANK_SUCCESS && task == 0)
		slurm_info("precedent: error: job %u %s: %s", (unsigned)job_id, what, why);
}

/* Programs that stop in time must see the end that their user asked for. Slurm 23 and later sets the variables. */
static void show_own_end(spank_t sp)
{
	char limits[32], start[32], end[32], own[32];
	bool too_long = false;
	if (inject_end_time(job_env(sp, INJECT_LIMITS, limits, sizeof(limits), &too_long),
			    job_env(sp, "SLURM_JOB_START_TIME", start, sizeof(start), &too_long),
			    job_env(sp, "SLURM_JOB_END_TIME", end, sizeof(end), &too_long), own, sizeof(own)) == 0)
		spank_setenv(sp, "SLURM_JOB_END_TIME", own, 1);
}

void task_side_task(spank_t sp)
{
	struct task_files f = {.sp = sp};
	const struct bounded prepare = {prepare_files, &f, sizeof(f), BOUNDED_MS, context.spool};
	struct errbuf err;
	show_own_end(sp);
	if (!context.enabled)
		return;
	if (spank_get_item(sp, S_JOB_UID, &f.uid) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_ID, &f.job_id) != ESPANK_SUCCESS)
		return;
	if (bounded_run(&prepare, NULL, &err) < 0) {
		tell_task(sp, f.job_id, "is not traced", err.text);
		if (context.kind == STEP_BATCH)
			spank_setenv(sp, INJECT_MARK, "0", 1);
		return;
	}
	if (!f.local && context.collect.local[0])
		tell_task(sp, f.job_id, "leaves nothing if it dies", f.local_err.text);
	if (context.kind == STEP_BATCH)
		prepare_batch(sp, &f);
	else if (context.kind == STEP_TASKS)
		prepare_task(sp, f.dir, f.local ? context.collect.local : NULL);
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
	struct errbuf err;
	if (context.enabled && collect_run(&context.collect, &err) < 0)
		slurm_info("precedent: error: %s", err.text);
}
