/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many one-sided calls: onesided PATTERN CALLS, where PATTERN is one of
 *   halo   puts to both neighbours, to the same places each time, between fences
 *   walk   puts that walk through the neighbour's window, between fences
 *   table  updates of a table that lies in all windows, at random places
 *   locks  a lock, a get from a random place, and an unlock
 * CALLS is how many calls each rank makes, at least. Prints the sum of all windows.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 65536

static int rank, size, left, right;
static int64_t *cell;
static MPI_Win win;
static uint64_t seed;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* MPI may read what is put until the next fence: it is one object for all iterations, and is written after the fence. */
static void halo(long calls)
{
	int64_t v[2] = {0, rank};

	for (long i = 0; i < calls; i += 5) {
		MPI_Win_fence(0, win);
		v[0] = i;
		MPI_Put(v, 2, MPI_INT64_T, left, 0, 2, MPI_INT64_T, win);
		MPI_Put(v, 2, MPI_INT64_T, right, 8, 2, MPI_INT64_T, win);
		MPI_Put(v, 1, MPI_INT64_T, left, 4, 1, MPI_INT64_T, win);
		MPI_Put(v, 1, MPI_INT64_T, right, 12, 1, MPI_INT64_T, win);
	}
	MPI_Win_fence(0, win);
}

static void walk(long calls)
{
	int64_t v[8];

	for (long i = 0; i < calls; i += 9) {
		MPI_Win_fence(0, win);
		for (int k = 0; k < 8; k++) {
			v[k] = i + k;
			MPI_Put(&v[k], 1, MPI_INT64_T, right, (i * 8 + k) % CELLS, 1, MPI_INT64_T, win);
		}
	}
	MPI_Win_fence(0, win);
}

static void table(long calls)
{
	const int64_t one = 1;

	MPI_Win_lock_all(0, win);
	for (long i = 0; i < calls; i++) {
		MPI_Accumulate(&one, 1, MPI_INT64_T, (int)(draw() % (uint64_t)size), (MPI_Aint)(draw() % CELLS), 1, MPI_INT64_T,
			       MPI_SUM, win);
		if (i % 64 == 63)
			MPI_Win_flush_local_all(win);
	}
	MPI_Win_unlock_all(win);
}

static void locks(long calls)
{
	int64_t got = 0, sum = 0;

	for (long i = 0; i < calls; i += 3) {
		int target = (int)(draw() % (uint64_t)size);

		MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
		MPI_Get(&got, 1, MPI_INT64_T, target, (MPI_Aint)(draw() % CELLS), 1, MPI_INT64_T, win);
		MPI_Win_unlock(target, win);
		sum += got;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	cell[0] += sum;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long calls);
	} pattern[] = {{"halo", halo}, {"walk", walk}, {"table", table}, {"locks", locks}};
	long calls = argc > 2 ? atol(argv[2]) : 1000;
	int64_t sum = 0, all = 0;
	unsigned p = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while (p < 4 && strcmp(argc > 1 ? argv[1] : "halo", pattern[p].name))
		p++;
	if (p == 4) {
		fprintf(stderr, "usage: onesided halo|walk|table|locks [CALLS]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	seed = 88172645463325252ull + (uint64_t)rank;
	MPI_Win_allocate(CELLS * sizeof(*cell), sizeof(*cell), MPI_INFO_NULL, MPI_COMM_WORLD, &cell, &win);
	for (long i = 0; i < CELLS; i++)
		cell[i] = i % 7;
	MPI_Barrier(MPI_COMM_WORLD);
	pattern[p].run(calls);
	MPI_Barrier(MPI_COMM_WORLD);
	for (long i = 0; i < CELLS; i++)
		sum += cell[i];
	MPI_Reduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("onesided %s: %lld\n", pattern[p].name, (long long)all);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
