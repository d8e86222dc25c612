/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin itself costs slurmctld for a program that nobody has seen: job_submit() as slurmctld calls it, in a new thread for
 * each submission, with caches that are as full of other things as slurmctld's are by then.
 *
 *   bench_submit [SUBMISSIONS [KIB]]    KIB of other memory are walked through before each (2048; 0: warm caches)
 *
 * The plugin is the built one, with a store of 1,000 other programs and its index in a folder of its own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "predictor/store/programs.h"

#define OTHERS	 1000
#define VARIABLE "PRECEDENT_FINGERPRINT=v1:0123456789abcdef0123456789abcdef:3"

/* slurmctld's, which the plugin finds in the program that loads it. */
__attribute__((visibility("default"))) time_t last_part_update;

static void *(*x_calloc)(size_t, size_t, bool, bool, const char *, int, const char *);
static char *(*x_strdup)(const char *);
static void (*x_free)(void **);
static void (*x_init)(job_desc_msg_t *);
static int (*p_submit)(job_desc_msg_t *, uint32_t, char **);

static const char script[] = "#!/bin/bash\n"
			     "#SBATCH --job-name=melt\n#SBATCH -N 2\n#SBATCH -n 2\n#SBATCH -t 01:00:00\n"
			     "module purge\nmodule load gcc/12.2 openmpi/4.1.4 lammps/2023\n"
			     "set -euo pipefail\nexport OMP_NUM_THREADS=1   # no threads\n"
			     "cd \"$SLURM_SUBMIT_DIR\"\n"
			     "srun lmp -in in.melt -var steps \"$1\" -log none\n"
			     "echo \"done: $(date)\"\n";

static void die(const char *what)
{
	fprintf(stderr, "bench_submit: %s\n", what);
	exit(1);
}

/* ---- what it finds ---- */

static void fill(const char *db)
{
	struct store_program p = {.uid = 1000, .state = PROGRAM_READY, .updated = 1};
	struct errbuf err = {""};
	struct store *s;

	if (store_open(db, STORE_WRITE, &s, &err) < 0 || store_begin(s, &err) < 0)
		die(err.text);
	for (unsigned n = 0; n < OTHERS; n++) {
		snprintf(p.key, sizeof(p.key), "%08x%024x", n * 2654435761u, n);
		if (store_program_put(s, &p, &err) < 0)
			die(err.text);
	}
	if (store_heartbeat_set(s, time(NULL), &err) < 0 || store_commit(s, &err) < 0 || store_index_renew(s, &err) < 0)
		die(err.text);
	store_close(s);
}

static void prepare(const char *dir)
{
	char conf[200], db[200];
	FILE *f;

	snprintf(conf, sizeof(conf), "%s/precedent.conf", dir);
	snprintf(db, sizeof(db), "%s/precedent.db", dir);
	f = fopen(conf, "w");
	if (!f || fprintf(f, "Mode=limit\nCandidates=fast,slow\nHeartbeatTimeout=1d\nStateDir=%s\n", dir) < 0 || fclose(f))
		die("cannot write the configuration");
	setenv("PRECEDENT_CONF", conf, 1);
	fill(db);
}

static void load(void)
{
	void *slurm = dlopen("libslurm.so", RTLD_NOW | RTLD_GLOBAL), *plugin;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	int (*p_init)(void);

	for (int i = 0; n > 0 && i < 3; i++) {
		while (n > 0 && path[--n] != '/')
			;
		path[n] = '\0';
	}
	strcpy(path + n, "/job_submit_precedent.so");
	plugin = slurm ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!plugin)
		die(dlerror());
	*(void **)&x_strdup = dlsym(slurm, "slurm_xstrdup");
	*(void **)&x_calloc = dlsym(slurm, "slurm_xcalloc");
	*(void **)&x_free = dlsym(slurm, "slurm_xfree");
	*(void **)&x_init = dlsym(slurm, "slurm_init_job_desc_msg");
	*(void **)&p_init = dlsym(plugin, "init");
	*(void **)&p_submit = dlsym(plugin, "job_submit");
	if (!x_strdup || !x_calloc || !x_free || !x_init || !p_init || !p_submit || p_init() != 0)
		die("the plugin is not as slurmctld needs it");
}

/* ---- submissions ---- */

static char *others;
static size_t others_size;

struct submission {
	unsigned long number;
	uint64_t ns;
	long faults;
	bool traced;
};

static char **strings(const char *const *text, uint32_t n)
{
	char **out = x_calloc(n + 1, sizeof(char *), true, false, __FILE__, __LINE__, __func__);

	for (uint32_t i = 0; i < n; i++)
		out[i] = x_strdup(text[i]);
	return out;
}

static void strings_free(char **s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		x_free((void **)&s[i]);
	x_free((void **)&s);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static long faults(void)
{
	struct rusage r;

	return getrusage(RUSAGE_THREAD, &r) ? 0 : r.ru_minflt;
}

/* What slurmctld does meanwhile. */
static void pollute(void)
{
	for (size_t i = 0; i < others_size; i += 64)
		others[i]++;
}

static void *submit(void *arg)
{
	static const char *const env[] = {"HOME=/home/u", "PATH=/usr/bin:/bin", "LANG=C", "USER=u"};
	static const char *const spank[] = {VARIABLE};
	struct submission *s = arg;
	char number[32], *argv[] = {"melt.sh", number}, *message = NULL;
	job_desc_msg_t d;

	snprintf(number, sizeof(number), "%lu", s->number);
	x_init(&d);
	d.het_job_offset = NO_VAL;
	d.alloc_sid = 1;
	d.user_id = 1000;
	d.script = x_strdup(script);
	d.argc = 2;
	d.argv = argv;
	d.work_dir = x_strdup("/home/u/project");
	d.min_nodes = d.max_nodes = 2;
	d.num_tasks = d.min_cpus = 2;
	d.time_limit = 60;
	d.environment = strings(env, 4);
	d.env_size = 4;
	d.spank_job_env = strings(spank, 1);
	d.spank_job_env_size = 1;
	pollute();
	s->faults = faults();
	s->ns = now_ns();
	p_submit(&d, 1000, &message);
	s->ns = now_ns() - s->ns;
	s->faults = faults() - s->faults;
	s->traced = d.admin_comment && strstr(d.admin_comment, "act=trace");
	strings_free(d.environment, d.env_size);
	strings_free(d.spank_job_env, 1);
	x_free((void **)&d.script);
	x_free((void **)&d.work_dir);
	x_free((void **)&d.admin_comment);
	x_free((void **)&message);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, traced = 0, pages = 0;
	const char *base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	uint64_t *ns = calloc(n + 1, sizeof(*ns));
	char dir[160], cmd[200];

	others_size = argc > 2 ? strtoul(argv[2], NULL, 10) << 10 : 2u << 20;
	others = calloc(1, others_size + 1);
	snprintf(dir, sizeof(dir), "%s/precedent-bench.XXXXXX", base);
	if (!n || !ns || !others || !mkdtemp(dir)) {
		fprintf(stderr, "usage: bench_submit [SUBMISSIONS [KIB]]\n");
		return 2;
	}
	prepare(dir);
	load();
	for (unsigned long i = 0; i < n; i++) {
		struct submission s = {.number = i};
		pthread_t t;

		if (pthread_create(&t, NULL, submit, &s) || pthread_join(t, NULL))
			die("no thread");
		ns[i] = s.ns;
		traced += s.traced;
		pages += (unsigned long)s.faults;
	}
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	if (system(cmd) || traced != n)
		die(traced == n ? "cannot clean up" : "wrong answers");
	qsort(ns, n, sizeof(*ns), compare);
	printf("job_submit of an unknown program, %zu KiB of other memory between: p10 %.2f us  p50 %.2f us  p90 %.2f us, %.1f page faults each\n",
	       others_size >> 10, (double)ns[n / 10] / 1e3, (double)ns[n / 2] / 1e3, (double)ns[n * 9 / 10] / 1e3, (double)pages / (double)n);
	free(ns);
	free(others);
	return 0;
}
