/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the reader of sacct's output. A job that is read has an id, an end behind its start and an honest state. A stream of such
 * jobs can be simulated. Of the same bytes as scripts, none is longer than all, and none contains a NUL.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/history/scripts.h"
#include "predictor/replay/stream.h"

#define JOBS_MAX  200	/* larger streams and machines take the fuzzer too long */
#define NODES_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void by_request(void *arg, size_t job, int64_t now, struct sim_plan *plan)
{
	(void)arg;
	(void)job;
	(void)now;
	(void)plan;
}

static void stream_check(FILE *in)
{
	const struct sim_predictor predictor = {NULL, by_request, NULL};
	struct sim_conf conf = {.policy = SIM_EASY, .poll_interval_s = 10, .never_late = true};
	static struct sim_outcome out[JOBS_MAX];
	struct sim_totals totals;
	struct stream s;
	struct errbuf err;

	if (stream_from_sacct(in, "fuzz", 0, NULL, NULL, &s, &err) < 0)
		return;
	conf.nodes = s.nodes;
	if (s.n <= JOBS_MAX && s.nodes <= NODES_MAX && sim_run(&conf, s.jobs, s.n, &predictor, out, &totals, &err) < 0)
		abort();
	stream_free(&s);
}

static void script_check(void *arg, size_t id, const char *text, size_t len)
{
	size_t *left = arg;

	if (id > 2 || !len || len > *left || strlen(text) != len)
		abort();
	*left -= len; /* scripts do not overlap */
}

static void scripts_check(const uint8_t *data, size_t size)
{
	char ids[][SCRIPTS_ID_MAX] = {"1", "17", "4_0"}, *text = malloc(size + 1);
	size_t left = size;

	if (!text)
		return;
	memcpy(text, data, size);
	scripts_split(text, size, ids, 3, script_check, &left);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct sacct_reader *r;
	struct sacct_job job;
	struct errbuf err;
	size_t records = 0;
	int rc;

	if (!in)
		return 0;
	scripts_check(data, size);
	r = sacct_reader_create(in, "fuzz", &err);
	while (r && (rc = sacct_read(r, &job, &err))) {
		if (++records > size) /* each record takes a byte at least */
			abort();
		if (rc < 0)
			continue;
		if (!job.jobid || job.start_time > job.end_time || job.submit_time <= 0 || !(job.elapsed_s >= 0) ||
		    strlen(job.state) > 23 ||
		    strlen(job.user) + strlen(job.name) + strlen(job.work_dir) + strlen(job.submit_line) +
			    strlen(job.comment) >=
			SACCT_LINE_MAX)
			abort();
	}
	sacct_reader_destroy(r);
	rewind(in);
	stream_check(in);
	fclose(in);
	return 0;
}
