/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exchanges: messages in pages by time (paper 002, figure 4). A page holds the messages that were sent and received
 * between its borders. A message that reaches over a border is in the carry list of that border, a page of its own that
 * is complete only when the message has arrived; so a window is answered by the pages of its time and one carry list more.
 * A message in flight for so long that the lists waiting for it outgrow the memory goes to the long list instead, which
 * every window looks through (by the headers).
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
	uint64_t t0, t1; /* sent, received; never received: t1 = t0 */
	uint64_t bytes;  /* or whatever the trace counts */
	int32_t tag;
	bool received;
};

/* Payload of a page: the messages, ordered by t0 (which it does not check). */
void exchange_encode(const struct exchange *m, uint32_t n, struct buf *raw);
/* *out is malloced, *n entries, ranks below n_ranks, t1 >= t0. -1 with the reason. */
int exchange_decode(const uint8_t *raw, size_t len, uint32_t n_ranks, struct exchange **out, uint32_t *n,
		    struct errbuf *err);

struct exchange_writer;

/* Where pages go: fields of the header, and the payload. -1 ends the writing. */
typedef int exchange_sink(void *arg, const struct trace_page *head, const struct buf *raw, struct errbuf *err);

/* per_page: messages; waiting_max: messages in carry lists that are held, beyond which long lists are used.
 * 0: the defaults. */
struct exchange_writer *exchange_writer_create(uint32_t per_page, uint32_t waiting_max, uint64_t first,
					       exchange_sink *sink, void *arg);
/* Messages come in order of t1; those never received in any order, at any time. -1 with the reason. */
int exchange_writer_add(struct exchange_writer *w, const struct exchange *m, struct errbuf *err);
/* The rest, up to the end of the trace. */
int exchange_writer_finish(struct exchange_writer *w, uint64_t end, struct errbuf *err);
void exchange_writer_destroy(struct exchange_writer *w);

#endif
