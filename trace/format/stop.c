/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stop file and the marks file: see stop.h. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format/stop.h"
#include "trace/functions.h"

#define RANKS_MAX (1u << 22)

/* Colours and keys of MPI_Comm_split may depend on node names. Later calls on the communicator show which ranks
 * belong to it. Only the sign of a colour is hashed: it tells whether there is a communicator. */
static bool is_colour(enum trace_fn fn, uint8_t kind)
{
	return fn == FN_MPI_Comm_split && kind == TK_INT;
}

uint64_t stop_key(const struct trace_defs *d, uint32_t sym)
{
	const struct trace_sig *sig = &d->sigs.sig[sym];
	uint64_t h = sig->site < d->n_site ? d->site[sig->site].hash : 0;
	struct sig_walk w;

	for (const char *c = trace_fn[sig->fn].name; *c; c++)
		h = stop_hash_step(h, (unsigned char)*c);
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		switch (w.kind) {
		case TK_ASRC: case TK_ATAG: case TK_ASRCS: case TK_ATAGS: /* depends on the order of arrival */
		case TK_DONE: case TK_REQ: case TK_REQS: case TK_NEWREQ: case TK_DISP:
			continue;
		}
		for (uint32_t i = 0; i < w.n; i++)
			h = stop_hash_step(h, is_colour(sig->fn, w.kind) ? w.val[i] < 0 : (uint64_t)w.val[i]);
	}
	return h;
}

/* ---- writing ---- */

static void append_format(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append_format(struct buf *out, const char *fmt, ...)
{
	char text[160];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_put(out, text, n > 0 && (size_t)n < sizeof(text) ? (size_t)n : 0);
}

void stop_plan_format(const struct stop_plan *p, struct buf *out)
{
	append_format(out, "precedent-stop 1\nranks %u marks %u patience %u\n", p->n_ranks, p->n_mark, p->patience_s);
	for (uint32_t r = 0; r < p->n_ranks; r++) {
		append_format(out, "rank %u", r);
		for (uint32_t m = 0; m < p->n_mark; m++)
			append_format(out, " %llu:%016llx", (unsigned long long)p->rank[r].event[m],
				      (unsigned long long)p->rank[r].hash[m]);
		append_format(out, "\n");
	}
	append_format(out, "end\n");
}

void stop_marks_format(const struct stop_marks *s, struct buf *out)
{
	append_format(out, "precedent-marks 3\nranks %u marks %u\n", s->n_ranks, s->n_mark);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		append_format(out, "rank %u %llu %llu", r, (unsigned long long)s->rank[r].before_ns,
			      (unsigned long long)s->rank[r].init_ns);
		for (uint32_t m = 0; m < s->n_mark; m++)
			append_format(out, " %llu:%llu", (unsigned long long)s->rank[r].t_ns[m],
				      (unsigned long long)s->rank[r].gap_ns[m]);
		append_format(out, "\n");
	}
	append_format(out, "end\n");
}

/* ---- reading ---- */

struct cursor {
	const char *p, *end;
	bool bad;
};

static void expect_text(struct cursor *c, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n))
		c->bad = true;
	else
		c->p += n;
}

/* Read an unsigned number of base 10 or 16 without leading zeros. */
static uint64_t read_number(struct cursor *c, unsigned base, uint64_t max)
{
	const char *begin = c->p;
	uint64_t v = 0;

	for (; !c->bad && c->p < c->end; c->p++) {
		unsigned d = *c->p >= '0' && *c->p <= '9' ? (unsigned)(*c->p - '0') :
			     base == 16 && *c->p >= 'a' && *c->p <= 'f' ? (unsigned)(*c->p - 'a') + 10 : 99;

		if (d == 99)
			break;
		if (v > (max - d) / base)
			c->bad = true;
		v = v * base + d;
	}
	if (c->p == begin || (base == 10 && *begin == '0' && c->p > begin + 1))
		c->bad = true;
	return v;
}

static void skip_line(struct cursor *c)
{
	const char *nl = memchr(c->p, '\n', (size_t)(c->end - c->p));

	if (nl)
		c->p = nl;
	else
		c->bad = true;
}

/* Read "ranks N marks M". */
static void read_counts(struct cursor *c, uint32_t *n_ranks, uint32_t *n_mark)
{
	expect_text(c, "ranks ");
	*n_ranks = (uint32_t)read_number(c, 10, RANKS_MAX);
	expect_text(c, " marks ");
	*n_mark = (uint32_t)read_number(c, 10, STOP_MARKS_MAX);
	/* A rank's line takes at least six bytes, which bounds the allocation. */
	if (!*n_ranks || !*n_mark || *n_ranks > (size_t)(c->end - c->p) / 6)
		c->bad = true;
}

static void plan_rank(struct cursor *c, struct stop_rank *r, uint32_t n_mark)
{
	for (uint32_t m = 0; m < n_mark && !c->bad; m++) {
		expect_text(c, " ");
		r->event[m] = read_number(c, 10, INT64_MAX);
		expect_text(c, ":");
		r->hash[m] = read_number(c, 16, UINT64_MAX);
		if (!r->event[m] || (m && r->event[m] <= r->event[m - 1]))
			c->bad = true;
	}
}

static int check_parsed(struct cursor *c, const char *what, struct errbuf *err)
{
	expect_text(c, "end\n");
	return c->bad || c->p != c->end ? err_set(err, "the %s file is malformed", what) : 0;
}

int stop_plan_parse(const char *text, size_t len, uint32_t only, struct stop_plan *out, struct errbuf *err)
{
	struct cursor c = {text, text + len, false};

	*out = (struct stop_plan){0};
	expect_text(&c, "precedent-stop 1\n");
	read_counts(&c, &out->n_ranks, &out->n_mark);
	expect_text(&c, " patience ");
	out->patience_s = (uint32_t)read_number(&c, 10, 86400);
	expect_text(&c, "\n");
	if (c.bad || (only != UINT32_MAX && only >= out->n_ranks))
		return err_set(err, "the stop file is malformed, or for fewer ranks");
	out->rank = calloc(only == UINT32_MAX ? out->n_ranks : 1, sizeof(*out->rank));
	if (!out->rank)
		return err_set(err, "no memory for the stop file");
	for (uint32_t r = 0; r < out->n_ranks && !c.bad; r++) {
		expect_text(&c, "rank ");
		if (read_number(&c, 10, RANKS_MAX) != r)
			c.bad = true;
		if (only == UINT32_MAX || only == r)
			plan_rank(&c, &out->rank[only == UINT32_MAX ? r : 0], out->n_mark);
		else
			skip_line(&c);
		expect_text(&c, "\n");
	}
	if (check_parsed(&c, "stop", err) == 0)
		return 0;
	stop_plan_free(out);
	return -1;
}

static void marks_rank(struct cursor *c, struct marks_rank *r, uint32_t n_mark)
{
	expect_text(c, " ");
	r->before_ns = read_number(c, 10, INT64_MAX);
	expect_text(c, " ");
	r->init_ns = read_number(c, 10, INT64_MAX);
	for (uint32_t m = 0; m < n_mark && !c->bad; m++) {
		expect_text(c, " ");
		r->t_ns[m] = read_number(c, 10, INT64_MAX);
		expect_text(c, ":");
		r->gap_ns[m] = read_number(c, 10, INT64_MAX);
		if (m && (r->t_ns[m] < r->t_ns[m - 1] || r->gap_ns[m] < r->gap_ns[m - 1]))
			c->bad = true;
	}
}

int stop_marks_parse(const char *text, size_t len, struct stop_marks *out, struct errbuf *err)
{
	struct cursor c = {text, text + len, false};

	*out = (struct stop_marks){0};
	expect_text(&c, "precedent-marks 3\n");
	read_counts(&c, &out->n_ranks, &out->n_mark);
	expect_text(&c, "\n");
	if (c.bad)
		return err_set(err, "the marks file is malformed");
	out->rank = calloc(out->n_ranks, sizeof(*out->rank));
	if (!out->rank)
		return err_set(err, "no memory for the marks");
	for (uint32_t r = 0; r < out->n_ranks && !c.bad; r++) {
		expect_text(&c, "rank ");
		if (read_number(&c, 10, RANKS_MAX) != r)
			c.bad = true;
		marks_rank(&c, &out->rank[r], out->n_mark);
		expect_text(&c, "\n");
	}
	if (check_parsed(&c, "marks", err) == 0)
		return 0;
	stop_marks_free(out);
	return -1;
}

void stop_plan_free(struct stop_plan *p)
{
	free(p->rank);
	p->rank = NULL;
}

void stop_marks_free(struct stop_marks *m)
{
	free(m->rank);
	m->rank = NULL;
}
