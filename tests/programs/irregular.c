/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * irregular KIND STEPS [WORK]: programs whose steps differ from each other, each of a kind that real applications have.
 *     steps   time steps with three inner loops of 0 to 5 iterations, all communication through one function
 *     solver  time steps with an iterative solver of 20 to 60 iterations: halos and reductions
 *     panels  a factorisation: panels shrink, the pivot's owner is at random
 *     refine  a mesh that is refined where it is needed: neighbours, numbers and sizes of messages move
 *     farm    rank 0 hands out tasks of different length
 *     early   the same, and a worker is sent its next task before it asks
 *     fetch   tasks are taken from a counter in a window, with get and accumulate of data
 *     some    rank 0 takes answers in the order in which they come (MPI_Waitsome)
 *     branch  branch and bound: a task gives birth to 0 to 3 others
 *     ahead   steps that post the receive of the next step before they wait for their own
 *     posted  rank 0 has four receives from any rank open all the time, and answers each message
 *     any     rank 0 hands out tasks, has eight receives from any rank open, and takes the first answer (MPI_Waitany)
 *     batch   the same, and it takes all answers that have come (MPI_Waitsome)
 *     double  steps with two buffers: the send of a step is completed in the next one
 *     held    rank 0 hands out tasks, and completes the send of a worker's task before it sends the worker the next one
 *     exact   as early, with tasks and answers of different length, and receives of exactly the length that was probed
 *     teams   steps with communicators that some ranks are not in, and others that some ranks free and others keep
 * WORK: operations of a unit of computation, about 20 us. Rank 0 prints one line with a sum that does not depend on the
 * order of messages. Needs two ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_TASK = 1, TAG_STOP, TAG_ANSWER, TAG_HALO, TAG_NEXT, TAG_PIVOT, MESSAGE_MAX = 65536 };

static int rank, size, unit = 20000;
static double sum, given, got;
static char out[4][MESSAGE_MAX], in[4][MESSAGE_MAX];

static unsigned random_of(unsigned long a, unsigned long b)
{
	unsigned long x = (a + 1) * 0x9e3779b97f4a7c15ul ^ (b + 1) * 0xff51afd7ed558ccdul;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ul;
	return (unsigned)(x >> 33);
}

static void work(unsigned units)
{
	double x = 1;

	for (long i = 0; i < (long)units * unit; i++)
		x = x * 0.999999 + 1e-7;
	sum += x > 2;
}

static void reduce(void)
{
	given = 1;
	MPI_Allreduce(&given, &got, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	sum += got / size;
}

static void halo(int bytes)
{
	MPI_Request r[2];

	MPI_Irecv(in[0], bytes, MPI_BYTE, (rank + size - 1) % size, TAG_HALO, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out[0], bytes, MPI_BYTE, (rank + 1) % size, TAG_HALO, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void steps(unsigned n)
{
	for (unsigned t = 0; t < n; t++)
		for (unsigned part = 0; part < 3; part++) {
			for (unsigned i = random_of(t, part) % 6; i > 0; i--) {
				work(1 + part);
				halo(640 << part);
				reduce();
			}
			reduce();
		}
}

/* MPI_Comm_create makes a communicator of the first rank alone. From time to time each rank gets a team of its own, which only
 * the first rank frees. */
static void teams(unsigned n)
{
	MPI_Comm grid, team;
	MPI_Group all, first;

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, (int[]){0}, &first);
	MPI_Comm_create(MPI_COMM_WORLD, first, &grid);
	for (unsigned t = 0; t < n; t++) {
		if (t % 40 == 0)
			MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &team);
		if (t % 40 < 20)
			MPI_Allreduce(&given, &got, 1, MPI_DOUBLE, MPI_SUM, team);
		if (t % 40 == 20 && rank == 0)
			MPI_Comm_free(&team);
		for (unsigned part = 0; part < 3; part++)
			for (unsigned i = random_of(t, part) % 6; i > 0; i--) {
				work(1 + part);
				halo(640 << part);
				if (grid != MPI_COMM_NULL)
					MPI_Bcast(&given, 1, MPI_DOUBLE, 0, grid);
				reduce();
			}
	}
	MPI_Group_free(&first);
	MPI_Group_free(&all);
}

static void ahead(unsigned n)
{
	MPI_Request r[2], s;

	MPI_Irecv(in[0], 512, MPI_BYTE, (rank + size - 1) % size, TAG_HALO, MPI_COMM_WORLD, &r[0]);
	for (unsigned t = 0; t < n; t++) {
		int next = (int)(t + 1) % 2;

		if (t + 1 < n)
			MPI_Irecv(in[next], 512, MPI_BYTE, (rank + size - 1) % size, TAG_HALO + next, MPI_COMM_WORLD, &r[next]);
		for (unsigned i = random_of(t, 5) % 6; i > 0; i--) {
			work(1 + random_of(t, i) % 4);
			reduce();
		}
		MPI_Isend(out[0], 512, MPI_BYTE, (rank + 1) % size, TAG_HALO + (int)t % 2, MPI_COMM_WORLD, &s);
		MPI_Wait(&r[t % 2], MPI_STATUS_IGNORE);
		MPI_Wait(&s, MPI_STATUS_IGNORE);
	}
}

/* From the first message on, a send is open at every reduction. */
static void twofold(unsigned n)
{
	MPI_Request s[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int at = 0;

	for (unsigned t = 0; t < n; t++)
		for (unsigned part = 0; part < 3; part++)
			for (unsigned i = random_of(t, part) % 6; i > 0; i--) {
				work(1 + part);
				if (random_of(3 * t + part, i) % 2 == 0) {
					MPI_Isend(out[at], 640, MPI_BYTE, (rank + 1) % size, TAG_HALO, MPI_COMM_WORLD, &s[at]);
					MPI_Recv(in[0], 640, MPI_BYTE, (rank + size - 1) % size, TAG_HALO, MPI_COMM_WORLD,
						 MPI_STATUS_IGNORE);
					at = !at;
					MPI_Wait(&s[at], MPI_STATUS_IGNORE);
				}
				reduce();
			}
	MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
}

static void solver(unsigned n)
{
	for (unsigned t = 0; t < n; t++) {
		work(10);
		for (unsigned i = 20 + random_of(t, 9) % 41; i > 0; i--) {
			halo(4096);
			work(2);
			reduce();
			reduce();
		}
	}
}

static void panels(unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		int owner = (int)(k % (unsigned)size), pivot = (int)(random_of(k, 3) % (unsigned)size);
		int bytes = 64 + (int)(32 * (n - k)) % MESSAGE_MAX;

		if (rank == owner)
			work(2);
		if (pivot != owner && (rank == owner || rank == pivot))
			MPI_Sendrecv(out[0], bytes, MPI_BYTE, rank == owner ? pivot : owner, TAG_PIVOT, in[0], bytes, MPI_BYTE,
				     rank == owner ? pivot : owner, TAG_PIVOT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Bcast(out[1], bytes, MPI_BYTE, owner, MPI_COMM_WORLD);
		work(1 + 20 * (n - k) / n);
	}
}

/* Ranks r and r + d exchange at distance d if the mesh is fine there; both know. */
static void refine(unsigned n)
{
	for (unsigned t = 0; t < n; t++) {
		unsigned mesh = t / 7, fine = 1 + random_of(mesh, (unsigned long)rank) % 5;
		MPI_Request r[16];
		int k = 0;

		if (t % 7 == 0)
			reduce();
		for (int d = 1; d < size && d <= 3; d++)
			for (int side = -1; side <= 1; side += 2) {
				int to = (rank + side * d + 3 * size) % size, low = side > 0 ? rank : to;
				unsigned cells = random_of(mesh, (unsigned long)(low * 8 + d)) % 4;

				if (cells == 0)
					continue;
				MPI_Irecv(in[d], (int)(1024 * cells), MPI_BYTE, to, d * 2 + (side < 0), MPI_COMM_WORLD, &r[k++]);
				MPI_Isend(out[d], (int)(1024 * cells), MPI_BYTE, to, d * 2 + (side > 0), MPI_COMM_WORLD, &r[k++]);
			}
		work(2 * fine);
		MPI_Waitall(k, r, MPI_STATUSES_IGNORE);
		if (t % 3 == 0)
			reduce();
	}
}

static unsigned task_units(unsigned task)
{
	return 5 + random_of(task, 17) % 40;
}

static void posted(unsigned n)
{
	enum { OPEN = 4 };
	MPI_Request r[OPEN];
	double answer[OPEN];
	MPI_Status s;
	int all = (size - 1) * (int)n;

	for (int i = 0; rank == 0 && i < OPEN; i++)
		MPI_Irecv(&answer[i], 1, MPI_DOUBLE, MPI_ANY_SOURCE, TAG_ANSWER, MPI_COMM_WORLD, &r[i]);
	for (int k = 0; rank == 0 && k < all; k++) {
		int at = k % OPEN;

		MPI_Wait(&r[at], &s);
		sum += answer[at];
		MPI_Irecv(&answer[at], 1, MPI_DOUBLE, MPI_ANY_SOURCE, TAG_ANSWER, MPI_COMM_WORLD, &r[at]);
		MPI_Send(&given, 1, MPI_DOUBLE, s.MPI_SOURCE, TAG_TASK, MPI_COMM_WORLD);
	}
	for (int i = 0; rank == 0 && i < OPEN; i++) {
		MPI_Cancel(&r[i]);
		MPI_Wait(&r[i], MPI_STATUS_IGNORE);
	}
	for (unsigned k = 0; rank > 0 && k < n; k++) {
		given = k;
		work(task_units(k * 64 + (unsigned)rank));
		MPI_Send(&given, 1, MPI_DOUBLE, 0, TAG_ANSWER, MPI_COMM_WORLD);
		MPI_Recv(&got, 1, MPI_DOUBLE, 0, TAG_TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void worker(void)
{
	MPI_Status s;
	unsigned task;

	for (;;) {
		MPI_Recv(&task, 1, MPI_UNSIGNED, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
		if (s.MPI_TAG == TAG_STOP)
			return;
		work(task_units(task));
		MPI_Send(&task, 1, MPI_UNSIGNED, 0, TAG_ANSWER, MPI_COMM_WORLD);
	}
}

static void handed(unsigned n, int several)
{
	enum { OPEN = 8 };
	MPI_Request r[OPEN];
	MPI_Status s[OPEN];
	unsigned answer[OPEN], next = 0, left = n;
	int at[OPEN], n_at = 1;

	for (int i = 0; i < OPEN; i++)
		MPI_Irecv(&answer[i], 1, MPI_UNSIGNED, MPI_ANY_SOURCE, TAG_ANSWER, MPI_COMM_WORLD, &r[i]);
	for (int w = 1; w < size && next < n; w++, next++)
		MPI_Send(&next, 1, MPI_UNSIGNED, w, TAG_TASK, MPI_COMM_WORLD);
	while (left > 0) {
		if (several)
			MPI_Waitsome(OPEN, r, &n_at, at, s);
		else
			MPI_Waitany(OPEN, r, &at[0], &s[0]);
		for (int i = 0; i < n_at; i++, left--) {
			sum += answer[at[i]];
			MPI_Irecv(&answer[at[i]], 1, MPI_UNSIGNED, MPI_ANY_SOURCE, TAG_ANSWER, MPI_COMM_WORLD, &r[at[i]]);
			if (next < n) {
				MPI_Send(&next, 1, MPI_UNSIGNED, s[i].MPI_SOURCE, TAG_TASK, MPI_COMM_WORLD);
				next++;
			}
		}
		work(1);
	}
	for (int w = 1; w < size; w++)
		MPI_Send(&n, 1, MPI_UNSIGNED, w, TAG_STOP, MPI_COMM_WORLD);
	for (int i = 0; i < OPEN; i++) {
		MPI_Cancel(&r[i]);
		MPI_Wait(&r[i], MPI_STATUS_IGNORE);
	}
}

static void held(unsigned n)
{
	MPI_Request *r = malloc((size_t)size * sizeof *r);
	unsigned *task = malloc((size_t)size * sizeof *task), next = 0, answer;
	MPI_Status s;

	for (int w = 1; w < size; w++)
		r[w] = MPI_REQUEST_NULL;
	for (unsigned left = n; left > 0;) {
		int w = (int)next + 1;

		if (w >= size || next >= n) {
			MPI_Recv(&answer, 1, MPI_UNSIGNED, MPI_ANY_SOURCE, TAG_ANSWER, MPI_COMM_WORLD, &s);
			sum += answer;
			left--;
			w = s.MPI_SOURCE;
		}
		if (next >= n)
			continue;
		MPI_Wait(&r[w], MPI_STATUS_IGNORE);
		task[w] = next++;
		MPI_Isend(&task[w], 1, MPI_UNSIGNED, w, TAG_TASK, MPI_COMM_WORLD, &r[w]);
	}
	for (int w = 1; w < size; w++) {
		MPI_Wait(&r[w], MPI_STATUS_IGNORE);
		MPI_Send(&n, 1, MPI_UNSIGNED, w, TAG_STOP, MPI_COMM_WORLD);
	}
	free(r);
	free(task);
}

/* Tasks and answers have this length. */
static int message_bytes(unsigned task, unsigned long of)
{
	return (int)(sizeof task + random_of(task, of) % 4000);
}

static void message_send(unsigned task, int to, int tag)
{
	memcpy(out[0], &task, sizeof task);
	MPI_Send(out[0], message_bytes(task, (unsigned long)tag), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

/* The master receives the message that was probed; a worker has one sender. */
static unsigned message_receive(int from, MPI_Status *s)
{
	MPI_Message message;
	unsigned task;
	int bytes;

	if (rank == 0)
		MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &message, s);
	else
		MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, s);
	MPI_Get_count(s, MPI_BYTE, &bytes);
	if (rank == 0)
		MPI_Mrecv(in[0], bytes, MPI_BYTE, &message, s);
	else
		MPI_Recv(in[0], bytes, MPI_BYTE, s->MPI_SOURCE, s->MPI_TAG, MPI_COMM_WORLD, s);
	memcpy(&task, in[0], sizeof task);
	return task;
}

static void exact(unsigned n)
{
	unsigned next = 0, task;
	MPI_Status s;

	for (int i = 0; rank == 0 && i < 2; i++)
		for (int w = 1; w < size && next < n; w++)
			message_send(next++, w, TAG_TASK);
	for (unsigned left = n; rank == 0 && left > 0; left--) {
		sum += message_receive(MPI_ANY_SOURCE, &s);
		if (next < n)
			message_send(next++, s.MPI_SOURCE, TAG_TASK);
	}
	for (int w = 1; rank == 0 && w < size; w++)
		message_send(n, w, TAG_STOP);
	while (rank > 0) {
		task = message_receive(0, &s);
		if (s.MPI_TAG == TAG_STOP)
			return;
		work(task_units(task));
		message_send(task, 0, TAG_ANSWER);
	}
}

/* How many tasks a task of branch and bound gives birth to: less than one on the average, so that the search ends. */
static unsigned births(unsigned task, unsigned n)
{
	return task < n ? random_of(task, 23) % 4 : 0;
}

/* each: tasks that a worker has at a time */
static void master(unsigned n, int branches, int each)
{
	unsigned next = 0, known = branches ? 1 : n, task, running = 0;
	int *idle = malloc((size_t)(each * size) * sizeof *idle), n_idle = 0;
	MPI_Status s;

	for (int i = 0; i < each; i++)
		for (int w = size - 1; w > 0; w--)
			idle[n_idle++] = w;
	for (;;) {
		for (; n_idle > 0 && next < known; next++, running++)
			MPI_Send(&next, 1, MPI_UNSIGNED, idle[--n_idle], TAG_TASK, MPI_COMM_WORLD);
		if (running == 0)
			break;
		MPI_Recv(&task, 1, MPI_UNSIGNED, MPI_ANY_SOURCE, TAG_ANSWER, MPI_COMM_WORLD, &s);
		running--;
		idle[n_idle++] = s.MPI_SOURCE;
		sum += task;
		if (branches && known < n) {
			known += births(task, n);
			if (running == 0 && next == known)
				known++; /* the search goes on with another root */
			known = known > n ? n : known;
		}
	}
	for (int w = 1; w < size; w++)
		MPI_Send(&n, 1, MPI_UNSIGNED, w, TAG_STOP, MPI_COMM_WORLD);
	free(idle);
}

static void fetch(unsigned n)
{
	long *counter, one = 1, task = 0;
	double *data, value;
	MPI_Win tasks, shared;

	MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &tasks);
	MPI_Win_allocate(1024 * sizeof *data, sizeof *data, MPI_INFO_NULL, MPI_COMM_WORLD, &data, &shared);
	*counter = 0;
	memset(data, 0, 1024 * sizeof *data);
	MPI_Win_lock_all(0, tasks);
	MPI_Win_lock_all(0, shared);
	MPI_Barrier(MPI_COMM_WORLD);
	for (;;) {
		int to;

		MPI_Fetch_and_op(&one, &task, MPI_LONG, 0, 0, MPI_SUM, tasks);
		MPI_Win_flush(0, tasks);
		if (task >= (long)n)
			break;
		to = (int)(random_of((unsigned long)task, 31) % (unsigned)size);
		MPI_Get(&value, 1, MPI_DOUBLE, to, (MPI_Aint)(task % 1024), 1, MPI_DOUBLE, shared);
		MPI_Win_flush(to, shared);
		work(task_units((unsigned)task));
		value = (double)task;
		MPI_Accumulate(&value, 1, MPI_DOUBLE, to, (MPI_Aint)(task % 1024), 1, MPI_DOUBLE, MPI_SUM, shared);
		MPI_Win_flush(to, shared);
	}
	MPI_Win_unlock_all(shared);
	MPI_Win_unlock_all(tasks);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 1024; i++)
		sum += data[i];
	MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &sum, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Win_free(&shared);
	MPI_Win_free(&tasks);
}

static void some(unsigned n)
{
	MPI_Request *r = malloc((size_t)size * sizeof *r);
	int *done = malloc((size_t)size * sizeof *done), n_done, left = (size - 1) * (int)n;
	double *answer = calloc((size_t)size, sizeof *answer);

	for (int w = 1; rank == 0 && w < size; w++)
		MPI_Irecv(&answer[w], 1, MPI_DOUBLE, w, TAG_ANSWER, MPI_COMM_WORLD, &r[w - 1]);
	while (rank == 0 && left > 0) {
		MPI_Waitsome(size - 1, r, &n_done, done, MPI_STATUSES_IGNORE);
		for (int i = 0; i < n_done; i++, left--) {
			int w = done[i] + 1;

			sum += answer[w];
			if ((unsigned)answer[w] + 1 < n)
				MPI_Irecv(&answer[w], 1, MPI_DOUBLE, w, TAG_ANSWER, MPI_COMM_WORLD, &r[w - 1]);
		}
		work(1);
	}
	for (unsigned k = 0; rank > 0 && k < n; k++) {
		given = k;
		work(task_units(k * 64 + (unsigned)rank));
		MPI_Send(&given, 1, MPI_DOUBLE, 0, TAG_ANSWER, MPI_COMM_WORLD);
	}
	free(r);
	free(done);
	free(answer);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "steps";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 100;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 3)
		unit = atoi(argv[3]);
	if (strcmp(kind, "steps") == 0)
		steps(n);
	else if (strcmp(kind, "teams") == 0)
		teams(n);
	else if (strcmp(kind, "ahead") == 0)
		ahead(n);
	else if (strcmp(kind, "posted") == 0)
		posted(n);
	else if (strcmp(kind, "double") == 0)
		twofold(n);
	else if (strcmp(kind, "exact") == 0)
		exact(n);
	else if (strcmp(kind, "solver") == 0)
		solver(n);
	else if (strcmp(kind, "panels") == 0)
		panels(n);
	else if (strcmp(kind, "refine") == 0)
		refine(n);
	else if (strcmp(kind, "fetch") == 0)
		fetch(n);
	else if (strcmp(kind, "some") == 0)
		some(n);
	else if (rank > 0)
		worker();
	else if (strcmp(kind, "held") == 0)
		held(n);
	else if (strcmp(kind, "any") == 0 || strcmp(kind, "batch") == 0)
		handed(n, strcmp(kind, "batch") == 0);
	else
		master(n, strcmp(kind, "branch") == 0, strcmp(kind, "early") == 0 ? 2 : 1);
	if (rank == 0)
		printf("%s %u: %.0f\n", kind, n, sum);
	MPI_Finalize();
	return 0;
}
