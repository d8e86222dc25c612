/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of a window, from the pages of its time. A message that crosses several borders is in several carry
 * lists. It is reported from the first of these lists that the window reads.
 */
#include <stdlib.h>

#include "trace/tiles/tiles_read.h"

static int by_time(const void *va, const void *vb, void *arg)
{
	const struct tiles *t = arg;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct trace_page *pa = trace_page_at(t->t, a), *pb = trace_page_at(t->t, b);

	if (pa->t0 != pb->t0)
		return pa->t0 < pb->t0 ? -1 : 1;
	return a < b ? -1 : a > b;
}

int tiles_index_exchanges(struct tiles *t, struct errbuf *err)
{
	uint32_t n[EXCHANGE_LISTS] = {0}, n_pages = trace_n_pages(t->t);

	for (uint32_t i = 0; i < n_pages; i++) {
		const struct trace_page *p = trace_page_at(t->t, i);

		if (p->type == TPAGE_EXCHANGE && p->rank < EXCHANGE_LISTS && p->t0 <= p->t1)
			n[p->rank]++;
		else if (p->type == TPAGE_EXCHANGE)
			tiles_note(t, i, "has contradictory header fields");
	}
	for (int k = 0; k < EXCHANGE_LISTS; k++) {
		struct exchange_index *x = &t->exchange[k];

		x->page = malloc((n[k] + 1ull) * sizeof(*x->page));
		if (!x->page)
			return err_set(err, "no memory for the index of messages");
		for (uint32_t i = 0; i < n_pages; i++) {
			const struct trace_page *p = trace_page_at(t->t, i);

			if (p->type == TPAGE_EXCHANGE && p->rank == (uint32_t)k && p->t0 <= p->t1)
				x->page[x->n++] = i;
		}
		qsort_r(x->page, x->n, sizeof(*x->page), by_time, t);
	}
	return 0;
}

struct message_window {
	uint64_t t0, t1;
	uint64_t since; /* of a carry list: messages sent before this time are in the list before */
	int (*f)(const struct exchange *m, void *arg);
	void *arg;
};

/* Report the messages of a page that are in flight in the window. Returns 0, or non-zero to stop. *read: the page
 * was not damaged. */
static int report_page(struct tiles *t, const struct message_window *w, uint32_t page, bool *read)
{
	struct exchange *m = NULL;
	struct errbuf why;
	uint32_t len, n = 0;
	uint8_t *raw = tiles_page(t, page, &len);
	int rv = 0;

	*read = raw && exchange_decode(raw, len, t->n_ranks, &m, &n, &why) == 0;
	if (raw && !*read)
		tiles_note(t, page, why.text);
	for (uint32_t i = 0; i < n && !rv; i++)
		if (m[i].t0 < w->t1 && m[i].t1 >= w->t0 && m[i].t0 >= w->since)
			rv = w->f(&m[i], w->arg);
	free(m);
	free(raw);
	return rv;
}

static const struct trace_page *page_at(const struct tiles *t, int list, uint32_t i)
{
	return trace_page_at(t->t, t->exchange[list].page[i]);
}

/* Number of pages of a list that begin before this mark, by bisection. */
static uint32_t begin_before(const struct tiles *t, int list, uint64_t mark)
{
	uint32_t a = 0, b = t->exchange[list].n;

	while (a < b) {
		uint32_t m = a + (b - a) / 2;

		if (page_at(t, list, m)->t0 < mark)
			a = m + 1;
		else
			b = m;
	}
	return a;
}

/* Report the carry lists from the last border at or before the window to the first border at or behind its end. */
static int report_carried(struct tiles *t, struct message_window *w)
{
	const struct exchange_index *x = &t->exchange[EXCHANGE_CARRIED];
	uint32_t i = begin_before(t, EXCHANGE_CARRIED, w->t0 + 1);

	for (i -= i > 0; i < x->n; i++) {
		uint64_t border = page_at(t, EXCHANGE_CARRIED, i)->t0;
		bool read;
		int rv = report_page(t, w, x->page[i], &read);

		if (rv)
			return rv;
		if (border >= w->t1)
			break;
		if (read)
			w->since = border;
	}
	w->since = 0;
	return 0;
}

int tiles_exchanges(struct tiles *t, uint64_t t0, uint64_t t1, int (*f)(const struct exchange *m, void *arg),
		    void *arg, struct errbuf *err)
{
	struct message_window w = {.t0 = t0, .t1 = t1, .f = f, .arg = arg};
	const struct exchange_index *x;
	uint32_t i;
	bool read;
	int rv = 0;

	if (t0 > t1)
		return err_set(err, "a window that ends before it begins");
	x = &t->exchange[EXCHANGE_OWN];
	i = begin_before(t, EXCHANGE_OWN, t0 + 1);
	for (i -= i > 0; !rv && i < x->n && page_at(t, EXCHANGE_OWN, i)->t0 < t1; i++)
		if (page_at(t, EXCHANGE_OWN, i)->t1 > t0)
			rv = report_page(t, &w, x->page[i], &read);
	if (!rv)
		rv = report_carried(t, &w);
	x = &t->exchange[EXCHANGE_LONG];
	for (i = 0; !rv && i < x->n && page_at(t, EXCHANGE_LONG, i)->t0 < t1; i++)
		if (page_at(t, EXCHANGE_LONG, i)->t1 >= t0)
			rv = report_page(t, &w, x->page[i], &read);
	return rv ? 1 : 0;
}
