/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes of received messages. A receive only tells the size of its buffer. If the message was shorter, its size is
 * that of the send. Such sizes are stored per receiver in order of completion, as variable-length numbers: calls
 * since the entry before, calls since the posting call, sender, tag, bytes.
 */
#include <stdlib.h>

#include "common/array.h"
#include "trace/export/export_otf2_writer.h"
#include "trace/messages/messages.h"

#define LIST_MAX (512ull << 20) /* bytes of all lists: about 60,000,000 messages */

struct otf2_lists {
	struct buf *of;     /* [rank] */
	uint64_t *last;     /* [rank]: receiving call of the last entry */
	uint64_t bytes;
	uint32_t n_ranks;
	bool no_memory;
};

struct collect {
	struct otf2 *o;
	struct otf2_lists *l;
};

/* Size of the posted buffer. Returns false if it is not known. */
static bool posted_bytes(const struct trace_defs *d, uint32_t sym, uint64_t *bytes)
{
	uint8_t cls = trace_fn[d->sigs.sig[sym].fn].cls;

	if (cls != TC_RECV && cls != TC_IRECV && cls != TC_SENDRECV)
		return false;
	*bytes = otf2_nth_bytes(d, sym, cls == TC_SENDRECV);
	return true;
}

static int note_short_message(const struct trace_message *m, void *arg)
{
	struct collect *x = arg;
	struct otf2_lists *l = x->l;
	struct buf *b = &l->of[m->dst];
	size_t before = b->len;
	uint64_t posted;

	if (m->dst < x->o->x.o->r0 || m->dst >= x->o->x.o->r1)
		return 0;
	if (posted_bytes(&trace_get_rank(x->o->x.t, m->dst)->defs, m->recv_sym, &posted) && posted == m->bytes)
		return 0;
	if (l->bytes > LIST_MAX) {
		x->o->x.report->posted_sizes++;
		return 0;
	}
	buf_put_uv(b, m->recv_event - l->last[m->dst]);
	buf_put_uv(b, m->recv_event - m->post_event);
	buf_put_uv(b, m->src);
	buf_put_uv(b, (uint64_t)m->tag);
	buf_put_uv(b, m->bytes);
	l->last[m->dst] = m->recv_event;
	l->bytes += b->len - before;
	l->no_memory = b->failed;
	return l->no_memory;
}

int otf2_received_collect(struct otf2 *o, struct errbuf *err)
{
	struct otf2_lists *l = calloc(1, sizeof(*l));
	struct collect x = {o, l};

	o->received = l;
	if (l) {
		l->n_ranks = trace_n_ranks(o->x.t);
		l->of = calloc(l->n_ranks, sizeof(*l->of));
		l->last = calloc(l->n_ranks, sizeof(*l->last));
	}
	if (!l || !l->of || !l->last)
		return err_set(err, "no memory");
	if (trace_messages(o->x.t, note_short_message, &x, NULL, err) < 0)
		return -1;
	return l->no_memory ? err_set(err, "no memory for the sizes of messages") : 0;
}

void otf2_received_free(struct otf2 *o)
{
	struct otf2_lists *l = o->received;

	for (uint32_t r = 0; l && l->of && r < l->n_ranks; r++)
		buf_free(&l->of[r]);
	if (l) {
		free(l->of);
		free(l->last);
	}
	free(l);
	o->received = NULL;
}

/* ---- writing ---- */

static void next_entry(struct otf2_writer *w)
{
	w->next_event = w->received.pos < w->received.len ? w->received_event + rdbuf_uv(&w->received) : UINT64_MAX;
}

void otf2_received_begin(struct otf2_writer *w)
{
	const struct buf *b = &w->o->received->of[w->rank];

	w->received = (struct rdbuf){.data = b->data, .len = b->len};
	w->received_event = 0;
	next_entry(w);
}

void otf2_received_end(struct otf2_writer *w)
{
	free(w->size);
	buf_free(&w->o->received->of[w->rank]);
}

void otf2_received_at(struct otf2_writer *w, uint64_t event)
{
	w->n_size = w->at_size = 0;
	while (w->next_event <= event) {
		struct otf2_size s = {.post_event = w->next_event - rdbuf_uv(&w->received)};

		s.src = (uint32_t)rdbuf_uv(&w->received);
		s.tag = (int64_t)rdbuf_uv(&w->received);
		s.bytes = rdbuf_uv(&w->received);
		w->received_event = w->next_event;
		next_entry(w);
		if (w->received_event < event) /* before the window */
			continue;
		if (ARRAY_ROOM(w->size, w->cap_size, w->n_size + 1) != 0) {
			otf2_keep(w, OTF2_ERROR_MEM_ALLOC_FAILED);
			return;
		}
		w->size[w->n_size++] = s;
	}
}

uint64_t otf2_received_size(struct otf2_writer *w, uint64_t post_event, uint32_t src, int64_t tag, uint64_t posted)
{
	for (uint32_t i = 0; i < w->n_size; i++) {
		uint32_t k = (w->at_size + i) % w->n_size; /* receives are mostly in order */
		struct otf2_size *s = &w->size[k];

		if (s->post_event == post_event && s->src == src && s->tag == tag) {
			uint64_t bytes = s->bytes;

			s->src = UINT32_MAX; /* used */
			w->at_size = k + 1;
			return bytes;
		}
	}
	return posted;
}
