/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls on files. A skeleton must not touch what belongs to the program: with --scratch DIR it makes the calls on files
 * of its own (scratch.c). Without that option, no file is opened, and a call takes as long as in the trace, on every
 * machine: storage is mostly the same for all partitions. Collective calls wait for the other processes of the file
 * first, on a communicator of the file's own, as in MPI.
 */
#include <errno.h>
#include <stdlib.h>

#include "skelgen/runtime/runtime.h"
#include "skelgen/runtime/scratch.h"
#include "skelgen/runtime/scratch_path.h"

#define SPIN_NS 100e3 /* shorter delays, and the end of longer ones, are spent on the processor: a sleep is too coarse */

static struct {
	MPI_Comm *comm; /* by file number */
	int n;
} state;

void skel_files_open(const struct skel_program *p, const char *scratch)
{
	state.n = p->n_files;
	state.comm = skel_alloc((size_t)state.n + 1, sizeof *state.comm);
	for (int k = 0; k < state.n; k++)
		state.comm[k] = MPI_COMM_NULL;
	skel_scratch_set(scratch);
	skel_scratch_begin(p);
}

void skel_files_close(void)
{
	skel_scratch_end();
	for (int k = 0; k < state.n; k++)
		if (state.comm[k] != MPI_COMM_NULL)
			PMPI_Comm_free(&state.comm[k]);
	free(state.comm);
	state.comm = NULL;
	state.n = 0;
}

void skel_files_print(FILE *f)
{
	skel_scratch_print(f);
}

void skel_files_remove(void)
{
	scratch_paths_remove();
}

void skel_files_unknown(int n)
{
	skel_scratch_refuse(n);
}

/* Is it open as a scratch file? All of its processes say the same. */
static int is_real(int k)
{
	if (k < 0 || k >= state.n)
		skel_fail("skel.c.data names file %d of %d", k, state.n);
	return skel_scratch_is_open(k);
}

static int met(int k)
{
	if (state.comm[k] != MPI_COMM_NULL)
		PMPI_Barrier(state.comm[k]);
	return 0;
}

void skel_file_meet(int k)
{
	is_real(k);
	met(k);
}

int skel_file_open(int k, MPI_Comm c)
{
	if (is_real(k))
		skel_scratch_close(k);
	if (state.comm[k] != MPI_COMM_NULL)
		PMPI_Comm_free(&state.comm[k]);
	PMPI_Comm_dup(c, &state.comm[k]);
	return skel_scratch_open(k, c, state.comm[k]);
}

int skel_file_close(int k)
{
	int done = is_real(k) ? skel_scratch_close(k) : met(k);

	if (state.comm[k] != MPI_COMM_NULL)
		PMPI_Comm_free(&state.comm[k]);
	return done;
}

int skel_file_sync(int k)
{
	return is_real(k) ? skel_scratch_sync(k) : met(k);
}

int skel_file_size(int k, int allocate, int64_t size)
{
	return is_real(k) ? skel_scratch_size(k, allocate, size) : met(k);
}

int skel_file_view(int k, int64_t disp, MPI_Datatype unit, MPI_Datatype t)
{
	return is_real(k) ? skel_scratch_view(k, disp, unit, t) : met(k);
}

int skel_file_atomicity(int k, int flag)
{
	return is_real(k) ? skel_scratch_atomicity(k, flag) : met(k);
}

int skel_file_seek(int k, int64_t offset, int whence)
{
	return is_real(k) ? skel_scratch_seek(k, offset, whence) : 0;
}

int skel_file_seek_shared(int k, int64_t offset, int whence)
{
	return is_real(k) ? skel_scratch_seek_shared(k, offset, whence) : met(k);
}

int skel_file_access(int k, int how, int64_t offset, int64_t count, MPI_Datatype t)
{
	if (is_real(k))
		return skel_scratch_access(k, how, offset, count, t, NULL);
	return (how & (SKEL_IO_ALL | SKEL_IO_ORDERED)) && !(how & SKEL_IO_BEGIN) ? met(k) : 0;
}

int skel_file_end(int k)
{
	return is_real(k) ? skel_scratch_finish(k) : met(k);
}

int skel_file_start(int k, int how, int64_t offset, int64_t count, MPI_Datatype t, MPI_Request *q)
{
	return is_real(k) ? skel_scratch_access(k, how, offset, count, t, q) : 0;
}

int skel_file_wait(int n, const int *slot)
{
	return skel_scratch_wait(n, slot);
}

void skel_sleep(double ns)
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
