/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages made by hand: see put_page.h. */
#include <stdio.h>
#include <stdlib.h>

#include "put_page.h"
#include "trace/format/page.h"

void put_page(struct trace_writer *w, uint32_t type, uint32_t rank, uint32_t first, uint32_t n, struct buf *raw)
{
	struct trace_page page = {.type = type, .rank = rank, .first = first, .n = n};
	struct buf out = {0};
	struct errbuf err = {"no memory"};

	if (trace_page_encode(&page, raw->data, raw->len, &out) < 0 || trace_writer_pages(w, out.data, out.len, &err) < 0) {
		fprintf(stderr, "put_page: %s\n", err.text);
		abort();
	}
	buf_free(&out);
	buf_reset(raw);
}
