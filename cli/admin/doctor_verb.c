/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent doctor: checks the installation. Every finding is one line: ok, warn or FAIL, the object, the finding, the
 * remedy. The doctor changes nothing. It needs no privilege, but sees more with it.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/admin/doctor_preempt.h"
#include "cli/admin/doctor_slurm.h"
#include "cli/admin/doctor_tracing.h"
#include "cli/admin/plugin_version.h"
#include "cli/ui/mpi_tools.h"
#include "cli/ui/node_class.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/clean.h"
#include "common/conf.h"
#include "common/duration.h"
#include "common/inject.h"
#include "common/sandbox.h"
#include "predictor/limits/raise.h"
#include "predictor/query/query.h"
#include "predictor/spool/spool.h"
#include "predictor/store/store.h"
#include "cli/admin/scratch_left.h"

#define SCRATCH_OLD_S 86400 /* no probe runs as long */

enum verdict { OK, WARN, FAIL };

struct doctor {
	json_t *list;
	bool json;
	int worst;
	struct precedent_conf conf;
	bool have_conf;
	char *slurm; /* text of `scontrol show config`, NULL without Slurm */
};

static void add_verdict(struct doctor *d, enum verdict v, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void add_verdict(struct doctor *d, enum verdict v, const char *what, const char *fmt, ...)
{
	static const char *const name[] = {"ok", "warn", "FAIL"};
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_line(text);
	if ((int)v > d->worst)
		d->worst = v;
	if (d->json)
		json_array_append_new(d->list, json_pack("{s:s, s:s, s:s}", "verdict", name[v], "what", what, "found", text));
	else
		printf("%-4s  %-14s %s\n", name[v], what, text);
}

/* ---- what runs on this node ---- */

/* Up to `cap` bytes of a command's output; NULL if the command fails or prints nothing. */
static char *slurp_command(const char *command, size_t cap)
{
	FILE *f = popen(command, "re");
	size_t len = 0;
	char *text = f ? malloc(cap) : NULL;

	if (text) {
		len = fread(text, 1, cap - 1, f);
		text[len] = '\0';
	}
	if (f && pclose(f) != 0)
		len = 0;
	if (text && !len) {
		free(text);
		text = NULL;
	}
	return text;
}

/* The loader, and a tracer for each MPI library beside it. */
static void check_tracer(struct doctor *d)
{
	static const char *const mpis[INJECT_TRACERS] = INJECT_TRACER_MPIS;
	struct errbuf err;
	char *lib = cli_installed(INJECT_LIBRARY_NAME, &err), real[PATH_MAX], path[PATH_MAX];
	int n = 0;

	if (!lib || !realpath(lib, real)) {
		add_verdict(d, FAIL, "tracer", "%s", lib ? strerror(errno) : err.text);
		free(lib);
		return;
	}
	add_verdict(d, OK, "tracer", "%s", lib);
	for (size_t i = 0; i < INJECT_TRACERS; i++)
		if (inject_tracer_path(real, i, path, sizeof(path)) == 0 && access(path, R_OK) == 0) {
			add_verdict(d, OK, "tracer", "for %s: %s", mpis[i], path);
			n++;
		} else {
			add_verdict(d, WARN, "tracer", "none for %s: its programs are not traced (build Precedent where that "
						"library's mpicc is installed)", mpis[i]);
		}
	if (!n)
		add_verdict(d, FAIL, "tracer", "no MPI library has a tracer beside %s: nothing is traced", real);
	free(lib);
}

/* What runs skeletons where there is no compiler; is there any? */
static bool check_interpreter(struct doctor *d)
{
	static const char *const mpis[INJECT_TRACERS] = INJECT_TRACER_MPIS;
	bool any = false;

	for (int family = 0; family < INJECT_TRACERS; family++) {
		struct errbuf err;
		char *path = cli_installed(mpi_replay((enum mpi_family)family), &err);

		if (path)
			add_verdict(d, OK, "interpreter", "for %s: %s", mpis[family], path);
		any |= path != NULL;
		free(path);
	}
	if (!any)
		add_verdict(d, WARN, "interpreter", "%s is not installed: nodes without a compiler cannot run skeletons",
		     mpi_replay(MPI_OPENMPI));
	return any;
}

static void check_mpicc(struct doctor *d, bool interpreted)
{
	static const char *const mpis[INJECT_TRACERS] = INJECT_TRACER_MPIS;
	char path[4096];
	int family;

	if (!mpi_in_path("mpicc", path, sizeof(path)) && interpreted) {
		add_verdict(d, WARN, "mpicc", "not in PATH: skeletons are interpreted on this node, not compiled");
		return;
	}
	if (!mpi_in_path("mpicc", path, sizeof(path))) {
		add_verdict(d, FAIL, "mpicc", "not in PATH: skeletons cannot be compiled on this node (install the MPI "
				       "library's development package)");
		return;
	}
	family = mpi_family_of_compiler(path);
	add_verdict(d, OK, "mpicc", "%s, for %s", path, family >= 0 ? mpis[family] : "another MPI library");
	if (mpi_in_path("mpicc.mpich", path, sizeof(path)) && family != MPI_MPICH)
		add_verdict(d, OK, "mpicc", "%s, for %s", path, mpis[MPI_MPICH]);
}

static void check_tools(struct doctor *d)
{
	struct node_class nc;
	struct errbuf err;
	char path[4096], *lib;

	check_tracer(d);
	lib = cli_installed("libprecedent_skel.a", &err);
	if (lib)
		add_verdict(d, OK, "runtime", "%s", lib);
	else
		add_verdict(d, FAIL, "runtime", "%s", err.text);
	free(lib);
	check_mpicc(d, check_interpreter(d));
	if (mpi_in_path("mpirun", path, sizeof(path)))
		add_verdict(d, OK, "mpirun", "%s", path);
	else
		add_verdict(d, WARN, "mpirun", "not in PATH: only jobs started with srun can be probed from this node");
	if (node_class_here(&nc, &err) == 0)
		add_verdict(d, OK, "node class", "%s %s", nc.hex, nc.text);
	else
		add_verdict(d, WARN, "node class", "%s", err.text);
}

/* ---- configuration and directories ---- */

/* A limit that is raised as soon as the job starts says nothing to the scheduler. */
static void check_limits(struct doctor *d)
{
	uint32_t least = limit_raise_least_min(d->conf.poll_interval_s);
	char text[DURATION_TEXT_MAX];

	if (conf_limits(&d->conf) && d->conf.limit_guard == GUARD_RAISE && d->conf.min_limit_min < least)
		add_verdict(d, WARN, "limits", "MinLimit is %u min, and limits are raised %.0f s before they end: the shortest are raised when the job "
					"starts: set MinLimit=%s", d->conf.min_limit_min,
		     limit_raise_threshold_s(d->conf.poll_interval_s, d->conf.min_limit_min), duration_format_minutes(text, sizeof(text), least));
}

static void check_conf(struct doctor *d)
{
	struct errbuf err;

	if (conf_load(NULL, &d->conf, &err) < 0) {
		add_verdict(d, FAIL, "configuration", "%s", err.text);
		return;
	}
	d->have_conf = true;
	if (!d->conf.file)
		add_verdict(d, WARN, "configuration", "%s does not exist: defaults, with no candidate partitions", conf_path(NULL));
	else if (!d->conf.n_candidates)
		add_verdict(d, WARN, "configuration", "%s names no Candidates: only the partition that a job ran on is predicted",
		     d->conf.file);
	else
		add_verdict(d, OK, "configuration", "%s, mode %s, %zu candidates", d->conf.file, mode_name(d->conf.mode),
		     d->conf.n_candidates);
	check_limits(d);
}

/* Where probes may run programs themselves: could they on this node? */
static void check_sandbox(struct doctor *d)
{
	bool on = d->conf.partial == PARTIAL_ON;
	struct errbuf err;

	for (size_t i = 0; i < d->conf.n_partials; i++)
		on |= d->conf.partials[i].partial == PARTIAL_ON;
	if (!on)
		return;
	if (sandbox_check(&err) < 0)
		add_verdict(d, WARN, "sandbox", "%s: PartialExecution has no effect on this node, skeletons predict alone", err.text);
	else
		add_verdict(d, OK, "sandbox", "programs can be run in part on this node");
}

/* Where probes put the files of programs that use MPI-IO. */
static void check_scratch(struct doctor *d)
{
	const char *dir = d->conf.scratch_dir;
	struct stat st;
	double bytes;
	unsigned left;

	if (!*dir)
		return;
	if (stat(dir, &st) < 0)
		return add_verdict(d, FAIL, "scratch", "ScratchDir %s: %s: in probes, calls on files are delays", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return add_verdict(d, FAIL, "scratch", "ScratchDir %s: not a directory: in probes, calls on files are delays", dir);
	if (!(st.st_mode & S_IWOTH))
		return add_verdict(d, WARN, "scratch", "ScratchDir %s: users cannot make files there (mode %04o): chmod 1777", dir,
			    st.st_mode & 07777);
	if (!(st.st_mode & S_ISVTX))
		return add_verdict(d, WARN, "scratch", "ScratchDir %s: users can remove each other's files (mode %04o): chmod +t", dir,
			    st.st_mode & 07777);
	left = scratch_left(dir, SCRATCH_OLD_S, &bytes);
	if (left)
		add_verdict(d, WARN, "scratch",
		     "%u files of probes that were killed, %.3g MiB: find %s -name '" SCRATCH_PATTERN "' -mtime +0 -delete", left,
		     bytes / 1048576, dir);
	else
		add_verdict(d, OK, "scratch", "%s", dir);
}

static void check_spool(struct doctor *d)
{
	const char *dir = d->conf.spool_dir;
	struct statvfs vfs;
	struct errbuf why;
	struct stat st;

	if (stat(dir, &st) < 0) {
		add_verdict(d, FAIL, "spool", "%s: %s: create it as root, group of SlurmUser, mode 0755, on a file system that all "
				       "nodes share", dir, strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022)) {
		add_verdict(d, FAIL, "spool", "%s: must be a directory of root that only root can write to (is uid %u, mode %04o): chown "
				       "root and chmod 0755", dir, st.st_uid, st.st_mode & 07777);
		return;
	}
	if (spool_is_full(dir, &why)) {
		add_verdict(d, FAIL, "spool", "%s: no job can be traced", why.text);
		return;
	}
	if (statvfs(dir, &vfs) == 0 && vfs.f_bavail < vfs.f_blocks / 50) {
		add_verdict(d, WARN, "spool", "%s: only %.1f %% of the file system is free: make room, traces may be lost", dir,
		     100.0 * (double)vfs.f_bavail / (double)vfs.f_blocks);
		return;
	}
	add_verdict(d, OK, "spool", "%s", dir);
}

/* Are there jobs that failed because they were traced? */
static void check_tracing(struct doctor *d, struct store *s)
{
	static const enum verdict verdicts[] = {[TRACING_FINE] = OK, [TRACING_DOUBT] = WARN, [TRACING_BROKEN] = FAIL};
	char text[1000];

	add_verdict(d, verdicts[tracing_report(s, time(NULL), text, sizeof(text))], "tracing", "%s", text);
}

static void check_store(struct doctor *d)
{
	struct store *s = NULL;
	struct errbuf err;

	if (access(d->conf.state_dir, R_OK | X_OK) < 0 && errno == EACCES) {
		add_verdict(d, OK, "store", "%s is not readable by you, as it should be", d->conf.state_dir);
		return;
	}
	if (store_open(d->conf.store_file, STORE_READ | STORE_WAIT, &s, &err) < 0) {
		add_verdict(d, store_last_fault() == STORE_MISSING ? WARN : FAIL, "store", "%s", err.text);
		return;
	}
	if (store_check(s, &err) < 0) {
		add_verdict(d, FAIL, "store", "%s", err.text);
	} else {
		add_verdict(d, OK, "store", "%s is sound", d->conf.store_file);
		check_tracing(d, s);
	}
	store_close(s);
}

static void check_daemon(struct doctor *d)
{
	struct query_server server = {.host = d->conf.listen_host, .port = d->conf.listen_port, .uid = (uid_t)-1,
				      .timeout_ms = QUERY_TIMEOUT_MS};
	struct errbuf err;
	char *reply = NULL;
	struct stat st;

	if (stat(d->conf.state_dir, &st) == 0)
		server.uid = st.st_uid;
	if (query_call(&server, query_munge(), "{\"verb\":\"ping\"}", &reply, &err) < 0)
		add_verdict(d, FAIL, "precedentd", "%s", err.text);
	else
		add_verdict(d, OK, "precedentd", "answers on %s:%u", server.host, server.port);
	free(reply);
}

/* ---- Slurm ---- */

/* Value of a key of `scontrol show config`, copied to out; false when it is not there. */
static bool slurm_value(const struct doctor *d, const char *key, char *out, size_t size)
{
	const char *p = d->slurm;
	size_t n = strlen(key);

	while (p && *p) {
		if (!strncmp(p, key, n) && (p[n] == ' ' || p[n] == '=')) {
			const char *v = strchr(p, '=');
			const char *end = strchr(p, '\n');

			if (!v || (end && v > end))
				return false;
			v += strspn(v, "= ");
			snprintf(out, size, "%.*s", end ? (int)(end - v) : (int)strlen(v), v);
			out[strcspn(out, "\r")] = '\0';
			return true;
		}
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return false;
}

static bool find_plugin(const struct doctor *d, const char *name, char *out, size_t size)
{
	char dirs[4096], *save, *dir;

	if (!slurm_value(d, "PluginDir", dirs, sizeof(dirs)))
		return false;
	for (dir = strtok_r(dirs, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(out, size, "%s/%s", dir, name);
		if (access(out, R_OK) == 0)
			return true;
	}
	return false;
}

/* The plugin must be built for exactly this Slurm: slurmctld refuses another. */
static void check_plugin_version(struct doctor *d, const char *path)
{
	char have[64] = "?";
	int major, minor, micro;
	uint32_t built;

	slurm_value(d, "SLURM_VERSION", have, sizeof(have));
	if (plugin_version_read(path, &built) < 0 || sscanf(have, "%d.%d.%d", &major, &minor, &micro) != 3)
		add_verdict(d, WARN, "job_submit", "%s: the version of Slurm that it was built for cannot be read", path);
	else if (built != (uint32_t)((major << 16) | (minor << 8) | micro))
		add_verdict(d, FAIL, "job_submit", "%s was built for Slurm %u.%u.%u, this is %s: rebuild and install Precedent", path,
		     built >> 16, (built >> 8) & 255, built & 255, have);
	else
		add_verdict(d, OK, "job_submit", "%s, built for Slurm %s", path, have);
}

static void check_job_submit(struct doctor *d)
{
	char list[1024] = "", path[4096];

	slurm_value(d, "JobSubmitPlugins", list, sizeof(list));
	if (!strstr(list, "precedent"))
		add_verdict(d, FAIL, "job_submit", "slurm.conf says JobSubmitPlugins=%s: add precedent", *list ? list : "(none)");
	else if (!find_plugin(d, "job_submit_precedent.so", path, sizeof(path)))
		add_verdict(d, FAIL, "job_submit", "job_submit_precedent.so is in no directory of PluginDir: slurmctld will not start");
	else
		check_plugin_version(d, path);
}

static bool file_mentions(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[4096];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#")] = '\0';
		found = strstr(line, word) != NULL;
	}
	if (f)
		fclose(f);
	return found;
}

static void check_spank(struct doctor *d)
{
	char stack[4096] = "", dir[4200];

	if (!slurm_value(d, "PlugStackConfig", stack, sizeof(stack)) || !*stack || !strcmp(stack, "(null)"))
		snprintf(stack, sizeof(stack), "/etc/slurm/plugstack.conf");
	snprintf(dir, sizeof(dir), "%s.d/precedent.conf", stack);
	if (access(stack, R_OK) < 0 && access(dir, R_OK) < 0)
		add_verdict(d, FAIL, "spank", "%s does not exist: link conf/plugstack.conf there on every node", stack);
	else if (!file_mentions(stack, "spank_precedent.so") && !file_mentions(dir, "spank_precedent.so"))
		add_verdict(d, FAIL, "spank", "neither %s nor %s loads spank_precedent.so: no job is traced", stack, dir);
	else
		add_verdict(d, OK, "spank", "loaded by %s", file_mentions(stack, "spank_precedent.so") ? stack : dir);
}

/* May others take the nodes of a probe that runs? */
static void check_preempt(struct doctor *d)
{
	static const enum verdict verdicts[] = {[PREEMPT_OK] = OK, [PREEMPT_DOUBT] = WARN, [PREEMPT_BROKEN] = FAIL};
	char type[128] = "", mode[128] = "", accounting[128] = "", text[512], *list = NULL;
	struct preempt_facts f = {d->conf.probe_qos ? d->conf.probe_qos : "", type, mode, accounting, NULL};

	slurm_value(d, "PreemptType", type, sizeof(type));
	slurm_value(d, "PreemptMode", mode, sizeof(mode));
	slurm_value(d, "AccountingStorageType", accounting, sizeof(accounting));
	if (*f.qos)
		f.list = list = slurp_command("timeout 10 sacctmgr -nP show qos format=name%60,preempt%1000 2>/dev/null </dev/null",
					      1 << 16);
	add_verdict(d, verdicts[preempt_judge(&f, text, sizeof(text))], "probe qos", "%s", text);
	free(list);
}

/* What slurm.conf says that our being right hangs on. */
static void check_slurm_conf(struct doctor *d)
{
	static const enum verdict verdicts[] = {[SLURM_FINE] = OK, [SLURM_DOUBT] = WARN, [SLURM_BROKEN] = FAIL};
	char age[64] = "", count[64] = "", scheduler[128] = "", overtime[64] = "", version[64] = "", parameters[1024] = "", text[512];
	struct slurm_facts f = {age, count, scheduler, overtime, version, parameters, d->conf.limit_guard, d->conf.poll_interval_s, -1,
				conf_limits(&d->conf)};
	char *jobs = slurp_command("n=$(timeout 20 squeue -a -h -r -t all -o x 2>/dev/null </dev/null) && echo \"$n\" | wc -w", 64);

	if (jobs)
		f.jobs = strtol(jobs, NULL, 10);
	free(jobs);
	slurm_value(d, "MinJobAge", age, sizeof(age));
	slurm_value(d, "MaxJobCount", count, sizeof(count));
	slurm_value(d, "SchedulerType", scheduler, sizeof(scheduler));
	slurm_value(d, "OverTimeLimit", overtime, sizeof(overtime));
	slurm_value(d, "SLURM_VERSION", version, sizeof(version));
	slurm_value(d, "SchedulerParameters", parameters, sizeof(parameters));
	add_verdict(d, verdicts[slurm_judge_age(&f, text, sizeof(text))], "ended jobs", "%s", text);
	add_verdict(d, verdicts[slurm_judge_count(&f, text, sizeof(text))], "job records", "%s", text);
	add_verdict(d, verdicts[slurm_judge_scheduler(&f, text, sizeof(text))], "scheduler", "%s", text);
	if (f.limits && d->conf.limit_guard != GUARD_RAISE)
		add_verdict(d, verdicts[slurm_judge_guard(&f, text, sizeof(text))], "limit guard", "%s", text);
}

/* The store is on one host. On another one the plugin finds none, and lets jobs pass. */
static void check_backup(struct doctor *d)
{
	char host[256] = "";

	if (!slurm_value(d, "SlurmctldHost[1]", host, sizeof(host)) || !*host)
		return;
	if (conf_limits(&d->conf) && d->conf.limit_guard == GUARD_RAISE)
		add_verdict(d, FAIL, "backup controller", "while %s is in charge, nobody raises limits, and shortened jobs are ended early: set "
							  "LimitGuard = auto", host);
	else
		add_verdict(d, OK, "backup controller", "while %s is in charge, jobs pass unchanged, and keep the limits that their users asked for",
			    host);
}

static void check_slurm(struct doctor *d)
{
	/* Where there is no slurm.conf scontrol looks for one for a minute. */
	d->slurm = slurp_command("timeout 10 scontrol show config 2>/dev/null </dev/null", 1 << 18);
	if (!d->slurm) {
		add_verdict(d, WARN, "slurm", "no answer from slurmctld (or no Slurm here): traces, skeletons and local predictions work "
				       "without it");
		return;
	}
	check_job_submit(d);
	check_spank(d);
	check_daemon(d);
	check_preempt(d);
	check_slurm_conf(d);
	check_backup(d);
}

static int doctor_verb(int argc, char **argv)
{
	struct doctor d = {0};
	int rc;

	if (!options_read(&verb_doctor, argc, argv, &d, &rc))
		return rc;
	d.list = json_array();
	check_conf(&d);
	check_tools(&d);
	if (d.have_conf) {
		check_sandbox(&d);
		check_scratch(&d);
		check_spool(&d);
		check_store(&d);
		check_slurm(&d);
	}
	if (d.json) {
		json_dumpf(d.list, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(d.list);
	conf_free(&d.conf);
	free(d.slurm);
	return d.worst == FAIL ? 1 : 0;
}

static const struct verb_option options[] = {
	{"json", 0, NULL, OPT_FLAG(struct doctor, json), .help = "the same for machines"},
	{0},
};

const struct verb verb_doctor = {
	"doctor", "", "what is installed where, and what is wrong with it",
	.forms = {"[--json]"},
	.text = "Says what is installed where, and what is wrong with it. Changes nothing. Exit status 0 when nothing failed, 1 otherwise "
		"(warnings do not count).",
	.options = options, .run = doctor_verb,
};
