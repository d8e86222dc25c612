/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mpiio: steps of computation, each followed by a checkpoint in a new file: a collective write, an individual and a
 * nonblocking write, and a read. Usage: mpiio DIRECTORY [KIB [STEPS]]; the files are removed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, kib;
static char *data;
static double state[4096];

static void compute(void)
{
	for (int k = 0; k < 200; k++)
		for (int i = 1; i < 4095; i++)
			state[i] = 0.25 * (state[i - 1] + 2 * state[i] + state[i + 1]) + 1;
}

static void checkpoint(const char *dir, int step)
{
	MPI_Offset mine = (MPI_Offset)rank * kib * 1024, part = (MPI_Offset)size * kib * 1024;
	char name[512];
	MPI_Request q;
	MPI_File f;

	snprintf(name, sizeof name, "%s/checkpoint.%d", dir, step);
	if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
			  &f) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_File_write_at_all(f, mine, data, kib * 1024, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_iwrite_at(f, mine + part, data, kib * 256, MPI_BYTE, &q);
	compute();
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	if (rank == 0)
		MPI_File_write_at(f, 2 * part, data, 1024, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_read_at(f, mine, data, 1024, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
}

int main(int argc, char **argv)
{
	double sum;
	int steps;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	kib = argc > 2 ? atoi(argv[2]) : 256;
	steps = argc > 3 ? atoi(argv[3]) : 8;
	data = calloc((size_t)kib, 1024);
	if (argc < 2 || data == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < steps; i++) {
		compute();
		checkpoint(argv[1], i);
		MPI_Allreduce(&state[7], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("mpiio: %g\n", sum);
	free(data);
	MPI_Finalize();
	return 0;
}
