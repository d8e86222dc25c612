/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes requests to our HTTP servers. A request in pieces must get the same result as in one piece, and a result must not
 * change by further bytes. */
#include <stdlib.h>
#include <string.h>

#include "common/net/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int judge(const uint8_t *data, size_t size)
{
	struct buf in = {0}, out = {0};
	struct http_request r;
	int rc;

	in.data = malloc(size); /* of exactly this size, so that reads behind it are found */
	if (size)
		memcpy(in.data, data, size);
	in.len = in.cap = size;
	rc = http_request(&in, &r);
	if (rc == 200 && (*r.path != '/' || strchr(r.path, '?') || strlen(r.host) + (r.query ? strlen(r.query) : 0) > size))
		__builtin_trap();
	if (rc && rc != 200 && rc != 400 && rc != 405 && rc != 431)
		__builtin_trap();
	if (rc)
		http_refuse(&out, rc, NULL);
	buf_free(&in);
	buf_free(&out);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int whole = judge(data, size), before = 0;

	for (size_t n = 0; n <= size && size < 512; n++) {
		int now = judge(data, n);

		if (before && now != before)
			__builtin_trap();
		before = now;
	}
	if (size < 512 && before != whole)
		__builtin_trap();
	return 0;
}
