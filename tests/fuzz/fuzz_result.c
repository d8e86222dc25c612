/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the parser of result records. An accepted record must be written and read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/spool/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result r, back;
	struct buf b = {0};
	struct errbuf e;

	if (result_parse((const char *)data, size, &r, &e) < 0)
		return 0;
	if (result_format(&r, &b, &e) < 0 || result_parse((const char *)b.data, b.len, &back, &e) < 0 ||
	    back.traces_n != r.traces_n || back.kernels_n != r.kernels_n || back.job_id != r.job_id ||
	    strcmp(back.class_text, r.class_text) || strcmp(back.interpreted, r.interpreted) ||
	    back.points_n != r.points_n || (r.points_n && strcmp(back.points[0].vars, r.points[0].vars)))
		abort();
	buf_free(&b);
	return 0;
}
