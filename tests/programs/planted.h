/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame of programs with a performance problem of a known kind, form and size, or without the problem (--clean).
 *
 *   PROGRAM KIND:FORM [--ms DELAY] [--reps N] [--clean] [--busy]     PROGRAM --list
 *
 * Every repetition begins at a fixed time of the machine's clock, so only the planted problem makes ranks wait. A late
 * rank sleeps or works (--busy) for the delay, and the others wait in MPI. After MPI_Finalize every rank prints when it
 * came to the call of interest, and its part in the problem, in one line:
 *   planted RANK GROUP v:NS c:NS -:NS ...    per repetition: v waits for c of the same group, - has no part
 *   ... w:NS-NS                              the rank loses this time by itself
 * So the lost time is known without a trace. --list: kind, form and name of the problem, separated by tabs.
 */
#ifndef PRECEDENT_TESTS_PROGRAMS_PLANTED_H
#define PRECEDENT_TESTS_PROGRAMS_PLANTED_H

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SMALL   256          /* ints: eager, without a handshake */
#define LARGE   (1 << 18)    /* ints: with a handshake (rendezvous) */
#define MAX_RANKS 256
#define LEAD_NS 50000000ll   /* from the start to the first repetition */
#define SPIN_NS 200000ll     /* the end of a sleep, for its exactness */

struct world {
	int rank, n, reps, group;
	bool clean, busy;
	int64_t delay_ns, t0_ns;
	int64_t *stamp_ns, *end_ns;
	char *role;
	int *out, *in, *many;    /* buffers of LARGE ints, and of MAX_RANKS * SMALL */
	int counts[MAX_RANKS], starts[MAX_RANKS];
	MPI_Comm comm;
	MPI_Request request[2];  /* persistent ones */
	MPI_Win win;
	int *win_base;
	MPI_Group others;        /* of the window */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void until(const struct world *w, int64_t ns)
{
	struct timespec t = {(ns - SPIN_NS) / 1000000000, (ns - SPIN_NS) % 1000000000};

	while (!w->busy && now_ns() < ns - SPIN_NS && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
	while (now_ns() < ns)
		;
}

/* ---- the ranks, all on this machine, meet without MPI, so that MPI records no wait ---- */

static struct meeting {
	atomic_int opened, came;
	_Atomic int64_t latest_ns;
} *meeting;

static void fail(const char *what)
{
	fprintf(stderr, "planted: %s: %s\n", what, strerror(errno));
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A file that the children of one process share, named by that process's id and start time. */
static void meeting_open(const struct world *w)
{
	char name[64], stat[1024] = "";
	const char *p;
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)getppid());
	f = fopen(name, "r");
	if (!f || !fgets(stat, sizeof(stat), f))
		fail(name);
	fclose(f);
	p = strrchr(stat, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	snprintf(name, sizeof(name), "/planted-%d-%lld", (int)getppid(), p ? atoll(p) : 0);
	fd = shm_open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*meeting)) < 0)
		fail(name);
	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (meeting == MAP_FAILED)
		fail(name);
	close(fd);
	if (atomic_fetch_add(&meeting->opened, 1) == w->n - 1)
		shm_unlink(name);
}

/* Wait until all ranks have come `times` times. Returns when the last one came. */
static int64_t meet(const struct world *w, int times)
{
	int64_t ns = now_ns(), most = atomic_load(&meeting->latest_ns);

	while (most < ns && !atomic_compare_exchange_weak(&meeting->latest_ns, &most, ns))
		;
	atomic_fetch_add(&meeting->came, 1);
	for (int turn = 0; atomic_load(&meeting->came) < w->n * times; turn++) {
		nanosleep(&(struct timespec){0, 100000}, NULL);
		if (turn == 600000)
			fail("not all ranks are on this machine");
	}
	return atomic_load(&meeting->latest_ns);
}

/* Wait for a moment of the repetition, in delays since its start. */
static inline void at(const struct world *w, int rep, double delays)
{
	until(w, w->t0_ns + rep * (3 * w->delay_ns) + (int64_t)(delays * (double)w->delay_ns));
}

static inline void early(const struct world *w, int rep)
{
	at(w, rep, 0);
}

static inline void late(const struct world *w, int rep)
{
	at(w, rep, w->clean ? 0 : 1);
}

static inline void mark(struct world *w, int rep, char role)
{
	w->role[rep] = role;
	w->stamp_ns[rep] = now_ns();
}

/* Start of a time that this rank loses by itself. */
static inline void lose_from(struct world *w, int rep)
{
	mark(w, rep, 'w');
}

/* End of that time. */
static inline void lose_to(struct world *w, int rep)
{
	w->end_ns[rep] = now_ns();
}

/* The kernel's count of the time in which this thread was ready to run without a processor; -1: not known. */
static inline int64_t ready_ns(void)
{
	unsigned long long ran, ready;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	int n = f ? fscanf(f, "%llu %llu", &ran, &ready) : 0;

	if (f)
		fclose(f);
	return n == 2 ? (int64_t)ready : -1;
}

/* Who is late in this repetition, where one is. */
static inline bool is_late(struct world *w, int rep)
{
	bool yes = rep % w->n == w->rank;

	(yes ? late : early)(w, rep);
	return yes;
}

static inline void one_is_late(struct world *w, int rep)
{
	mark(w, rep, is_late(w, rep) ? 'c' : 'v');
}

static inline void wait_for(MPI_Request *r)
{
	MPI_Wait(r, MPI_STATUS_IGNORE);
}

/* ---- messages go in pairs: the even rank sends to the odd one ---- */

static inline bool in_pair(struct world *w)
{
	w->group = w->rank / 2;
	return (w->rank ^ 1) < w->n;
}

static inline bool sends(const struct world *w)
{
	return w->rank % 2 == 0;
}

static inline int peer(const struct world *w)
{
	return w->rank ^ 1;
}

static inline void late_receive_large(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w)) {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Send(w->out, LARGE, MPI_INT, peer(w), 1, w->comm);
	} else {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Recv(w->in, LARGE, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
	}
}

struct form {
	const char *kind, *form, *problem;
	void (*run)(struct world *w, int rep);
	void (*prepare)(struct world *w), (*clear)(struct world *w); /* or NULL */
};

/* ---- all ---- */

static const struct form *form_named(const struct form *forms, int n_form, const char *name)
{
	for (int i = 0; i < n_form; i++) {
		size_t n = strlen(forms[i].kind);

		if (!strncmp(forms[i].kind, name, n) && name[n] == ':' && !strcmp(forms[i].form, name + n + 1))
			return &forms[i];
	}
	return NULL;
}

static const struct form *options(const struct form *forms, int n_form, int argc, char **argv, struct world *w)
{
	const struct form *f = argc > 1 ? form_named(forms, n_form, argv[1]) : NULL;

	for (int i = 2; f && i < argc; i++) {
		if (!strcmp(argv[i], "--clean"))
			w->clean = true;
		else if (!strcmp(argv[i], "--busy"))
			w->busy = true;
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			w->delay_ns = (int64_t)(atof(argv[++i]) * 1e6);
		else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
			w->reps = atoi(argv[++i]);
		else
			f = NULL;
	}
	return w->delay_ns > 0 && w->reps > 0 ? f : NULL;
}

static void allocate(struct world *w)
{
	w->stamp_ns = calloc((size_t)w->reps, sizeof(*w->stamp_ns));
	w->end_ns = calloc((size_t)w->reps, sizeof(*w->end_ns));
	w->role = malloc((size_t)w->reps);
	w->out = calloc(LARGE, sizeof(int));
	w->in = calloc(LARGE, sizeof(int));
	w->many = calloc((size_t)MAX_RANKS * SMALL, sizeof(int));
	if (!w->stamp_ns || !w->end_ns || !w->role || !w->out || !w->in || !w->many) {
		fprintf(stderr, "planted: no memory\n");
		exit(1);
	}
	memset(w->role, '-', (size_t)w->reps);
	memset(w->out, 1, LARGE * sizeof(int));
	memset(w->in, 1, LARGE * sizeof(int));
	for (int i = 0; i < MAX_RANKS; i++) {
		w->counts[i] = SMALL;
		w->starts[i] = i * SMALL;
	}
}

static void tell(const struct world *w)
{
	printf("planted %d %d", w->rank, w->group);
	for (int i = 0; i < w->reps; i++)
		if (w->role[i] == 'w')
			printf(" w:%lld-%lld", (long long)w->stamp_ns[i], (long long)w->end_ns[i]);
		else
			printf(" %c:%lld", w->role[i], (long long)w->stamp_ns[i]);
	printf("\n");
	fflush(stdout);
}

static inline int planted_main(const struct form *forms, int n_form, int argc, char **argv)
{
	struct world w = {.reps = 12, .delay_ns = 20000000, .comm = MPI_COMM_WORLD, .others = MPI_GROUP_NULL,
			  .request = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
	const struct form *f;

	for (int i = 0; argc == 2 && !strcmp(argv[1], "--list") && i < n_form; i++)
		printf("%s\t%s\t%s\n", forms[i].kind, forms[i].form, forms[i].problem);
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return 0;
	f = options(forms, n_form, argc, argv, &w);
	if (!f) {
		fprintf(stderr, "usage: KIND:FORM [--ms DELAY] [--reps N] [--clean] [--busy] | --list\n");
		return 2;
	}
	allocate(&w); /* before MPI_Init, so that no rank waits for it */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(w.comm, &w.rank);
	MPI_Comm_size(w.comm, &w.n);
	if (w.n > MAX_RANKS)
		MPI_Abort(w.comm, 1);
	meeting_open(&w);
	until(&w, meet(&w, 1) + LEAD_NS / 2);
	if (f->prepare)
		f->prepare(&w);
	w.t0_ns = meet(&w, 2) + LEAD_NS;
	for (int rep = 0; rep < w.reps; rep++)
		f->run(&w, rep);
	at(&w, w.reps, 0);
	if (w.request[0] != MPI_REQUEST_NULL)
		MPI_Request_free(&w.request[0]);
	if (f->clear)
		f->clear(&w);
	MPI_Finalize();
	tell(&w);
	return 0;
}

#endif
