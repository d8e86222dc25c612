/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent probe: precedentd submits it as a job of the job's user. It builds the skeletons in the spool directory of
 * a traced job (on the source candidate) and runs them here. It leaves one result record. All files that a user wrote
 * are read here, with the user's own rights.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli/skeleton/partial.h"
#include "cli/skeleton/probe_points.h"
#include "cli/skeleton/skeleton.h"
#include "cli/ui/node_class.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/array.h"
#include "common/conf.h"
#include "common/temp_dir.h"
#include "predictor/spool/result.h"
#include "predictor/spool/spool.h"

struct probe {
	const char *dir, *candidate;
	bool source;
	int partial; /* enum conf_partial; PARTIAL_OFF: where the job asked for it */
	double seconds;
	struct probe_member member[POINTS_RUNS_MAX];
	unsigned n_members;
	long points_s;
	struct precedent_conf conf; /* zeroed where it cannot be read */
	int dirfd;
	char **trace; /* names, sorted */
	size_t n_trace, trace_cap;
	struct result res;
	XXH64_hash_t hash;
	double startup_sum;
	struct errbuf unskeleton; /* why no trace gets a skeleton; "": each gets one */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_traces(struct probe *p, struct errbuf *err)
{
	DIR *d = fdopendir(dup(p->dirfd));
	struct dirent *e;

	if (!d)
		return err_set(err, "%s: %s", p->dir, strerror(errno));
	while ((e = readdir(d)) && p->n_trace < RESULT_MAX_TRACES) {
		if (!spool_is_trace(e->d_name))
			continue;
		if (ARRAY_ROOM(p->trace, p->trace_cap, p->n_trace + 1) < 0 || !(p->trace[p->n_trace] = strdup(e->d_name))) {
			closedir(d);
			return err_set(err, "no memory");
		}
		p->n_trace++;
	}
	closedir(d);
	if (!p->n_trace)
		return err_set(err, "%s: there is no trace", p->dir);
	qsort(p->trace, p->n_trace, sizeof(*p->trace), by_name);
	return 0;
}

/* What generation found out must outlive the source probe: the probes elsewhere need it too. */
static int facts_write(const char *skel, const struct skeleton_facts *f, struct errbuf *err)
{
	char path[4200], tmp[4260];
	FILE *o;

	snprintf(path, sizeof(path), "%s/facts", skel);
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	o = fopen(tmp, "we");
	if (!o)
		return err_set(err, "%s: %s", tmp, strerror(errno));
	fprintf(o, "ranks %u\nevents %llu\nlength %llu\nmpi_s %.9g\nplanned_s %.9g\nconfidence %.6f\nlauncher %s\nhash %s\ninterpreted %s\ncomputed_s %.9g\n"
		"executable %s\n",
		f->n_ranks, (unsigned long long)f->events, (unsigned long long)f->length, f->mpi_s, f->planned_s,
		f->confidence, f->launcher, f->hash, f->interpreted[0] ? f->interpreted : "-", f->computed_s, f->executable);
	if (fflush(o) || ferror(o) || fclose(o) || rename(tmp, path) < 0)
		return err_set(err, "%s: %s", path, strerror(errno));
	return 0;
}

static int facts_read(const char *skel, struct skeleton_facts *f, struct errbuf *err)
{
	unsigned long long events, length;
	char path[4200];
	FILE *in;
	int n;

	snprintf(path, sizeof(path), "%s/facts", skel);
	in = fopen(path, "re");
	if (!in)
		return err_set(err, "%s: %s: the source probe has not built the skeleton", path, strerror(errno));
	n = fscanf(in, "ranks %u events %llu length %llu mpi_s %lf planned_s %lf confidence %lf launcher %15s hash %16s "
		   "interpreted %300[^\n]",
		   &f->n_ranks, &events, &length, &f->mpi_s, &f->planned_s, &f->confidence, f->launcher, f->hash,
		   f->interpreted);
	if (n == 9 && fscanf(in, " computed_s %lf", &f->computed_s) != 1)
		f->computed_s = 0; /* written by an earlier version */
	if (n == 9 && fscanf(in, " executable %16s", f->executable) != 1)
		f->executable[0] = '\0'; /* likewise */
	fclose(in);
	if (n != 9)
		return err_set(err, "%s: malformed", path);
	f->events = events;
	f->length = length;
	if (!strcmp(f->interpreted, "-"))
		f->interpreted[0] = '\0';
	return 0;
}

/* The program itself beside the skeleton: each then gets half of the time. */
static bool runs_partial(const struct probe *p, const char *trace)
{
	return p->partial == PARTIAL_ON || (p->partial == PARTIAL_OFF && partial_asked(trace));
}

/* The program itself. `traced`: NULL is legal. Returns 0, or -1 with the reason in *err. */
static int run_partial(const struct probe *p, size_t i, const char *trace, struct partial_estimate *e, struct partial_traced *traced,
		       struct errbuf *err)
{
	char dir[4096], log[4160];
	double share = p->unskeleton.text[0] ? 1 : 0.5; /* the skeleton has the rest */
	struct partial_wish wish = {.seconds = share * p->seconds / (double)p->n_trace, .dir = dir, .log = log, .limit_s = 60};
	int rv = -1;

	snprintf(dir, sizeof(dir), "%s/partial.%zu.%s", p->dir, i, p->res.candidate);
	snprintf(log, sizeof(log), "%s.log", dir);
	temp_dir_remove(dir);
	if (temp_dir_make_named(dir) < 0)
		err_set(err, "%s: %s", dir, strerror(errno));
	else
		rv = partial_predict(trace, &wish, e, traced, err);
	temp_dir_remove(dir);
	return rv;
}

/* computed_s: of the traced run. */
static struct result_partial partial_of(const struct partial_estimate *e, double computed_s)
{
	return (struct result_partial){true, e->whole_s, e->lo_s, e->hi_s, e->ran_s,
				       {computed_s > 0 && e->computed_s > 0, computed_s, e->computed_s}};
}

/* Beside a skeleton, which predicts alone if this fails. */
static void probe_both(struct probe *p, size_t i, const char *trace, double computed_s)
{
	struct partial_estimate e;
	struct errbuf err;

	if (run_partial(p, i, trace, &e, NULL, &err) == 0)
		p->res.traces[i].partial = partial_of(&e, computed_s);
	else if (!p->res.unpartial[0])
		snprintf(p->res.unpartial, sizeof(p->res.unpartial), "%.300s", err.text);
}

/* Instead of a skeleton. */
static int probe_program(struct probe *p, size_t i, const char *trace, struct errbuf *err)
{
	struct partial_traced traced;
	struct partial_estimate e;

	struct errbuf why, both;

	if (!runs_partial(p, trace))
		return err_set(err, "%s; PartialExecution is not on here", p->unskeleton.text);
	if (run_partial(p, i, trace, &e, &traced, &why) < 0)
		return err_set(err, "%s", partial_reasons(p->unskeleton.text, &why, &both));
	p->res.traces[i] = (struct result_trace){.mpi_s = traced.mpi_s, .events = traced.events,
						 .partial = partial_of(&e, fmin(traced.computed_s, traced.mpi_s))};
	p->res.traces_n = (unsigned)i + 1;
	p->startup_sum += e.startup_s;
	p->hash = XXH3_64bits_withSeed(&traced.events, sizeof(traced.events), p->hash);
	return 0;
}

static int build(struct probe *p, size_t i, const char *skel, const char *log, struct skeleton_facts *f,
		 struct errbuf *err)
{
	struct skeleton_wish wish = {.seconds = p->seconds / (double)p->n_trace};
	struct errbuf why;
	char trace[4096];

	snprintf(trace, sizeof(trace), "%s/%s", p->dir, p->trace[i]);
	if (runs_partial(p, trace))
		wish.seconds /= 2;
	if (skeleton_generate(trace, skel, &wish, f, &why) < 0)
		return err_set(err, "%s", skeleton_reason(trace, &why));
	if (skeleton_prepare(skel, log, f->interpreted, sizeof(f->interpreted), err) < 0 ||
	    skeleton_hash(skel, f->interpreted[0] != '\0', f->executable, err) < 0)
		return -1;
	return facts_write(skel, f, err);
}

/* Hashes the files that this probe runs. The user may replace files between two probes, and precedentd compares only records
 * with the same hash. */
static int hash_add(struct probe *p, const char *skel, const struct skeleton_facts *f, struct errbuf *err)
{
	char here[17];

	p->hash = XXH3_64bits_withSeed(f->hash, strlen(f->hash), p->hash);
	if (!f->executable[0])
		return 0;
	if (skeleton_hash(skel, f->interpreted[0] != '\0', here, err) < 0)
		return -1;
	if (strcmp(here, f->executable))
		return err_set(err, "%s: the skeleton is not the one that the source probe built; 'precedent retrace' builds it again", skel);
	p->hash = XXH3_64bits_withSeed(here, strlen(here), p->hash);
	return 0;
}

static struct skeleton_launch launch_of(const struct probe *p, const struct skeleton_facts *f)
{
	return (struct skeleton_launch){.launcher = f->launcher, .n_ranks = f->n_ranks, .calibrate = p->source,
					.interpret = f->interpreted[0] != '\0', .scratch = p->conf.scratch_dir,
					.limit_s = 120 + 50 * p->seconds};
}

static int probe_trace(struct probe *p, size_t i, struct errbuf *err)
{
	struct skeleton_facts f = {0};
	struct skeleton_launch how;
	struct skeleton_result r;
	struct result_trace *t = &p->res.traces[i];
	char skel[4096], log[4160], trace[4096];

	snprintf(trace, sizeof(trace), "%s/%s", p->dir, p->trace[i]);
	if (p->unskeleton.text[0])
		return probe_program(p, i, trace, err);
	snprintf(skel, sizeof(skel), "%s/skel.%zu", p->dir, i);
	snprintf(log, sizeof(log), "%s/build.log", skel);
	if ((p->source ? build(p, i, skel, NULL, &f, err) : facts_read(skel, &f, err)) < 0)
		return err_prefix(err, "%s", p->trace[i]);
	how = launch_of(p, &f);
	if (hash_add(p, skel, &f, err) < 0 || skeleton_run(skel, &how, &r, err) < 0)
		return err_prefix(err, "%s", p->trace[i]);
	*t = (struct result_trace){.mpi_s = f.mpi_s, .skel_s = r.skel_s, .lo_s = r.lo_s, .hi_s = r.hi_s, .ran_s = r.ran_s,
				   .events = f.events, .confidence = f.confidence};
	f.computed_s = fmin(f.computed_s, f.mpi_s);
	t->compute = (struct result_compute){f.computed_s > 0 && r.computed_s > 0, f.computed_s, fmin(r.computed_s, r.skel_s)};
	p->res.traces_n = (unsigned)i + 1;
	if (runs_partial(p, trace))
		probe_both(p, i, trace, f.computed_s);
	snprintf(p->res.interpreted, sizeof(p->res.interpreted), "%s", f.interpreted);
	p->res.has_noise = true;
	p->res.noise = r.noise > p->res.noise ? r.noise < 10 ? r.noise : 10 : p->res.noise;
	/* What the launcher and MPI take around the program; the skeleton's own calibration is in wall_s too. */
	p->startup_sum += r.launched_s - r.wall_s + r.init_s;
	if (i == 0)
		for (int k = 0; k < r.n_kernel && k < RESULT_MAX_KERNELS; k++) {
			snprintf(p->res.kernels[k].name, sizeof(p->res.kernels[k].name), "%s", r.kernel[k].name);
			p->res.kernels[k].ns_per_unit = r.kernel[k].ns_per_unit;
			p->res.kernels_n = (unsigned)k + 1;
		}
	return 0;
}

/* Traces and skeletons of this user that nobody has touched for the time of Retention go. Only this user's own job
 * may remove them, and a probe is one. */
static void sweep(const struct probe *p)
{
	int parent = openat(p->dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = parent >= 0 ? fdopendir(parent) : NULL;
	struct dirent *e;

	if (!d) {
		if (parent >= 0)
			close(parent);
		return;
	}
	if (p->conf.retention_s)
		while ((e = readdir(d))) {
			char path[4096];
			struct stat st;

			if (e->d_name[strspn(e->d_name, "0123456789")] || strtoul(e->d_name, NULL, 10) == p->res.job_id ||
			    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
			    st.st_uid != geteuid() || time(NULL) - st.st_mtime < (time_t)p->conf.retention_s)
				continue;
			snprintf(path, sizeof(path), "%s/../%s", p->dir, e->d_name);
			temp_dir_remove(path);
		}
	closedir(d);
}

/* Where one program of the job uses an accelerator, all are run themselves: one record has one kind of seconds. */
static int find_devices(struct probe *p, struct errbuf *err)
{
	char trace[4096];
	int rc = 0;

	for (size_t i = 0; i < p->n_trace && !rc; i++) {
		snprintf(trace, sizeof(trace), "%s/%s", p->dir, p->trace[i]);
		rc = skeleton_device(trace, &p->unskeleton);
	}
	if (rc < 0)
		return err_set(err, "%s", p->unskeleton.text);
	if (!rc)
		p->unskeleton.text[0] = '\0';
	snprintf(p->res.unskeleton, sizeof(p->res.unskeleton), "%.300s", p->unskeleton.text);
	return 0;
}

#define WITHHELD "unskeleton" /* in the probes' directory: why the source probe ran the programs themselves */

static int withheld_write(const struct probe *p, struct errbuf *err)
{
	int fd = openat(p->dirfd, WITHHELD, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0660), rv = 0;
	size_t n = strlen(p->res.unskeleton);

	if (fd < 0 || write(fd, p->res.unskeleton, n) != (ssize_t)n)
		rv = err_set(err, "%s/" WITHHELD ": %s", p->dir, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rv;
}

/* Probes elsewhere run what the source probe ran. */
static void withheld_read(struct probe *p)
{
	int fd = openat(p->dirfd, WITHHELD, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, p->res.unskeleton, sizeof(p->res.unskeleton) - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		p->res.unskeleton[n] = '\0';
		err_set(&p->unskeleton, "%s", p->res.unskeleton);
	}
}

static int probe_traces(struct probe *p, struct errbuf *err)
{
	p->hash = 0;
	p->startup_sum = 0;
	for (size_t i = 0; i < p->n_trace; i++)
		if (probe_trace(p, i, err) < 0)
			return -1;
	return 0;
}

/* May all programs run themselves? */
static bool all_partial(const struct probe *p)
{
	char trace[4096];
	bool all = true;

	for (size_t i = 0; i < p->n_trace && all; i++) {
		snprintf(trace, sizeof(trace), "%s/%s", p->dir, p->trace[i]);
		all = runs_partial(p, trace);
	}
	return all;
}

/* A skeleton could not be made, or did not run: the programs themselves run, if they may. The source probe decides for all
 * probes. */
static int probe_instead(struct probe *p, struct errbuf *err)
{
	if (!p->source || p->unskeleton.text[0] || !all_partial(p))
		return -1;
	p->unskeleton = *err;
	p->res.interpreted[0] = p->res.unpartial[0] = '\0';
	p->res.has_noise = false;
	p->res.noise = 0;
	p->res.kernels_n = 0;
	if (probe_traces(p, err) < 0)
		return -1;
	snprintf(p->res.unskeleton, sizeof(p->res.unskeleton), "%.300s", p->unskeleton.text);
	return withheld_write(p, err);
}

static int probe(struct probe *p, struct errbuf *err)
{
	struct node_class nc;

	if (node_class_here(&nc, err) == 0) {
		p->res.has_class = true;
		snprintf(p->res.class_hex, sizeof(p->res.class_hex), "%s", nc.hex);
		snprintf(p->res.class_text, sizeof(p->res.class_text), "%s", nc.text);
	}
	if (p->source)
		sweep(p);
	if (list_traces(p, err) < 0)
		return -1;
	if (find_devices(p, err) < 0)
		return -1;
	if (p->source)
		unlinkat(p->dirfd, WITHHELD, 0);
	else if (!p->unskeleton.text[0])
		withheld_read(p);
	if (probe_traces(p, err) < 0 && probe_instead(p, err) < 0)
		return -1;
	p->res.has_startup = true;
	p->res.startup_s = p->startup_sum > 0 ? p->startup_sum / (double)p->n_trace : 0;
	p->res.has_hash = true;
	snprintf(p->res.hash_hex, sizeof(p->res.hash_hex), "%016llx", (unsigned long long)p->hash);
	return 0;
}

/* The end of this job (time limit, preemption) may first end the compiler or the skeleton. That is no failure of
 * theirs, and this process will be ended as well. In this case there must be no record, so that the probe is tried
 * again. */
#define END_S 1

/* There must be no record either if the probe failed because its directory was full. */
#define ROOM_B (16 << 20)

/* A record is of the job that wrote it: precedentd tells by that a new one from one that was there before. */
static void name_job(struct result *res)
{
	const char *id = getenv("SLURM_JOB_ID");
	long v;

	if (id && cli_number(id, 1, UINT32_MAX, &v) == 0)
		res->job_id = (uint32_t)v;
}

/* Is there as much room as a skeleton takes? By trying, for a user may have less than the file system. */
static bool has_room(const struct probe *p)
{
	static const char name[] = "room.tmp";
	int fd = openat(p->dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool has = fd >= 0 && posix_fallocate(fd, 0, ROOM_B) == 0;

	if (fd >= 0) {
		close(fd);
		unlinkat(p->dirfd, name, 0);
	}
	return has;
}

static int record_put(struct probe *p)
{
	char safe[RESULT_NAME_SIZE], name[RESULT_NAME_SIZE + 16];
	struct errbuf why;

	result_candidate_name(p->candidate, safe, sizeof(safe));
	snprintf(name, sizeof(name), "probe.%s.result", safe);
	return result_write(p->dirfd, name, &p->res, &why) < 0 ? cli_fail("%s", why.text) : 0;
}

static int write_record(struct probe *p, int rv, struct errbuf *err)
{
	int rc;

	p->res.ok = rv == 0;
	if (rv < 0) {
		if (!has_room(p))
			return cli_fail("%s; there is no room in %s: no record is left, so that the probe is tried again", err->text, p->dir);
		sleep(END_S);
		snprintf(p->res.reason, sizeof(p->res.reason), "%.300s", err->text);
		p->res.traces_n = 0;
		p->res.kernels_n = 0;
	}
	name_job(&p->res);
	rc = record_put(p);
	if (rc || rv < 0)
		return rc ? rc : cli_fail("%s", err->text);
	if (!p->n_members)
		return 0;
	/* If the job ends meanwhile, the record that is there stays. */
	probe_points(p->dir, p->member, p->n_members, (unsigned)p->points_s, &p->res);
	return record_put(p);
}

/* The directory is named after the traced job. */
static int job_of(const char *dir, uint32_t *job)
{
	long v;

	if (cli_number(basename(dir), 0, UINT32_MAX, &v) < 0)
		return -1;
	*job = (uint32_t)v;
	return 0;
}

/* A text that is no number becomes 0, which the verb refuses. */
static int take_seconds(void *probe, char *text)
{
	struct probe *p = probe;
	char *end;

	p->seconds = strtod(text, &end);
	if (*end || end == text)
		p->seconds = 0;
	return 0;
}

/* JOB=NUMBERS */
static int take_member(void *probe, char *text)
{
	struct probe *p = probe;
	char *equals = strchr(text, '=');
	long job;

	if (!equals || p->n_members == POINTS_RUNS_MAX || strlen(equals + 1) >= sizeof(p->member[0].vars))
		return -1;
	*equals = '\0';
	if (cli_number(text, 1, UINT32_MAX, &job) < 0)
		return -1;
	p->member[p->n_members].job = (uint32_t)job;
	snprintf(p->member[p->n_members++].vars, sizeof(p->member[0].vars), "%s", equals + 1);
	return 0;
}

static int probe_verb(int argc, char **argv)
{
	struct probe p = {.seconds = 5, .points_s = RESULT_POINTS_S, .partial = PARTIAL_OFF};
	struct errbuf err;
	int rc;

	if (!options_read(&verb_probe, argc, argv, &p, &rc))
		return rc;
	if (!p.dir || !p.candidate || !(p.seconds > 0 && p.seconds < 1e6))
		return cli_usage("probe", "--dir, --candidate and a sensible --seconds are wanted");
	if (strlen(p.candidate) >= RESULT_NAME_SIZE)
		return cli_usage("probe", "the candidate's name is too long");
	if (job_of(p.dir, &p.res.job_id) < 0)
		return cli_usage("probe", "%s is not the spool directory of a job", p.dir);
	umask(0007); /* the group may write, as in the directory: precedentd removes what is above SpoolQuota */
	p.dirfd = open(p.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.dirfd < 0)
		return cli_fail("%s: %s", p.dir, strerror(errno));
	result_candidate_name(p.candidate, p.res.candidate, sizeof(p.res.candidate));
	/* A node without it goes without what it says. */
	if (conf_load(NULL, &p.conf, &err) < 0)
		p.conf = (struct precedent_conf){0};
	rc = write_record(&p, probe(&p, &err), &err);
	conf_free(&p.conf);
	for (size_t i = 0; i < p.n_trace; i++)
		free(p.trace[i]);
	free(p.trace);
	close(p.dirfd);
	return rc;
}

static const char *const partials[] = {[PARTIAL_NEVER] = "never", [PARTIAL_OFF] = "off", [PARTIAL_ON] = "on", NULL};

static const struct verb_option options[] = {
	{"dir", 0, "DIR", OPT_TEXT(struct probe, dir), .help = "the spool directory of the job"},
	{"candidate", 0, "NAME", OPT_TEXT(struct probe, candidate), .help = "where it runs"},
	{"source", 0, NULL, OPT_FLAG(struct probe, source), .help = "build the skeletons"},
	{"partial", 0, "WHEN", OPT_WORD(struct probe, partial, partials),
	 .help = "partial execution: on, never, or off: where the traced job asked for it (the default)"},
	{"member", 0, "JOB=N,...", OPT_CALL(take_member, NULL), .wants = "takes JOB=NUMBERS, at most " OPTION_SPELL(POINTS_RUNS_MAX) " times",
	 .help = "a traced job of the same kin and its numbers: from three on, the probe also computes times for other numbers"},
	{"points-seconds", 0, "S", OPT_NUMBER(struct probe, points_s, 1, RESULT_POINTS_S),
	 .wants = "takes seconds, 1 to " OPTION_SPELL(RESULT_POINTS_S),
	 .help = "how long computing these times may take (default " OPTION_SPELL(RESULT_POINTS_S) ")"},
	{"seconds", 0, "S", OPT_CALL(take_seconds, NULL), .help = "run time of each skeleton (default 5)"},
	{0},
};

const struct verb verb_probe = {
	.name = "probe",
	.forms = {"--dir DIR --candidate NAME [options]"},
	.text = "Run by probe jobs of precedentd, inside a job: builds the skeletons of the traces in DIR (--source), runs them here, "
		"and writes DIR/probe.NAME.result. Not meant to be typed.",
	.options = options, .run = probe_verb,
};
