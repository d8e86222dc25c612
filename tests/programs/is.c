/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * is: ranks of integer keys by buckets, in the pattern of the IS kernel. Each iteration reduces the bucket sizes by
 * Allreduce, exchanges the number of keys per rank by Alltoall and the keys by Alltoallv, then counts keys with
 * random memory access.
 * Usage: is [THOUSANDS_OF_KEYS=4096] [ITERATIONS=20]. Rank 0 prints one line with a checksum.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS  1024
#define KEY_BITS 22

struct is {
	int n, size, rank;       /* number of own keys */
	int *key, *sorted, *got; /* got: room for all keys that may arrive */
	int room;
	int *count;              /* count per key of the own range */
	int *send_count, *send_at, *recv_count, *recv_at, *owner;
};

/* Assign buckets to ranks, with about the same number of keys each. */
static void share_out(struct is *s, const int *total)
{
	int64_t all = 0, seen = 0;

	for (int b = 0; b < BUCKETS; b++)
		all += total[b];
	for (int b = 0; b < BUCKETS; b++) {
		s->owner[b] = (int)(seen * s->size / (all ? all : 1));
		seen += total[b];
	}
}

static void count_buckets(const struct is *s, int *bucket)
{
	memset(bucket, 0, BUCKETS * sizeof(*bucket));
	for (int i = 0; i < s->n; i++)
		bucket[s->key[i] >> (KEY_BITS - 10)]++;
}

static void sort_by_bucket(struct is *s, const int *bucket)
{
	int at[BUCKETS], sum = 0;

	memset(s->send_count, 0, (size_t)s->size * sizeof(int));
	for (int b = 0; b < BUCKETS; b++) {
		at[b] = sum;
		sum += bucket[b];
		s->send_count[s->owner[b]] += bucket[b];
	}
	for (int i = 0; i < s->n; i++)
		s->sorted[at[s->key[i] >> (KEY_BITS - 10)]++] = s->key[i];
}

static int64_t iteration(struct is *s, int it)
{
	int bucket[BUCKETS], total[BUCKETS], n = 0;
	int64_t sum = 0;

	s->key[it % s->n] = it;
	count_buckets(s, bucket);
	MPI_Allreduce(bucket, total, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	share_out(s, total);
	sort_by_bucket(s, bucket);
	MPI_Alltoall(s->send_count, 1, MPI_INT, s->recv_count, 1, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0, at = 0; r < s->size; r++) {
		s->send_at[r] = at;
		s->recv_at[r] = n;
		at += s->send_count[r];
		n += s->recv_count[r];
	}
	if (n > s->room) {
		fprintf(stderr, "is: %d keys came, there is room for %d\n", n, s->room);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Alltoallv(s->sorted, s->send_count, s->send_at, MPI_INT, s->got, s->recv_count, s->recv_at, MPI_INT, MPI_COMM_WORLD);
	memset(s->count, 0, sizeof(int) << KEY_BITS);
	for (int i = 0; i < n; i++)
		s->count[s->got[i]]++;
	for (int k = 1; k < 1 << KEY_BITS; k++)
		s->count[k] += s->count[k - 1];
	for (int k = 0; k < 1 << KEY_BITS; k += 4099)
		sum += s->count[k];
	return sum;
}

int main(int argc, char **argv)
{
	int thousands = argc > 1 ? atoi(argv[1]) : 4096, iterations = argc > 2 ? atoi(argv[2]) : 20;
	int64_t sum = 0, all = 0;
	uint64_t seed;
	struct is s;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &s.size);
	if (thousands < 1 || thousands > 1000000 || iterations < 0) {
		fprintf(stderr, "is: usage: is [THOUSANDS_OF_KEYS] [ITERATIONS]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	s.n = (int)((int64_t)thousands * 1024 / s.size);
	s.room = s.n * 2 + 1024;
	s.key = malloc((size_t)s.n * sizeof(int));
	s.sorted = malloc((size_t)s.n * sizeof(int));
	s.got = malloc((size_t)s.room * sizeof(int));
	s.count = malloc(sizeof(int) << KEY_BITS);
	s.send_count = malloc((size_t)s.size * 4 * sizeof(int));
	s.owner = malloc(BUCKETS * sizeof(int));
	if (!s.key || !s.sorted || !s.got || !s.count || !s.send_count || !s.owner)
		MPI_Abort(MPI_COMM_WORLD, 1);
	s.send_at = s.send_count + s.size;
	s.recv_count = s.send_at + s.size;
	s.recv_at = s.recv_count + s.size;
	seed = 314159265u + (uint64_t)s.rank * 271828183u;
	for (int i = 0; i < s.n; i++) {
		uint64_t key = 0;

		for (int k = 0; k < 4; k++) { /* mean of four, so that keys gather in the middle */
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			key += seed >> (64 - KEY_BITS);
		}
		s.key[i] = (int)(key / 4);
	}
	for (int it = 0; it < iterations; it++)
		sum += iteration(&s, it);
	MPI_Reduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (s.rank == 0)
		printf("is: thousands %d iterations %d ranks %d checksum %lld\n", thousands, iterations, s.size, (long long)all);
	free(s.key);
	free(s.sorted);
	free(s.got);
	free(s.count);
	free(s.send_count);
	free(s.owner);
	MPI_Finalize();
	return 0;
}
