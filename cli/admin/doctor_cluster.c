/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent doctor: plugins, versions and settings of Slurm, and the daemons. slurm.conf is read when slurmctld is silent. */
#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli/admin/doctor.h"
#include "cli/admin/doctor_plugstack.h"
#include "cli/admin/doctor_preempt.h"
#include "cli/admin/doctor_slurm.h"
#include "cli/admin/plugin_version.h"
#include "common/buf.h"
#include "predictor/query/query.h"

#define CLOCK_OFF_S   60 /* MUNGE refuses credentials from 300 s on */
#define INCLUDES_MAX  4
#define CONFIG_MAX    (1u << 18)
#define PATH_PLUS     "PATH=$PATH:/usr/sbin:/usr/local/sbin; "

char *doctor_output(const char *command, size_t cap)
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

bool doctor_slurm_value(const struct doctor *d, const char *key, char *out, size_t size)
{
	const char *p = d->slurm;
	size_t n = strlen(key);

	*out = '\0';
	while (p && *p) {
		size_t end = strcspn(p, "\n");
		const char *v = memchr(p, '=', end);

		if (!strncasecmp(p, key, n) && v && (size_t)(v - p) == n + strspn(p + n, " \t")) {
			v += 1 + strspn(v + 1, " \t");
			snprintf(out, size, "%.*s", (int)strcspn(v, "\r\n"), v);
			return true;
		}
		p += end + (p[end] == '\n');
	}
	return false;
}

/* ---- slurm.conf ---- */

static void file_append(const char *path, int depth, struct buf *out)
{
	FILE *f = depth < INCLUDES_MAX ? fopen(path, "re") : NULL;
	char line[4096], *text;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#\r\n")] = '\0';
		text = line + strspn(line, " \t");
		if (!strncasecmp(text, "include ", 8)) {
			text += 8 + strspn(text + 8, " \t");
			text[strcspn(text, " \t")] = '\0';
			file_append(text, depth + 1, out);
		} else if (*text) {
			buf_put(out, text, strlen(text));
			buf_put(out, "\n", 1);
		}
	}
	if (f)
		fclose(f);
}

void doctor_slurm_read(struct doctor *d)
{
	struct buf text = {0};

	slurm_conf_load(&d->site);
	query_munge_socket(d->site.munge_socket);
	d->slurm_file = slurm_conf_path();
	if (d->slurm_file && access(d->slurm_file, R_OK) < 0)
		d->slurm_file = NULL;
	/* Where there is no slurm.conf scontrol looks for one for a minute. */
	d->slurm = doctor_output("TZ=UTC SLURM_TIME_FORMAT=standard timeout 10 scontrol show config 2>/dev/null </dev/null", CONFIG_MAX);
	if (d->slurm || !d->slurm_file)
		return;
	d->offline = true;
	file_append(d->slurm_file, 0, &text);
	buf_put(&text, "", 1);
	d->slurm = text.failed ? NULL : (char *)text.data;
}

/* ---- versions ---- */

struct version {
	unsigned major, minor, micro;
};

static bool version_read(const char *text, struct version *v)
{
	return sscanf(text + strcspn(text, "0123456789"), "%u.%u.%u", &v->major, &v->minor, &v->micro) == 3;
}

/* Of the slurmctld, else of the commands, that are installed on this host. */
static bool version_installed(struct version *v)
{
	char *text = doctor_output(PATH_PLUS "{ slurmctld -V || scontrol -V; } 2>/dev/null </dev/null", 256);
	bool known = text && version_read(text, v);

	free(text);
	return known;
}

static bool find_plugin(const struct doctor *d, const char *name, char *out, size_t size)
{
	char dirs[4096], *save, *dir;
	glob_t usual;
	bool found = false;

	doctor_slurm_value(d, "PluginDir", dirs, sizeof(dirs));
	for (dir = strtok_r(dirs, ":", &save); dir && !found; dir = strtok_r(NULL, ":", &save)) {
		snprintf(out, size, "%s/%s", dir, name);
		found = access(out, R_OK) == 0;
	}
	if (found || !d->offline || glob("/usr/lib*/slurm", 0, NULL, &usual) != 0)
		return found;
	glob("/usr/lib/*/slurm-wlm", GLOB_APPEND, NULL, &usual);
	for (size_t i = 0; i < usual.gl_pathc && !found; i++) {
		snprintf(out, size, "%s/%s", usual.gl_pathv[i], name);
		found = access(out, R_OK) == 0;
	}
	globfree(&usual);
	return found;
}

static bool version_differs(const struct version *v, uint32_t built)
{
	return built != (v->major << 16 | v->minor << 8 | v->micro);
}

/* slurmctld refuses a plugin that was not built for exactly its version, and does not start. */
static void check_plugin_version(struct doctor *d, const char *path)
{
	char text[64];
	struct version runs, there;
	uint32_t built;
	bool running = doctor_slurm_value(d, "SLURM_VERSION", text, sizeof(text)) && version_read(text, &runs);
	bool installed = version_installed(&there);

	if (!running && installed)
		runs = there;
	if (plugin_version_read(path, &built) < 0 || (!running && !installed))
		return finding_add(d, WARN, "job_submit", "%s: the version of Slurm that it was built for, or that is installed, cannot be read" TO_DO
				   "compare slurmctld -V with the Slurm that Precedent was built for", path);
	if (version_differs(&runs, built) || (installed && version_differs(&there, built))) {
		const struct version *v = version_differs(&runs, built) ? &runs : &there;

		return finding_add(d, FAIL, "job_submit", "%s was built for Slurm %u.%u.%u, this is %u.%u.%u: slurmctld does not start with it "
				   "(failed to initialize job_submit plugin)" TO_DO "rebuild and install Precedent; until then take precedent out "
				   "of JobSubmitPlugins in slurm.conf", path, built >> 16, built >> 8 & 255, built & 255, v->major, v->minor, v->micro);
	}
	finding_add(d, OK, "job_submit", "%s, built for Slurm %u.%u.%u", path, runs.major, runs.minor, runs.micro);
}

static void check_job_submit(struct doctor *d)
{
	char list[1024], path[4200];

	doctor_slurm_value(d, "JobSubmitPlugins", list, sizeof(list));
	if (!strstr(list, "precedent"))
		finding_add(d, FAIL, "job_submit", "slurm.conf says JobSubmitPlugins=%s" TO_DO "add precedent", *list ? list : "(none)");
	else if (!find_plugin(d, "job_submit_precedent.so", path, sizeof(path)))
		finding_add(d, FAIL, "job_submit", "job_submit_precedent.so is in no directory of PluginDir: slurmctld will not start" TO_DO
			    "add the plugin's directory to PluginDir in slurm.conf");
	else
		check_plugin_version(d, path);
}

/* ---- plugstack.conf ---- */

/* Nodes read the file of their plugstack line, or the default one. They must find what precedentd has. */
static void check_node_conf(struct doctor *d, const struct plugstack_line *line)
{
	const char *file = *line->conf ? line->conf : CONF_DEFAULT_FILE, *spool;
	struct precedent_conf conf = {0};
	struct errbuf err;

	if (*line->lib && *line->spool) {
		snprintf(d->tracer, sizeof(d->tracer), "%s", line->lib);
		return;
	}
	if (conf_load(file, &conf, &err) < 0)
		return finding_add(d, FAIL, "spank", "%s names conf=%s, and no job is traced: %s" TO_DO "install precedent.conf there on every node",
				   line->file, file, err.text);
	spool = *line->spool ? line->spool : conf.spool_dir;
	if (strcmp(spool, d->conf.spool_dir))
		finding_add(d, FAIL, "spank", "nodes write to SpoolDir %s (%s), and precedentd looks in %s" TO_DO "use one precedent.conf for all", spool,
			    file, d->conf.spool_dir);
	if (*line->lib)
		snprintf(d->tracer, sizeof(d->tracer), "%s", line->lib);
	conf_free(&conf);
}

static void check_spank(struct doctor *d)
{
	char stack[4096], plugin[4200];
	struct plugstack_line line;

	doctor_slurm_value(d, "PlugStackConfig", stack, sizeof(stack));
	if (!*stack || !strcmp(stack, "(null)"))
		snprintf(stack, sizeof(stack), "%.*s/plugstack.conf", d->slurm_file ? (int)(strrchr(d->slurm_file, '/') - d->slurm_file) : 10,
			 d->slurm_file ? d->slurm_file : "/etc/slurm");
	if (access(stack, R_OK) < 0)
		return finding_add(d, FAIL, "spank", "%s: %s: no job is traced" TO_DO "link share/precedent/plugstack.conf.d there on every node", stack,
				   strerror(errno));
	if (!plugstack_find(stack, &line))
		return finding_add(d, FAIL, "spank", "neither %s nor a file that it includes loads spank_precedent.so: no job is traced" TO_DO
				   "include share/precedent/plugstack.conf.d/precedent.conf on every node", stack);
	snprintf(plugin, sizeof(plugin), "%s", line.plugin);
	if (line.required)
		finding_add(d, FAIL, "spank", "%s says required: a fault of the plugin fails jobs and drains nodes" TO_DO "write optional", line.file);
	else if (*plugin == '/' ? access(plugin, R_OK) < 0 : !find_plugin(d, line.plugin, plugin, sizeof(plugin)))
		finding_add(d, FAIL, "spank", "%s names %s, which is not there: no job is traced" TO_DO "correct the path", line.file, line.plugin);
	else
		finding_add(d, OK, "spank", "loaded by %s", line.file);
	check_node_conf(d, &line);
}

/* ---- daemons ---- */

/* Slurm says when it answered. */
static void check_clock(struct doctor *d)
{
	const char *said = strstr(d->slurm, "Configuration data as of ");
	struct tm tm = {0};
	double off;

	if (d->offline || !said || !strptime(said + strlen("Configuration data as of "), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	off = difftime(time(NULL), timegm(&tm));
	if (off > CLOCK_OFF_S || off < -CLOCK_OFF_S)
		finding_add(d, FAIL, "clock", "this host is %.0f s %s slurmctld: credentials of MUNGE are refused, and ages are wrong" TO_DO
			    "have all hosts ask one time server (chrony)", off < 0 ? -off : off, off < 0 ? "behind" : "ahead of");
	else
		finding_add(d, OK, "clock", "within a minute of slurmctld");
}

/* Returns whether this host can make and read credentials. */
static bool check_munge(struct doctor *d)
{
	const struct query_crypt *crypt = query_munge();
	char *cred = NULL, *payload = NULL;
	struct errbuf err;
	size_t len;
	uid_t uid;
	bool good = crypt->seal("x", 1, (uid_t)-1, &cred, &err) == 0 && crypt->unseal(cred, &payload, &len, &uid, &err) == 0;

	if (good)
		finding_add(d, OK, "munge", "makes and reads credentials");
	else
		finding_add(d, FAIL, "munge", "%s: Slurm and precedentd know nobody" TO_DO "systemctl status munge", err.text);
	free(cred);
	free(payload);
	return good;
}

static void judge_daemon(struct doctor *d, const struct query_server *server, const char *reply)
{
	json_t *answer = json_loads(reply, JSON_REJECT_DUPLICATES, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));
	double heartbeat = json_number_value(json_object_get(answer, "heartbeat"));
	double age = json_number_value(json_object_get(answer, "now")) - heartbeat;

	if (error || !answer)
		finding_add(d, FAIL, "precedentd", "%s:%u says: %s" TO_DO "journalctl -u precedentd", server->host, server->port,
			    error ? error : "no JSON");
	else if (age > d->conf.heartbeat_timeout_s)
		finding_add(d, FAIL, "precedentd", "answers on %s:%u, but has %s%.0f s: slurmctld is silent, or the store is locked or full" TO_DO
			    "journalctl -u precedentd says which; fuser -v %s names who holds the store", server->host, server->port,
			    heartbeat > 0 ? "not followed jobs for " : "never followed jobs, in ", age, d->conf.store_file);
	else
		finding_add(d, OK, "precedentd", "answers on %s:%u", server->host, server->port);
	json_decref(answer);
}

static void check_daemon(struct doctor *d)
{
	struct query_server server = {.host = slurm_conf_daemon_host(&d->site, &d->conf), .port = d->conf.listen_port,
				      .uid = d->site.slurm_uid, .timeout_ms = QUERY_TIMEOUT_MS};
	struct errbuf err;
	char *reply = NULL;

	if (query_call(&server, query_munge(), "{\"precedent\": 1, \"verb\": \"ping\"}", &reply, &err) < 0)
		finding_add(d, FAIL, "precedentd", "%s" TO_DO "on its host: systemctl status precedentd", err.text);
	else
		judge_daemon(d, &server, reply);
	free(reply);
}

/* ---- settings ---- */

/* May others take the nodes of a probe that runs? */
static void check_preempt(struct doctor *d)
{
	static const enum verdict verdicts[] = {[PREEMPT_OK] = OK, [PREEMPT_DOUBT] = WARN, [PREEMPT_BROKEN] = FAIL};
	char type[128], mode[128], accounting[128], text[512], *list = NULL;
	struct preempt_facts f = {d->conf.probe_qos, type, mode, accounting, NULL};

	doctor_slurm_value(d, "PreemptType", type, sizeof(type));
	doctor_slurm_value(d, "PreemptMode", mode, sizeof(mode));
	doctor_slurm_value(d, "AccountingStorageType", accounting, sizeof(accounting));
	if (*f.qos)
		f.list = list = doctor_output("timeout 10 sacctmgr -nP show qos format=name%60,preempt%1000 2>/dev/null </dev/null", 1 << 16);
	finding_add(d, verdicts[preempt_judge(&f, text, sizeof(text))], "probe_qos", "%s", text);
	free(list);
}

/* What slurm.conf says that our being right hangs on. */
static void check_slurm_conf(struct doctor *d)
{
	static const enum verdict verdicts[] = {[SLURM_FINE] = OK, [SLURM_DOUBT] = WARN, [SLURM_BROKEN] = FAIL};
	char age[64], count[64], scheduler[128], overtime[64], version[64], parameters[1024], text[512];
	struct slurm_facts f = {age, count, scheduler, overtime, version, parameters, d->conf.limit_guard, d->conf.poll_interval_s, -1,
				conf_limits(&d->conf), d->conf.end_at_asked};
	char *jobs = doctor_output("n=$(timeout 20 squeue -a -h -r -t all -o x 2>/dev/null </dev/null) && echo \"$n\" | wc -w", 64);

	if (jobs)
		f.jobs = strtol(jobs, NULL, 10);
	free(jobs);
	doctor_slurm_value(d, "MinJobAge", age, sizeof(age));
	doctor_slurm_value(d, "MaxJobCount", count, sizeof(count));
	doctor_slurm_value(d, "SchedulerType", scheduler, sizeof(scheduler));
	doctor_slurm_value(d, "OverTimeLimit", overtime, sizeof(overtime));
	doctor_slurm_value(d, "SLURM_VERSION", version, sizeof(version));
	doctor_slurm_value(d, "SchedulerParameters", parameters, sizeof(parameters));
	finding_add(d, verdicts[slurm_judge_age(&f, text, sizeof(text))], "ended_jobs", "%s", text);
	finding_add(d, verdicts[slurm_judge_count(&f, text, sizeof(text))], "job_records", "%s", text);
	finding_add(d, verdicts[slurm_judge_scheduler(&f, text, sizeof(text))], "scheduler", "%s", text);
	if (f.limits && d->conf.limit_guard != GUARD_RAISE)
		finding_add(d, verdicts[slurm_judge_guard(&f, text, sizeof(text))], "limit_guard", "%s", text);
}

/* The store is on one host, since SQLite's WAL works on no other. The plugin there finds none, and lets jobs pass. */
static void check_backup(struct doctor *d)
{
	char host[256] = "", hosts[600] = "", key[32];
	size_t len = 0;

	for (unsigned i = 1; snprintf(key, sizeof(key), "SlurmctldHost[%u]", i) > 0 && doctor_slurm_value(d, key, host, sizeof(host)) && *host; i++)
		if (len + strlen(host) + 5 < sizeof(hosts))
			len += (size_t)sprintf(hosts + len, "%s%s", len ? " or " : "", host);
	if (!len)
		return;
	if (conf_limits(&d->conf) && d->conf.limit_guard == GUARD_RAISE)
		finding_add(d, FAIL, "backup_controller", "while %s is in charge, nobody raises limits, and shortened jobs are ended early" TO_DO
			    "set LimitGuard = auto", hosts);
	else
		finding_add(d, OK, "backup_controller", "while %s is in charge, the store and precedentd are out of reach: jobs pass unchanged, and "
			    "keep the limits that their users asked for", hosts);
}

void doctor_check_slurm(struct doctor *d)
{
	if (!d->slurm)
		return finding_add(d, WARN, "slurmctld", "no Slurm here: traces, skeletons and local predictions work without it" TO_DO
				   "set SLURM_CONF if there is one");
	if (d->offline)
		finding_add(d, FAIL, "slurmctld", "no answer, though %s is there: jobs cannot be submitted" TO_DO
			    "on %s: systemctl status slurmctld, or slurmctld -D; findings below may say why", d->slurm_file, d->site.ctld_host);
	else
		finding_add(d, OK, "slurmctld", "answers");
	check_job_submit(d);
	check_spank(d);
	check_clock(d);
	if (check_munge(d))
		check_daemon(d);
	if (d->offline)
		return;
	check_preempt(d);
	check_slurm_conf(d);
	check_backup(d);
}
