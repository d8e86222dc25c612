/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages in pages ordered by time (Orlov 2017, cited in trace/tiles/tiles.h, figure 4). A page holds the messages
 * that were both sent and received between its two borders. A message that crosses a border is in the carry list of
 * that border. A carry list is a page of its own, which is complete once the message has been received. So a query
 * for a window reads the pages of its time and one carry list. Carry lists that wait for messages are held in
 * memory. If they grow too large, messages of the oldest list that arrive later go to the long list. Every query
 * searches the headers of long lists.
 */
#ifndef PRECEDENT_TRACE_EXCHANGE_H
#define PRECEDENT_TRACE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/page.h"

enum exchange_list { EXCHANGE_OWN, EXCHANGE_CARRIED, EXCHANGE_LONG, EXCHANGE_LISTS };

struct exchange {
	uint32_t src, dst;
	uint64_t t0, t1; /* sent, received; t1 = t0 if never received */
	uint64_t bytes;  /* or another amount that an imported trace counts */
	int32_t tag;
	bool received;
};

/* Encode the messages of a page. The caller orders them by t0. */
void exchange_encode(const struct exchange *m, uint32_t n, struct buf *raw);
/* Decode a page. *out is malloced and has *n entries with ranks below n_ranks and t1 >= t0. Returns 0 on success,
 * -1 on error (err says why). */
int exchange_decode(const uint8_t *raw, size_t len, uint32_t n_ranks, struct exchange **out, uint32_t *n,
		    struct errbuf *err);

struct exchange_writer;

/* Receives the header fields and the payload of each page. Returns 0, or -1 to end the writing. */
typedef int exchange_sink(void *arg, const struct trace_page *head, const struct buf *raw, struct errbuf *err);

/* per_page: messages per page. waiting_max: messages in carry lists that are held in memory; 0: the defaults. */
struct exchange_writer *exchange_writer_create(uint32_t per_page, uint32_t waiting_max, uint64_t first,
					       exchange_sink *sink, void *arg);
/* Add a message. Messages come in order of t1; messages that are never received come in any order. Returns 0 on
 * success, -1 on error (err says why). */
int exchange_writer_add(struct exchange_writer *w, const struct exchange *m, struct errbuf *err);
/* Write the remaining pages, up to the end of the trace. */
int exchange_writer_finish(struct exchange_writer *w, uint64_t end, struct errbuf *err);
void exchange_writer_destroy(struct exchange_writer *w);

#endif
