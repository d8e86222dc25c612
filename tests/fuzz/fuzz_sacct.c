/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the reader of sacct's output. A job that is read has an id, an end behind its start and an honest state. */
#include <stdlib.h>
#include <string.h>

#include "predictor/history/sacct.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	fclose(in);
	return 0;
}
