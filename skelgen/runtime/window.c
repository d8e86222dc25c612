/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of a skeleton by the numbers of the trace. The content of a window does not matter: its memory is bounded, and
 * displacements are kept inside the memory of the target. In a dynamic window all accesses go to one block, attached when
 * the window is made, which is as long as the longest access.
 * The exchange of sizes is the runtime's own and goes past profilers (PMPI).
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/runtime.h"

#define WINDOW_BYTES ((MPI_Aint)64 << 20) /* longer only where an access is */

/* What one rank of a window has. */
struct part {
	MPI_Aint bytes, unit, base; /* base: an address, of dynamic windows */
};

struct window {
	void *memory;        /* ours: of created and dynamic ones */
	size_t size;
	void **attached;     /* what the program attached and has not detached */
	int n_attached;
	struct part *part;   /* by rank */
	int n;
	int dynamic;
	uint64_t order;      /* of creation: the same on all ranks of a window */
};

struct group {
	int win, n;
	const int *rank;
	MPI_Group made;
};

MPI_Win *win;

static struct {
	struct window *of;
	int n;
	MPI_Aint longest;
	uint64_t made;
	struct group *group;
	int n_group, cap_group;
	/* origin, result and compared value; grown ones stay, an access may still be under way */
	void *buffer[3], **old;
	int64_t size[3];
	int n_old;
} state;

void skel_windows_open(const struct skel_program *p)
{
	state.n = p->n_wins;
	state.longest = p->rma_bytes;
	state.of = skel_alloc((size_t)state.n + 1, sizeof *state.of);
	win = skel_alloc((size_t)state.n + 1, sizeof *win);
	for (int k = 0; k < state.n; k++)
		win[k] = MPI_WIN_NULL;
}

static void window_clear(struct window *w)
{
	for (int i = 0; i < w->n_attached; i++)
		free(w->attached[i]);
	w->n_attached = 0;
}

/* The oldest window that is left; -1: none. */
static int oldest_left(void)
{
	int best = -1;

	for (int k = 0; k < state.n; k++)
		if (win[k] != MPI_WIN_NULL && (best < 0 || state.of[k].order < state.of[best].order))
			best = k;
	return best;
}

int skel_windows_left(void)
{
	return oldest_left() >= 0;
}

void skel_windows_close(void)
{
	for (int k; (k = oldest_left()) >= 0;)
		MPI_Win_free(&win[k]);
	for (int k = 0; k < state.n; k++) {
		window_clear(&state.of[k]);
		free(state.of[k].attached);
		free(state.of[k].memory);
		free(state.of[k].part);
	}
	for (int i = 0; i < state.n_group; i++)
		MPI_Group_free(&state.group[i].made);
	for (int i = 0; i < state.n_old; i++)
		free(state.old[i]);
	for (int i = 0; i < 3; i++)
		free(state.buffer[i]);
	free(state.old);
	free(state.group);
	free(state.of);
	free(win);
	memset(&state, 0, sizeof state);
}

/* ---- making ---- */

static MPI_Aint bounded(int64_t bytes)
{
	MPI_Aint most = state.longest > WINDOW_BYTES ? state.longest : WINDOW_BYTES;

	return bytes < 0 ? 0 : bytes > most ? most : (MPI_Aint)bytes;
}

static void memory_of(struct window *w, size_t size)
{
	if (size <= w->size)
		return;
	free(w->memory);
	if (posix_memalign(&w->memory, 4096, size) != 0)
		skel_fail("no memory for a window of %zu bytes", size);
	memset(w->memory, 0, size);
	w->size = size;
}

static void exchange(struct window *w, MPI_Comm c, struct part mine)
{
	int n;

	MPI_Comm_size(c, &n);
	if (n > w->n) {
		free(w->part);
		w->part = skel_alloc((size_t)n, sizeof *w->part);
	}
	w->n = n;
	w->order = ++state.made;
	PMPI_Allgather(&mine, 3, MPI_AINT, w->part, 3, MPI_AINT, c);
}

void skel_win_create(int k, int64_t bytes, int unit, MPI_Comm c)
{
	struct window *w = &state.of[k];
	MPI_Aint size = bounded(bytes);

	memory_of(w, (size_t)size);
	MPI_Win_create(size > 0 ? w->memory : NULL, size, unit, MPI_INFO_NULL, c, &win[k]);
	w->dynamic = 0;
	exchange(w, c, (struct part){size, unit, 0});
}

void skel_win_allocate(int k, int64_t bytes, int unit, MPI_Comm c)
{
	MPI_Aint size = bounded(bytes);
	void *base;

	MPI_Win_allocate(size, unit, MPI_INFO_NULL, c, &base, &win[k]);
	state.of[k].dynamic = 0;
	exchange(&state.of[k], c, (struct part){size, unit, 0});
}

void skel_win_shared(int k, int64_t bytes, int unit, MPI_Comm c)
{
	MPI_Aint size = bounded(bytes);
	void *base;

	MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, c, &base, &win[k]);
	state.of[k].dynamic = 0;
	exchange(&state.of[k], c, (struct part){size, unit, 0});
}

void skel_win_dynamic(int k, MPI_Comm c)
{
	struct window *w = &state.of[k];
	MPI_Aint base;

	window_clear(w);
	memory_of(w, (size_t)state.longest + 4096);
	MPI_Win_create_dynamic(MPI_INFO_NULL, c, &win[k]);
	PMPI_Win_attach(win[k], w->memory, (MPI_Aint)w->size);
	MPI_Get_address(w->memory, &base);
	w->dynamic = 1;
	exchange(w, c, (struct part){(MPI_Aint)w->size, 1, base});
}

void skel_win_attach(int k, int64_t bytes)
{
	struct window *w = &state.of[k];
	MPI_Aint size = bounded(bytes);
	void **p = realloc(w->attached, ((size_t)w->n_attached + 1) * sizeof *p);

	if (p == NULL)
		skel_fail("no memory for the memory of a window");
	w->attached = p;
	p[w->n_attached] = skel_alloc((size_t)size + 1, 1);
	MPI_Win_attach(win[k], p[w->n_attached++], size);
}

/* Which one does not matter: the last. */
void skel_win_detach(int k)
{
	struct window *w = &state.of[k];

	if (w->n_attached == 0)
		return;
	MPI_Win_detach(win[k], w->attached[--w->n_attached]);
	free(w->attached[w->n_attached]);
}

/* ---- using ---- */

MPI_Aint skel_disp(int k, int target, int64_t disp, int64_t count, MPI_Datatype t)
{
	const struct window *w = &state.of[k];
	int64_t below, above, low, high;

	if (target < 0 || target >= w->n)
		return (MPI_Aint)disp; /* MPI_PROC_NULL */
	skel_span(count, t, &below, &above);
	if (w->dynamic)
		return w->part[target].base + (MPI_Aint)below;
	int64_t unit = w->part[target].unit > 0 ? w->part[target].unit : 1;

	low = (below + unit - 1) / unit;
	high = w->part[target].bytes < above ? -1 : (w->part[target].bytes - above) / unit;
	if (disp > high)
		disp = high;
	if (disp < low)
		disp = low;
	return (MPI_Aint)disp;
}

void *skel_rma(int which, int64_t count, MPI_Datatype t)
{
	int64_t below, above;

	skel_span(count, t, &below, &above);
	if (below + above > state.size[which] || state.buffer[which] == NULL) {
		void **p = realloc(state.old, ((size_t)state.n_old + 1) * sizeof *p);

		if (p == NULL)
			skel_fail("no memory for a one-sided access");
		state.old = p;
		p[state.n_old++] = state.buffer[which];
		state.size[which] = 2 * (below + above) + 64;
		if (posix_memalign(&state.buffer[which], 64, (size_t)state.size[which]) != 0)
			skel_fail("no memory for a one-sided access of %lld bytes", (long long)(below + above));
		memset(state.buffer[which], 0, (size_t)state.size[which]);
	}
	return (char *)state.buffer[which] + below;
}

MPI_Group skel_group(int k, const int *rank, int n)
{
	MPI_Group all;
	struct group *g;

	for (int i = 0; i < state.n_group; i++)
		if (state.group[i].rank == rank && state.group[i].win == k && state.group[i].n == n)
			return state.group[i].made;
	if (state.n_group == state.cap_group) {
		state.cap_group = state.cap_group > 0 ? 2 * state.cap_group : 16;
		state.group = realloc(state.group, (size_t)state.cap_group * sizeof *state.group);
		if (state.group == NULL)
			skel_fail("no memory for %d groups", state.cap_group);
	}
	g = &state.group[state.n_group++];
	*g = (struct group){k, n, rank, MPI_GROUP_NULL};
	PMPI_Win_get_group(win[k], &all);
	PMPI_Group_incl(all, n, rank, &g->made);
	PMPI_Group_free(&all);
	return g->made;
}

int skel_assert(int v)
{
	static const int bit[] = {MPI_MODE_NOCHECK, MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE,
				  MPI_MODE_NOSUCCEED};
	int all = 0;

	for (int i = 0; i < 5; i++)
		all |= v & 1 << i ? bit[i] : 0;
	return all;
}

int skel_lock(int kind)
{
	return kind == 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
}
