/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes requests to the port of the metrics. A request in pieces must get the same result as in one piece, and a
 * result must not change by further bytes. */
#include <stdlib.h>
#include <string.h>

#include "predictor/metrics/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int judge(const uint8_t *data, size_t size)
{
	struct buf in = {0}, out = {0}, body = {0};
	int rc;

	buf_put(&in, data, size); /* a buffer of exactly this size, so that reads behind it are found */
	rc = metrics_http_request(&in);
	if (rc && rc != 200 && rc != 400 && rc != 404 && rc != 405 && rc != 431)
		__builtin_trap();
	if (rc)
		metrics_http_reply(rc, &body, &out);
	buf_free(&in);
	buf_free(&out);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int whole = judge(data, size), before = 0;

	for (size_t n = 0; n <= size && size < METRICS_REQUEST_MAX && size < 512; n++) {
		int now = judge(data, n);

		if (before && now != before)
			__builtin_trap();
		before = now;
	}
	if (size < 512 && before != whole)
		__builtin_trap();
	return 0;
}
