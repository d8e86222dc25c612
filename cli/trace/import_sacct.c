/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent import --sacct: see import_sacct.h. For administrators: the store's file belongs to SlurmUser. */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/trace/import_sacct.h"
#include "cli/trace/import_scripts.h"
#include "cli/ui/json_out.h"
#include "cli/ui/util.h"
#include "common/conf.h"
#include "predictor/history/import.h"
#include "predictor/store/store.h"
#include "predictor/store/unscripted.h"

/* ---- what history_import asks for ---- */

static int user_uid(void *arg, const char *name, uint32_t *uid)
{
	const struct passwd *pw = getpwnam(name);

	(void)arg;
	if (pw)
		*uid = pw->pw_uid;
	return pw != NULL;
}

static void tell_bad(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "precedent: %s\n", cli_shown(text));
}

/* How far a file is read; of a pipe nobody knows. */
static void tell_progress(void *arg, uint64_t records)
{
	FILE *in = arg;
	struct stat st;

	(void)records;
	if (fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		cli_progress("importing", (double)ftello(in), (double)st.st_size);
}

/* ---- where jobs come from ---- */

/* Runs older than RetentionTime would not be kept. */
static FILE *sacct_start(const struct precedent_conf *conf)
{
	time_t since = time(NULL) - (time_t)conf->retention_s;
	char command[512], day[32];
	struct tm tm;

	localtime_r(&since, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(command, sizeof(command),
		 "SLURM_TIME_FORMAT=%%s exec sacct --allusers --allocations --parsable2 --delimiter='%c' "
		 "--starttime=%s --format=%s",
		 SACCT_SEPARATOR, day, SACCT_FORMAT);
	return popen(command, "re");
}

static FILE *input_open(const char *file, const struct precedent_conf *conf)
{
	if (!file)
		return sacct_start(conf);
	return !strcmp(file, "-") ? stdin : fopen(file, "re");
}

/* -1: sacct has failed. */
static int input_close(FILE *in, const char *file)
{
	if (file)
		return in == stdin ? 0 : fclose(in), 0;
	return pclose(in) == 0 ? 0 : -1;
}

/* ---- the store ---- */

/* Files that root would make beside the store could not be written by precedentd. Root becomes the store's owner. */
static int become_owner(const struct precedent_conf *conf, struct errbuf *err)
{
	struct stat st;

	if (stat(conf->store_file, &st) < 0)
		return err_set(err, "%s: %s: %s", conf->store_file, strerror(errno),
			       errno == EACCES ? "run 'precedent import --sacct' as root or SlurmUser"
					       : "start precedentd, which makes the store");
	if (geteuid() == st.st_uid)
		return 0;
	if (geteuid() != 0)
		return err_set(err, "%s: is not yours: run 'precedent import --sacct' as root or SlurmUser",
			       conf->store_file);
	if (setgroups(0, NULL) < 0 || setgid(st.st_gid) < 0 || setuid(st.st_uid) < 0)
		return err_set(err, "%s: cannot become its owner: %s", conf->store_file, strerror(errno));
	return 0;
}

/* What is printed of scripts; asked: sacct was asked for them; all_jobs: and has not failed before, so no job of the store is missing. */
struct scripts_told {
	struct scripts_report r;
	bool asked, all_jobs;
};

static void scripts_print(const struct scripts_told *s)
{
	char n[2][32];

	if (!s->asked || !s->r.wanted)
		return;
	if (s->r.none)
		puts("scripts: the accounting keeps none (AccountingStoreFlags=job_script in slurm.conf)");
	else
		printf("scripts of %s jobs are known now\n", cli_thousands(n[0], sizeof(n[0]), s->r.found));
	if (!s->r.none && s->r.asked < s->r.wanted)
		printf("no time was left for the scripts of %s older jobs: "
		       "a later import %s for these (see --scripts)\n",
		       cli_thousands(n[1], sizeof(n[1]), s->r.wanted - s->r.asked), s->all_jobs ? "does not ask" : "asks");
}

static void report_print(const struct import_report *r, const struct scripts_told *scripts, double seconds)
{
	char n[8][32], took[32];

	printf("%s jobs read in %s: %s added, %s known before\n", cli_thousands(n[0], sizeof(n[0]), r->jobs),
	       cli_seconds(took, sizeof(took), seconds), cli_thousands(n[1], sizeof(n[1]), r->added),
	       cli_thousands(n[2], sizeof(n[2]), r->jobs - r->added - r->probes - r->unknown));
	printf("added with a key of Precedent: %s\n", cli_thousands(n[3], sizeof(n[3]), r->with_key));
	scripts_print(scripts);
	if (r->probes || r->left_out)
		printf("left out: %s probe jobs, %s steps and jobs that have not run or not ended\n",
		       cli_thousands(n[4], sizeof(n[4]), r->probes), cli_thousands(n[5], sizeof(n[5]), r->left_out));
	if (r->unknown)
		printf("left out: %s jobs of users that this machine does not know\n",
		       cli_thousands(n[6], sizeof(n[6]), r->unknown));
	if (r->bad)
		printf("left out: %s lines that could not be read\n", cli_thousands(n[7], sizeof(n[7]), r->bad));
}

static int report_print_json(const struct import_report *r, const struct scripts_told *scripts)
{
	json_t *out = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "jobs", (json_int_t)r->jobs, "added",
				(json_int_t)r->added, "with_key", (json_int_t)r->with_key, "probes", (json_int_t)r->probes,
				"left_out", (json_int_t)r->left_out, "unknown_users", (json_int_t)r->unknown, "bad_lines",
				(json_int_t)r->bad);

	if (scripts->asked)
		json_object_set_new(out, "scripts",
				    json_pack("{s:I, s:I, s:I}", "wanted", (json_int_t)scripts->r.wanted, "asked",
					      (json_int_t)scripts->r.asked, "found", (json_int_t)scripts->r.found));
	return cli_print_json(out);
}

/* The store as precedentd has left it: an older schema is for precedentd to bring up to date. */
static int store_take(const struct precedent_conf *conf, struct store **out, struct errbuf *err)
{
	if (become_owner(conf, err) < 0 || store_open(conf->store_file, STORE_READ | STORE_WAIT, out, err) < 0)
		return -1;
	store_close(*out);
	return store_open(conf->store_file, STORE_WRITE | STORE_WAIT, out, err);
}

/* How the verb was called. */
struct how {
	const char *file;
	double scripts_s;
	bool json, quiet;
};

/* Closes `in`. Runs stay unscripted if sacct has failed: some of them may be among the jobs that it did not print. */
static int import_into(struct import_run *run, FILE *in, const struct how *how, struct import_report *report,
		       struct scripts_told *scripts, struct errbuf *err)
{
	int rc;

	scripts->asked = !how->file && how->scripts_s > 0;
	if (scripts->asked && !(run->scripts = scripts_create())) {
		input_close(in, how->file);
		return err_set(err, "no memory for scripts");
	}
	rc = history_import(run, in, how->file ? how->file : "sacct", report, err);
	scripts->all_jobs = input_close(in, how->file) == 0;
	if (rc == 0 && scripts->asked)
		rc = import_scripts(run->scripts, run->store, how->scripts_s, how->quiet, &scripts->r, err);
	if (rc == 0 && scripts->asked && scripts->all_jobs)
		rc = store_unscripted_clear(run->store, err);
	scripts_destroy(run->scripts);
	return rc;
}

/* Closes `in`. Returns the exit code. */
static int import_from(FILE *in, const struct how *how, const struct precedent_conf *conf)
{
	struct import_run run = {
	    .conf = conf, .user = user_uid, .bad = tell_bad, .progress = how->quiet ? NULL : tell_progress, .arg = in};
	struct scripts_told scripts = {.all_jobs = true};
	struct import_report report;
	double start = cli_now();
	struct errbuf err;
	int rc;

	if (store_take(conf, &run.store, &err) < 0) {
		input_close(in, how->file);
		return cli_fail("%s", err.text);
	}
	rc = import_into(&run, in, how, &report, &scripts, &err);
	store_close(run.store);
	if (rc < 0)
		return cli_fail("%s", err.text);
	if (report.bad > IMPORT_BAD_TOLD)
		fprintf(stderr, "precedent: %" PRIu64 " more lines are left out\n", report.bad - IMPORT_BAD_TOLD);
	if (how->json)
		rc = report_print_json(&report, &scripts);
	else if (!how->quiet)
		report_print(&report, &scripts, cli_now() - start);
	if (!rc && !scripts.all_jobs)
		rc = cli_fail("sacct has failed: its own message is above; what it printed before is imported");
	return rc;
}

int import_sacct(const char *file, double scripts_s, bool json, bool quiet)
{
	const struct how how = {file, scripts_s, json, quiet};
	struct precedent_conf conf;
	struct errbuf err;
	FILE *in;
	int rc;

	if (conf_load(NULL, &conf, &err) < 0)
		return cli_fail("%s", err.text);
	in = input_open(file, &conf);
	rc = in ? import_from(in, &how, &conf) : cli_fail("%s: %s", file ? file : "sacct", strerror(errno));
	conf_free(&conf);
	return rc;
}
