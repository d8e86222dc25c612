/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathering of pages by rank 0: see gather_root.h. */
#include "spank/tracer/gather_root.h"

#include <stdlib.h>

#include "common/buf.h"
#include "spank/tracer/patient_writer.h"

static int receive_rank(const struct gather_link *l, uint32_t rank, struct buf *msg, struct trace_writer **w,
			struct gather_report *report, struct errbuf *err)
{
	uint64_t len;

	for (;;) {
		if (l->length(l->arg, rank, &len) < 0)
			return -1;
		if (len == GATHER_BROKEN && !report->n_missing++)
			report->missing = rank;
		if (!len || len == GATHER_BROKEN)
			return 0;
		msg->len = 0;
		if (len > INT32_MAX || buf_reserve(msg, len) < 0 || l->pages(l->arg, rank, msg->data, (uint32_t)len) < 0)
			return -1;
		msg->len = len;
		if (*w)
			patient_pages(w, msg, err);
		if (msg->cap > 2 * GATHER_MESSAGE)
			buf_free(msg);
	}
}

int gather_root(const struct gather_link *l, uint32_t n_ranks, struct trace_writer **w, struct gather_report *report,
		struct errbuf *err)
{
	struct buf msg = {0};
	uint32_t asked = 1;

	*report = (struct gather_report){0};
	for (uint32_t rank = 1; rank < n_ranks; rank++) {
		int rv = 0;

		for (; asked < n_ranks && asked <= rank + GATHER_AHEAD && rv == 0; asked++)
			rv = l->turn(l->arg, asked);
		if (rv == 0)
			rv = receive_rank(l, rank, &msg, w, report, err);
		if (rv < 0) {
			buf_free(&msg);
			return err_set(err, "rank %u could not deliver its pages", rank);
		}
	}
	buf_free(&msg);
	return 0;
}
