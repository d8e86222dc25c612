/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See ending_text.h. */
#include "cli/ui/ending_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/ui/util.h"
#include "trace/functions.h"

#define REQUESTS_SHOWN 3
#define RANKS_SHOWN    4 /* ranks of a cycle of which each is described, and runs in a list of ranks */
#define SITE           256

void text_add(struct ending_words *w, const char *fmt, ...)
{
	size_t len = strlen(w->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->text + len, sizeof(w->text) - len, fmt, ap);
	va_end(ap);
}

/* ---- calls ---- */

static void add_rank(struct ending_words *w, const char *word, int64_t rank)
{
	if (rank == TRACE_IN_CALL_NONE)
		return;
	if (rank == TRACE_ANY_SOURCE)
		text_add(w, " %s any rank", word);
	else if (rank == TRACE_PROC_NULL)
		text_add(w, " %s no process", word);
	else if (rank >= 0)
		text_add(w, " %s rank %" PRId64, word, rank);
}

/* " to rank 1 from any rank, tag 7, on communicator 3 of 4 ranks" */
static void add_peers(struct ending_words *w, const struct trace_defs *d, const struct trace_in_call *c)
{
	bool rooted = trace_fn[c->fn].cls == TC_COLL || trace_fn[c->fn].cls == TC_ICOLL;

	add_rank(w, rooted ? "with root" : "to", c->dst);
	add_rank(w, "from", c->src);
	if (c->tag == TRACE_ANY_TAG)
		text_add(w, ", any tag");
	else if (c->tag >= 0)
		text_add(w, ", tag %" PRId64, c->tag);
	if (c->requests)
		text_add(w, " for %" PRIu64 " request%s", c->requests, c->requests == 1 ? "" : "s");
	if (c->comm > 1 && c->comm < (int64_t)d->n_comm)
		text_add(w, " on communicator %" PRId64 " of %u ranks", c->comm, d->comm[c->comm].members.n);
	else if (c->comm == 1)
		text_add(w, " on MPI_COMM_SELF");
	if (c->win >= 0)
		text_add(w, " on window %" PRId64, c->win);
	if (c->file >= 0 && c->file < (int64_t)d->n_file) {
		const char *name = d->file[c->file].name, *slash = strrchr(name, '/');

		text_add(w, " on file %s", slash ? slash + 1 : name);
	}
}

struct trace_in_call text_call_of(const struct trace_defs *d, uint32_t symbol)
{
	return (struct trace_in_call){
	    .inside = true,
	    .fn = d->sigs.sig[symbol].fn,
	    .site = d->sigs.sig[symbol].site,
	    .comm = sig_scalar(d, symbol, TK_COMM, TRACE_NULL),
	    .win = TRACE_NULL,
	    .file = TRACE_NULL,
	    .dst = sig_scalar(d, symbol, TK_DST, sig_scalar(d, symbol, TK_ROOT, TRACE_IN_CALL_NONE)),
	    .src = sig_scalar(d, symbol, TK_SRC, TRACE_IN_CALL_NONE),
	    .tag = sig_scalar(d, symbol, TK_TAG, TRACE_IN_CALL_NONE)};
}

static void add_site(struct ending_words *w, const struct trace_defs *d, uint32_t site)
{
	char buf[SITE] = "";

	if (site < d->n_site)
		text_add(w, " in %s", symbolizer_site(w->sym, d, &d->site[site], buf, sizeof(buf)));
}

void text_add_call(struct ending_words *w, const struct trace_defs *d, const struct trace_in_call *c)
{
	text_add(w, "%s", trace_fn[c->fn].name);
	add_peers(w, d, c);
	add_site(w, d, c->site);
}

void text_add_ranks(struct ending_words *w, const uint32_t *rank, uint32_t n)
{
	uint32_t shown = 0;

	text_add(w, n == 1 ? "rank " : "ranks ");
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && rank[end] == rank[end - 1] + 1;)
			end++;
		if (shown++ == RANKS_SHOWN) {
			text_add(w, " and %u more", n - i);
			return;
		}
		text_add(w, "%s%u", i ? ", " : "", rank[i]);
		if (end - i > 1)
			text_add(w, "%s%u", end - i == 2 ? ", " : "-", rank[end - 1]);
	}
}

static const struct trace_defs *defs_of(const struct ending *e, uint32_t rank)
{
	return &trace_get_rank(e->t, rank)->defs;
}

/* The requests that a wait may have waited for: all that were under way, as the file does not say which. */
static void add_requests(struct ending_words *w, uint32_t rank)
{
	const struct ending_rank *k = &w->e->rank[rank];

	for (uint32_t i = 0; i < k->n_request && i < REQUESTS_SHOWN; i++) {
		struct trace_in_call made = text_call_of(defs_of(w->e, rank), k->request[i]);

		text_add(w, i ? ", " : "; under way: ");
		text_add_call(w, defs_of(w->e, rank), &made);
	}
	if (k->n_request > REQUESTS_SHOWN)
		text_add(w, " and %u more", k->n_request - REQUESTS_SHOWN);
}

/* "solve (app.c:12)" becomes the length of "solve". */
static size_t function_length(const char *place)
{
	return strcspn(place, "(+");
}

static bool same_function(const char *a, const char *b)
{
	return function_length(a) == function_length(b) && !strncmp(a, b, function_length(a));
}

bool text_add_computing(struct ending_words *w, uint32_t rank)
{
	const struct trace_defs *d = defs_of(w->e, rank);
	char place[TRACE_PLACES_MAX][SITE];
	uint32_t n = d->proc.n_place, best = 0, most = 0;

	for (uint32_t i = 0; i < n; i++) {
		const char *name = symbolizer_site(w->sym, d, &d->site[d->proc.place[i]], place[i], SITE);

		if (name != place[i])
			snprintf(place[i], SITE, "%s", name);
	}
	/* the function with the most looks, and in it the latest line */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < n; k++)
			same += same_function(place[i], place[k]);
		if (same > most) {
			most = same;
			best = i;
		}
	}
	if (n)
		text_add(w, "computing %sin %s", most < n ? "mostly " : "", place[best]);
	return n;
}

void text_add_place(struct ending_words *w, uint32_t rank)
{
	const struct ending_rank *k = &w->e->rank[rank];
	struct trace_in_call last;

	if (k->call->inside) {
		text_add_call(w, defs_of(w->e, rank), k->call);
		if (k->call->requests)
			add_requests(w, rank);
	} else if (k->last != ENDING_NONE) {
		last = text_call_of(defs_of(w->e, rank), k->last);
		text_add(w, k->where == ENDING_FINISHED || k->where == ENDING_ABORTS ? "" : "no MPI call, after ");
		text_add_call(w, defs_of(w->e, rank), &last);
	} else {
		text_add(w, "no MPI call, before the first one");
	}
	if (k->where == ENDING_OUTSIDE && defs_of(w->e, rank)->proc.n_place) {
		text_add(w, ", ");
		text_add_computing(w, rank);
	}
}

/* ---- findings ---- */

/* "MPI_Send in exchange (app.c:12)": the peers are told apart. */
static void add_short(struct ending_words *w, uint32_t rank)
{
	const struct trace_in_call *c = w->e->rank[rank].call;

	text_add(w, "%s", trace_fn[c->fn].name);
	add_site(w, defs_of(w->e, rank), c->site);
}

/* " for rank 1", " for any of ranks 0-3" */
static void add_whom(struct ending_words *w, const struct ending_rank *k)
{
	for (uint32_t i = 0; i < k->n_wait && i < REQUESTS_SHOWN; i++) {
		text_add(w, !i ? " for " : k->any ? " or " : " and ");
		text_add(w, k->wait[i].any && k->wait[i].n_peer > 1 ? "any of " : "");
		text_add_ranks(w, k->wait[i].peer, k->wait[i].n_peer);
	}
}

static bool same_place(const struct ending_words *w, uint32_t a, uint32_t b)
{
	struct ending_words x = {w->e, w->sym, ""}, y = x;

	add_short(&x, a);
	add_short(&y, b);
	return !strcmp(x.text, y.text);
}

static bool all_same_place(const struct ending_words *w, const struct ending_finding *f)
{
	for (uint32_t i = 1; i < f->n_rank; i++)
		if (!same_place(w, f->rank[0], f->rank[i]))
			return false;
	return true;
}

/* "; each sends before it receives", with the bytes of the first. */
static void add_all_send(struct ending_words *w, const struct ending_finding *f)
{
	uint64_t bytes = w->e->rank[f->rank[0]].n_wait ? w->e->rank[f->rank[0]].wait[0].bytes : 0;
	char number[32];

	for (uint32_t i = 0; i < f->n_rank; i++) {
		const struct ending_rank *k = &w->e->rank[f->rank[i]];

		if (!k->n_wait || k->wait[0].need != NEED_RECEIVE)
			return;
		if (k->wait[0].bytes != bytes)
			bytes = 0;
	}
	text_add(w, "; %s", f->n_rank == 1 ? "it sends" : f->n_rank == 2 ? "both send" : "each sends");
	if (bytes)
		text_add(w, " %s bytes", cli_thousands(number, sizeof(number), bytes));
	text_add(w, f->n_rank == 1 ? " to itself before it receives" :
				f->n_rank == 2 ? " before either receives" : " before it receives");
}

static void deadlock_text(struct ending_words *w, const struct ending_finding *f)
{
	if (f->n_rank > 2 && all_same_place(w, f)) {
		text_add_ranks(w, f->rank, f->n_rank);
		text_add(w, " wait in a cycle, each for the next, in ");
		add_short(w, f->rank[0]);
	} else {
		for (uint32_t i = 0; i < f->n_rank && i < RANKS_SHOWN; i++) {
			text_add(w, i ? ", rank %u in " : "rank %u waits in ", f->rank[i]);
			add_short(w, f->rank[i]);
			add_whom(w, &w->e->rank[f->rank[i]]);
		}
		if (f->n_rank > RANKS_SHOWN)
			text_add(w, ", and so on over %u ranks back to rank %u", f->n_rank, f->rank[0]);
	}
	text_add(w, ": a deadlock");
	add_all_send(w, f);
}

static void knot_text(struct ending_words *w, const struct ending_finding *f)
{
	text_add_ranks(w, f->rank, f->n_rank);
	text_add(w, " wait for each other, rank %u in ", f->rank[0]);
	text_add_call(w, defs_of(w->e, f->rank[0]), w->e->rank[f->rank[0]].call);
	if (w->e->rank[f->rank[0]].call->src != TRACE_ANY_SOURCE)
		add_whom(w, &w->e->rank[f->rank[0]]);
	text_add(w, ": a deadlock, as none of them can go on");
}

/* Where the ranks are that do not come: "rank 1 has ended: MPI_Finalize in main (app.c:99)" */
static void add_ended(struct ending_words *w, const struct ending_wait *k)
{
	for (uint32_t i = 0; i < k->n_peer; i++)
		if (w->e->rank[k->peer[i]].where == ENDING_FINISHED) {
			text_add(w, "rank %u is in ", k->peer[i]);
			text_add_place(w, k->peer[i]);
			return;
		}
	text_add(w, "that has ended");
}

static void dead_end_text(struct ending_words *w, const struct ending_finding *f)
{
	const struct ending_rank *k = &w->e->rank[f->rank[0]];
	const struct ending_wait *m = &k->wait[f->wait];
	struct trace_in_call made;

	text_add_ranks(w, f->rank, f->n_rank);
	text_add(w, f->n_rank == 1 ? " waits in " : " wait in ");
	if (m->symbol == ENDING_NONE) {
		text_add_call(w, defs_of(w->e, f->rank[0]), k->call);
	} else {
		add_short(w, f->rank[0]);
		made = text_call_of(defs_of(w->e, f->rank[0]), m->symbol);
		text_add(w, f->n_rank == 1 ? " for its " : " for their ");
		text_add_call(w, defs_of(w->e, f->rank[0]), &made);
	}
	if (m->need == NEED_MESSAGE)
		text_add(w, ": no such message was sent, ");
	else if (m->need == NEED_RECEIVE)
		text_add(w, ": nobody receives the message, ");
	else if (m->need == NEED_ENTRY)
		text_add(w, ", which "), text_add_ranks(w, m->peer, m->n_peer),
			text_add(w, m->n_peer == 1 ? " has not entered: " : " have not entered: ");
	else if (m->need == NEED_UNLOCK)
		text_add(w, ", which rank %u has locked: ", m->peer[0]);
	else
		text_add(w, " for "), text_add_ranks(w, m->peer, m->n_peer),
			text_add(w, ", which did not call %s for this epoch: ", m->need == NEED_POST ? "MPI_Win_post" : "MPI_Win_complete");
	add_ended(w, m);
	if (m->need == NEED_MESSAGE && m->other_tag >= 0)
		text_add(w, "; a message from rank %u with tag %" PRId64 " is there, which nobody receives", m->peer[0],
			 m->other_tag);
}

static void add_collective(struct ending_words *w, const struct ending_finding *f, int i)
{
	const struct ending_call *c = &f->call[i];

	text_add(w, "rank %u calls %s", f->rank[i], trace_fn[c->fn].name);
	add_rank(w, "with root", c->root);
	add_site(w, defs_of(w->e, f->rank[i]), c->site);
}

static bool is_among(const struct ending_finding *f, uint32_t rank)
{
	for (uint32_t i = 0; i < f->n_rank; i++)
		if (f->rank[i] == rank)
			return true;
	return false;
}

static void add_host(struct ending_words *w, const struct ending_ends *x)
{
	if (x->host)
		text_add(w, " on %s", x->host);
}

static void killed_text(struct ending_words *w)
{
	struct ending_ends x = ending_ends(w->e->t);
	char text[32];

	text_add(w, "the whole run was killed");
	if (x.launcher_signal)
		text_add(w, ": its launcher by signal %d (%s)", x.launcher_signal, strsignal(x.launcher_signal));
	else
		text_add(w, ": all ranks ended within %s", cli_seconds(text, sizeof(text), x.within_s));
}

static void computes_text(struct ending_words *w, const struct ending_finding *f)
{
	struct ending_ends x = ending_ends(w->e->t);

	text_add_ranks(w, f->rank, f->n_rank);
	text_add(w, " did not wait: in ");
	text_add_place(w, f->rank[0]);
	text_add(w, "; all others waited for %s", f->n_rank == 1 ? "it" : "them");
	if (!is_among(f, ending_first(w->e->t)))
		return;
	text_add(w, "; rank %u ended before all others", ending_first(w->e->t));
	add_host(w, &x);
}

static void died_text(struct ending_words *w, uint32_t rank)
{
	struct ending_ends x = ending_ends(w->e->t);
	char text[32];

	text_add(w, "rank %u was in ", rank);
	text_add_place(w, rank);
	text_add(w, ", and ended before all others");
	add_host(w, &x);
	if (x.perhaps && x.host)
		text_add(w, ", or all ranks on %s were killed: they ended within %s", x.host,
			 cli_seconds(text, sizeof(text), x.within_s));
	else if (x.perhaps)
		text_add(w, ", or the whole run was killed: all ranks ended within %s", cli_seconds(text, sizeof(text), x.within_s));
}

const char *ending_text(struct ending_words *w, const struct ending_finding *f)
{
	w->text[0] = '\0';
	switch (f->kind) {
	case ENDING_DIED:
		died_text(w, f->rank[0]);
		break;
	case ENDING_ABORTED:
		text_add_ranks(w, f->rank, f->n_rank);
		text_add(w, " called ");
		text_add_place(w, f->rank[0]);
		break;
	case ENDING_OTHER_COLLECTIVE:
		add_collective(w, f, 0);
		text_add(w, " where ");
		add_collective(w, f, 1);
		text_add(w, ": all ranks of a communicator, window or file must make the same collective calls in the same order");
		break;
	case ENDING_DEADLOCK:
		deadlock_text(w, f);
		break;
	case ENDING_KNOT:
		knot_text(w, f);
		break;
	case ENDING_FAILED:
		text_add(w, "rank %u was in ", f->rank[0]);
		text_add_place(w, f->rank[0]);
		text_add(w, w->e->rank[f->rank[0]].n_wait ? ": there is no such rank" :
				", where it waited for no other rank: the call failed");
		break;
	case ENDING_KILLED:
		killed_text(w);
		break;
	case ENDING_COMPUTES:
		computes_text(w, f);
		break;
	default:
		dead_end_text(w, f);
	}
	return w->text;
}

const char *ending_word(const struct ending_finding *f)
{
	switch (f->kind) {
	case ENDING_DIED: return "died";
	case ENDING_ABORTED: return "aborted";
	case ENDING_KILLED: return "killed";
	case ENDING_COMPUTES: return "waited";
	case ENDING_FAILED: return "ended";
	default: return "hung";
	}
}

json_t *ending_json(const struct ending *e, struct symbolizer *sym)
{
	struct ending_words w = {.e = e, .sym = sym};
	json_t *all = json_array();

	for (uint32_t i = 0; i < e->n_finding; i++) {
		const struct ending_finding *f = &e->finding[i];
		json_t *ranks = json_array();

		for (uint32_t k = 0; k < f->n_rank; k++)
			json_array_append_new(ranks, json_integer(f->rank[k]));
		json_array_append_new(all, json_pack("{s:s, s:o, s:s}", "kind", ending_kind_name(f->kind), "ranks", ranks, "text",
						     ending_text(&w, f)));
	}
	return all;
}
