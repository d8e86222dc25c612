/* SPDX-License-Identifier: GPL-2.0-or-later */
/* noinit: linked with MPI, but never calls MPI_Init; makes only calls that are allowed without it. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
	int version = 0, subversion = 0, flag = 1;

	MPI_Get_version(&version, &subversion);
	MPI_Initialized(&flag);
	printf("noinit: MPI %d.%d, initialized %d\n", version, subversion, flag);
	return flag;
}
