/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads as sacct prints them, for streams with job arrays, which Standard Workload Format does not know. A job's command line
 * names its input by letters: a number in a script would count as an input of one program.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/bench/backfill/workload.h"

#define BEGIN 1000000000 /* sacct has no job in the first second of the epoch */

static void letters(uint32_t number, char out[16])
{
	int n = snprintf(out, 16, "%" PRIu32, number);

	for (int i = 0; i < n; i++)
		out[i] = (char)(out[i] - '0' + 'a');
}

static int clock_write(FILE *f, int64_t s)
{
	return fprintf(f, "%" PRId64 "-%02d:%02d:%02d|", s / 86400, (int)(s / 3600 % 24), (int)(s / 60 % 60), (int)(s % 60));
}

static int job_write(const struct workload *w, size_t i, FILE *f)
{
	const struct sim_job *j = &w->jobs[i];
	const struct work_kind *k = &w->kinds[i];
	int64_t most = (int64_t)j->request_min * 60, run = j->run_s < most ? j->run_s : most, submit = BEGIN + j->submit_s;
	char name[16], id[32];

	letters(k->input, name);
	if (k->array)
		snprintf(id, sizeof(id), "%" PRIu32 "_%" PRIu32, k->array, k->task);
	else
		snprintf(id, sizeof(id), "%zu", i + 1);
	if (fprintf(f, "%s|%zu|%" PRIu32 "|batch|%s|%" PRId64 "|%" PRId64 "|%" PRId64 "|", id, i + 1, k->user + 1, name, submit, submit,
		    submit + run) < 0 ||
	    clock_write(f, run) < 0 || clock_write(f, most) < 0)
		return -1;
	return fprintf(f, "%" PRIu32 "|%s|/|sbatch %s\n", j->nodes, j->run_s <= most ? "COMPLETED" : "TIMEOUT", name);
}

int workload_write_sacct(const struct workload *w, FILE *f)
{
	if (fprintf(f, "JobID|JobIDRaw|UID|Partition|JobName|Submit|Start|End|Elapsed|Timelimit|NNodes|State|WorkDir|SubmitLine\n") < 0)
		return -1;
	for (size_t i = 0; i < w->n; i++)
		if (job_write(w, i, f) < 0)
			return -1;
	return 0;
}
