/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Points that a probe computes: see probe_points.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/skeleton/probe_points.h"
#include "predictor/estimate/scaling_model.h"
#include "predictor/spool/spool.h"

#define BYTES_MAX (64ll << 20) /* of all traces: larger ones may not fit into the memory of the job */
#define MEMORY_MAX (16 * BYTES_MAX) /* of the child: calls in a trace are folded and compressed */

struct order {
	unsigned n;
	struct points_run run[POINTS_RUNS_MAX];
	char path[POINTS_RUNS_MAX][4400];
	long long bytes;
};

/* In memory that the child shares. */
struct answer {
	int rc;
	struct errbuf why;
	struct points points;
};

/* The only trace of the job, whose name and size are set. false: there is not exactly one. */
static bool only_trace(const char *dir, char *path, size_t size, long long *bytes)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		if (spool_is_trace(e->d_name) && !n++)
			snprintf(path, size, "%s/%s", dir, e->d_name);
	if (d)
		closedir(d);
	if (n != 1 || stat(path, &st) < 0)
		return false;
	*bytes += st.st_size;
	return true;
}

static void order_fill(struct order *o, const char *dir, const struct probe_member *member, unsigned n)
{
	char beside[4000];

	for (unsigned i = 0; i < n && o->n < POINTS_RUNS_MAX; i++) {
		struct points_run *r = &o->run[o->n];

		r->n_vars = scaling_vars_parse(member[i].vars, r->vars);
		r->trace = o->path[o->n];
		snprintf(beside, sizeof(beside), "%s/../%u", dir, member[i].job);
		if (r->n_vars && r->n_vars == o->run[0].n_vars && only_trace(beside, o->path[o->n], sizeof(o->path[0]), &o->bytes))
			o->n++;
	}
}

/* Only in builds without AddressSanitizer, which maps terabytes that it does not use. */
static void memory_limit(void)
{
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY_MAX, MEMORY_MAX});
#endif
}

/* In the child, which does not return. If memory runs out, the child goes first. */
static void child_compute(const struct order *o, unsigned seconds, struct answer *a)
{
	int adj = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	signal(SIGALRM, SIG_DFL);
	memory_limit();
	alarm(seconds);
	if (adj >= 0 && write(adj, "1000", 4) < 0 && errno == ENOSPC)
		_exit(1);
	a->rc = points_compute(o->run, o->n, &a->points, &a->why);
	_exit(0);
}

static int child_ask(const struct order *o, unsigned seconds, struct answer *a, struct errbuf *err)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		child_compute(o, seconds, a);
	if (pid < 0)
		return err_set(err, "fork: %s", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return err_set(err, RESULT_LATE " %u s", seconds);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(err, "learning a model failed");
	return a->rc < 0 ? err_set(err, "%s", a->why.text) : 0;
}

static void result_fill(const struct points *from, struct result *res)
{
	for (unsigned i = 0; i < from->n && i < POINTS_MAX && res->points_n < RESULT_MAX_POINTS; i++) {
		const struct points_point *p = &from->p[i];
		struct result_point *out = &res->points[res->points_n];
		struct identity id = {.n_vars = from->n_vars};

		memcpy(id.vars, p->vars, sizeof(id.vars));
		identity_vars_format(&id, out->vars, sizeof(out->vars));
		out->seconds = p->seconds;
		out->claim = fmin(p->error, RESULT_MAX_CLAIM);
		res->points_n += out->vars[0] && p->seconds < RESULT_MAX_SECONDS;
	}
}

void probe_points(const char *dir, const struct probe_member *member, unsigned n, unsigned seconds, struct result *res)
{
	struct order *o = calloc(1, sizeof(*o));
	struct answer *a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct errbuf why = {"no memory"};

	if (o && a != MAP_FAILED) {
		why.text[0] = '\0';
		order_fill(o, dir, member, n);
		if (o->n < SCALING_POINTS_MIN)
			err_set(&why, "only %u of %u traces can be used", o->n, n);
		else if (o->bytes > BYTES_MAX)
			err_set(&why, "the traces have %lld MiB, more than %lld", o->bytes >> 20, BYTES_MAX >> 20);
		else
			child_ask(o, seconds, a, &why);
		result_fill(&a->points, res);
	}
	if (!res->points_n)
		snprintf(res->unpoint, sizeof(res->unpoint), "%.300s", why.text[0] ? why.text : "the model computes none");
	if (a != MAP_FAILED)
		munmap(a, sizeof(*a));
	free(o);
}
