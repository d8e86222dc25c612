/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the clock offsets of other nodes: see offsets.h. */
#include "spank/tracer/offsets.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "spank/tracer/agree.h"
#include "spank/tracer/clock.h"
#include "spank/tracer/mpilib.h"

#define PINGS       11
#define PATIENCE_S  20
#define DECIDE_NS   2000000000ull

/* On rank 0, by rank: measured after MPI_Init and in MPI_Finalize. */
static struct offset_at *measured[2];

/* ---- ping-pong ---- */

static void ping(MPI_Comm c, int to, struct offset_at *best)
{
	for (int i = 0; i < PINGS; i++) {
		uint64_t t0 = clock_ticks(), t1, theirs;

		if (mpi.Send(NULL, 0, MPI_BYTE, to, TAG_PING, c) != MPI_SUCCESS)
			return;
		if (i == 0 && agree_await(c, to, TAG_PONG, TAG_PONG, PATIENCE_S, NULL, NULL) < 0)
			return;
		if (mpi.Recv(&theirs, (int)sizeof(theirs), MPI_BYTE, to, TAG_PONG, c, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return;
		t1 = clock_ticks();
		if (!best->known || t1 - t0 < best->round_ticks)
			*best = (struct offset_at){.root_tick = t0 + (t1 - t0) / 2, .tick = theirs,
						   .round_ticks = t1 - t0, .known = true};
	}
}

void offsets_echo(MPI_Comm c)
{
	for (int i = 0; i < PINGS; i++) {
		uint64_t now;

		if (mpi.Recv(NULL, 0, MPI_BYTE, 0, TAG_PING, c, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return;
		now = clock_ticks();
		if (mpi.Send(&now, (int)sizeof(now), MPI_BYTE, 0, TAG_PONG, c) != MPI_SUCCESS)
			return;
	}
}

/* ---- after MPI_Init ---- */

/* Returns whether all ranks have the tracer. */
static bool begin_root(const struct run *r)
{
	bool all = true;
	int32_t *leader = malloc((size_t)r->world_size * sizeof(*leader));
	struct buf text = {0};
	char *made = NULL, line[16];
	bool lowest;

	if (!leader || launch_here(r, &lowest) == r->world_size) {
		all = leader != NULL;
		goto out;
	}
	measured[0] = calloc((size_t)r->world_size, sizeof(*measured[0]));
	all = launch_count(r, leader) == r->world_size;
	if (measured[0] && all && leader[0] == 0) {
		buf_put(&text, "GO\n", 3);
		for (int i = 1; i < r->world_size; i++)
			if (leader[i] == i)
				buf_put(&text, line, (size_t)snprintf(line, sizeof(line), "%d\n", i));
	} else {
		buf_put(&text, "NO\n", 3);
	}
	buf_put_u8(&text, 0);
	made = text.failed ? NULL : launch_decide(r, (const char *)text.data);
	if (!made || strncmp(made, "GO\n", 3) || strcmp(made, (const char *)text.data))
		goto out;
	for (int i = 1; i < r->world_size; i++)
		if (leader[i] == i)
			ping(mpi.world, i, &measured[0][i]);
out:
	free(leader);
	free(made);
	buf_free(&text);
	return all;
}

/* Wait for rank 0's decision. After a timeout, this rank decides. */
static char *await_decision(const struct run *r)
{
	uint64_t end = clock_true_ns(CLOCK_MONOTONIC) + DECIDE_NS;
	struct timespec nap = {.tv_nsec = 20000};
	char *made = NULL;

	if (launch_root_present(r))
		for (unsigned k = 0; !(made = launch_decision(r)) && clock_true_ns(CLOCK_MONOTONIC) < end; k++) {
			if (k < 100) {
				sched_yield();
				continue;
			}
			nanosleep(&nap, NULL);
			nap.tv_nsec = nap.tv_nsec < 2000000 ? nap.tv_nsec * 5 / 4 : nap.tv_nsec;
		}
	return made ? made : launch_decide(r, "NO\n");
}

static void begin_other(const struct run *r)
{
	char line[16], *made;
	bool lowest;

	if (!launch_here(r, &lowest) || !lowest)
		return;
	made = await_decision(r);
	snprintf(line, sizeof(line), "\n%d\n", r->world_rank);
	if (made && !strncmp(made, "GO\n", 3) && strstr(made, line) &&
	    agree_await(mpi.world, 0, TAG_PING, TAG_PING, PATIENCE_S, NULL, NULL) == TAG_PING)
		offsets_echo(mpi.world);
	free(made);
}

void offsets_begin(struct run *r)
{
	if (r->world_size < 2 || r->rank != r->world_rank)
		return;
	if (r->world_rank == 0) {
		r->all_seen = begin_root(r);
	} else {
		r->root_seen = launch_root_present(r);
		begin_other(r);
	}
}

/* ---- in MPI_Finalize ---- */

struct host_of {
	const char *name;
	int rank;
};

static int by_host(const void *a, const void *b)
{
	const struct host_of *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

int offsets_end(const struct run *r, MPI_Comm c, const char *hosts, size_t host_bytes)
{
	struct host_of *h = malloc((size_t)r->world_size * sizeof(*h));

	measured[1] = calloc((size_t)r->world_size, sizeof(*measured[1]));
	if (!h || !measured[1]) {
		free(h);
		return -1;
	}
	for (int i = 0; i < r->world_size; i++)
		h[i] = (struct host_of){hosts + (size_t)i * host_bytes, i};
	qsort(h, (size_t)r->world_size, sizeof(*h), by_host);
	for (int i = 0; i < r->world_size; i++)
		if (strcmp(h[i].name, hosts) && (!i || strcmp(h[i].name, h[i - 1].name)))
			ping(c, h[i].rank, &measured[1][h[i].rank]);
	free(h);
	return 0;
}

void offsets_of(const struct run *r, int i, struct offset_pair *out)
{
	*out = (struct offset_pair){0};
	for (int m = 0; m < 2; m++) {
		const struct offset_at *at = measured[m] ? &measured[m][i] : NULL;

		if (!at || !at->known)
			continue;
		out->tick[out->n] = at->tick;
		out->root_ns[out->n] = (double)(int64_t)(at->root_tick - r->start_ticks) * r->ns_per_tick;
		out->error_ns[out->n] = (double)at->round_ticks / 2 * r->ns_per_tick;
		out->n++;
	}
}

void offsets_free(void)
{
	free(measured[0]);
	free(measured[1]);
	measured[0] = measured[1] = NULL;
}

void offsets_fix(const struct run *r, const struct offset_pair *p, struct trace_clock_fix *fix)
{
	*fix = (struct trace_clock_fix){0};
	if (r->world_rank == 0) { /* its clock is the reference */
		fix->n = 1;
		return;
	}
	for (uint64_t m = 0; m < p->n && m < 2; m++) {
		int64_t tick = (int64_t)(p->tick[m] - r->start_ticks);

		/* An offset measured shortly before the start counts as measured at the start. */
		fix->tick[m] = tick > 0 ? (uint64_t)tick : 0;
		fix->offset_ns[m] = p->root_ns[m] - (double)tick * r->ns_per_tick;
		fix->error_ns[m] = p->error_ns[m];
		fix->n++;
	}
}
