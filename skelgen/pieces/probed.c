/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See probed.h. A matched probe takes the message. From then on the message has a slot. */
#include "skelgen/pieces/probed.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/functions.h"

/* Of the nonblocking sends, MPI_Isendrecv has a source. */
static uint8_t role_of(uint8_t cls)
{
	if (cls == TC_PROBE)
		return PROBED_FINDS;
	return cls == TC_RECV || cls == TC_IRECV || cls == TC_SENDRECV || cls == TC_ISEND ? PROBED_TAKES : PROBED_OTHER;
}

/* The tag of the receive is the last one of MPI_Sendrecv. */
struct probed_call probed_call_of(const struct trace_defs *d, uint32_t sym)
{
	struct probed_call c = {role_of(trace_fn[d->sigs.sig[sym].fn].cls), TRACE_NULL, TRACE_PROC_NULL, TRACE_ANY_TAG};
	int64_t asrc = TRACE_NULL, atag = TRACE_NULL;
	bool matched = false;
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (c.role != PROBED_OTHER && sig_walk_next(&w)) {
		int64_t v = w.n > 0 ? w.val[0] : TRACE_NULL;

		c.comm = w.kind == TK_COMM ? v : c.comm;
		c.src = w.kind == TK_SRC ? v : c.src;
		c.tag = w.kind == TK_TAG ? v : c.tag;
		asrc = w.kind == TK_ASRC ? v : asrc;
		atag = w.kind == TK_ATAG ? v : atag;
		matched |= strcmp(w.name, "message") == 0;
	}
	c.src = c.src == TRACE_ANY_SOURCE && asrc >= 0 ? asrc : c.src;
	c.tag = c.tag == TRACE_ANY_TAG && atag >= 0 ? atag : c.tag;
	if (c.comm < 0 || c.src == TRACE_PROC_NULL)
		c.role = PROBED_OTHER;
	else if (matched)
		c.role = PROBED_TAKES;
	return c;
}

static bool fits(const struct probed_call *a, const struct probed_call *b)
{
	return a->comm == b->comm && (a->src == b->src || a->src == TRACE_ANY_SOURCE || b->src == TRACE_ANY_SOURCE) &&
	       (a->tag == b->tag || a->tag == TRACE_ANY_TAG || b->tag == TRACE_ANY_TAG);
}

int probed_find(struct probed *p, const struct probed_call *c, uint64_t event)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->at[i].call.comm == c->comm && p->at[i].call.src == c->src && p->at[i].call.tag == c->tag)
			return 0;
	if (p->n == PROBED_MOST)
		memmove(p->at, p->at + 1, --p->n * sizeof *p->at);
	if (ARRAY_ROOM(p->at, p->cap, p->n + 1) != 0)
		return -1;
	p->at[p->n++] = (struct probed_message){*c, event};
	return 0;
}

bool probed_take(struct probed *p, const struct probed_call *c, uint64_t *since)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (!fits(&p->at[i].call, c))
			continue;
		*since = p->at[i].event;
		memmove(p->at + i, p->at + i + 1, (--p->n - i) * sizeof *p->at);
		return true;
	}
	return false;
}

void probed_free(struct probed *p)
{
	free(p->at);
	*p = (struct probed){0};
}
