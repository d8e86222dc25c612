/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fences and frees are collectives of the window, as file calls that wait for others are of the file. A post sends a
 * token to each rank of its group, which start receives there; complete sends one to each rank that start named, which
 * wait receives. Locks are counted. In a cut program an access without an epoch is a contradiction.
 */
#include "skelgen/simulate/window.h"

#include <string.h>

enum token { TOKEN_POST = 1, TOKEN_COMPLETE };

/* The call's window: its definition, global number and state. */
struct of_win {
	const struct trace_win *def;
	const struct trace_comm *comm;
	uint32_t place; /* of its messages and collectives in the network */
	struct sim_win *state;
};

static bool win_of(struct sim *s, struct sim_rank *r, uint8_t kind, struct of_win *w)
{
	const struct trace_defs *d = skel_defs(s->tree, r->rank);
	int64_t local = call_scalar(d, r->sym, kind, 0, TRACE_NULL);
	uint32_t global;

	if (local < 0 || local >= d->n_win)
		return false;
	global = s->tree->globals->win[r->rank][local];
	*w = (struct of_win){&d->win[local], &d->comm[d->win[local].comm], s->tree->globals->n_comm + global, &r->win[global]};
	return true;
}

static int join_at(struct sim *s, struct sim_rank *r, uint32_t place, uint64_t *sequence, uint32_t members, bool wait)
{
	struct net_collective n = {.comm = place, .rank = r->rank, .members = members, .sequence = (*sequence)++,
				   .name = trace_fn[r->leaf->fn].name, .root = -1, .bytes = -1,
				   .pattern = wait ? NET_ALL : NET_FREE};

	s->report->collectives++;
	return sim_pend(s, r, net_collective(s->net, &n, s->err));
}

/* ---- post, start, complete, wait ---- */

static int64_t place_in(const struct trace_group *g, uint32_t rank)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->rank[i] == rank)
			return i;
	return -1;
}

/* One token to or from every rank of the group that `sym` names. */
static int tokens(struct sim *s, struct sim_rank *r, const struct of_win *w, uint32_t sym, enum token what, bool send)
{
	const struct trace_group *g = &w->comm->members;
	int64_t own = place_in(g, r->rank);
	uint32_t n;
	const int64_t *peer = call_array(skel_defs(s->tree, r->rank), sym, TK_INTS, 0, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct net_message m = {.comm = w->place, .from = r->rank, .tag = what, .node = r->leaf->id};

		if (peer[i] < 0 || peer[i] >= g->n) {
			err_set(s->err, "rank %lld is not in its window", (long long)peer[i]);
			return sim_fail_here(s, r);
		}
		m.to = send ? g->rank[peer[i]] : r->rank;
		m.source = send ? own : peer[i];
		if (sim_pend(s, r, send ? net_send(s->net, &m, s->err) : net_receive(s->net, &m, s->err)) != 0)
			return -1;
	}
	return 0;
}

static int open_group(struct sim *s, struct sim_rank *r, const struct of_win *w, bool post)
{
	uint32_t *open = post ? &w->state->posted : &w->state->started;

	if (*open != SKEL_NOTHING && sim_odd(s, r, "its window has such an epoch already") != 0)
		return -1;
	*open = r->sym;
	return tokens(s, r, w, r->sym, TOKEN_POST, post);
}

static int close_group(struct sim *s, struct sim_rank *r, const struct of_win *w, bool post)
{
	uint32_t *open = post ? &w->state->posted : &w->state->started, sym = *open;

	if (sym == SKEL_NOTHING)
		return sim_odd(s, r, "its window has no such epoch");
	*open = SKEL_NOTHING;
	return tokens(s, r, w, sym, TOKEN_COMPLETE, !post);
}

/* ---- the calls ---- */

static int fence(struct sim *s, struct sim_rank *r, const struct of_win *w)
{
	int64_t assert = call_named(skel_defs(s->tree, r->rank), r->sym, "assert", 0);

	w->state->fenced = !(assert & TASSERT_NOSUCCEED);
	return join_at(s, r, w->place, &w->state->sequence, w->comm->members.n, !(assert & TASSERT_NOPRECEDE));
}

static int lock_call(struct sim *s, struct sim_rank *r, const struct of_win *w, const char *name)
{
	if (strncmp(name, "MPI_Win_lock", 12) == 0) {
		w->state->locks++;
		return 0;
	}
	if (w->state->locks == 0)
		return sim_odd(s, r, "its window is not locked");
	w->state->locks -= strncmp(name, "MPI_Win_unlock", 14) == 0;
	return 0;
}

static int sync_call(struct sim *s, struct sim_rank *r, const struct of_win *w, const char *name)
{
	if (strcmp(name, "MPI_Win_fence") == 0)
		return fence(s, r, w);
	if (strcmp(name, "MPI_Win_post") == 0 || strcmp(name, "MPI_Win_start") == 0)
		return open_group(s, r, w, name[8] == 'p');
	if (strcmp(name, "MPI_Win_complete") == 0)
		return close_group(s, r, w, false);
	if (strcmp(name, "MPI_Win_wait") == 0 || strcmp(name, "MPI_Win_test") == 0)
		return close_group(s, r, w, true);
	return strcmp(name, "MPI_Win_sync") == 0 ? 0 : lock_call(s, r, w, name);
}

int sim_win_call(struct sim *s, struct sim_rank *r)
{
	const struct trace_fn_info *f = &trace_fn[r->leaf->fn];
	struct of_win w;

	if (win_of(s, r, TK_NEWWIN, &w)) {
		*w.state = (struct sim_win){.sequence = w.state->sequence, .started = SKEL_NOTHING, .posted = SKEL_NOTHING};
		return 0;
	}
	if (!win_of(s, r, TK_WIN, &w))
		return 0;
	if (f->cls == TC_SYNC)
		return sync_call(s, r, &w, f->name);
	if (strcmp(f->name, "MPI_Win_free") == 0)
		return join_at(s, r, w.place, &w.state->sequence, w.comm->members.n, true);
	if (f->cls == TC_RMA && !w.state->fenced && w.state->locks == 0 && w.state->started == SKEL_NOTHING)
		return sim_odd(s, r, "its window has no epoch");
	return 0;
}

int sim_win_end(struct sim *s, const struct sim_rank *r)
{
	for (uint32_t i = 0; i < s->tree->globals->n_win; i++) {
		const struct sim_win *w = &r->win[i];

		if (w->locks == 0 && w->started == SKEL_NOTHING && w->posted == SKEL_NOTHING)
			continue;
		s->report->oddities++;
		if (s->plan->n_cut > 0)
			return err_set(s->err, "rank %u would end with an open epoch on a window", r->rank);
	}
	return 0;
}

/* ---- files ---- */

int sim_file_call(struct sim *s, struct sim_rank *r)
{
	const struct trace_defs *d = skel_defs(s->tree, r->rank);
	int64_t local = call_scalar(d, r->sym, TK_FILE, 0, TRACE_NULL);
	uint32_t global;

	if (local < 0 || local >= d->n_file || !call_file_waits(trace_fn[r->leaf->fn].name))
		return 0;
	global = s->tree->globals->file[r->rank][local];
	return join_at(s, r, s->tree->globals->n_comm + s->tree->globals->n_win + global, &r->file_sequence[global],
		       d->comm[d->file[local].comm].members.n, true);
}
