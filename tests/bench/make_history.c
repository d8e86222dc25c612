/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store with a history of predicted runs, made up: users with families of jobs that vary from run to run, requests of a
 * round number of hours, predictions that are off by some percent, most limits set. Always the same for the same arguments.
 *
 *   make_history STORE RUNS DAYS [FIRST LAST]
 *                                     fill a new store; the last run ends at 1,750,000,000. Only the runs FIRST to LAST can have
 *                                     a prediction, without them all
 *   make_history --answer STORE DAYS  print what precedentd would answer to "accuracy" (root, plots, 0: all days)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "predictor/estimate/estimate.h"
#include "predictor/query/answer.h"
#include "predictor/store/runs.h"

#define END	 1750000000
#define USERS	 9
#define FAMILIES 38

/* Names that a page, a terminal or JSON must not take for its own, among others. */
static const char *const names[] = {"heat3d", "lammps-melt", "qe-scf", "cfd", "</title><script>alert(1)</script>", "\x1b[31mred\"'&", "wrf",
				    "\xc3\xa4rger", "bad\xff\xfe", "md-long", "<img src=x onerror=alert(1)>", "sweep"};

static double uniform(void)
{
	return ((double)random() + 0.5) / ((double)RAND_MAX + 1);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* What people ask for: the next of a few round numbers, often the one after. */
static uint32_t request_min(double seconds)
{
	static const uint32_t hours[] = {1, 2, 4, 8, 12, 24, 48, 96, 168};
	size_t i = 0;

	while (i < 8 && hours[i] * 3600.0 < seconds * 1.1)
		i++;
	if (i < 8 && uniform() < 0.5)
		i++;
	return uniform() < 0.1 && seconds < 1500 ? 30 : hours[i] * 60;
}

static void run_make(struct store_run *r, uint32_t job, int64_t submit, bool may_tell)
{
	unsigned family = (unsigned)(FAMILIES * pow(uniform(), 2)), part = (unsigned)(uniform() * 2.3), variant = (unsigned)(uniform() * 6);
	double base = exp(log(90) + (family * 37 % FAMILIES) / (double)FAMILIES * log(600)), off = 0.03 * normal();
	static const enum estimate_kind kinds[] = {ESTIMATE_HISTORY, ESTIMATE_SKELETON, ESTIMATE_BLEND, ESTIMATE_HISTORY, ESTIMATE_MODEL,
						   ESTIMATE_HISTORY, ESTIMATE_FAMILY,	ESTIMATE_HISTORY, ESTIMATE_PARTIAL};
	static const char *const partitions[] = {"fast", "slow", "fat:bigmem"};

	memset(r, 0, sizeof(*r));
	r->jobid = job;
	r->submit_time = submit;
	r->uid = 1000 + family % USERS;
	snprintf(r->key, sizeof(r->key), "%08x%08x%016x", family + 1, variant, 7);
	snprintf(r->family, sizeof(r->family), "%08x%024x", (family + 1) * 2654435761u, 7);
	snprintf(r->name, sizeof(r->name), "%s", names[family % (sizeof(names) / sizeof(names[0]))]);
	snprintf(r->partition, sizeof(r->partition), "%.*s", (int)strcspn(partitions[part], ":"), partitions[part]);
	snprintf(r->candidate, sizeof(r->candidate), "%s", partitions[part]);
	snprintf(r->pred_candidate, sizeof(r->pred_candidate), "%s", partitions[part]);
	r->nodes = 1u << (family % 6);
	r->tasks = r->nodes * 16;
	r->elapsed_s = base * (1 + 0.4 * variant) * (part == 1 ? 1.9 : 1) * exp(0.02 * normal());
	r->start_time = submit + (int64_t)(uniform() * 7200);
	r->end_time = r->start_time + (int64_t)r->elapsed_s;
	r->user_limit_min = request_min(r->elapsed_s);
	r->limit_min = DURATION_UNSET;
	strcpy(r->end_state, uniform() < 0.96 ? "COMPLETED" : uniform() < 0.5 ? "FAILED" : "CANCELLED");
	r->act = uniform() < 0.06 || !may_tell ? ACT_TRACE : ACT_PREDICT;
	r->mode = MODE_LIMIT;
	r->pred_kind = -1;
	if (r->act == ACT_TRACE) {
		strcpy(r->similar, job % 3 ? "command/600/120/4200" : "launch/7");
		return;
	}
	r->pred_kind = kinds[job % (sizeof(kinds) / sizeof(kinds[0]))];
	if (uniform() < 0.03)
		off = -0.35 * uniform();
	r->pred_s = r->elapsed_s * (1 + off + 0.01);
	r->lo_s = r->pred_s * 0.93;
	r->hi_s = r->pred_s * 1.07;
	if (uniform() < 0.9)
		r->limit_min = duration_ceil_minutes(r->hi_s * 1.15) < 5 ? 5 : duration_ceil_minutes(r->hi_s * 1.15);
	if (r->limit_min != DURATION_UNSET && r->limit_min >= r->user_limit_min)
		r->limit_min = DURATION_UNSET;
	for (; r->limit_min != DURATION_UNSET && r->limit_min * 60.0 < r->elapsed_s; r->extensions++)
		r->limit_min += r->limit_min / 4 + 1;
	if (r->limit_min != DURATION_UNSET && r->limit_min > r->user_limit_min)
		r->limit_min = r->user_limit_min;
	if (r->user_limit_min * 60.0 <= r->elapsed_s) { /* asked for too little */
		r->elapsed_s = r->user_limit_min * 60.0;
		r->end_time = r->start_time + (int64_t)r->elapsed_s;
		strcpy(r->end_state, "TIMEOUT");
	}
}

static int fill(const char *path, uint32_t runs, double days, uint32_t first, uint32_t last)
{
	struct store *s;
	struct errbuf why;

	if (store_open(path, STORE_WRITE | STORE_WAIT, &s, &why) < 0 || store_begin(s, &why) < 0)
		goto fail;
	srandom(20);
	for (uint32_t i = 0; i < runs; i++) {
		double share = ((double)i + 0.5) / runs;
		struct store_run r;

		run_make(&r, i + 1, END - (int64_t)((1 - share) * days * 86400), i + 1 >= first && i + 1 <= last);
		if (store_run_put(s, &r, &why) < 0)
			goto fail;
	}
	if (store_commit(s, &why) < 0)
		goto fail;
	store_close(s);
	return 0;
fail:
	fprintf(stderr, "make_history: %s\n", why.text);
	return 1;
}

static int answer(const char *path, int days)
{
	static struct precedent_conf conf;
	struct answer_env env = {.conf = &conf, .uid = 0, .admin = true, .now = END + 3600};
	struct errbuf why;
	char request[128], *text;

	if (store_open(path, STORE_READ | STORE_WAIT, &env.store, &why) < 0) {
		fprintf(stderr, "make_history: %s\n", why.text);
		return 1;
	}
	snprintf(request, sizeof(request), "{\"precedent\": 1, \"verb\": \"accuracy\", \"points\": 2500, \"days\": %d}", days);
	text = answer_make(&env, request, strlen(request));
	store_close(env.store);
	if (!text || puts(text) < 0)
		return 1;
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--answer"))
		return answer(argv[2], atoi(argv[3]));
	if ((argc == 4 || argc == 6) && atol(argv[2]) > 0 && atof(argv[3]) > 0)
		return fill(argv[1], (uint32_t)atol(argv[2]), atof(argv[3]), argc == 6 ? (uint32_t)atol(argv[4]) : 1,
			    argc == 6 ? (uint32_t)atol(argv[5]) : UINT32_MAX);
	fprintf(stderr, "Usage: make_history STORE RUNS DAYS [FIRST LAST] | make_history --answer STORE DAYS\n");
	return 2;
}
