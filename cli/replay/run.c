/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulates a stream once for each way to plan: see replay.h. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/replay/replay.h"
#include "cli/ui/util.h"
#include "common/hash_table.h"

static const char *const plans[PLAN_WAYS][2] = {
	[PLAN_REQUEST] = {"request", "the users' requests"},
	[PLAN_LAST_TWO] = {"last-two", "last two runs of the user"},
	[PLAN_SIMILAR] = {"similar", "similar runs"},
	[PLAN_PRECEDENT] = {"precedent", "Precedent"},
	[PLAN_PERFECT] = {"perfect", "perfect knowledge"},
};
static const char *const sources[SOURCES][2] = {
	[SOURCE_RUNS] = {"runs", "runs of the same job"},
	[SOURCE_MODEL] = {"model", "runs with other numbers"},
	[SOURCE_SIMILAR + LADDER_SCRIPT] = {"similar-script", "similar: same script"},
	[SOURCE_SIMILAR + LADDER_COMMAND] = {"similar-command", "similar: same command"},
	[SOURCE_SIMILAR + LADDER_NUMBERS] = {"similar-numbers", "similar: other numbers"},
	[SOURCE_SIMILAR + LADDER_NAME] = {"similar-name", "similar: same name"},
	[SOURCE_SIMILAR + LADDER_SHAPE] = {"similar-shape", "similar: same size and request"},
	[SOURCE_SIMILAR + LADDER_USER] = {"similar-user", "similar: same user"},
	[SOURCE_SIMILAR + LADDER_ACCOUNT] = {"similar-account", "similar: same account"},
	[SOURCE_NONE] = {"none", "none"},
};

const char *plan_name(enum plan_by by)
{
	return plans[by][0];
}

const char *plan_title(enum plan_by by)
{
	return plans[by][1];
}

const char *source_name(enum plan_source source)
{
	return sources[source][0];
}

const char *source_title(enum plan_source source)
{
	return sources[source][1];
}

double replay_change(double value, double request)
{
	return request > 0 ? value / request - 1 : NAN;
}

/* ---- estimates ---- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), ascending);
	return !n ? 0 : n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Did it end by itself? Then the simulated time is the whole time. */
static bool is_whole(const struct stream_job *j, const struct sim_outcome *o)
{
	return !o->killed_by_us && !o->killed_by_user && (!strcmp(j->state, "COMPLETED") || !strcmp(j->state, "FAILED"));
}

static double run_s(const struct sim_outcome *o)
{
	return (double)(o->end_s - o->start_s);
}

/*
 * Marks the jobs that are judged: each job that ends by itself. The estimate of an array must hold for its longest
 * task, so an array is judged by that task alone. If that task was killed, the array is not judged. Returns NULL if
 * memory runs out.
 */
static bool *judged_pick(const struct stream *s, const struct sim_outcome *o)
{
	bool *judged = calloc(s->n + 1, sizeof(*judged));
	size_t *longest = calloc(s->n + 1, sizeof(*longest)); /* by number of the array */
	struct hash_table arrays = {0};
	int rv = judged && longest ? 0 : -1;

	for (size_t i = (size_t)(MEASURE_WARM_UP * (double)s->n); rv == 0 && i < s->n; i++) {
		uint32_t array = s->about[i].array_job, at, k;

		if (!array) {
			judged[i] = is_whole(&s->about[i], &o[i]);
			continue;
		}
		HASH_TABLE_FOR_EACH(&arrays, array, at, k)
			if (s->about[longest[k]].array_job == array)
				break;
		if (k == HASH_TABLE_NONE) {
			longest[arrays.n] = i;
			rv = hash_table_add(&arrays, array, arrays.n);
		} else if (run_s(&o[i]) > run_s(&o[longest[k]])) {
			longest[k] = i;
		}
	}
	for (uint32_t k = 0; rv == 0 && k < arrays.n; k++)
		judged[longest[k]] = is_whole(&s->about[longest[k]], &o[longest[k]]);
	hash_table_free(&arrays);
	free(longest);
	if (rv == 0)
		return judged;
	free(judged);
	return NULL;
}

/* Jobs of one source, or of all with an estimate (SOURCES). */
static int source_judge(const struct stream *s, const struct plan_estimate *e, const struct sim_outcome *o, const bool *judged,
			unsigned source, struct replay_source *out)
{
	size_t first = (size_t)(MEASURE_WARM_UP * (double)s->n);
	double *error = calloc(2 * s->n + 1, sizeof(*error)), *width = error + s->n;

	*out = (struct replay_source){0};
	if (!error)
		return -1;
	for (size_t i = first; i < s->n; i++) {
		double run = run_s(&o[i]);

		if (source == SOURCES ? e[i].source == SOURCE_NONE : e[i].source != source)
			continue;
		if (source != SOURCE_NONE)
			width[out->jobs] = (double)e[i].hi_s / fmax(e[i].lo_s, 1); /* whole seconds */
		out->jobs++;
		if (source == SOURCE_NONE || !judged[i])
			continue;
		out->inside += run >= e[i].lo_s && run <= e[i].hi_s;
		error[out->judged++] = fabs(e[i].mean_s - run) / run;
	}
	out->error = median(error, out->judged);
	out->width = source == SOURCE_NONE ? 0 : median(width, out->jobs);
	free(error);
	return 0;
}

static int sources_judge(const struct stream *s, const struct plan_estimate *e, const struct sim_outcome *o, struct replay *out,
			 struct errbuf *err)
{
	bool *judged = judged_pick(s, o);
	int rv = judged ? source_judge(s, e, o, judged, SOURCES, &out->all) : -1;

	for (unsigned i = 0; i < SOURCES && rv == 0; i++)
		rv = source_judge(s, e, o, judged, i, &out->source[i]);
	free(judged);
	return rv < 0 ? err_set(err, "no memory for %zu jobs", s->n) : 0;
}

/* ---- one way ---- */

static void hours_count(const struct stream *s, const struct sim_outcome *o, enum plan_by by, struct replay *out)
{
	struct replay_row *row = &out->row[by];

	for (size_t i = s->n - out->counted; i < s->n; i++) {
		double hours = s->jobs[i].nodes / 3600.0;

		row->set_h += hours * (double)o[i].limit_s;
		row->limited += o[i].limit_s < (int64_t)s->jobs[i].request_min * 60;
		if (by != PLAN_REQUEST)
			continue;
		out->requested_h += hours * s->jobs[i].request_min * 60;
		out->used_h += hours * (double)(o[i].end_s - o[i].start_s);
	}
}

static int way_run(const struct replay_conf *conf, const struct stream *s, enum plan_by by, struct replay *out, struct errbuf *err)
{
	const struct planner_conf plan = {conf->conf, s, (uint32_t)(conf->sim.overtime_s / 60), by};
	struct sim_outcome *outcomes = calloc(s->n, sizeof(*outcomes));
	struct replay_row *row = &out->row[by];
	struct sim_conf sim = conf->sim;
	struct planner *p = NULL;
	struct sim_predictor callbacks;
	int rv = -1;

	sim.nodes = s->nodes;
	sim.never_late = by == PLAN_REQUEST || (by == PLAN_PERFECT && sim.guard != SIM_OVERTIME);
	if (!outcomes) {
		err_set(err, "no memory for %zu jobs", s->n);
		goto out;
	}
	if (planner_create(&plan, outcomes, &p, err) < 0)
		goto out;
	callbacks = planner_callbacks(p);
	if (sim_run(&sim, s->jobs, s->n, &callbacks, outcomes, &row->totals, err) < 0 || planner_fault(p, err) < 0 ||
	    measure_run(&(struct measure_of){s->jobs, s->n, s->nodes}, outcomes, &row->m, err) < 0)
		goto out;
	out->counted = row->m.jobs;
	hours_count(s, outcomes, by, out);
	rv = by == PLAN_PRECEDENT ? sources_judge(s, planner_estimates(p), outcomes, out, err) : 0;
out:
	planner_destroy(p);
	free(outcomes);
	return rv;
}

/* ---- all ways ---- */

/* Slow ways start first, so that no processor is idle while the last way runs. */
static const enum plan_by order[PLAN_WAYS] = {PLAN_PRECEDENT, PLAN_SIMILAR, PLAN_LAST_TWO, PLAN_REQUEST, PLAN_PERFECT};

/* Each way runs in a process of its own. They share this memory, and each writes its own entries. */
struct ways {
	struct replay found[PLAN_WAYS]; /* by way: its row; estimates of PLAN_PRECEDENT; hours of PLAN_REQUEST */
	struct errbuf err[PLAN_WAYS];
	pid_t pid[PLAN_WAYS]; /* 0: not running */
	unsigned running, ended;
};

static int way_start(const struct replay_conf *conf, const struct stream *stream, enum plan_by by, struct ways *w, struct errbuf *err)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return err_set(err, "cannot start a process: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() != parent || way_run(conf, stream, by, &w->found[by], &w->err[by]) < 0);
	}
	w->pid[by] = pid;
	w->running++;
	return 0;
}

/* Waits for the end of one way. */
static int way_await(struct ways *w, struct errbuf *err)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);

	if (pid < 0)
		return errno == EINTR ? 0 : err_set(err, "cannot wait for a process: %s", strerror(errno));
	for (unsigned by = 0; by < PLAN_WAYS; by++) {
		if (w->pid[by] != pid)
			continue;
		w->pid[by] = 0;
		w->running--;
		w->ended++;
		if (WIFSIGNALED(status))
			return err_set(err, "planned by %s: ended by signal %d", plan_name((enum plan_by)by), WTERMSIG(status));
		if (WEXITSTATUS(status)) {
			*err = w->err[by];
			return -1;
		}
	}
	return 0;
}

static void ways_stop(struct ways *w)
{
	for (unsigned by = 0; by < PLAN_WAYS; by++)
		if (w->pid[by] > 0) {
			kill(w->pid[by], SIGKILL);
			while (waitpid(w->pid[by], NULL, 0) < 0 && errno == EINTR)
				;
		}
}

/* As many at once as there are processors. */
static int ways_run(const struct replay_conf *conf, const struct stream *stream, struct ways *w, struct errbuf *err)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned most = processors > 1 ? (unsigned)processors : 1, next = 0;
	int rv = 0;

	while (w->ended < PLAN_WAYS && rv == 0) {
		if (conf->progress)
			conf->progress(w->ended, PLAN_WAYS);
		if (next < PLAN_WAYS && w->running < most)
			rv = way_start(conf, stream, order[next++], w, err);
		else
			rv = way_await(w, err);
	}
	if (conf->progress)
		conf->progress(1, 1);
	return rv;
}

static void ways_join(const struct ways *w, struct replay *out)
{
	*out = w->found[PLAN_PRECEDENT];
	for (unsigned by = 0; by < PLAN_WAYS; by++)
		out->row[by] = w->found[by].row[by];
	out->requested_h = w->found[PLAN_REQUEST].requested_h;
	out->used_h = w->found[PLAN_REQUEST].used_h;
}

int replay_simulate(const struct replay_conf *conf, const struct stream *stream, struct replay *out, struct errbuf *err)
{
	double start = cli_now();
	struct ways *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rv;

	*out = (struct replay){0};
	if (w == MAP_FAILED)
		return err_set(err, "no memory for figures");
	rv = ways_run(conf, stream, w, err);
	ways_stop(w);
	if (rv == 0)
		ways_join(w, out);
	out->seconds = cli_now() - start;
	munmap(w, sizeof(*w));
	return rv;
}
