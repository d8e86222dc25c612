/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs with one problem, and the same programs with the advice of `precedent advise` applied (--fixed). They
 * show how much shorter the run gets. Unlike in planted.h, ranks go on as soon as they can, so a gain in a
 * repetition remains at the end. Computation is replaced by sleep, so that ranks may share processors.
 *
 *   planted_gain KIND:FORM [--ms WORK] [--reps N] [--fixed]     planted_gain --list
 *
 * After MPI_Finalize every rank prints `span RANK BEGIN_NS END_NS`, by the clock of the machine.
 */
#include "planted.h"

static bool fixed;

static void compute(const struct world *w, double times)
{
	until(w, now_ns() + (int64_t)(times * (double)w->delay_ns));
}

/* One rank computes three times as long as the others, or all compute for the mean time. */
static void unequal(const struct world *w, bool longer)
{
	compute(w, fixed ? 1 + 2.0 / w->n : longer ? 3 : 1);
}

static void late_send(struct world *w, int rep)
{
	(void)rep;
	if (in_pair(w)) {
		if (sends(w) && !fixed)
			compute(w, 1);
		if (sends(w))
			MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
		else
			MPI_Recv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
		if (!sends(w) || fixed)
			compute(w, 1);
	}
	MPI_Barrier(w->comm);
}

static void late_receive(struct world *w, int rep)
{
	(void)rep;
	if (in_pair(w)) {
		if (!sends(w) && !fixed)
			compute(w, 1);
		if (sends(w))
			MPI_Ssend(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
		else
			MPI_Recv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
		if (sends(w) || fixed)
			compute(w, 1);
	}
	MPI_Barrier(w->comm);
}

static void probe(struct world *w, int rep)
{
	MPI_Status s;

	(void)rep;
	if (in_pair(w)) {
		if (sends(w) && !fixed)
			compute(w, 1);
		if (sends(w)) {
			MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
		} else {
			MPI_Probe(MPI_ANY_SOURCE, 1, w->comm, &s);
			MPI_Recv(w->in, SMALL, MPI_INT, s.MPI_SOURCE, 1, w->comm, MPI_STATUS_IGNORE);
		}
		if (!sends(w) || fixed)
			compute(w, 1);
	}
	MPI_Barrier(w->comm);
}

static void gather(struct world *w, int rep)
{
	(void)rep;
	if (w->rank && !fixed)
		compute(w, 1);
	MPI_Gather(w->out, SMALL, MPI_INT, w->many, SMALL, MPI_INT, 0, w->comm);
	if (!w->rank || fixed)
		compute(w, 1);
	MPI_Barrier(w->comm);
}

static void bcast(struct world *w, int rep)
{
	(void)rep;
	if (!w->rank && !fixed)
		compute(w, 1);
	MPI_Bcast(w->in, SMALL, MPI_INT, 0, w->comm);
	if (w->rank || fixed)
		compute(w, 1);
	MPI_Barrier(w->comm);
}

static void barrier(struct world *w, int rep)
{
	unequal(w, rep % w->n == w->rank);
	MPI_Barrier(w->comm);
}

static void allreduce(struct world *w, int rep)
{
	unequal(w, rep % w->n == w->rank);
	MPI_Allreduce(w->out, w->in, 1, MPI_INT, MPI_SUM, w->comm);
}

static void scan(struct world *w, int rep)
{
	unequal(w, rep % w->n == w->rank);
	MPI_Scan(w->out, w->in, 1, MPI_INT, MPI_SUM, w->comm);
}

static void one_rank(struct world *w, int rep)
{
	(void)rep;
	unequal(w, w->rank == w->n - 1);
	MPI_Barrier(w->comm);
}

/* ---- windows ---- */

static void window(struct world *w)
{
	MPI_Win_allocate(SMALL * sizeof(int), sizeof(int), MPI_INFO_NULL, w->comm, &w->win_base, &w->win);
}

static void pair_window(struct world *w)
{
	int other = peer(w);
	MPI_Group all;

	window(w);
	if (!in_pair(w))
		return;
	MPI_Comm_group(w->comm, &all);
	MPI_Group_incl(all, 1, &other, &w->others);
	MPI_Group_free(&all);
}

static void window_free(struct world *w)
{
	if (w->others != MPI_GROUP_NULL)
		MPI_Group_free(&w->others);
	MPI_Win_free(&w->win);
}

static void fence(struct world *w, int rep)
{
	unequal(w, rep % w->n == w->rank);
	MPI_Win_fence(0, w->win);
}

static void create(struct world *w, int rep)
{
	unequal(w, rep % w->n == w->rank);
	window(w);
	MPI_Win_free(&w->win);
}

static void put(struct world *w, int target)
{
	MPI_Put(w->out, SMALL, MPI_INT, target, 0, SMALL, MPI_INT, w->win);
}

/* The lock's holder computes with the lock, or (fixed) after its release. */
static void lock(struct world *w, int rep)
{
	int asker = w->n - 1, holder = asker - 1;

	(void)rep;
	if (w->rank == holder || w->rank == asker) {
		if (w->rank == asker)
			compute(w, 0.3);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
		put(w, 0);
		if (w->rank == holder && !fixed)
			compute(w, 1);
		MPI_Win_unlock(0, w->win);
		if (w->rank == asker || fixed)
			compute(w, 1);
	}
	MPI_Barrier(w->comm);
}

/* The owner computes before it exposes its part, or (fixed) after it. */
static void exposure_start(struct world *w, int rep)
{
	(void)rep;
	if (in_pair(w) && sends(w)) {
		if (!fixed)
			compute(w, 1);
		MPI_Win_post(w->others, 0, w->win);
		if (fixed)
			compute(w, 1);
		MPI_Win_wait(w->win);
	} else if (in_pair(w)) {
		MPI_Win_start(w->others, 0, w->win);
		put(w, peer(w));
		MPI_Win_complete(w->win);
		compute(w, 1);
	}
	MPI_Barrier(w->comm);
}

/* The accessing rank computes before it completes the epoch, or (fixed) after it. */
static void exposure_end(struct world *w, int rep)
{
	(void)rep;
	if (in_pair(w) && sends(w)) {
		MPI_Win_post(w->others, 0, w->win);
		MPI_Win_wait(w->win);
		compute(w, 1);
	} else if (in_pair(w)) {
		MPI_Win_start(w->others, 0, w->win);
		put(w, peer(w));
		if (!fixed)
			compute(w, 1);
		MPI_Win_complete(w->win);
		if (fixed)
			compute(w, 1);
	}
	MPI_Barrier(w->comm);
}

static const struct form forms[] = {
	{"late-send", "blocking", "late send", late_send, NULL, NULL},
	{"late-send", "probe", "late send", probe, NULL, NULL},
	{"late-receive", "synchronous", "late receive", late_receive, NULL, NULL},
	{"many-to-one", "gather", "early receive in many-to-one", gather, NULL, NULL},
	{"one-to-many", "bcast", "late send in one-to-many", bcast, NULL, NULL},
	{"barrier", "blocking", "delay before barrier", barrier, NULL, NULL},
	{"many-to-many", "allreduce", "delay before many-to-many", allreduce, NULL, NULL},
	{"scan", "blocking", "delay before scan", scan, NULL, NULL},
	{"window", "allocate", "delay at window creation", create, NULL, NULL},
	{"fence", "blocking", "delay before a fence", fence, window, window_free},
	{"lock", "exclusive", "contention for a window lock", lock, window, window_free},
	{"exposure-start", "pair", "late start of an exposure epoch", exposure_start, pair_window, window_free},
	{"exposure-end", "pair", "early end of an exposure epoch", exposure_end, pair_window, window_free},
	{"imbalance", "ranks", "computation is unequal over ranks", one_rank, NULL, NULL},
};
#define N_FORM ((int)(sizeof(forms) / sizeof(*forms)))

int main(int argc, char **argv)
{
	struct world w = {.reps = 12, .delay_ns = 20000000, .comm = MPI_COMM_WORLD, .others = MPI_GROUP_NULL};
	const struct form *f = argc > 1 ? form_named(forms, N_FORM, argv[1]) : NULL;
	int64_t begin, end;

	for (int i = 0; argc == 2 && !strcmp(argv[1], "--list") && i < N_FORM; i++)
		printf("%s\t%s\t%s\n", forms[i].kind, forms[i].form, forms[i].problem);
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return 0;
	for (int i = 2; f && i < argc; i++) {
		if (!strcmp(argv[i], "--fixed"))
			fixed = true;
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			w.delay_ns = (int64_t)(atof(argv[++i]) * 1e6);
		else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
			w.reps = atoi(argv[++i]);
		else
			f = NULL;
	}
	if (!f || w.delay_ns <= 0 || w.reps <= 0) {
		fprintf(stderr, "usage: KIND:FORM [--ms WORK] [--reps N] [--fixed] | --list\n");
		return 2;
	}
	allocate(&w);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(w.comm, &w.rank);
	MPI_Comm_size(w.comm, &w.n);
	if (w.n > MAX_RANKS)
		MPI_Abort(w.comm, 1);
	meeting_open(&w);
	if (f->prepare)
		f->prepare(&w);
	begin = meet(&w, 1) + LEAD_NS;
	until(&w, begin);
	for (int rep = 0; rep < w.reps; rep++)
		f->run(&w, rep);
	end = now_ns();
	if (f->clear)
		f->clear(&w);
	MPI_Finalize();
	printf("span %d %lld %lld\n", w.rank, (long long)begin, (long long)end);
	return 0;
}
