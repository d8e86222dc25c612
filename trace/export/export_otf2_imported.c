/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Imported traces in OTF2: regions are states, and all processors are one communicator. Spans are written as they are
 * read. The ends of messages are kept, 40 bytes each, since the events of a location are written in order of time.
 */
#include <stdlib.h>

#include "common/array.h"
#include "trace/export/export_otf2.h"

/* A send or a receive, to be written between the spans of its rank. */
struct end {
	uint64_t time, bytes;
	uint32_t rank, peer;
	int32_t tag;
	bool received;
};

struct imported {
	struct otf2 *o;
	struct end *end;
	uint64_t n, cap, next; /* next: the first one that is not written */
	OTF2_EvtWriter *w;     /* of `rank`; NULL: no rank is open */
	uint32_t rank;
	uint64_t last;         /* time of the last event of the rank */
	OTF2_ErrorCode rc;
};

static void keep_error(struct imported *m, OTF2_ErrorCode rc)
{
	if (m->rc == OTF2_SUCCESS)
		m->rc = rc;
}

/* A receive at a border of two spans belongs to the first one, a send to the second one. */
static int in_order(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (int)y->received - (int)x->received;
}

/* ---- messages ---- */

static int add_end(struct imported *m, const struct timeline_message *s, bool received, struct errbuf *err)
{
	if (ARRAY_ROOM(m->end, m->cap, m->n + 1) != 0)
		return err_set(err, "no memory for the messages");
	m->end[m->n++] = (struct end){.time = received ? s->t1_ns : s->t0_ns,
				      .bytes = s->bytes,
				      .rank = received ? s->dst : s->src,
				      .peer = received ? s->src : s->dst,
				      .tag = s->tag,
				      .received = received};
	return 0;
}

static int take_message(const struct timeline_message *s, void *arg, struct errbuf *err)
{
	struct imported *m = arg;

	return add_end(m, s, false, err) < 0 || add_end(m, s, true, err) < 0 ? -1 : 0;
}

static uint64_t not_before(struct imported *m, uint64_t time)
{
	m->last = time > m->last ? time : m->last;
	m->o->end = m->last > m->o->end ? m->last : m->o->end;
	return m->last;
}

/* Write the ends of the rank before this time; `with`: also the receives at this time. */
static void put_ends(struct imported *m, uint64_t time, bool with)
{
	for (; m->next < m->n && m->end[m->next].rank == m->rank; m->next++) {
		const struct end *e = &m->end[m->next];
		uint64_t t;

		if (e->time > time || (e->time == time && !(with && e->received)))
			return;
		t = not_before(m, e->time);
		keep_error(m, e->received
				  ? OTF2_EvtWriter_MpiRecv(m->w, NULL, t, e->peer, 0, (uint32_t)e->tag, e->bytes)
				  : OTF2_EvtWriter_MpiSend(m->w, NULL, t, e->peer, 0, (uint32_t)e->tag, e->bytes));
	}
}

/* ---- ranks ---- */

static int close_rank(struct imported *m, struct errbuf *err)
{
	int rv;

	if (!m->w)
		return 0;
	put_ends(m, UINT64_MAX, true);
	keep_error(m, OTF2_EvtWriter_GetNumberOfEvents(m->w, &m->o->n_events[m->rank]));
	keep_error(m, OTF2_Archive_CloseEvtWriter(m->o->archive, m->w));
	m->w = NULL;
	rv = otf2_check(m->rc, "event", err);
	m->rank++;
	return rv;
}

/* Open the next rank. Ranks without spans before it get their end written. */
static int open_rank(struct imported *m, uint32_t rank, struct errbuf *err)
{
	while (!m->w || m->rank != rank) {
		if (close_rank(m, err) < 0)
			return -1;
		m->w = OTF2_Archive_GetEvtWriter(m->o->archive, m->rank);
		if (!m->w)
			return err_set(err, "OTF2: no event writer for rank %u", m->rank);
		m->last = 0;
	}
	return 0;
}

static int put_span(const struct timeline_span *s, void *arg, struct errbuf *err)
{
	struct imported *m = arg;

	if (open_rank(m, s->rank, err) < 0)
		return -1;
	put_ends(m, s->t0_ns, true);
	keep_error(m, OTF2_EvtWriter_Enter(m->w, NULL, not_before(m, s->t0_ns), s->state));
	put_ends(m, s->t1_ns, true);
	keep_error(m, OTF2_EvtWriter_Leave(m->w, NULL, not_before(m, s->t1_ns), s->state));
	return otf2_check(m->rc, "event", err);
}

int otf2_write_imported(struct otf2 *o, struct errbuf *err)
{
	struct imported m = {.o = o, .rc = OTF2_SUCCESS};
	int rv = export_spans(&o->x, NULL, take_message, &m, err);

	if (rv == 0 && m.n)
		qsort(m.end, m.n, sizeof(*m.end), in_order);
	if (rv == 0)
		rv = export_spans(&o->x, put_span, NULL, &m, err);
	if (rv == 0)
		rv = open_rank(&m, trace_n_ranks(o->x.t) - 1, err);
	if (rv == 0)
		rv = close_rank(&m, err);
	if (rv < 0 && m.w)
		OTF2_Archive_CloseEvtWriter(o->archive, m.w);
	free(m.end);
	return rv;
}
