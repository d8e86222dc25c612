/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the reader of the Standard Workload Format. An accepted workload can be simulated or is rejected, and is
 * written and read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/replay/stream.h"
#include "tests/bench/backfill/random.c"
#include "tests/bench/backfill/lublin.c"
#include "tests/bench/backfill/workload.c"
#include "tests/bench/backfill/workload_swf.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A stream can be simulated. */
static void stream_check(const struct swf *s)
{
	struct stream stream;
	struct errbuf e;

	if (stream_from_swf(s, 0, &stream, &e) < 0)
		return;
	for (size_t i = 0; i < stream.n; i++) {
		const struct sim_job *j = &stream.jobs[i];

		if (j->run_s <= 0 || !j->nodes || j->nodes > stream.nodes || !j->request_min || j->submit_s < (i ? j[-1].submit_s : 0))
			abort();
	}
	stream_free(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct workload w;
	struct errbuf e;
	struct swf s, back;
	size_t len = 0;
	char *text = NULL;
	FILE *f;

	if (swf_parse("fuzz", (const char *)data, size, NULL, NULL, &s, &e) < 0)
		return 0;
	f = open_memstream(&text, &len);
	for (size_t i = 0; i < s.n; i++)
		swf_write_job(f, &s.jobs[i]);
	fclose(f);
	if (swf_parse("back", text, len, NULL, NULL, &back, &e) < 0 || back.n != s.n ||
	    memcmp(back.jobs, s.jobs, s.n * sizeof(*s.jobs)))
		abort();
	if (workload_from_swf(&s, 0, &w, &e) == 0) {
		for (size_t i = 0; i < w.n; i++)
			if (w.jobs[i].run_s <= 0 || !w.jobs[i].nodes || w.jobs[i].nodes > w.nodes || !w.jobs[i].request_min ||
			    (i && w.jobs[i].submit_s < w.jobs[i - 1].submit_s) || w.kinds[i].program >= w.programs)
				abort();
		workload_free(&w);
	}
	stream_check(&s);
	swf_free(&back);
	swf_free(&s);
	free(text);
	return 0;
}
