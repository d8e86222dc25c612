/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of a call's parameters: see words.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "trace/view/words.h"

#define LIST_MAX 8 /* values of an array that are printed */

struct words {
	const struct trace_defs *d;
	const struct trace_comm *comm; /* communicator of the call, or NULL */
	struct buf *out;
	bool begun;
	int64_t count; /* a count whose datatype comes next */
	bool counted;
};

static __attribute__((format(printf, 2, 3))) void put(struct words *w, const char *fmt, ...)
{
	char t[320];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t, sizeof(t), fmt, ap);
	va_end(ap);
	if (w->begun)
		buf_put(w->out, ", ", 2);
	w->begun = true;
	buf_put(w->out, t, n < (int)sizeof(t) ? (size_t)n : sizeof(t) - 1);
}

static const char *bytes_text(char *t, size_t size, double v)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	int u = 0;

	for (; v >= 1024 && u < 4; u++)
		v /= 1024;
	snprintf(t, size, v < 10 && u ? "%.1f %s" : "%.0f %s", v, unit[u]);
	return t;
}

/* World rank of rank r in the call's communicator; r if it is not known. */
static int64_t world_rank(const struct words *w, int64_t r)
{
	const struct trace_group *g;

	if (!w->comm)
		return r;
	g = w->comm->kind == TCOMM_INTER ? &w->comm->remote : &w->comm->members;
	return r >= 0 && r < (int64_t)g->n ? (int64_t)g->rank[r] : r;
}

static void put_peer(struct words *w, const char *prep, int64_t r)
{
	if (r == TRACE_PROC_NULL)
		put(w, "%s no one (MPI_PROC_NULL)", prep);
	else if (r == TRACE_ANY_SOURCE)
		put(w, "%s any rank", prep);
	else
		put(w, "%s rank %" PRId64, prep, world_rank(w, r));
}

static void put_data(struct words *w, int64_t type)
{
	const struct trace_type *t = type >= 0 && type < (int64_t)w->d->n_type ? &w->d->type[type] : NULL;
	char size[32];

	if (t && w->counted && w->count >= 0)
		put(w, "%" PRId64 " \xc3\x97 %.100s (%s)", w->count, t->name ? t->name : "derived datatype",
		    bytes_text(size, sizeof(size), (double)w->count * (double)t->size));
	else if (t)
		put(w, "%.100s", t->name ? t->name : "derived datatype");
	else if (w->counted)
		put(w, "%" PRId64 " elements", w->count);
	w->counted = false;
}

static void put_comm(struct words *w, const char *what, int64_t c)
{
	if (c < 0 || c >= (int64_t)w->d->n_comm)
		put(w, "%sno communicator", what);
	else if (c < 2)
		put(w, "%s%s", what, c ? "MPI_COMM_SELF" : "MPI_COMM_WORLD");
	else if (w->d->comm[c].kind == TCOMM_INTER)
		put(w, "%sintercommunicator %" PRId64 " (%u + %u ranks)", what, c, w->d->comm[c].members.n,
		    w->d->comm[c].remote.n);
	else
		put(w, "%scommunicator %" PRId64 " (%u ranks)", what, c, w->d->comm[c].members.n);
}

static void put_named(struct words *w, const struct sig_walk *p)
{
	int64_t v = p->val[0];

	switch (p->kind) {
	case TK_OP:
		if (v >= 0 && v < (int64_t)w->d->n_op && w->d->op[v].name)
			put(w, "%.100s", w->d->op[v].name);
		break;
	case TK_FILE: case TK_NEWFILE:
		if (v >= 0 && v < (int64_t)w->d->n_file && w->d->file[v].name)
			put(w, "file %.200s", w->d->file[v].name);
		break;
	case TK_WIN: case TK_NEWWIN:
		put(w, "window %" PRId64, v);
		break;
	case TK_NEWTYPE:
		if (v >= 0 && v < (int64_t)w->d->n_type)
			put(w, "makes a datatype of %" PRId64 " bytes", w->d->type[v].size);
		break;
	default:
		put(w, "%.60s %" PRId64, p->name, v);
	}
}

static void put_scalar(struct words *w, const struct sig_walk *p)
{
	int64_t v = p->val[0];

	switch (p->kind) {
	case TK_COMM: /* printed last */
		return;
	case TK_DST:
		return put_peer(w, "to", v);
	case TK_SRC:
		return put_peer(w, "from", v);
	case TK_ASRC:
		if (v != TRACE_NULL)
			put_peer(w, "it was", v);
		return;
	case TK_TAG:
		if (v == TRACE_ANY_TAG)
			put(w, "any tag");
		else
			put(w, "tag %" PRId64, v);
		return;
	case TK_ATAG:
		if (v != TRACE_NULL)
			put(w, "it was tag %" PRId64, v);
		return;
	case TK_COUNT:
		if (w->counted)
			put_data(w, TRACE_NULL);
		w->count = v;
		w->counted = true;
		return;
	case TK_TYPE:
		return put_data(w, v);
	case TK_NEWCOMM:
		return put_comm(w, "makes ", v);
	case TK_ROOT:
		if (v == TRACE_ROOT)
			put(w, "is the root");
		else if (v != TRACE_PROC_NULL)
			put(w, "root is rank %" PRId64, world_rank(w, v));
		return;
	case TK_NEWREQ: case TK_REQ:
		if (v != TRACE_NULL)
			put(w, "request %" PRId64, v);
		return;
	case TK_INPLACE:
		if (v)
			put(w, "in place");
		return;
	default:
		return put_named(w, p);
	}
}

static void put_array(struct words *w, const struct sig_walk *p)
{
	char t[200];
	int n = 0;

	if (p->kind == TK_REQS)
		return put(w, "%u request%s", p->n, p->n == 1 ? "" : "s");
	if (p->kind == TK_DONE)
		return put(w, "%u completed", p->n);
	if (!p->n || p->kind == TK_ATAGS)
		return;
	for (uint32_t i = 0; i < p->n && i < LIST_MAX && n < (int)sizeof(t) - 24; i++) {
		int64_t v = p->kind == TK_ASRCS ? world_rank(w, p->val[i]) : p->val[i];

		if (p->kind == TK_ASRCS && v < 0) /* not a wildcard */
			continue;
		n += snprintf(t + n, sizeof(t) - (size_t)n, " %" PRId64, v);
	}
	if (!n)
		return;
	put(w, "%.60s%s%s", p->kind == TK_ASRCS ? "from ranks" : p->name, t, p->n > LIST_MAX ? " \xe2\x80\xa6" : "");
}

void view_words(const struct trace_defs *d, uint32_t sym, struct buf *out)
{
	int64_t comm = sig_scalar(d, sym, TK_COMM, TRACE_NULL);
	int64_t win = sig_scalar(d, sym, TK_WIN, TRACE_NULL);
	struct words w = {.d = d, .out = out};
	struct sig_walk p;

	if (comm >= 0 && comm < (int64_t)d->n_comm)
		w.comm = &d->comm[comm];
	else if (win >= 0 && win < (int64_t)d->n_win && d->win[win].comm < d->n_comm)
		w.comm = &d->comm[d->win[win].comm];
	for (sig_walk_begin(&p, d, sym); sig_walk_next(&p);) {
		if (trace_kind_is_array(p.kind))
			put_array(&w, &p);
		else
			put_scalar(&w, &p);
	}
	if (w.counted)
		put_data(&w, TRACE_NULL);
	if (comm != TRACE_NULL)
		put_comm(&w, "", comm);
}
