/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hangs CASE [FILE]: a few steps that work, then one planted hang or death. Cases are the functions below; `well` is none.
 * `works` and `epochs` are at work until they are killed. Cases write FILE, by default hangs.out. The lines at which ranks
 * stop have a comment "CASE: rank N stops here", which tests/cli/info-hangs.t reads.
 */
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define MANY 80000 /* doubles: more than any library sends before the receiver asks for them */

/* Keeps a call of MPI from becoming a jump, which would hide the caller. */
#define RETURNS __asm__ volatile("")

static int rank, size;
static double out[MANY], in[MANY];
static volatile double sink;
static const char *file_name;

/* All that takes long has been done: the rank reaches its place at once. */
static void say_there(void)
{
	printf("hangs: rank %d is there\n", rank);
	fflush(stdout);
}

static void send_send(void)
{
	if (rank > 1)
		return;
	MPI_Send(out, MANY, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD); /* send-send: ranks 0 and 1 stop here */
	MPI_Recv(in, MANY, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	RETURNS;
}

static void ring(void)
{
	MPI_Recv(in, 1, MPI_DOUBLE, (rank + 1) % size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* ring: all ranks stop here */
	MPI_Send(out, 1, MPI_DOUBLE, (rank + size - 1) % size, 6, MPI_COMM_WORLD);
	RETURNS;
}

static void no_send(void)
{
	if (rank == 1)
		MPI_Recv(in, 1, MPI_DOUBLE, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* no-send: rank 1 stops here */
	RETURNS;
}

static void wrong_tag(void)
{
	if (rank == 0)
		MPI_Send(out, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Recv(in, 1, MPI_DOUBLE, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong-tag: rank 1 stops here */
	RETURNS;
}

static void not_entered(void)
{
	if (rank != 1)
		MPI_Barrier(MPI_COMM_WORLD); /* not-entered: ranks 0, 2 and 3 stop here */
	RETURNS;
}

static void other_collective(void)
{
	if (rank == 2) /* other-collective: the two calls below */
		MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	else
		MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	RETURNS;
}

static void other_root(void)
{
	MPI_Bcast(in, MANY, MPI_DOUBLE, rank == 3 ? 3 : 0, MPI_COMM_WORLD); /* other-root: all ranks call it */
	MPI_Reduce(out, in, MANY, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	RETURNS;
}

static void two_comms(void)
{
	MPI_Comm other;

	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	say_there();
	MPI_Barrier(rank == 0 ? other : MPI_COMM_WORLD); /* two-comms: all ranks stop here */
	MPI_Barrier(rank == 0 ? MPI_COMM_WORLD : other);
	RETURNS;
}

static void waitall(void)
{
	MPI_Request r[2];

	if (rank == 0)
		MPI_Send(out, 1, MPI_DOUBLE, 2, 8, MPI_COMM_WORLD);
	if (rank != 2)
		return;
	MPI_Irecv(in, 1, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(in + 1, 1, MPI_DOUBLE, 3, 8, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE); /* waitall: rank 2 stops here */
	RETURNS;
}

static void any_source(void)
{
	MPI_Recv(in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* any-source: all ranks stop here */
	MPI_Send(out, 1, MPI_DOUBLE, (rank + 1) % size, 9, MPI_COMM_WORLD);
	RETURNS;
}

static void waitany(void)
{
	MPI_Request r[2];
	int which;

	for (int i = 0; i < 2; i++)
		MPI_Irecv(in + i, 1, MPI_DOUBLE, (rank + 1 + i) % size, 10, MPI_COMM_WORLD, &r[i]);
	MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE); /* waitany: all ranks stop here */
	RETURNS;
}

static void say_by_signal(int signal)
{
	static const char text[] = "hangs: rank 9 is there\n";

	(void)signal;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
}

/* Says after 1.5 s of user time that the rank is there: by then the tracer has looked at the rank. */
static void say_there_later(void)
{
	const struct itimerval once = {.it_value = {.tv_sec = 1, .tv_usec = 500000}};

	signal(SIGVTALRM, say_by_signal);
	setitimer(ITIMER_VIRTUAL, &once, NULL);
}

static __attribute__((noipa)) void spin_for_ever(void)
{
	say_there_later();
	for (;;) sink += 1; /* computes: rank 2 stays here, on one line wherever it is looked at */
}

static void computes(void)
{
	if (rank == 2)
		spin_for_ever();
	say_there();
	MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* computes: ranks 0, 1 and 3 stop here */
	RETURNS;
}

/* A Bessel function: its own functions call each other. */
static __attribute__((noipa)) void sums_for_ever(void)
{
	say_there_later();
	for (int i = 0;; i++)
		sink += jn(40 + i % 8, 3.5 + i % 5); /* in-library: rank 2 stays here */
}

static void in_library(void)
{
	if (rank == 2)
		sums_for_ever();
	say_there();
	MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	RETURNS;
}

static void chain(void)
{
	if (rank == size - 1)
		spin_for_ever();
	say_there();
	MPI_Recv(in, 1, MPI_DOUBLE, rank + 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* chain: ranks 0, 1 and 2 stop here */
	if (rank)
		MPI_Send(in, 1, MPI_DOUBLE, rank - 1, 11, MPI_COMM_WORLD);
	RETURNS;
}

static void polls(void)
{
	MPI_Request r;
	int done = 0;

	if (rank != 3)
		return;
	MPI_Irecv(in, 1, MPI_DOUBLE, 0, 12, MPI_COMM_WORLD, &r);
	while (!done)
		MPI_Test(&r, &done, MPI_STATUS_IGNORE); /* polls: rank 3 stops here */
	RETURNS;
}

static void probe(void)
{
	if (rank == 1)
		MPI_Probe(3, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* probe: rank 1 stops here */
	RETURNS;
}

static void ibarrier(void)
{
	MPI_Request r;

	if (rank == 3)
		return;
	MPI_Ibarrier(MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE); /* ibarrier: ranks 0, 1 and 2 stop here */
	RETURNS;
}

static void lock(void)
{
	MPI_Win win;

	MPI_Win_create(in, sizeof(in), sizeof(*in), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	if (rank == 1)
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	say_there();
	if (rank == 2) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(out, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD); /* lock: ranks 0, 1 and 3 stop here */
	RETURNS;
}

static MPI_Win make_window(void)
{
	MPI_Win win;

	MPI_Win_create(in, sizeof(in), sizeof(*in), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	return win;
}

static MPI_Group group_of(int member)
{
	MPI_Group all, one;

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &member, &one);
	MPI_Group_free(&all);
	return one;
}

/* The second window of its kind: the first one has worked, and is freed. */
static void fence(void)
{
	MPI_Win win = make_window();

	MPI_Win_fence(0, win);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	win = make_window();
	MPI_Win_fence(0, win);
	say_there();
	if (rank != 1)
		MPI_Win_fence(0, win); /* fence: ranks 0, 2 and 3 stop here */
	RETURNS;
}

static void win_free(void)
{
	MPI_Win win = make_window();

	say_there();
	if (rank != 2)
		MPI_Win_free(&win); /* win-free: ranks 0, 1 and 3 stop here */
	RETURNS;
}

/* An epoch with rank 1 that works, as rank 1 posts to all of rank 0's epochs but the last. */
static void no_post(void)
{
	MPI_Win win = make_window();
	MPI_Group group = group_of(rank ^ 1);

	if (rank > 1)
		say_there();
	for (int i = 0; i < 2 && rank < 2; i++) {
		if (i)
			say_there();
		if (rank == 1 && !i) {
			MPI_Win_post(group, 0, win);
			MPI_Win_wait(win);
		}
		if (rank == 0) {
			MPI_Win_start(group, 0, win); /* no-post: rank 0 stops here */
			MPI_Put(out, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win);
			MPI_Win_complete(win); /* no-post-late: or here */
		}
	}
	RETURNS;
}

/* Rank 0 starts an epoch with all others. Rank 3 and the last one do not post. */
static void no_post_many(void)
{
	MPI_Win win = make_window();
	MPI_Group all, first = group_of(0), others;

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_difference(all, first, &others);
	if (rank != 0 && rank != 3 && rank != size - 1)
		MPI_Win_post(first, 0, win);
	say_there();
	if (rank != 0)
		return;
	MPI_Win_start(others, 0, win); /* no-post-many: rank 0 stops here */
	MPI_Win_complete(win); /* no-post-many-late: or here */
	RETURNS;
}

static void no_complete(void)
{
	MPI_Win win = make_window();
	MPI_Group group = group_of(3 - rank);

	say_there();
	if (rank == 1)
		MPI_Win_start(group, 0, win);
	if (rank != 2)
		return;
	MPI_Win_post(group, 0, win);
	MPI_Win_wait(win); /* no-complete: rank 2 stops here */
	RETURNS;
}

/* Each begins an epoch with the other before it posts. */
static void both_start(void)
{
	MPI_Win win = make_window();
	MPI_Group group = group_of(rank ^ 1);

	say_there();
	MPI_Win_start(group, 0, win); /* both-start: all ranks stop here */
	MPI_Put(out, 1, MPI_DOUBLE, rank ^ 1, 0, 1, MPI_DOUBLE, win);
	MPI_Win_complete(win); /* both-start-late: or here */
	MPI_Win_post(group, 0, win);
	MPI_Win_wait(win);
	RETURNS;
}

static void no_unlock(void)
{
	MPI_Win win = make_window();

	if (rank == 1) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(out, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
		MPI_Win_flush(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	say_there();
	if (rank != 3)
		return;
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); /* no-unlock: rank 3 stops here */
	MPI_Put(out, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
	MPI_Win_unlock(0, win); /* no-unlock-late: or here */
	RETURNS;
}

static MPI_File open_file(void)
{
	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	return file;
}

static void file_open(void)
{
	MPI_File file;

	if (rank != 3)
		MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file); /* file-open: they stop here */
	RETURNS;
}

/* Pieces of all ranks alternate, so that the library exchanges them before it writes. */
/* The library may give the handle again, for the file that an earlier one was, too. */
static void write_all(void)
{
	MPI_File file = open_file(), own;
	MPI_Datatype comb;

	MPI_File_close(&file);
	MPI_File_open(MPI_COMM_SELF, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &own);
	MPI_File_close(&own);
	file = open_file();
	MPI_Type_vector(MANY / 8, 1, size, MPI_DOUBLE, &comb);
	MPI_Type_commit(&comb);
	MPI_File_set_view(file, rank * (MPI_Offset)sizeof(double), MPI_DOUBLE, comb, "native", MPI_INFO_NULL);
	MPI_File_write_all(file, out, MANY / 8, MPI_DOUBLE, MPI_STATUS_IGNORE);
	say_there();
	if (rank != 1)
		MPI_File_write_all(file, out, MANY / 8, MPI_DOUBLE, MPI_STATUS_IGNORE); /* write-all: ranks 0, 2 and 3 stop here */
	RETURNS;
}

static void file_close(void)
{
	MPI_File file = open_file();

	MPI_File_write_at(file, rank * (MPI_Offset)sizeof(double), out, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	say_there();
	if (rank != 0)
		MPI_File_close(&file); /* file-close: ranks 1, 2 and 3 stop here */
	RETURNS;
}

/* Windows and files that work. All ranks share a lock until the end. */
static void epochs(void)
{
	MPI_Win win = make_window(), other = make_window();
	MPI_File file = open_file();
	MPI_Group next = group_of((rank + 1) % size), before = group_of((rank + size - 1) % size);

	MPI_Win_lock_all(0, other);
	say_there();
	for (;;) {
		MPI_Win_fence(0, win);
		MPI_Win_fence(0, win);
		MPI_Win_post(before, 0, win);
		MPI_Win_start(next, 0, win);
		MPI_Put(out, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, win);
		MPI_Win_complete(win);
		MPI_Win_wait(win);
		MPI_Put(out, 1, MPI_DOUBLE, (rank + 1) % size, rank, 1, MPI_DOUBLE, other);
		MPI_Win_flush((rank + 1) % size, other);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(out, 1, MPI_DOUBLE, 0, rank, 1, MPI_DOUBLE, win);
		MPI_Win_unlock(0, win);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(double), out, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	}
}

static __attribute__((noipa)) void divide(void)
{
	raise(SIGSEGV); /* segv: rank 1 dies here */
}

static void segv(void)
{
	if (rank == 1)
		divide();
	RETURNS;
}

static void calls_abort(void)
{
	if (rank == 2)
		MPI_Abort(MPI_COMM_WORLD, 3); /* abort: rank 2 stops here */
	RETURNS;
}

static void leaves(void)
{
	if (rank == 1)
		_exit(0); /* without MPI_Finalize */
	RETURNS;
}

static void truncated(void)
{
	if (rank == 0)
		MPI_Send(out, 100, MPI_DOUBLE, 1, 14, MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Recv(in, 1, MPI_DOUBLE, 0, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* truncated: rank 1 stops here */
	RETURNS;
}

static void no_rank(void)
{
	if (rank == 3)
		MPI_Send(out, 1, MPI_DOUBLE, size, 15, MPI_COMM_WORLD); /* no-rank: rank 3 stops here */
	RETURNS;
}

static void to_self(void)
{
	if (rank == 0)
		MPI_Ssend(out, 1, MPI_DOUBLE, 0, 16, MPI_COMM_WORLD); /* to-self: rank 0 stops here */
	RETURNS;
}

static void works(void)
{
	for (;;) {
		MPI_Sendrecv(out, 100, MPI_DOUBLE, (rank + 1) % size, 18, in, 100, MPI_DOUBLE, (rank + size - 1) % size, 18, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void well(void)
{
	MPI_Request r[2];

	MPI_Irecv(in, MANY, MPI_DOUBLE, MPI_ANY_SOURCE, 17, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out, MANY, MPI_DOUBLE, (rank + 1) % size, 17, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	RETURNS;
}

struct hang {
	const char *name;
	void (*run)(void);
};

static const struct hang cases[] = {
	{"send-send", send_send}, {"ring", ring}, {"no-send", no_send}, {"wrong-tag", wrong_tag}, {"not-entered", not_entered},
	{"other-collective", other_collective}, {"other-root", other_root}, {"waitall", waitall},
	{"any-source", any_source}, {"waitany", waitany}, {"polls", polls},
	{"probe", probe}, {"ibarrier", ibarrier}, {"segv", segv}, {"abort", calls_abort}, {"leaves", leaves},
	{"truncated", truncated}, {"no-rank", no_rank}, {"to-self", to_self}, {"works", works}, {"file-open", file_open}, {"well", well},
};

/* These say themselves when they are there. */
static const struct hang prepared[] = {
	{"fence", fence}, {"win-free", win_free}, {"no-post", no_post}, {"no-post-many", no_post_many}, {"no-complete", no_complete},
	{"both-start", both_start}, {"no-unlock", no_unlock}, {"write-all", write_all}, {"file-close", file_close},
	{"epochs", epochs}, {"computes", computes}, {"in-library", in_library}, {"chain", chain},
	{"two-comms", two_comms}, {"lock", lock},
};

static const struct hang *find_case(const struct hang *all, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "well";
	const struct hang *hang;
	double sum = 0;

	file_name = argc > 2 ? argv[2] : "hangs.out";
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 5; i++) {
		MPI_Sendrecv(&sum, 1, MPI_DOUBLE, (rank + 1) % size, 1, in, 1, MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		MPI_Allreduce(in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	hang = find_case(prepared, sizeof(prepared) / sizeof(*prepared), name);
	if (!hang) {
		say_there();
		hang = find_case(cases, sizeof(cases) / sizeof(*cases), name);
	}
	if (hang)
		hang->run();
	MPI_Finalize();
	return 0;
}
