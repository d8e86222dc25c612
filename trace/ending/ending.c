/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wait-for graph of the ranks, judged: see ending.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ending/ending_impl.h"
#include "trace/functions.h"

/* Ranks that end within so many seconds end together. Ranks that others killed at once took up to 10 ms at a load of 9. When one
 * rank was killed, Open MPI's launcher ended the others a second later; MPICH's does so at once. */
#define TOGETHER_S 0.2
#define LONG_BEFORE_S 60 /* a rank that ended so long before the others was not ended with the launcher */

struct judge {
	struct ending *e;
	bool *goes;         /* [rank]: can go on */
	uint32_t died;
	/* Tarjan, "Depth-first search and linear graph algorithms" (1972). Numbers begin with 1; done: has its component. */
	uint32_t *number, *low, *stack, n_stack, next;
	bool *done;
	bool no_memory;
};

/* ---- which ranks there are ---- */

bool ending_is_open(const struct trace *t, uint32_t rank)
{
	const struct trace_rank *k = trace_get_rank(t, rank);

	return k->present && !k->defs.proc.finalized && !trace_is_imported(t);
}

uint32_t ending_first(const struct trace *t)
{
	const char *text = trace_job_get(t, "first_ended");
	unsigned long rank = text && *text >= '0' && *text <= '9' ? strtoul(text, NULL, 10) : ENDING_NONE;

	return rank < trace_n_ranks(t) && ending_is_open(t, (uint32_t)rank) ? (uint32_t)rank : ENDING_NONE;
}

const char *ending_kind_name(uint8_t kind)
{
	static const char *const name[] = {
		[ENDING_DIED] = "died", [ENDING_ABORTED] = "aborted", [ENDING_OTHER_COLLECTIVE] = "other-collective",
		[ENDING_DEADLOCK] = "deadlock", [ENDING_KNOT] = "knot", [ENDING_NO_MESSAGE] = "no-message",
		[ENDING_NO_RECEIVE] = "no-receive", [ENDING_NO_ENTRY] = "no-entry", [ENDING_NO_POST] = "no-post",
		[ENDING_NO_COMPLETE] = "no-complete", [ENDING_NO_UNLOCK] = "no-unlock",
		[ENDING_FAILED] = "in-call", [ENDING_KILLED] = "killed", [ENDING_COMPUTES] = "computes"};

	return name[kind];
}

const char *ending_id(uint8_t kind)
{
	return ending_kind_name(kind == ENDING_KNOT ? ENDING_DEADLOCK : kind);
}

/* Has the rank ended, so that it does nothing more for others? */
static bool has_ended(const struct judge *j, uint32_t r)
{
	uint8_t where = j->e->rank[r].where;

	return where == ENDING_FINISHED || where == ENDING_ABORTS || r == j->died;
}

static struct ending_finding *add_finding(struct judge *j, enum ending_kind kind, const uint32_t *rank, uint32_t n)
{
	struct ending *e = j->e;
	struct ending_finding *f = realloc(e->finding, (e->n_finding + 1ull) * sizeof(*f));
	uint32_t *own = malloc((n + 1ull) * sizeof(*own));

	if (f)
		e->finding = f;
	if (!f || !own) {
		free(own);
		j->no_memory = true;
		return NULL;
	}
	memcpy(own, rank, n * sizeof(*own));
	f[e->n_finding] = (struct ending_finding){.kind = (uint8_t)kind, .rank = own, .n_rank = n};
	return &f[e->n_finding++];
}

/* ---- collectives that differ ---- */

static bool same_call(const struct ending_call *a, const struct ending_call *b)
{
	return a->fn == b->fn && (a->root == b->root || a->root == TRACE_IN_CALL_NONE || b->root == TRACE_IN_CALL_NONE);
}

/* The first collective, from 1, that differs among those that both histories have; 0: none. */
static uint64_t first_difference(const struct ending_entries *a, const struct ending_entries *b)
{
	uint64_t end = a->entered < b->entered ? a->entered : b->entered;
	uint64_t most = a->entered > b->entered ? a->entered : b->entered;

	for (uint64_t k = most > ENDING_HISTORY ? most - ENDING_HISTORY : 0; k < end; k++)
		if (!same_call(&a->call[k % ENDING_HISTORY], &b->call[k % ENDING_HISTORY]))
			return k + 1;
	return 0;
}

/* A rank in a collective of that scope, from number k on, never goes on. */
static void stop_members(struct judge *j, uint32_t scope, uint64_t k, bool *stopped)
{
	const struct ending_own *o = j->e->own;

	for (uint32_t r = 0; r < j->e->n_ranks; r++) {
		const struct ending_rank *x = &j->e->rank[r];
		uint32_t i = x->where == ENDING_INSIDE
				 ? ending_scope_of_call(&trace_get_rank(j->e->t, r)->defs, x->call)
				 : ENDING_NONE;

		if (i != ENDING_NONE && o->state[r].scope[i] == scope && o->state[r].open_number >= k)
			stopped[r] = true;
	}
}

static void compare_rank(struct judge *j, const uint32_t *first, uint8_t *broken, uint32_t r, bool *stopped)
{
	const struct ending_own *o = j->e->own;
	const struct trace_defs *d = &trace_get_rank(j->e->t, r)->defs;

	for (uint32_t i = 0; i < o->state[r].n_scope; i++) {
		uint32_t scope = o->state[r].scope[i], a = first[scope];
		const struct ending_entries *x, *y = o->state[r].entry[i];
		struct ending_finding *f;
		uint64_t k;

		/* In an intercommunicator the sides call with different roots. */
		if (!y || a == ENDING_NONE || a == r || broken[scope] ||
		    d->comm[ending_comm_of(d, i)].kind != TCOMM_INTRA)
			continue;
		x = ending_entries_of(j->e, a, scope);
		k = x ? first_difference(x, y) : 0;
		if (!k)
			continue;
		broken[scope] = 1;
		stop_members(j, scope, k, stopped);
		f = add_finding(j, ENDING_OTHER_COLLECTIVE, (const uint32_t[]){a, r}, 2);
		if (f) {
			f->call[0] = x->call[(k - 1) % ENDING_HISTORY];
			f->call[1] = y->call[(k - 1) % ENDING_HISTORY];
		}
	}
}

/* Compare the collectives of all members with the collectives of the first member. */
static void find_other_collectives(struct judge *j, bool *stopped)
{
	const struct ending_own *o = j->e->own;
	uint32_t *first = malloc((o->n_scope + 1ull) * sizeof(*first));
	uint8_t *broken = calloc(o->n_scope + 1ull, 1);

	j->no_memory |= !first || !broken;
	for (uint32_t i = 0; first && i < o->n_scope; i++)
		first[i] = ENDING_NONE;
	for (uint32_t r = 0; !j->no_memory && r < j->e->n_ranks; r++)
		for (uint32_t i = 0; i < o->state[r].n_scope; i++)
			if (o->state[r].entry[i] && first[o->state[r].scope[i]] == ENDING_NONE)
				first[o->state[r].scope[i]] = r;
	for (uint32_t r = 0; !j->no_memory && r < j->e->n_ranks; r++)
		compare_rank(j, first, broken, r, stopped);
	free(first);
	free(broken);
}

/* ---- who can go on ---- */

static bool is_fulfilled(const struct judge *j, uint32_t r, const struct ending_wait *w)
{
	if (w->need == NEED_UNKNOWN)
		return true;
	for (uint32_t i = 0; i < w->n_peer; i++) {
		bool goes = w->peer[i] < j->e->n_ranks && w->peer[i] != r && j->goes[w->peer[i]];

		if (w->any && goes)
			return true;
		if (!w->any && !goes)
			return false;
	}
	return !w->any;
}

static bool can_go(const struct judge *j, uint32_t r)
{
	const struct ending_rank *k = &j->e->rank[r];

	for (uint32_t i = 0; i < k->n_wait; i++)
		if (is_fulfilled(j, r, &k->wait[i]) == k->any)
			return k->any;
	return !k->any || !k->n_wait;
}

/* Sweep in both directions, as chains of ranks run in both. */
static void find_hanging(struct judge *j, const bool *stopped)
{
	struct ending *e = j->e;
	bool changed = true;

	e->n_hang = 0;
	for (uint32_t r = 0; r < e->n_ranks; r++)
		j->goes[r] = r != j->died && (e->rank[r].where == ENDING_ABSENT || e->rank[r].where == ENDING_OUTSIDE);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < 2 * e->n_ranks; i++) {
			uint32_t r = i < e->n_ranks ? i : 2 * e->n_ranks - 1 - i;

			if (e->rank[r].where == ENDING_INSIDE && !j->goes[r] && !stopped[r] && r != j->died && can_go(j, r))
				j->goes[r] = changed = true;
		}
	}
	for (uint32_t r = 0; r < e->n_ranks; r++) {
		e->rank[r].hangs = e->rank[r].where == ENDING_INSIDE && !j->goes[r] && r != j->died;
		e->n_hang += e->rank[r].hangs;
	}
}

/* ---- cycles ---- */

/* The next rank that hangs and that r waits for; *at begins with 0. ENDING_NONE: no other. */
static uint32_t next_edge(const struct judge *j, uint32_t r, uint64_t *at)
{
	const struct ending_rank *k = &j->e->rank[r];
	uint64_t skip = *at;

	for (uint32_t i = 0; i < k->n_wait; i++) {
		const struct ending_wait *w = &k->wait[i];

		if (skip >= w->n_peer) {
			skip -= w->n_peer;
			continue;
		}
		for (; skip < w->n_peer; skip++) {
			++*at;
			/* A rank is among the members that it may get a message of; only a wait for itself alone counts. */
			if (w->peer[skip] < j->e->n_ranks && j->e->rank[w->peer[skip]].hangs && (w->peer[skip] != r || w->n_peer == 1))
				return w->peer[skip];
		}
		skip = 0;
	}
	return ENDING_NONE;
}

static bool is_among(const uint32_t *v, uint32_t n, uint32_t x)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return false;
}

/* The shortest cycle through the first rank of the component, by breadth-first search. */
static void add_cycle(struct judge *j, const uint32_t *rank, uint32_t n)
{
	uint32_t *from = malloc((j->e->n_ranks + 1ull) * sizeof(*from)), *queue = malloc((n + 1ull) * sizeof(*queue));
	uint32_t head = 0, tail = 0, length = 0, v = rank[0];
	bool closed = false;

	for (uint32_t i = 0; from && i < n; i++)
		from[rank[i]] = ENDING_NONE;
	if (from && queue)
		queue[tail++] = v;
	while (head < tail && !closed) {
		uint64_t at = 0;
		uint32_t to;

		v = queue[head++];
		while (!closed && (to = next_edge(j, v, &at)) != ENDING_NONE) {
			closed = to == rank[0];
			if (!closed && is_among(rank, n, to) && from[to] == ENDING_NONE) {
				from[to] = v;
				queue[tail++] = to;
			}
		}
	}
	if (closed) { /* back from v; queue is free now */
		for (; v != rank[0]; v = from[v])
			queue[length++] = v;
		queue[length++] = rank[0];
		for (uint32_t i = 0; i < length / 2; i++) {
			v = queue[i];
			queue[i] = queue[length - 1 - i];
			queue[length - 1 - i] = v;
		}
		add_finding(j, ENDING_DEADLOCK, queue, length);
	}
	j->no_memory |= !from || !queue;
	free(from);
	free(queue);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void add_component(struct judge *j, uint32_t *rank, uint32_t n)
{
	bool any = false;
	uint64_t at = 0;

	qsort(rank, n, sizeof(*rank), by_number);
	if (n == 1) {
		uint32_t to;

		while ((to = next_edge(j, rank[0], &at)) != ENDING_NONE && to != rank[0])
			;
		if (to == ENDING_NONE)
			return;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ending_rank *k = &j->e->rank[rank[i]];

		any |= k->any && k->n_wait > 1;
		for (uint32_t w = 0; w < k->n_wait; w++)
			any |= k->wait[w].any && k->wait[w].n_peer > 1;
	}
	if (any)
		add_finding(j, ENDING_KNOT, rank, n);
	else
		add_cycle(j, rank, n);
}

/* Without recursion: `path` holds the ranks from the root of the search, at[] the edges that each has tried. */
static void search_from(struct judge *j, uint32_t root, uint32_t *path, uint64_t *at)
{
	uint32_t depth = 0;

	path[depth++] = root;
	while (depth) {
		uint32_t v = path[depth - 1], to;

		if (!j->number[v]) {
			j->number[v] = j->low[v] = ++j->next;
			j->stack[j->n_stack++] = v;
			at[v] = 0;
		}
		while ((to = next_edge(j, v, &at[v])) != ENDING_NONE && j->number[to])
			if (!j->done[to] && j->number[to] < j->low[v])
				j->low[v] = j->number[to];
		if (to != ENDING_NONE) {
			path[depth++] = to;
			continue;
		}
		if (--depth && j->low[v] < j->low[path[depth - 1]])
			j->low[path[depth - 1]] = j->low[v];
		if (j->low[v] == j->number[v]) {
			uint32_t first = j->n_stack;

			do
				j->done[j->stack[--first]] = true;
			while (j->stack[first] != v);
			add_component(j, &j->stack[first], j->n_stack - first);
			j->n_stack = first;
		}
	}
}

static void find_cycles(struct judge *j)
{
	uint64_t n = j->e->n_ranks + 1ull;
	uint32_t *path = malloc(n * sizeof(*path));
	uint64_t *at = malloc(n * sizeof(*at));

	j->number = calloc(n, sizeof(*j->number));
	j->low = malloc(n * sizeof(*j->low));
	j->stack = malloc(n * sizeof(*j->stack));
	j->done = calloc(n, sizeof(*j->done));
	j->no_memory |= !path || !at || !j->number || !j->low || !j->stack || !j->done;
	for (uint32_t r = 0; !j->no_memory && r < j->e->n_ranks; r++)
		if (j->e->rank[r].hangs && !j->number[r])
			search_from(j, r, path, at);
	free(path);
	free(at);
	free(j->number);
	free(j->low);
	free(j->stack);
	free(j->done);
}

/* ---- waits that nobody fulfils ---- */

/* Have the ranks ended that could fulfil the wait? Ranks that died or called MPI_Abort are told as such. */
static bool is_dead_end(const struct judge *j, const struct ending_wait *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_peer; i++) {
		uint32_t p = w->peer[i];

		if (p < j->e->n_ranks && (p == j->died || j->e->rank[p].where == ENDING_ABORTS))
			return false;
		n += p < j->e->n_ranks && has_ended(j, p);
	}
	return w->any ? n >= w->n_peer - 1 && n : n > 0;
}

static void add_dead_end(struct judge *j, uint32_t r, uint32_t i)
{
	static const uint8_t kind[] = {[NEED_MESSAGE] = ENDING_NO_MESSAGE, [NEED_RECEIVE] = ENDING_NO_RECEIVE,
				       [NEED_ENTRY] = ENDING_NO_ENTRY, [NEED_POST] = ENDING_NO_POST,
				       [NEED_COMPLETE] = ENDING_NO_COMPLETE, [NEED_UNLOCK] = ENDING_NO_UNLOCK};
	const struct ending_wait *w = &j->e->rank[r].wait[i];
	struct ending_finding *f;

	/* Ranks of one collective wait for the same ranks: they are one finding. */
	for (uint32_t k = 0; k < j->e->n_finding && w->need == NEED_ENTRY; k++) {
		f = &j->e->finding[k];
		if (f->kind == ENDING_NO_ENTRY && j->e->rank[f->rank[0]].wait[f->wait].peer == w->peer) {
			uint32_t *more = realloc(f->rank, (f->n_rank + 1ull) * sizeof(*more));

			j->no_memory |= !more;
			if (more) {
				f->rank = more;
				f->rank[f->n_rank++] = r;
			}
			return;
		}
	}
	f = add_finding(j, kind[w->need], &r, 1);
	if (f)
		f->wait = i;
}

static void find_dead_ends(struct judge *j)
{
	for (uint32_t r = 0; r < j->e->n_ranks; r++) {
		const struct ending_rank *k = &j->e->rank[r];

		for (uint32_t i = 0; k->hangs && i < k->n_wait; i++)
			if (k->wait[i].need != NEED_UNKNOWN && is_dead_end(j, &k->wait[i]))
				add_dead_end(j, r, i);
	}
}

/* ---- who is waited for ---- */

static void find_computing(struct judge *j)
{
	struct ending *e = j->e;
	uint32_t *list = malloc((e->n_ranks + 1ull) * sizeof(*list)), n = 0, inside = 0, outside = 0;
	bool *asked = calloc(e->n_ranks + 1ull, sizeof(*asked)), all_wait = true;

	j->no_memory |= !list || !asked;
	for (uint32_t r = 0; asked && r < e->n_ranks; r++) {
		const struct ending_rank *k = &e->rank[r];

		inside += k->where == ENDING_INSIDE;
		outside += k->where == ENDING_OUTSIDE;
		all_wait &= k->where != ENDING_INSIDE || k->n_wait;
		for (uint32_t i = 0; i < k->n_wait; i++)
			for (uint32_t p = 0; p < k->wait[i].n_peer; p++)
				if (k->wait[i].peer[p] < e->n_ranks)
					asked[k->wait[i].peer[p]] = true;
	}
	for (uint32_t r = 0; list && asked && r < e->n_ranks; r++)
		if (asked[r] && e->rank[r].where == ENDING_OUTSIDE)
			list[n++] = r;
	if (n && n == outside && inside && all_wait && !e->n_hang)
		add_finding(j, ENDING_COMPUTES, list, n);
	free(list);
	free(asked);
}

static void find_aborts(struct judge *j)
{
	uint32_t *list = malloc((j->e->n_ranks + 1ull) * sizeof(*list)), n = 0;

	j->no_memory |= !list;
	for (uint32_t r = 0; list && r < j->e->n_ranks; r++)
		if (j->e->rank[r].where == ENDING_ABORTS)
			list[n++] = r;
	if (n)
		add_finding(j, ENDING_ABORTED, list, n);
	free(list);
}

/* A message call or a wait that waits for no other rank. */
static bool may_have_failed(const struct ending_rank *k)
{
	switch (k->where == ENDING_INSIDE ? trace_fn[k->call->fn].cls : TC_N) {
	case TC_SEND: case TC_RECV: case TC_SENDRECV: case TC_WAIT: case TC_PROBE:
		return !k->n_wait || k->wait[0].need == NEED_UNKNOWN;
	default:
		return false;
	}
}

/* A call that fails ends the run, as a rule: the only message call that waits for nobody, if no rank is outside of MPI.
 * ENDING_NONE: there is no such call. */
static uint32_t failed_rank(const struct ending *e)
{
	uint32_t failed = ENDING_NONE, n = 0;

	for (uint32_t r = 0; r < e->n_ranks; r++)
		if (may_have_failed(&e->rank[r])) {
			failed = r;
			n++;
		} else if (e->rank[r].where == ENDING_OUTSIDE) {
			return ENDING_NONE;
		}
	return n == 1 ? failed : ENDING_NONE;
}

/* Was the run killed by a signal that others send? Then one rank ended before the others for no reason of its own. */
static bool was_killed(const struct trace *t, uint32_t rank)
{
	static const char *const text[] = {"(Killed)", "(Terminated)", "(Interrupt)"};
	const char *ended = trace_get_rank(t, rank)->defs.proc.ended;

	for (size_t i = 0; ended && i < sizeof(text) / sizeof(*text); i++)
		if (strstr(ended, text[i]))
			return true;
	return false;
}

static bool is_open_mpi(const struct trace *t)
{
	const char *mpi = trace_job_get(t, "mpi");

	return mpi && !strncmp(mpi, "Open MPI", strlen("Open MPI"));
}

/* Did a rank call MPI_Abort? Its last call tells. */
static bool program_aborted(const struct trace *t)
{
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_rank *k = trace_get_rank(t, r);
		struct folded_iter it;
		uint32_t sym;

		if (!k->present || k->events.length == 0)
			continue;
		folded_seek(&it, &k->events, k->events.length - 1);
		if (folded_next(&it, &sym) && k->defs.sigs.sig[sym].fn == FN_MPI_Abort)
			return true;
	}
	return false;
}

/* Open MPI's launcher has exit status 1 if a signal ends it: it ends the ranks then. A rank's exit status may be 1 as well. */
static bool may_be_launchers(const struct trace *t, uint32_t rank)
{
	const char *ended = trace_get_rank(t, rank)->defs.proc.ended;

	return ended && !strcmp(ended, "exit code 1") && is_open_mpi(t) && !program_aborted(t);
}

/* The host of a rank, if another rank of the run is on another host; else NULL. */
static const char *host_among_others(const struct trace *t, uint32_t rank)
{
	const char *host = trace_get_rank(t, rank)->defs.proc.host;

	for (uint32_t r = 0; host && r < trace_n_ranks(t); r++) {
		const struct trace_rank *k = trace_get_rank(t, r);

		if (k->present && k->defs.proc.host && strcmp(k->defs.proc.host, host))
			return host;
	}
	return NULL;
}

struct ending_ends ending_ends(const struct trace *t)
{
	const char *number = trace_job_get(t, "launcher_signal"), *within = trace_job_get(t, "ends_within");
	struct ending_ends x = {.within_s = within ? strtod(within, NULL) : INFINITY, .launcher_signal = number ? atoi(number) : 0};
	uint32_t first = ending_first(t);
	bool together;

	if (first == ENDING_NONE)
		return x;
	x.host = host_among_others(t, first);
	together = x.within_s < TOGETHER_S;
	x.killed = (x.launcher_signal && (!within || x.within_s < LONG_BEFORE_S)) ||
		   (together && was_killed(t, first) && !x.host && is_open_mpi(t));
	x.perhaps = !x.killed && together && (was_killed(t, first) || may_be_launchers(t, first));
	return x;
}

/* The rank that ended first has died, unless the whole run was killed. It was a victim if it hung itself, if it computed while all others waited and was
 * killed, or if the call of another rank failed. */
static void find_died(struct judge *j, const bool *stopped)
{
	struct ending *e = j->e;
	uint32_t first = ending_first(e->t), failed = failed_rank(e);

	find_hanging(j, stopped);
	find_computing(j);
	if (first == ENDING_NONE || ending_ends(e->t).killed || e->rank[first].hangs ||
	    (e->rank[first].where != ENDING_INSIDE && e->rank[first].where != ENDING_OUTSIDE) ||
	    (failed != ENDING_NONE && failed != first))
		return;
	if (e->n_finding && e->finding[e->n_finding - 1].kind == ENDING_COMPUTES) {
		if (was_killed(e->t, first))
			return;
		free(e->finding[--e->n_finding].rank);
	}
	j->died = first;
	find_hanging(j, stopped);
	add_finding(j, ENDING_DIED, &first, 1);
}

static void find_killed(struct judge *j)
{
	uint32_t *list = malloc((j->e->n_ranks + 1ull) * sizeof(*list)), n = 0;

	j->no_memory |= !list;
	for (uint32_t r = 0; list && r < j->e->n_ranks; r++)
		if (ending_is_open(j->e->t, r))
			list[n++] = r;
	if (n && ending_ends(j->e->t).killed)
		add_finding(j, ENDING_KILLED, list, n);
	free(list);
}

static int by_kind(const void *a, const void *b)
{
	const struct ending_finding *x = a, *y = b;

	return x->kind != y->kind ? x->kind - y->kind : by_number(x->rank, y->rank);
}

int ending_judge(struct ending *e, struct errbuf *err)
{
	struct judge j = {.e = e, .died = ENDING_NONE, .goes = calloc(e->n_ranks + 1ull, sizeof(*j.goes))};
	bool *stopped = calloc(e->n_ranks + 1ull, sizeof(*stopped));
	uint32_t failed;

	j.no_memory = !j.goes || !stopped;
	if (!j.no_memory) {
		find_other_collectives(&j, stopped);
		find_died(&j, stopped);
		find_aborts(&j);
		find_cycles(&j);
		find_dead_ends(&j);
		failed = failed_rank(e);
		/* A run that was killed was at work, unless the call names a rank that does not exist. */
		if (failed != ENDING_NONE && !e->n_finding && (e->rank[failed].n_wait || !was_killed(e->t, failed)))
			add_finding(&j, ENDING_FAILED, &failed, 1);
		if (!e->n_finding)
			find_killed(&j);
		if (e->n_finding)
			qsort(e->finding, e->n_finding, sizeof(*e->finding), by_kind);
	}
	free(j.goes);
	free(stopped);
	return j.no_memory ? err_set(err, "no memory") : 0;
}

/* ---- all of it ---- */

struct ending *ending_create(const struct trace *t, struct errbuf *err)
{
	struct ending *e = calloc(1, sizeof(*e));
	bool open = false;

	if (!e || !(e->own = calloc(1, sizeof(struct ending_own))) ||
	    !(e->rank = calloc(trace_n_ranks(t) + 1ull, sizeof(*e->rank)))) {
		ending_destroy(e);
		err_set(err, "no memory");
		return NULL;
	}
	e->t = t;
	e->n_ranks = trace_n_ranks(t);
	for (uint32_t r = 0; r < e->n_ranks; r++)
		open |= ending_is_open(t, r);
	if (open && (ending_read(e, err) < 0 || ending_find_waits(e, err) < 0 || ending_judge(e, err) < 0)) {
		ending_destroy(e);
		return NULL;
	}
	return e;
}

void ending_destroy(struct ending *e)
{
	struct ending_own *o = e ? e->own : NULL;

	if (!e)
		return;
	for (uint32_t r = 0; r < e->n_ranks && o && o->state; r++) {
		for (uint32_t i = 0; o->state[r].entry && i < o->state[r].n_scope; i++)
			free(o->state[r].entry[i]);
		free(o->state[r].entry);
		free(o->state[r].scope);
		free(o->state[r].same);
		free(o->state[r].start);
		free(o->state[r].post);
		free(o->state[r].slot);
		msg_ops_free(&o->state[r].ops);
	}
	for (uint32_t i = 0; o && i < o->n_missing; i++)
		free(o->missing[i].rank);
	if (o) {
		msg_names_free(&o->names);
		free(o->state);
		free(o->channel);
		free(o->missing);
		free(o->lock);
		free(o->scope);
		free(o->epoch);
		hash_table_free(&o->known_scope);
		hash_table_free(&o->known_epoch);
		free(o->open);
	}
	free(o);
	for (uint32_t r = 0; e->rank && r < e->n_ranks; r++) {
		free(e->rank[r].request);
		free(e->rank[r].wait);
	}
	for (uint32_t i = 0; i < e->n_finding; i++)
		free(e->finding[i].rank);
	free(e->finding);
	free(e->rank);
	free(e);
}
