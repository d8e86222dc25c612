/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agreement of all ranks in MPI_Finalize to write a trace: see agree.h. */
#include "spank/tracer/agree.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "spank/tracer/clock.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/patience.h"

#define PATIENCE_S 600
#define SPIN       1000
/* short sleeps between looks at the markers: reading a file costs more than probing for a message */
#define LOOK_EVERY 500

int agree_await(MPI_Comm c, int from, int a, int b, int patience_s, bool (*on)(const struct run *r), const struct run *r)
{
	uint64_t end = clock_true_ns(CLOCK_MONOTONIC) + (uint64_t)patience_s * 1000000000ull;
	struct timespec nap = {.tv_nsec = 20000};
	bool still = true;

	for (unsigned k = 0;; k++) {
		int flag = 0, tag = k & 1 ? b : a;

		if (mpi.Iprobe(from, tag, c, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return -1;
		if (flag)
			return tag;
		if (k < SPIN) {
			sched_yield();
			continue;
		}
		if (!still || clock_true_ns(CLOCK_MONOTONIC) > end)
			return -1;
		nanosleep(&nap, NULL);
		if (on && k % LOOK_EVERY == 0 && !on(r)) {
			still = false;
			k = 0; /* a message sent before may have arrived: probe once more */
		}
	}
}

static void send_token(int to, int tag)
{
	mpi.Send(NULL, 0, MPI_BYTE, to, tag, mpi.world);
}

static int await_token(int from, int a, int b, int patience_s, bool (*on)(const struct run *r), const struct run *r)
{
	int tag = agree_await(mpi.world, from, a, b, patience_s, on, r);

	if (tag >= 0)
		mpi.Recv(NULL, 0, MPI_BYTE, from, tag, mpi.world, MPI_STATUS_IGNORE);
	return tag;
}

/* Some ranks have no tracer. Tell the ranks that have one. Ranks that do not know their number see that the
 * markers are removed. */
static void refuse_trace(const struct run *r, const int32_t *present, int64_t n)
{
	char text[160];

	for (int i = 1; i < r->world_size && present; i++)
		if (present[i] >= 0 || (patience_lost() && r->all_seen))
			send_token(i, TAG_NO_GO);
	if (n < 0)
		snprintf(text, sizeof(text), "no trace: markers of another run are in the way");
	else
		snprintf(text, sizeof(text), "no trace: the tracer is present in %lld of %d ranks only", (long long)n,
			 r->world_size);
	if (n < r->world_size)
		launch_report(r, text);
	launch_unmark(r);
}

static bool agree_root(const struct run *r, bool able)
{
	int32_t *present = malloc((size_t)r->world_size * sizeof(*present));
	int64_t n = present ? launch_count(r, present) : 0;
	bool all = n == r->world_size && able;

	if (!all) {
		refuse_trace(r, present, n);
		free(present);
		return false;
	}
	free(present);
	for (int i = 1; i < r->world_size; i++)
		send_token(i, TAG_GO);
	for (int i = 1; i < r->world_size; i++)
		all = all && await_token(i, TAG_READY, TAG_READY, PATIENCE_S, NULL, r) == TAG_READY;
	launch_unmark(r); /* the other ranks look for the first marker when they arrive, so it must stay until here */
	for (int i = 1; i < r->world_size; i++)
		send_token(i, all ? TAG_COMMIT : TAG_CANCEL);
	if (!all)
		launch_report(r, "no trace: a rank did not answer in MPI_Finalize");
	return all;
}

bool agree(const struct run *r, bool able)
{
	if (r->world_size == 1) {
		launch_unmark(r);
		return able;
	}
	if (r->world_rank == 0)
		return agree_root(r, able);
	if (!launch_root_present(r)) {
		launch_unmark(r);
		await_token(0, TAG_NO_GO, TAG_NO_GO, 0, NULL, r); /* it was sent before the marker was removed */
		return false;
	}
	if (await_token(0, TAG_GO, TAG_NO_GO, PATIENCE_S, launch_root_present, r) != TAG_GO)
		return false;
	send_token(0, TAG_READY);
	return await_token(0, TAG_COMMIT, TAG_CANCEL, PATIENCE_S, NULL, r) == TAG_COMMIT;
}
