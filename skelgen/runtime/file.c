/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls on files. No file is opened: a skeleton must not touch what belongs to the program. A call takes as long as it
 * took in the trace, on whatever machine: storage is mostly the same for all partitions. Collective calls wait for the
 * other processes of the file first, on a communicator of the file's own, as in MPI.
 */
#include <errno.h>
#include <stdlib.h>

#include "skelgen/runtime/runtime.h"

#define SPIN_NS 100e3 /* shorter delays, and the end of longer ones, are spent on the processor: a sleep is too coarse */

static struct {
	MPI_Comm *comm; /* by file number */
	int n;
} state;

void skel_files_open(const struct skel_program *p)
{
	state.n = p->n_files;
	state.comm = skel_alloc((size_t)state.n + 1, sizeof *state.comm);
	for (int k = 0; k < state.n; k++)
		state.comm[k] = MPI_COMM_NULL;
}

void skel_files_close(void)
{
	for (int k = 0; k < state.n; k++)
		if (state.comm[k] != MPI_COMM_NULL)
			PMPI_Comm_free(&state.comm[k]);
	free(state.comm);
	state.comm = NULL;
	state.n = 0;
}

void skel_file_open(int k, MPI_Comm c)
{
	if (state.comm[k] != MPI_COMM_NULL)
		PMPI_Comm_free(&state.comm[k]);
	PMPI_Comm_dup(c, &state.comm[k]);
}

void skel_file_sync(int k)
{
	if (state.comm[k] != MPI_COMM_NULL)
		PMPI_Barrier(state.comm[k]);
}

void skel_file_close(int k)
{
	skel_file_sync(k);
	if (state.comm[k] != MPI_COMM_NULL)
		PMPI_Comm_free(&state.comm[k]);
}

void skel_delay(double ns)
{
	double end = skel_clock_ns() + ns, sleep = ns - SPIN_NS;

	if (sleep > 0) {
		struct timespec t = {(time_t)(sleep / 1e9), 0};

		t.tv_nsec = (long)(sleep - (double)t.tv_sec * 1e9);
		while (nanosleep(&t, &t) != 0 && errno == EINTR)
			;
	}
	while (skel_clock_ns() < end)
		;
}

void skel_delay_by_rank(int gap)
{
	int mix;

	skel_delay(skel_data_gap(gap, skel_position, &mix));
}
