/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info --events: every call of a rank. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/info_print.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "common/array.h"
#include "common/hash_table.h"
#include "trace/format/in_call.h"

/* What a wildcard receive met; TRACE_NULL: not known. */
struct met {
	int64_t src, tag;
};

/* The receive that a request slot now belongs to. */
struct holder {
	int64_t slot;
	uint32_t receive; /* 1 + its number; 0: none whose match is looked for */
};

/* Nonblocking wildcard receives of a rank, in their order. The calls that complete their requests say what they met.
 * A damaged trace may have any number as a slot, so slots are looked up by their hash. */
struct matches {
	struct met *met;
	uint32_t n, cap, next;
	struct holder *holder;
	uint32_t n_holder, holder_cap;
	struct hash_table by_slot;
};

static uint64_t slot_hash(int64_t slot)
{
	return (uint64_t)slot * 0x9e3779b97f4a7c15u;
}

static struct holder *holder_of(const struct matches *m, int64_t slot)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&m->by_slot, slot_hash(slot), at, i)
		if (m->holder[i].slot == slot)
			return &m->holder[i];
	return NULL;
}

static int match_begin(struct matches *m, int64_t slot)
{
	struct holder *h = holder_of(m, slot);

	if (ARRAY_ROOM(m->met, m->cap, m->n + 1) != 0)
		return -1;
	m->met[m->n++] = (struct met){TRACE_NULL, TRACE_NULL};
	if (h) {
		h->receive = m->n;
		return 0;
	}
	if (slot < 0)
		return 0;
	if (ARRAY_ROOM(m->holder, m->holder_cap, m->n_holder + 1) != 0 ||
	    hash_table_add(&m->by_slot, slot_hash(slot), m->n_holder) != 0)
		return -1;
	m->holder[m->n_holder++] = (struct holder){slot, m->n};
	return 0;
}

/* The request of this slot was completed or freed, or the slot has another request. */
static void match_end(struct matches *m, int64_t slot, struct met met)
{
	struct holder *h = holder_of(m, slot);

	if (!h || !h->receive)
		return;
	m->met[h->receive - 1] = met;
	h->receive = 0;
}

/* The parameters of a call that say what was received. */
struct received {
	bool wildcard;
	struct met met; /* of a blocking receive */
	int64_t freed; /* the request that the call frees, or TRACE_NULL */
	struct sig_walk newreq, done, srcs, tags; /* n: 0 if the call has none */
};

static struct received received_of(const struct trace_defs *d, uint32_t sym)
{
	bool frees = !strcmp(trace_fn[d->sigs.sig[sym].fn].name, "MPI_Request_free");
	struct received r = {.met = {TRACE_NULL, TRACE_NULL}, .freed = TRACE_NULL};
	struct sig_walk w;

	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);) {
		r.wildcard |= (w.kind == TK_SRC && w.val[0] == TRACE_ANY_SOURCE) || (w.kind == TK_TAG && w.val[0] == TRACE_ANY_TAG);
		if (w.kind == TK_ASRC)
			r.met.src = w.val[0];
		else if (w.kind == TK_ATAG)
			r.met.tag = w.val[0];
		else if (w.kind == TK_REQ && frees)
			r.freed = w.val[0];
		else if (w.kind == TK_NEWREQ)
			r.newreq = w;
		else if (w.kind == TK_DONE)
			r.done = w;
		else if (w.kind == TK_ASRCS)
			r.srcs = w;
		else if (w.kind == TK_ATAGS)
			r.tags = w;
	}
	return r;
}

/* Persistent requests begin many receives, so nothing stands beside the call that made them. A combined send and receive is
 * of the class of sends. */
static bool begins_one_receive(const struct trace_defs *d, uint32_t sym, const struct received *r)
{
	const struct trace_fn_info *fn = &trace_fn[d->sigs.sig[sym].fn];

	return r->wildcard && r->newreq.n && (fn->cls == TC_IRECV || fn->cls == TC_ISEND) && !strstr(fn->name, "_init");
}

static int matches_collect(struct matches *m, const struct trace *t, uint32_t rank, struct errbuf *err)
{
	const struct met unmet = {TRACE_NULL, TRACE_NULL};
	const struct trace_defs *d = &trace_get_rank(t, rank)->defs;
	struct trace_iter *it = trace_iter_create(t, rank, err);
	struct trace_event ev;
	bool known;
	int rc = it ? 0 : -1;

	while (rc == 0 && trace_iter_next(it, &ev, &known)) {
		struct received r = received_of(d, ev.sym);

		for (uint32_t i = 0; i < r.done.n; i++)
			match_end(m, r.done.val[i],
				  (struct met){i < r.srcs.n ? r.srcs.val[i] : TRACE_NULL, i < r.tags.n ? r.tags.val[i] : TRACE_NULL});
		match_end(m, r.freed, unmet);
		if (r.newreq.n)
			match_end(m, r.newreq.val[0], unmet);
		if (begins_one_receive(d, ev.sym, &r) && match_begin(m, r.newreq.val[0]) < 0)
			rc = err_set(err, "no memory for %u receives", m->n);
	}
	trace_iter_destroy(it);
	return rc;
}

/* Sources and tags of completed receives without a wildcard are those that their requests began with. */
static bool tells_nothing(const struct sig_walk *w)
{
	bool none = w->kind == TK_ASRCS || w->kind == TK_ATAGS;

	for (uint32_t i = 0; i < w->n; i++)
		none &= w->val[i] == TRACE_NULL;
	return none || w->kind == TK_ASRC || w->kind == TK_ATAG;
}

/* The name of a value that is no number, or NULL. */
static const char *word(const struct sig_walk *w, int64_t v)
{
	switch (w->kind) {
	case TK_DST: case TK_SRC: case TK_ROOT: case TK_ASRCS:
		return v == TRACE_PROC_NULL ? "MPI_PROC_NULL" : w->kind == TK_SRC && v == TRACE_ANY_SOURCE ? "MPI_ANY_SOURCE" :
		       w->kind == TK_ROOT && v == TRACE_ROOT ? "MPI_ROOT" : w->kind == TK_ASRCS && v == TRACE_NULL ? "-" : NULL;
	case TK_TAG:
		return v == TRACE_ANY_TAG ? "MPI_ANY_TAG" : NULL;
	case TK_ATAGS:
		return v == TRACE_NULL ? "-" : NULL;
	case TK_COMM: case TK_NEWCOMM: case TK_TYPE: case TK_NEWTYPE: case TK_TYPES: case TK_OP: case TK_WIN: case TK_NEWWIN:
	case TK_FILE: case TK_NEWFILE: case TK_REQ: case TK_NEWREQ: case TK_REQS: case TK_DONE:
		return v == TRACE_NULL ? "none" : NULL;
	case TK_DISP:
		return v == TRACE_UNDEFINED ? "varies" : NULL;
	case TK_INT:
		return v == TRACE_UNDEFINED && (!strcmp(w->name, "color") || !strcmp(w->name, "split_type")) ? "MPI_UNDEFINED" : NULL;
	default:
		return NULL;
	}
}

static void print_value(const struct trace_defs *d, const struct sig_walk *w, int64_t v)
{
	const char *name = word(w, v);

	if (!name && w->kind == TK_TYPE)
		name = d->type[v].name;
	if (!name && w->kind == TK_OP)
		name = d->op[v].name;
	if (name)
		fputs(name, stdout);
	else
		printf("%" PRId64, v);
}

/* What the recorder knows of a call that did not return. A function with two tags has the receive's tag last. */
static bool is_known_inside(const struct sig_walk *w, bool two_tags)
{
	switch (w->kind) {
	case TK_COMM: case TK_WIN: case TK_FILE: case TK_DST: case TK_SRC: case TK_ROOT:
		return true;
	case TK_TAG:
		return !two_tags || !strcmp(w->name, "rtag");
	default:
		return false;
	}
}

/* The call in which the rank ended. The trace has no counts, types and matches of it. */
static void print_params_inside(const struct trace_defs *d, uint32_t sym)
{
	const uint16_t fn = d->sigs.sig[sym].fn;
	const bool two_tags = trace_fn_has_param(fn, TK_DST) && trace_fn_has_param(fn, TK_SRC);
	struct sig_walk w;
	const char *sep = "";
	bool all = true;

	putchar('(');
	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);) {
		if (!is_known_inside(&w, two_tags)) {
			all = false;
			continue;
		}
		printf("%s%s=", sep, w.name);
		print_value(d, &w, w.val[0]);
		sep = ", ";
	}
	printf("%s)", all ? "" : *sep ? ", ..." : "...");
}

static void print_params(const struct trace_defs *d, uint32_t sym, struct matches *m)
{
	struct received r = received_of(d, sym);
	struct sig_walk w;
	const char *sep = "";

	if (begins_one_receive(d, sym, &r))
		r.met = m->met[m->next++];
	putchar('(');
	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);) {
		if (tells_nothing(&w))
			continue;
		printf("%s%s=%s", sep, w.name, trace_kind_is_array(w.kind) ? "[" : "");
		sep = ", ";
		for (uint32_t i = 0; i < w.n; i++) {
			if (i)
				putchar(' ');
			print_value(d, &w, w.val[i]);
		}
		if (w.kind == TK_SRC && w.val[0] == TRACE_ANY_SOURCE && r.met.src >= 0)
			printf(" (%" PRId64 ")", r.met.src);
		if (w.kind == TK_TAG && w.val[0] == TRACE_ANY_TAG && r.met.tag >= 0)
			printf(" (%" PRId64 ")", r.met.tag);
		if (trace_kind_is_array(w.kind))
			putchar(']');
	}
	putchar(')');
}

int info_print_events(const struct trace *t, const char *path, uint32_t rank)
{
	struct errbuf err;
	struct matches m = {0};
	struct trace_iter *it = matches_collect(&m, t, rank, &err) < 0 ? NULL : trace_iter_create(t, rank, &err);
	struct symbolizer *sym = symbolizer_create();
	const struct trace_defs *d;
	struct trace_event ev;
	uint64_t at = 0, left = trace_get_rank(t, rank)->events.length;
	int rc = 1;
	char site[256];
	bool known;

	if (!it) {
		cli_fail("%s: %s", path, err.text);
		goto out;
	}
	d = &trace_get_rank(t, rank)->defs;
	printf("# seconds  gap_us  duration_us  call  # call site\n");
	while (trace_iter_next(it, &ev, &known)) {
		at += ev.gap_ns;
		if (known)
			printf("%.6f %.2f %.2f ", (double)at * 1e-9, (double)ev.gap_ns * 1e-3,
			       (double)ev.dur_ns * 1e-3);
		else
			printf("- - - ");
		at += ev.dur_ns;
		fputs(trace_fn[d->sigs.sig[ev.sym].fn].name, stdout);
		if (--left == 0 && trace_in_call_is(d, ev.sym, &d->proc.in_call))
			print_params_inside(d, ev.sym);
		else
			print_params(d, ev.sym, &m);
		printf("  # %s\n", symbolizer_site(sym, d, &d->site[d->sigs.sig[ev.sym].site], site, sizeof(site)));
	}
	rc = ferror(stdout) ? 1 : 0;
out:
	trace_iter_destroy(it);
	symbolizer_destroy(sym);
	free(m.met);
	free(m.holder);
	hash_table_free(&m.by_slot);
	return rc;
}
