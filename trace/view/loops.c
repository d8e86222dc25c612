/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Positions of loop iterations on the time line. The marks of a loop are numbers of events. One pass over the spans
 * of the loop's rank converts them to times. An iteration begins at the end of the call before it.
 */
#include <stdlib.h>

#include "trace/view/pack.h"

struct wish {
	uint64_t event; /* number of calls before this time */
	uint64_t *ns;
};

struct pass {
	struct wish *wish;
	uint64_t n, at, last_end;
};

static int by_event(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

static int grant(const struct timeline_span *s, void *arg)
{
	struct pass *p = arg;

	if (s->event == TIMELINE_NO_EVENT)
		return 0;
	for (; p->at < p->n && p->wish[p->at].event <= s->event; p->at++)
		*p->wish[p->at].ns = p->last_end;
	p->last_end = s->t1_ns;
	return p->at == p->n;
}

static void put_marks(const uint64_t *ns, uint64_t n, struct buf *out)
{
	uint64_t prev = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t a = ns[2 * i] > prev ? ns[2 * i] : prev, b = ns[2 * i + 1] > a ? ns[2 * i + 1] : a;

		buf_put_uv(out, a - prev);
		buf_put_uv(out, b - a);
		prev = b;
	}
}

int view_marks_build(struct view *v, struct buf *out, struct errbuf *err)
{
	const struct view_input *in = v->in;
	struct pass p = {0};
	uint64_t *ns, total = 0, k = 0;
	int rv = 0;

	for (uint32_t i = 0; i < in->n_loop; i++)
		total += 2ull * in->loop[i].n_mark;
	ns = calloc(total + 1, sizeof(*ns));
	p.wish = calloc(total + 1, sizeof(*p.wish));
	if (!ns || !p.wish)
		rv = err_set(err, "no memory");
	for (uint32_t i = 0; i < in->n_loop && rv == 0; i++)
		for (uint32_t m = 0; m < in->loop[i].n_mark; m++, k += 2) {
			p.wish[k] = (struct wish){in->loop[i].begin[m], &ns[k]};
			p.wish[k + 1] = (struct wish){in->loop[i].end[m], &ns[k + 1]};
		}
	p.n = total;
	if (rv == 0 && total) {
		qsort(p.wish, total, sizeof(*p.wish), by_event);
		if (timeline_spans(in->timeline, in->loop_rank, in->loop_rank + 1, 0, UINT64_MAX, grant, &p, err) < 0)
			rv = -1;
		for (; p.at < p.n; p.at++)
			*p.wish[p.at].ns = p.last_end;
	}
	k = 0;
	for (uint32_t i = 0; i < in->n_loop && rv == 0; i++, k += 2ull * in->loop[i - 1].n_mark)
		put_marks(ns + k, in->loop[i].n_mark, out);
	free(ns);
	free(p.wish);
	if (rv == 0 && out->failed)
		return err_set(err, "no memory");
	return rv;
}
