/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who submits what. Repetition is chosen by us, as the model has none. A job is the first of a new program with the
 * probability new_program. Otherwise the job repeats one of the last `window` submissions, any of them alike, with the same
 * input or with a new one. This is Simon's process: programs run in bursts, many once or twice and few very often. A program
 * keeps user, size and request; inputs of a program differ in run time. The more a user has run lately, the likelier a new
 * program is his. A run that its request has killed makes the user ask for more the next time.
 *
 * A program that is submitted as an array has tasks of one node, always as many, which are submitted together. In half of these
 * programs the index of a task decides its run time, as an input does. Both are chosen by us too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/backfill/random.h"
#include "tests/bench/backfill/workload.h"

#define NEW_USER 0.1 /* of the new programs */
#define USED_MIN 0.1 /* least share of the request that is used, before it is rounded up */
#define LOAD_STEPS 64 /* to find the load */
#define TASKS_MAX  64 /* of an array; from 2 on, small ones as many as large ones by the logarithm */

const struct workload_conf workload_defaults = {
    .seed = 1,
    .jobs = 10000,
    .nodes = 128,
    .load = 0.8,
    .new_program = 0.2,
    .same_input = 0.5,
    .input_sigma = 0.5,
    .noise_sigma = 0.03,
    .ask_most = 0.15,
    .window = 1000,
};

/* Twenty round values make all requests. */
static const uint16_t round_min[] = {5,	  10,  15,  20,	 30,  45,  60,	90,  120,  180,
				     240, 300, 360, 480, 600, 720, 960, 1200, 1440, 2880};
#define N_ROUND (sizeof(round_min) / sizeof(round_min[0]))

uint32_t workload_round_request(double minutes)
{
	for (size_t i = 0; i < N_ROUND; i++)
		if (minutes <= round_min[i])
			return round_min[i];
	return round_min[N_ROUND - 1];
}

struct program {
	uint32_t user, nodes, request_min;
	double run_s; /* of its typical input */
	uint32_t tasks; /* 0: no array */
	bool by_index;	/* the index decides */
};

struct generator {
	const struct workload_conf *conf;
	struct workload *out;
	struct rng rng;
	struct program *programs;
	double *input_run_s;
	size_t *first, submissions; /* of each submission its first job */
};

/* One of the last submissions, any of them alike. */
static const struct work_kind *kind_before(struct generator *g)
{
	uint64_t back = g->submissions < g->conf->window ? g->submissions : g->conf->window;

	return &g->out->kinds[g->first[g->submissions - 1 - rng_below(&g->rng, back)]];
}

static void new_program(struct generator *g, size_t job)
{
	struct workload *w = g->out;
	struct program *p = &g->programs[w->programs];
	bool new_user = !w->users || rng_uniform(&g->rng) < NEW_USER;
	double used = USED_MIN + (1 - USED_MIN) * rng_uniform(&g->rng);

	p->user = new_user ? w->users++ : kind_before(g)->user;
	p->nodes = lublin_nodes(&g->rng, g->conf->nodes);
	if (g->conf->arrays > 0 && rng_uniform(&g->rng) < g->conf->arrays) {
		p->nodes = 1;
		p->tasks = (uint32_t)(2 * pow(TASKS_MAX / 2.0, rng_uniform(&g->rng)));
		p->by_index = rng_uniform(&g->rng) < 0.5;
	}
	p->run_s = (double)lublin_run_s(&g->rng, p->nodes);
	p->request_min = workload_round_request(p->run_s / 60 / used);
	if (rng_uniform(&g->rng) < g->conf->ask_most)
		p->request_min = round_min[N_ROUND - 1];
	w->kinds[job] = (struct work_kind){.user = p->user, .program = w->programs++, .input = w->inputs};
	g->input_run_s[w->inputs++] = p->run_s;
}

static void repeat(struct generator *g, size_t job)
{
	struct workload *w = g->out;

	w->kinds[job] = *kind_before(g);
	if (rng_uniform(&g->rng) < g->conf->same_input)
		return;
	w->kinds[job].input = w->inputs;
	g->input_run_s[w->inputs++] =
	    g->programs[w->kinds[job].program].run_s * exp(g->conf->input_sigma * rng_normal(&g->rng));
}

/* What the index makes of the run time: the same for all arrays of the program. */
static double index_factor(const struct generator *g, const struct work_kind *k)
{
	struct rng of_index = rng_make(g->conf->seed ^ UINT64_C(1) << 40 ^ k->program, k->task);

	return g->programs[k->program].by_index ? exp(g->conf->input_sigma * rng_normal(&of_index)) : 1;
}

static void run_job(struct generator *g, size_t job)
{
	const struct work_kind *k = &g->out->kinds[job];
	struct sim_job *j = &g->out->jobs[job];
	struct program *p = &g->programs[k->program];

	j->run_s = (int64_t)(g->input_run_s[k->input] * index_factor(g, k) * exp(g->conf->noise_sigma * rng_normal(&g->rng))) + 1;
	j->nodes = p->nodes;
	j->request_min = p->request_min;
	if (j->run_s > (int64_t)p->request_min * 60)
		p->request_min = workload_round_request(p->request_min + 1);
}

/* A job, or all tasks of an array. Returns how many. */
static size_t submit(struct generator *g, size_t job)
{
	struct workload *w = g->out;
	uint32_t request_min, tasks;

	if (!job || rng_uniform(&g->rng) < g->conf->new_program)
		new_program(g, job);
	else
		repeat(g, job);
	tasks = g->programs[w->kinds[job].program].tasks;
	request_min = g->programs[w->kinds[job].program].request_min;
	g->first[g->submissions++] = job;
	w->kinds[job].array = tasks ? (uint32_t)job + 1 : 0;
	w->kinds[job].task = 0;
	run_job(g, job);
	for (uint32_t t = 1; t < tasks && job + t < w->n; t++) {
		w->kinds[job + t] = w->kinds[job];
		w->kinds[job + t].task = t;
		run_job(g, job + t);
		w->jobs[job + t].request_min = request_min; /* one submission, one request */
	}
	return !tasks ? 1 : tasks < w->n - job ? tasks : w->n - job;
}

static double offered(const struct workload *w)
{
	double work = 0;
	int64_t span = w->jobs[w->n - 1].submit_s - w->jobs[0].submit_s;

	for (size_t i = 0; i < w->n; i++) {
		int64_t most = (int64_t)w->jobs[i].request_min * 60, run = w->jobs[i].run_s;

		work += (double)w->jobs[i].nodes * (double)(run < most ? run : most);
	}
	return span > 0 ? work / ((double)span * w->nodes) : INFINITY;
}

/* The same jobs, submitted more or less quickly: days stay days. */
static int arrive(struct generator *g, struct errbuf *err)
{
	struct workload *w = g->out;
	double *gaps = calloc(w->n, sizeof(*gaps)), scale = 1;
	int64_t *at = calloc(w->n, sizeof(*at));
	int rv = -1;

	if (!gaps || !at) {
		err_set(err, "out of memory for %zu jobs", w->n);
		goto out;
	}
	lublin_gaps(&g->rng, gaps, w->n);
	for (int i = 0; i < LOAD_STEPS; i++) {
		lublin_arrivals(gaps, w->n, scale, at);
		for (size_t k = 0, s = 0; k < w->n; k++) {
			s += k && !w->kinds[k].task; /* tasks arrive together */
			w->jobs[k].submit_s = at[s];
		}
		w->load = offered(w);
		if (fabs(w->load - g->conf->load) < 0.001 * g->conf->load)
			break;
		scale *= isfinite(w->load) ? w->load / g->conf->load : 2;
	}
	if (fabs(w->load - g->conf->load) > 0.02 * g->conf->load)
		err_set(err, "%zu jobs on %u nodes come to a load of %.3f, not %.3f", w->n, w->nodes, w->load, g->conf->load);
	else
		rv = 0;
out:
	free(gaps);
	free(at);
	return rv;
}

static int allocate(struct workload *w, size_t n, struct errbuf *err)
{
	w->jobs = calloc(n, sizeof(*w->jobs));
	w->kinds = calloc(n, sizeof(*w->kinds));
	return w->jobs && w->kinds ? 0 : err_set(err, "out of memory for %zu jobs", n);
}

int workload_generate(const struct workload_conf *conf, struct workload *out, struct errbuf *err)
{
	struct generator g = {.conf = conf, .out = out, .rng = rng_make(conf->seed, conf->nodes)};
	int rv = -1;

	*out = (struct workload){.n = conf->jobs, .nodes = conf->nodes};
	if (conf->jobs < 2 || !conf->nodes || !conf->window || !(conf->load > 0))
		return err_set(err, "a workload has two jobs at least, nodes, a window and a load");
	g.programs = calloc(conf->jobs, sizeof(*g.programs));
	g.input_run_s = calloc(conf->jobs, sizeof(*g.input_run_s));
	g.first = calloc(conf->jobs, sizeof(*g.first));
	if (!g.programs || !g.input_run_s || !g.first) {
		err_set(err, "out of memory for %zu jobs", conf->jobs);
		goto out;
	}
	if (allocate(out, conf->jobs, err) < 0)
		goto out;
	for (size_t i = 0; i < conf->jobs;)
		i += submit(&g, i);
	rv = arrive(&g, err);
out:
	free(g.programs);
	free(g.input_run_s);
	free(g.first);
	if (rv < 0)
		workload_free(out);
	return rv;
}

void workload_free(struct workload *w)
{
	free(w->jobs);
	free(w->kinds);
	*w = (struct workload){0};
}
