/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See info_stopped.h. */
#include "cli/trace/info_stopped.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/symbolize.h"
#include "cli/ui/term.h"
#include "cli/ui/util.h"
#include "common/array.h"

#define GROUPS_SHOWN   6
#define REQUESTS_SHOWN 3
#define SITE           256

/* ---- requests that are under way at the end of a rank's events ---- */

struct request {
	uint32_t symbol; /* that made it */
	bool made, active;
};

struct requests {
	struct request *v;
	size_t n;
	bool failed;
};

static struct request *request_at(struct requests *r, int64_t slot)
{
	static struct request none;

	if (slot < 0 || slot > (1 << 24))
		return &none;
	if (ARRAY_ROOM_ZEROED(r->v, r->n, (size_t)slot + 1) < 0) {
		r->failed = true;
		return &none;
	}
	return &r->v[slot];
}

/* A persistent request is made by MPI_..._init, under way from its start until it is completed, and remains. */
static bool is_persistent(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && !strcmp(name + len - 5, "_init");
}

static void follow_event(struct requests *r, const struct trace_defs *d, uint32_t symbol)
{
	uint32_t fn = d->sigs.sig[symbol].fn;
	struct sig_walk w;

	sig_walk_begin(&w, d, symbol);
	while (sig_walk_next(&w)) {
		for (uint32_t i = 0; i < w.n; i++) {
			struct request *q = request_at(r, w.val[i]);

			if (w.kind == TK_NEWREQ)
				*q = (struct request){symbol, true, !is_persistent(trace_fn[fn].name)};
			else if (w.kind == TK_DONE)
				q->active = false;
			else if (trace_fn[fn].cls == TC_START && (w.kind == TK_REQ || w.kind == TK_REQS))
				q->active = true;
			else if (w.kind == TK_REQ && !strcmp(trace_fn[fn].name, "MPI_Request_free"))
				q->active = q->made = false;
		}
	}
}

/* ---- where a rank stood ---- */

struct stop {
	uint32_t rank, last; /* symbol of the last event, UINT32_MAX: none */
	const struct trace_in_call *call;
	double seconds;      /* in the call, or since the last one */
	struct requests requests;
};

static int stop_read(const struct trace *t, uint32_t rank, struct stop *s)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	struct errbuf err;
	struct trace_iter *it = trace_iter_create(t, rank, &err);
	struct trace_event ev;
	bool timed;

	*s = (struct stop){.rank = rank, .last = UINT32_MAX, .call = &k->defs.proc.in_call};
	if (!it)
		return -1;
	while (trace_iter_next(it, &ev, &timed)) {
		s->last = ev.sym;
		follow_event(&s->requests, &k->defs, ev.sym);
	}
	trace_iter_destroy(it);
	s->seconds = (double)s->call->ticks * k->defs.proc.ns_per_tick * 1e-9;
	return s->requests.failed ? -1 : 0;
}

static bool is_stopped(const struct trace *t, uint32_t rank)
{
	const struct trace_rank *k = trace_get_rank(t, rank);

	return k->present && !k->defs.proc.finalized && !trace_is_imported(t);
}

/* ---- in words ---- */

static void put_words(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void put_words(char *to, size_t size, const char *fmt, ...)
{
	size_t len = strlen(to);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to + len, size - len, fmt, ap);
	va_end(ap);
}

static void put_rank(char *to, size_t size, const char *word, int64_t rank)
{
	if (rank == TRACE_IN_CALL_NONE)
		return;
	if (rank == TRACE_ANY_SOURCE)
		put_words(to, size, " %s any rank", word);
	else if (rank == TRACE_PROC_NULL)
		put_words(to, size, " %s no process", word);
	else if (rank >= 0)
		put_words(to, size, " %s rank %" PRId64, word, rank);
}

/* " to rank 1 from any rank, tag 7, on communicator 3 of 4 ranks" */
static void put_peers(char *to, size_t size, const struct trace_defs *d, const struct trace_in_call *c)
{
	bool rooted = trace_fn[c->fn].cls == TC_COLL || trace_fn[c->fn].cls == TC_ICOLL;

	put_rank(to, size, rooted ? "with root" : "to", c->dst);
	put_rank(to, size, "from", c->src);
	if (c->tag == TRACE_ANY_TAG)
		put_words(to, size, ", any tag");
	else if (c->tag >= 0)
		put_words(to, size, ", tag %" PRId64, c->tag);
	if (c->requests)
		put_words(to, size, " for %" PRIu64 " request%s", c->requests, c->requests == 1 ? "" : "s");
	if (c->comm > 1 && c->comm < (int64_t)d->n_comm)
		put_words(to, size, " on communicator %" PRId64 " of %u ranks", c->comm, d->comm[c->comm].members.n);
	else if (c->comm == 1)
		put_words(to, size, " on MPI_COMM_SELF");
	if (c->win >= 0)
		put_words(to, size, " on window %" PRId64, c->win);
}

/* A signature as the call that it was. */
static struct trace_in_call call_of(const struct trace_defs *d, uint32_t symbol)
{
	return (struct trace_in_call){.inside = true, .fn = d->sigs.sig[symbol].fn, .site = d->sigs.sig[symbol].site,
				      .comm = sig_scalar(d, symbol, TK_COMM, TRACE_NULL), .win = TRACE_NULL,
				      .dst = sig_scalar(d, symbol, TK_DST, sig_scalar(d, symbol, TK_ROOT, TRACE_IN_CALL_NONE)),
				      .src = sig_scalar(d, symbol, TK_SRC, TRACE_IN_CALL_NONE),
				      .tag = sig_scalar(d, symbol, TK_TAG, TRACE_IN_CALL_NONE)};
}

/* "MPI_Recv from rank 1, tag 7 in work (app.c:12)" */
static void put_call(char *to, size_t size, struct symbolizer *sym, const struct trace_defs *d, const struct trace_in_call *c)
{
	char site[SITE] = "";

	put_words(to, size, "%s", trace_fn[c->fn].name);
	put_peers(to, size, d, c);
	if (c->site < d->n_site)
		put_words(to, size, " in %s", symbolizer_site(sym, d, &d->site[c->site], site, sizeof(site)));
}

/* The requests that a wait may have waited for: all that were under way, as the file does not say which were given. */
static void put_requests(char *to, size_t size, struct symbolizer *sym, const struct trace_defs *d, const struct stop *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->requests.n; i++) {
		struct trace_in_call made;

		if (!s->requests.v[i].active || n++ >= REQUESTS_SHOWN)
			continue;
		made = call_of(d, s->requests.v[i].symbol);
		put_words(to, size, n == 1 ? "; under way: " : ", ");
		put_call(to, size, sym, d, &made);
	}
	if (n > REQUESTS_SHOWN)
		put_words(to, size, " and %u more", n - REQUESTS_SHOWN);
}

static void describe(char *to, size_t size, struct symbolizer *sym, const struct trace *t, const struct stop *s)
{
	const struct trace_defs *d = &trace_get_rank(t, s->rank)->defs;
	struct trace_in_call last;

	*to = '\0';
	if (s->call->inside) {
		put_call(to, size, sym, d, s->call);
		if (s->call->requests)
			put_requests(to, size, sym, d, s);
	} else if (s->last != UINT32_MAX) {
		last = call_of(d, s->last);
		put_words(to, size, "no MPI call, after ");
		put_call(to, size, sym, d, &last);
	} else {
		put_words(to, size, "no MPI call, before the first one");
	}
}

struct group {
	char text[1024];
	uint32_t first, last, n;
	bool in_row;     /* its ranks follow each other */
	double seconds;  /* of the first */
};

/* Ranks that stood alike, as "ranks 1-3" or "4 ranks, the first 1". */
static void print_group(const struct info_view *v, const struct group *g)
{
	char who[80], at[32], line[1200], cut[1200];
	int used;

	if (g->n == 1)
		snprintf(who, sizeof(who), "rank %u", g->first);
	else if (g->in_row)
		snprintf(who, sizeof(who), "ranks %u-%u", g->first, g->last);
	else
		snprintf(who, sizeof(who), "%u ranks, the first %u,", g->n, g->first);
	snprintf(line, sizeof(line), "%s in %s", g->n == 1 ? "was" : "were", g->text);
	if (g->seconds > 0)
		put_words(line, sizeof(line), ", for %s", info_time(at, sizeof(at), g->seconds));
	used = printf("  %sstopped%s  %s ", term_on(TERM_WARNING), term_off(), who);
	printf("%s\n", info_rest(v, used, line, cut, sizeof(cut)));
}

static void add_to_groups(struct group *g, uint32_t *n, const char *text, const struct stop *s)
{
	uint32_t i = 0;

	while (i < *n && strcmp(g[i].text, text) != 0)
		i++;
	if (i == *n) {
		g[i] = (struct group){.first = s->rank, .in_row = true, .seconds = s->seconds};
		snprintf(g[i].text, sizeof(g[i].text), "%s", text);
		(*n)++;
	} else {
		g[i].in_row &= s->rank == g[i].last + 1;
	}
	g[i].last = s->rank;
	g[i].n++;
}

/* Ranks outside of MPI first: one that was killed is among them as a rule, and the others wait for it. */
static int outside_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int in_x = strncmp(x->text, "no MPI", 6) != 0, in_y = strncmp(y->text, "no MPI", 6) != 0;

	return in_x != in_y ? in_x - in_y : (x->first > y->first) - (x->first < y->first);
}

void info_print_stopped(const struct info_view *v)
{
	uint32_t n = 0, shown;
	struct group *g = calloc(trace_n_ranks(v->t), sizeof(*g));
	char text[1024];

	for (uint32_t r = 0; g && r < trace_n_ranks(v->t); r++) {
		struct stop s;

		if (!is_stopped(v->t, r))
			continue;
		if (stop_read(v->t, r, &s) == 0) {
			describe(text, sizeof(text), v->sym, v->t, &s);
			add_to_groups(g, &n, text, &s);
		}
		free(s.requests.v);
	}
	if (n)
		qsort(g, n, sizeof(*g), outside_first);
	shown = v->all || n < GROUPS_SHOWN ? n : GROUPS_SHOWN;
	for (uint32_t i = 0; i < shown; i++)
		print_group(v, &g[i]);
	if (shown < n)
		printf("           and %u more places: --all\n", n - shown);
	free(g);
}

/* ---- for machines ---- */

static void set_rank(json_t *x, const char *key, int64_t rank)
{
	if (rank == TRACE_IN_CALL_NONE)
		return;
	if (rank == TRACE_ANY_SOURCE)
		json_object_set_new(x, key, json_string("any"));
	else if (rank == TRACE_PROC_NULL)
		json_object_set_new(x, key, json_string("none"));
	else if (rank >= 0)
		json_object_set_new(x, key, json_integer(rank));
}

static json_t *call_json(const struct trace_defs *d, struct symbolizer *sym, const struct trace_in_call *c)
{
	json_t *x = json_pack("{s:s}", "call", trace_fn[c->fn].name);
	char site[SITE];

	set_rank(x, "to", c->dst);
	set_rank(x, "from", c->src);
	if (c->tag == TRACE_ANY_TAG)
		json_object_set_new(x, "tag", json_string("any"));
	else if (c->tag >= 0)
		json_object_set_new(x, "tag", json_integer(c->tag));
	if (c->comm >= 0)
		json_object_set_new(x, "communicator", json_integer(c->comm));
	if (c->win >= 0)
		json_object_set_new(x, "window", json_integer(c->win));
	if (c->site < d->n_site)
		json_object_set_new(x, "site", json_string(symbolizer_site(sym, d, &d->site[c->site], site, sizeof(site))));
	return x;
}

static json_t *stop_json(const struct trace *t, struct symbolizer *sym, const struct stop *s)
{
	const struct trace_defs *d = &trace_get_rank(t, s->rank)->defs;
	json_t *x = s->call->inside ? call_json(d, sym, s->call) : json_object(), *under_way;
	struct trace_in_call made;

	json_object_set_new(x, "rank", json_integer(s->rank));
	if (s->call->inside)
		json_object_set_new(x, "seconds", json_real(s->seconds));
	if (!s->call->inside && s->last != UINT32_MAX) {
		made = call_of(d, s->last);
		json_object_set_new(x, "after", call_json(d, sym, &made));
	}
	under_way = json_array();
	for (size_t i = 0; i < s->requests.n; i++)
		if (s->requests.v[i].active) {
			made = call_of(d, s->requests.v[i].symbol);
			json_array_append_new(under_way, call_json(d, sym, &made));
		}
	json_object_set_new(x, "requests", under_way);
	return x;
}

json_t *info_stopped_json(const struct trace *t, struct symbolizer *sym)
{
	json_t *a = json_array();

	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		struct stop s;

		if (!is_stopped(t, r))
			continue;
		if (stop_read(t, r, &s) == 0)
			json_array_append_new(a, stop_json(t, sym, &s));
		free(s.requests.v);
	}
	return a;
}
