/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads in Standard Workload Format. A trace says who ran which executable on how many processors and what was asked:
 * that is the program, and its input too, for nothing tells inputs apart; where executables are not told, it is what the
 * user, the size and the request have in common.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/bench/backfill/workload.h"

#define SIZE_MAX_NODES (1 << 24)
#define TIME_MAX_S	((int64_t)1 << 40)

static int by_submission(const void *a, const void *b)
{
	const struct swf_job *x = a, *y = b;

	for (int i = SWF_SUBMIT_S; i >= SWF_NUMBER; i--)
		if (x->field[i] != y->field[i])
			return x->field[i] < y->field[i] ? -1 : 1;
	return 0;
}

static int64_t size_of(const struct swf_job *j)
{
	return j->field[SWF_ASKED_PROCESSORS] > 0 ? j->field[SWF_ASKED_PROCESSORS] : j->field[SWF_PROCESSORS];
}

static bool is_usable(const struct swf_job *j, uint32_t nodes)
{
	return j->field[SWF_RUN_S] > 0 && j->field[SWF_RUN_S] < TIME_MAX_S && size_of(j) > 0 && size_of(j) <= nodes &&
	       j->field[SWF_SUBMIT_S] < TIME_MAX_S && j->field[SWF_ASKED_S] < TIME_MAX_S / 60;
}

/* Numbers what is equal: sorted copies of (user, executable, size, request), and where each job stood. */
struct key {
	int64_t part[4];
	size_t job;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	for (int i = 0; i < 4; i++)
		if (x->part[i] != y->part[i])
			return x->part[i] < y->part[i] ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static void name_kinds(struct workload *w, struct key *keys)
{
	qsort(keys, w->n, sizeof(*keys), by_key);
	for (size_t i = 0; i < w->n; i++) {
		struct work_kind *k = &w->kinds[keys[i].job];

		w->users += !i || keys[i].part[0] != keys[i - 1].part[0];
		w->programs += !i || memcmp(keys[i].part, keys[i - 1].part, sizeof(keys[i].part)) != 0;
		*k = (struct work_kind){.user = w->users - 1, .program = w->programs - 1, .input = w->programs - 1};
	}
	w->inputs = w->programs;
}

static void take(const struct swf *swf, struct workload *out, struct key *keys)
{
	int64_t first = -1;
	double work = 0;

	for (size_t i = 0; i < swf->n; i++) {
		const int64_t *f = swf->jobs[i].field;
		struct sim_job *j = &out->jobs[out->n];

		if (!is_usable(&swf->jobs[i], out->nodes))
			continue;
		if (first < 0)
			first = f[SWF_SUBMIT_S];
		*j = (struct sim_job){.submit_s = f[SWF_SUBMIT_S] - first,
				      .run_s = f[SWF_RUN_S],
				      .nodes = (uint32_t)size_of(&swf->jobs[i])};
		j->request_min = (uint32_t)(((f[SWF_ASKED_S] > 0 ? f[SWF_ASKED_S] : f[SWF_RUN_S]) + 59) / 60);
		/* Schedulers let some jobs run on a little past what was asked. */
		if (j->run_s > (int64_t)j->request_min * 60)
			j->run_s = (int64_t)j->request_min * 60;
		keys[out->n] = (struct key){{f[SWF_USER], f[SWF_EXECUTABLE], j->nodes, j->request_min}, out->n};
		work += (double)j->nodes * (double)j->run_s;
		out->n++;
	}
	if (out->n && out->jobs[out->n - 1].submit_s > 0)
		out->load = work / ((double)out->jobs[out->n - 1].submit_s * out->nodes);
}

int workload_from_swf(const struct swf *swf, uint32_t nodes, struct workload *out, struct errbuf *err)
{
	int64_t told = swf->max_procs > 0 ? swf->max_procs : swf->max_nodes;
	struct swf sorted = {.n = swf->n};
	struct key *keys = calloc(swf->n + 1, sizeof(*keys));
	int rv = -1;

	*out = (struct workload){.nodes = nodes ? nodes : (uint32_t)(told > 0 && told <= SIZE_MAX_NODES ? told : 0)};
	sorted.jobs = calloc(swf->n + 1, sizeof(*sorted.jobs));
	out->jobs = calloc(swf->n + 1, sizeof(*out->jobs));
	out->kinds = calloc(swf->n + 1, sizeof(*out->kinds));
	if (!keys || !sorted.jobs || !out->jobs || !out->kinds) {
		err_set(err, "out of memory for %zu jobs", swf->n);
		goto out;
	}
	if (!out->nodes) {
		err_set(err, "the trace does not say how large the machine is (MaxProcs, MaxNodes): name it");
		goto out;
	}
	memcpy(sorted.jobs, swf->jobs, swf->n * sizeof(*sorted.jobs));
	qsort(sorted.jobs, sorted.n, sizeof(*sorted.jobs), by_submission);
	take(&sorted, out, keys);
	if (!out->n) {
		err_set(err, "no job of the trace has a size and a run time, and fits on %u nodes", out->nodes);
		goto out;
	}
	name_kinds(out, keys);
	rv = 0;
out:
	free(keys);
	free(sorted.jobs);
	if (rv < 0)
		workload_free(out);
	return rv;
}

int workload_write_swf(const struct workload *w, FILE *f)
{
	if (fprintf(f, "; Version: 2.2\n; MaxJobs: %zu\n; MaxNodes: %u\n; MaxProcs: %u\n; UnixStartTime: 0\n", w->n, w->nodes,
		    w->nodes) < 0)
		return -1;
	for (size_t i = 0; i < w->n; i++) {
		const struct sim_job *j = &w->jobs[i];
		int64_t most = (int64_t)j->request_min * 60;
		struct swf_job line;

		for (int k = 0; k < SWF_FIELDS; k++)
			line.field[k] = -1;
		line.field[SWF_NUMBER] = (int64_t)i + 1;
		line.field[SWF_SUBMIT_S] = j->submit_s;
		line.field[SWF_RUN_S] = j->run_s < most ? j->run_s : most;
		line.field[SWF_PROCESSORS] = line.field[SWF_ASKED_PROCESSORS] = j->nodes;
		line.field[SWF_ASKED_S] = most;
		line.field[SWF_STATUS] = j->run_s <= most;
		line.field[SWF_USER] = (int64_t)w->kinds[i].user + 1;
		line.field[SWF_EXECUTABLE] = (int64_t)w->kinds[i].input + 1;
		if (swf_write_job(f, &line) < 0)
			return -1;
	}
	return 0;
}
