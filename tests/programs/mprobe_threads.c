/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mprobe_threads: several threads of a rank receive messages of one sender and tag, each of another size
 * (MPI_THREAD_MULTIPLE). The assignment of messages to threads and the order of the calls' returns are random.
 * Usage: mprobe_threads [MODE=mprobe] [MESSAGES=400] [THREADS=3]; even ranks send to the next rank.
 *
 *   mprobe   MPI_Mprobe and MPI_Mrecv in every thread of the receiver
 *   improbe  MPI_Improbe and MPI_Imrecv, several messages open at once
 *   senders  threads in the sender; the receiver has one thread, with MPI_Probe and MPI_Recv
 *   both     threads on both sides, MPI_Mprobe and MPI_Mrecv
 *   recv     MPI_Recv in every thread, with room for the longest message
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 3000, OPEN = 3, TAG = 7, MOST_THREADS = 16 };

static const char *mode = "mprobe";
static int rank, messages = 400, threads = 3;
static atomic_int begun;
static atomic_long bytes;

/* Sizes of all messages differ, up to LONGEST of them; 1,999 is a prime. */
static int size_of(int i)
{
	return 1 + i * 1999 % LONGEST;
}

static void take(MPI_Message *m, const MPI_Status *s, char *room)
{
	int n;

	MPI_Get_count(s, MPI_CHAR, &n);
	MPI_Mrecv(room, n, MPI_CHAR, m, MPI_STATUS_IGNORE);
	bytes += n;
}

static void *receive_matched(void *unused)
{
	char room[LONGEST];

	while (atomic_fetch_add(&begun, 1) < messages) {
		MPI_Message m;
		MPI_Status s;

		MPI_Mprobe(rank - 1, TAG, MPI_COMM_WORLD, &m, &s);
		take(&m, &s, room);
	}
	return unused;
}

static void *receive_open(void *unused)
{
	char room[OPEN][LONGEST];
	MPI_Request q[OPEN];
	int n = 0, size;

	while (atomic_fetch_add(&begun, 1) < messages) {
		MPI_Message m;
		MPI_Status s;

		for (int there = 0; !there;)
			MPI_Improbe(rank - 1, TAG, MPI_COMM_WORLD, &there, &m, &s);
		MPI_Get_count(&s, MPI_CHAR, &size);
		MPI_Imrecv(room[n], size, MPI_CHAR, &m, &q[n]);
		bytes += size;
		if (++n == OPEN) {
			MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
			n = 0;
		}
	}
	MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
	return unused;
}

static void *receive_plain(void *unused)
{
	char room[LONGEST];

	while (atomic_fetch_add(&begun, 1) < messages) {
		MPI_Status s;
		int n;

		MPI_Recv(room, LONGEST, MPI_CHAR, rank - 1, TAG, MPI_COMM_WORLD, &s);
		MPI_Get_count(&s, MPI_CHAR, &n);
		bytes += n;
	}
	return unused;
}

static void *receive_probed(void *unused)
{
	char room[LONGEST];

	for (int i = 0; i < messages; i++) {
		MPI_Status s;
		int n;

		MPI_Probe(rank - 1, TAG, MPI_COMM_WORLD, &s);
		MPI_Get_count(&s, MPI_CHAR, &n);
		MPI_Recv(room, n, MPI_CHAR, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		bytes += n;
	}
	return unused;
}

static void *send_all(void *unused)
{
	char room[LONGEST] = {0};

	for (int i; (i = atomic_fetch_add(&begun, 1)) < messages;) {
		MPI_Send(room, size_of(i), MPI_CHAR, rank + 1, TAG, MPI_COMM_WORLD);
		bytes += size_of(i);
	}
	return unused;
}

static void in_threads(void *(*work)(void *), int n)
{
	pthread_t t[MOST_THREADS];

	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	int provided, size;
	long mine, sum;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	mode = argc > 1 ? argv[1] : mode;
	messages = argc > 2 ? atoi(argv[2]) : messages;
	threads = argc > 3 ? atoi(argv[3]) : threads;
	if (provided < MPI_THREAD_MULTIPLE || threads < 1 || threads > MOST_THREADS) {
		fprintf(stderr, "mprobe_threads: needs MPI_THREAD_MULTIPLE, and 1 to %d threads\n", MOST_THREADS);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (rank % 2 == 0 && rank + 1 < size)
		in_threads(send_all, strcmp(mode, "senders") && strcmp(mode, "both") ? 1 : threads);
	else if (!strcmp(mode, "senders"))
		receive_probed(NULL);
	else if (rank % 2)
		in_threads(!strcmp(mode, "improbe") ? receive_open : !strcmp(mode, "recv") ? receive_plain : receive_matched, threads);
	mine = rank % 2 ? -bytes : bytes;
	MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0 && sum)
		fprintf(stderr, "mprobe_threads: %ld bytes were not received\n", sum);
	MPI_Finalize();
	return rank == 0 && sum != 0;
}
