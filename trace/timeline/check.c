/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads every page of a trace once: see check.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format/ends.h"
#include "trace/format/hist.h"
#include "trace/format/levels.h"
#include "trace/format/page.h"
#include "trace/format/samples.h"
#include "trace/format/times.h"
#include "trace/functions.h"
#include "trace/read/reader_impl.h"
#include "trace/tiles/tiles_page.h"
#include "trace/timeline/check.h"

struct check {
	const struct trace *t;
	void (*f)(const char *line, void *arg);
	void *arg;
	struct trace_check_report report;
};

/* Position of a page in the file, to find gaps between pages. */
struct extent {
	uint64_t begin, end; /* end 0: not known */
	uint32_t page;       /* UINT32_MAX: the index */
};

static void tell_damage(struct check *c, const char *line)
{
	c->report.damaged++;
	c->f(line, c->arg);
}

/* Was the page's damage reported when the trace was opened? */
static bool is_told(const struct trace *t, uint32_t page)
{
	char begin[32];
	int n = snprintf(begin, sizeof(begin), "page %u (", page);

	for (uint32_t i = 0; i < trace_n_damage(t); i++)
		if (!strncmp(trace_damage(t, i), begin, (size_t)n))
			return true;
	return false;
}

/* ---- contents ---- */

static int check_times(const struct trace_page *p, const struct rdbuf *r, struct errbuf *why)
{
	struct times_walk w;
	struct times_one one;
	uint64_t n = 0;

	/* An event takes at least two bytes, so the page size bounds n. */
	if (times_begin(&w, r->data, r->len, p->n) < 0)
		return err_set(why, "has fewer times than its header says");
	while (times_next(&w, &one))
		n++;
	if (n < p->n || w.idle.failed || rdbuf_left(&w.idle))
		return err_set(why, "is malformed");
	return 0;
}

static int check_content(const struct trace *t, const struct trace_page *p, struct rdbuf *r, struct errbuf *why)
{
	struct hist_table hist;
	struct levels levels;
	struct trace_samples samples;

	if (p->type == TPAGE_INDEX || p->type < TPAGE_JOB)
		return err_set(why, "has an unknown type");
	if (p->type >= TPAGE_TILE && p->type <= TPAGE_STATES)
		return tiles_page_check(p, r->data, r->len, t->n_ranks, why);
	if (p->rank >= t->n_ranks && p->type != TPAGE_JOB)
		return err_set(why, "no such rank");
	if (p->type == TPAGE_TIMES)
		return check_times(p, r, why);
	if (p->type == TPAGE_SAMPLES) {
		if (trace_samples_decode(r->data, r->len, &samples, why) < 0)
			return -1;
		trace_samples_free(&samples);
	}
	if (p->type == TPAGE_LEVELS) {
		if (levels_decode(r, &levels, why) < 0)
			return -1;
		levels_free(&levels);
	}
	if (p->type == TPAGE_HIST && trace_get_rank(t, p->rank)->present) {
		hist_table_init(&hist, TRACE_FN_N);
		if (hist_table_decode(r, &trace_get_rank(t, p->rank)->defs.sigs, TRACE_FN_N, &hist, why) < 0)
			return -1;
		hist_table_free(&hist);
	}
	return 0;
}

static void check_page(struct check *c, uint32_t i)
{
	const struct trace_page *p = trace_page_at(c->t, i);
	struct errbuf why = {{0}};
	struct rdbuf r = {0};
	uint32_t len = 0;
	char line[128 + sizeof(why.text)];
	uint8_t *raw;
	bool sound;

	raw = trace_page_read(c->t, i, &len, &why);
	r.data = raw;
	r.len = len;
	c->report.bytes += len;
	sound = raw && check_content(c->t, p, &r, &why) == 0;
	free(raw);
	if (sound || is_told(c->t, i))
		return;
	trace_page_text(c->t, i, line, sizeof(line));
	snprintf(line + strlen(line), sizeof(line) - strlen(line), ": %s", why.text);
	tell_damage(c, line);
}

/* ---- what lies between ---- */

static int by_begin(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The end of the page that begins there; 0 if its header cannot be read. */
static uint64_t page_end(const struct trace *t, uint64_t begin)
{
	struct trace_page p;

	if (begin >= t->size || t->size - begin < TRACE_PAGE_HEADER || trace_page_header(t->map + begin, &p) < 0)
		return 0;
	return begin + TRACE_PAGE_HEADER + p.comp_len;
}

/* Check that pages follow one another without gaps from the header to the trailer. */
static int check_room(struct check *c)
{
	const struct trace *t = c->t;
	struct extent *e = calloc(t->n_page + 1u, sizeof(*e));
	struct rdbuf tail = {.data = t->map + t->size - TRACE_TRAILER, .len = TRACE_TRAILER};
	uint64_t at = TRACE_FILE_HEADER, ends = t->ends ? (uint64_t)TRACE_END_BYTES * t->n_ranks : 0;
	char line[160];
	uint32_t n;

	if (!e)
		return -1;
	for (uint32_t i = 0; i < t->n_page; i++)
		e[i] = (struct extent){t->page[i].offset, page_end(t, t->page[i].offset), i};
	e[t->n_page].begin = rdbuf_u64(&tail);
	e[t->n_page].end = page_end(t, e[t->n_page].begin);
	n = t->n_page + !t->scanned; /* a lost index was reported already */
	qsort(e, n, sizeof(*e), by_begin);
	for (uint32_t i = 0; i < n; i++) {
		if (at && e[i].begin != at) {
			snprintf(line, sizeof(line), "%llu bytes at byte %llu %s",
				 (unsigned long long)(e[i].begin > at ? e[i].begin - at : at - e[i].begin),
				 (unsigned long long)(e[i].begin > at ? at : e[i].begin),
				 e[i].begin > at ? "belong to no page" : "belong to two pages");
			tell_damage(c, line);
		}
		at = e[i].end;
	}
	if (!t->scanned && at && at != t->size - TRACE_TRAILER - ends) {
		snprintf(line, sizeof(line), "the index does not end where the trailer begins");
		tell_damage(c, line);
	}
	free(e);
	return 0;
}

int trace_check(const struct trace *t, void (*f)(const char *line, void *arg), void *arg,
		struct trace_check_report *report, struct errbuf *err)
{
	struct check c = {.t = t, .f = f, .arg = arg};
	int rv = 0;

	for (uint32_t i = 0; i < trace_n_damage(t); i++)
		tell_damage(&c, trace_damage(t, i));
	for (uint32_t i = 0; i < trace_n_pages(t); i++)
		check_page(&c, i);
	c.report.pages = t->n_page + !t->scanned;
	if (check_room(&c) < 0)
		rv = err_set(err, "no memory for %u pages", t->n_page);
	if (report)
		*report = c.report;
	return rv < 0 ? -1 : c.report.damaged > 0;
}
