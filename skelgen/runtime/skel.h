/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of generated skeletons, besides MPI: compute blocks of calibrated length, loops that run a sample of their
 * iterations, buffers, communicators from member lists, and values that change with the rank or the execution.
 *
 * A skeleton is single-threaded: everything here belongs to the thread that called MPI_Init.
 * Times are nanoseconds of the program's own clock unless a name says otherwise. "Virtual" time is the time of the whole
 * program: real time plus the time of the iterations left out.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_SKEL_H
#define PRECEDENT_SKELGEN_RUNTIME_SKEL_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* MPICH declares that calls write to their statuses. So gcc takes MPI_STATUSES_IGNORE, an address, for an array that is too short. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

/* A generated program describes itself once. */
struct skel_program {
	const char *name;        /* program that was traced */
	int n_ranks;             /* it runs with exactly as many */
	int n_loops;             /* loop numbers are below this */
	int n_requests;          /* request slots */
	int n_comms, n_types;
	const uint64_t *data;    /* skel.c.data, see data.c */
	const uint64_t *data_end;
	uint64_t data_hash;      /* of the data that were made with the source */
	double traced_s;         /* time of the traced run, longest rank */
	double confidence;       /* share of it that the skeleton covers */
	double events;           /* calls it stands for, all ranks */
	int64_t bsend_bytes;     /* longest buffered send; 0: none */
	int n_wins, n_files;
	int64_t rma_bytes;       /* longest access to a window */
	double rounds_s;         /* its pieces run again and again for so long; 0: once */
};

extern int skel_rank, skel_size;
extern MPI_Comm *comm;    /* [0] MPI_COMM_WORLD, [1] MPI_COMM_SELF, then as the trace numbers them */
extern MPI_Datatype *type; /* derived datatypes, as the trace numbers them */
extern MPI_Request *req;  /* request slots */
extern MPI_Win *win;      /* as the trace numbers them */
extern MPI_Message *message; /* matched probes, by request slot */

/* ---- life ---- */
/* First statement of main, before MPI_Init: notes the time. */
void skel_start(void);
/* After MPI_Init: reads the options, calibrates, and starts the clock. Wrong usage ends the program. */
void skel_begin(int argc, char **argv, const struct skel_program *program);
/* All pieces have run. Is there time for another round of them? */
int skel_again(void);
/* Before MPI_Finalize: stops the clock, completes and frees what is left, writes the result. */
void skel_end(void);
/* The value that main returns. */
int skel_status(void);

/* ---- compute ---- */
/* Do the work of mix number `mix` in skel.c.data that took `ns` on the source machine. */
void skel_compute(int mix, double ns);
/* The same, with the mix and the time of this rank at this execution of call `gap` in skel.c.data. */
void skel_gap(int gap);
/* From here on a share runs of every computation and delay longer than `least_ns`, at least that long, and stands for all
 * of it. */
void skel_share(double least_ns, double share);
/* Before a collective call of all ranks: their virtual clocks go on from the latest of them. */
void skel_meet(MPI_Comm c);

/* The skeleton is made of pieces. The first parameters are numbers of arrays: kinds, traced times (us) and weights of the
 * pieces. A weight is the bits of a float. most: time by the clock of the rank that takes longest over the mean of all ranks,
 * 1 or more. */
void skel_pieces(int kind, int us, int weight, double most);
/* Pieces also stand for long segments that are left out. ns: root of the sum of squares of their traced times. */
void skel_left_out(double ns);
/* The number of an array [piece * ranks + rank]: us from when the first rank enters the piece until this rank does. A piece that
 * follows another one at once is entered without a wait. */
void skel_late(int us);
/* A piece begins, or no further one: the level of MPI_Pcontrol says which. */
void skel_piece(int64_t level);

/* ---- loops ---- */
struct skel_loop_state {
	uint64_t total, run;   /* iterations of the program, and of this run (warm-up included) */
	uint64_t next;         /* iterations begun */
	uint64_t end;          /* iterations that this execution makes, when all run */
	uint64_t base;         /* position of the enclosing loop */
	uint64_t saved_base;
	int consecutive;       /* sample the first iterations instead of spread ones */
	int batch, n_batch;
	double batch_start_ns, batch_sum_ns, batch_sumsq_ns;
	double warm_end_ns;
	double warm_took_ns, warm_asked_ns, warm_short_ns; /* spent in blocks until then (compute.h) */
	double width2_before;
	/* over all visits, for the result */
	uint64_t visits, iterations_run;
	double window_ns, virtual_ns;
	double half2_ns2;      /* squared half-width of the 95 % interval */
	double spikes_ns;      /* of virtual_ns: added for rare long iterations that were not met */
	struct skel_sampled *sampled; /* windows, from skel.c.data, or NULL */
};

extern struct skel_loop_state *skel_loops;
/* Which execution of the present loop body this is, in the traced program. */
extern uint64_t skel_position;

#define SKEL_ALL UINT64_MAX /* run every iteration */

/* Enter loop `id`: the program makes `total` iterations, `run` of them are made here, spread evenly, the first
 * one as warm-up. Use: for (skel_loop(id, total, run); skel_next(id);) { ... } */
void skel_loop(int id, uint64_t total, uint64_t run);
/* The same, but the first `run` iterations. */
void skel_loop_first(int id, uint64_t total, uint64_t run);
int skel_next_sampled(struct skel_loop_state *l);

static inline int skel_next(int id)
{
	struct skel_loop_state *l = &skel_loops[id];

	if (l->run != l->total)
		return skel_next_sampled(l);
	if (l->next == l->end) {
		skel_position = l->saved_base;
		l->iterations_run += l->end;
		return 0;
	}
	skel_position = l->base + l->next++;
	return 1;
}

/* ---- what is left out in some executions (turns.c) ---- */
/* Enter loop `id`, of which this execution makes `turns` iterations and the longest one `total`. */
void skel_loop_some(int id, uint64_t total, uint64_t turns);
/* The same, of which a share runs, as much as `run` of `total`: spread evenly, the first one as warm-up. */
void skel_loop_part(int id, uint64_t total, uint64_t turns, uint64_t run);
/* Iterations of this execution: of this rank in record `id` of skel.c.data; or first + step for each one before. */
int64_t skel_turns(int id);
int64_t skel_progress(int64_t first, int64_t step);
/* Does what follows happen at this execution? By record `id` of this rank; at n of every `period` executions, from
 * number `first` of these on; or at executions first .. last. */
int skel_happens(int id);
int skel_every(int64_t period, int64_t first, int64_t n);
int skel_between(int64_t first, int64_t last);

/* ---- values that no expression of rank and size gives ---- */
/* Values of this rank at this execution of call `id`. */
const int64_t *skel_values(int id);
/* Array number k of skel.c.data, its length, and the displacements that place its blocks one after the other.
 * They live as long as the program. */
const int *skel_array(int64_t k);
int skel_length(int64_t k);
const int *skel_displs(const int *count, int n);
/* The same in bytes, for the calls that take a datatype per peer. */
const int *skel_displs_bytes(const int *count, const MPI_Datatype *t, int n);
const MPI_Aint *skel_displs_aint(const int *count, const MPI_Datatype *t, int n);
/* Datatypes from indexes: those below 0 are never used by the call. */
const MPI_Datatype *skel_types(const int *index, int n);
/* Neighbour of this rank, dx columns and dy rows away on a grid `columns` wide; MPI_PROC_NULL outside. */
int skel_grid(int columns, int dx, int dy);

/* The same on a grid whose edges meet. */
int skel_torus(int columns, int dx, int dy);
/* From values of the trace to values of this MPI. */
static inline int skel_peer(int64_t v)
{
	return v == -1 ? MPI_ANY_SOURCE : v == -2 ? MPI_PROC_NULL : (int)v;
}
static inline int skel_root(int64_t v)
{
	return v == -3 ? MPI_ROOT : v == -2 ? MPI_PROC_NULL : (int)v;
}
static inline int skel_tag(int64_t v)
{
	return v == -1 ? MPI_ANY_TAG : (int)v;
}

/* ---- buffers ---- */
/* Room for count elements; the same memory for the same slot while it is large enough. A count of 0 too gives memory that
 * belongs to this slot alone. Slots: 0 to send, 1 to receive, SKEL_SLOT(q) and SKEL_SLOT(q) + 1 for request q. */
#define SKEL_SLOT(q) (2 + 2 * (q))
void *skel_buf(int slot, int64_t count, MPI_Datatype t);
/* The same for a receive that has room for `count` elements, of whose messages none has more than `used`. */
void *skel_buf_part(int slot, int64_t count, MPI_Datatype t, int64_t used);
/* As skel_buf() for blocks of several counts of one type, or of several types. */
void *skel_buf_v(int slot, const int *count, int n, MPI_Datatype t);
void *skel_buf_w(int slot, const int *count, const MPI_Datatype *t, int n);

/* ---- requests, communicators, operations ---- */
/* Wait for the requests in these slots. */
void skel_wait(int n, const int *slot);
void skel_start_all(int n, const int *slot);
/* New communicator in comm[k] (k < 0: this rank is not in it): the ranks of `parent` with the same colour
 * (MPI_UNDEFINED: none), in the order of key. */
void skel_comm_split(MPI_Comm parent, int k, int colour, int key);
/* New communicator in comm[k] from n world ranks, which alone call. */
void skel_comm_group(MPI_Comm parent, int k, const int *world_rank, int n, int tag);
/* MPI_UNWEIGHTED, which compilers take for a pointer to nothing. */
extern int *skel_unweighted;
/* Blocks of a neighbourhood collective on this communicator, the larger of both directions. */
int skel_neighbours(MPI_Comm c);
/* MPI_Sendrecv and MPI_Sendrecv_replace whose sending half waits for its receive. */
int skel_ssendrecv(const void *send, int n_send, MPI_Datatype send_type, int to, int send_tag, void *receive,
		   int n_receive, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm c, MPI_Status *status);
int skel_ssendrecv_replace(void *buffer, int n, MPI_Datatype t, int to, int send_tag, int from, int receive_tag,
			   MPI_Comm c, MPI_Status *status);
/* Compiled with -DSKEL_SYNCHRONOUS, a skeleton shows that it needs no buffers of the MPI library: every standard send
 * waits for its receive. */
#ifdef SKEL_SYNCHRONOUS
#define MPI_Send             MPI_Ssend
#define MPI_Isend            MPI_Issend
#define MPI_Send_init        MPI_Ssend_init
#define MPI_Sendrecv         skel_ssendrecv
#define MPI_Sendrecv_replace skel_ssendrecv_replace
#endif

/* A user operation: its function adds bytes. */
MPI_Op skel_op(int commutes);

/* A generalized request in this place of req[], which MPI_Grequest_complete completes. */
void skel_grequest_start(MPI_Request *q);
/* Wait for a partition (MPI-4). */
void skel_parrived(MPI_Request *q, int partition);

/* ---- windows ---- */
/* Make win[k]. No more memory than the accesses need and 64 MiB. */
void skel_win_create(int k, int64_t bytes, int unit, MPI_Comm c);
void skel_win_allocate(int k, int64_t bytes, int unit, MPI_Comm c);
void skel_win_shared(int k, int64_t bytes, int unit, MPI_Comm c);
void skel_win_dynamic(int k, MPI_Comm c);
void skel_win_attach(int k, int64_t bytes);
void skel_win_detach(int k);
/* The displacement, or the nearest at which count elements lie inside the target's part of win[k]. */
MPI_Aint skel_disp(int k, int target, int64_t disp, int64_t count, MPI_Datatype t);
/* Memory of an access: 0 what is sent, 1 what is received, 2 what is compared. */
void *skel_rma(int which, int64_t count, MPI_Datatype t);
/* Group of ranks of win[k]; it lives as long as the program. */
MPI_Group skel_group(int k, const int *rank, int n);
/* Assertions and kinds of locks as the trace writes them. */
int skel_assert(int v);
int skel_lock(int kind);

/* ---- files ---- */
/*
 * Calls on file k. Returns 1 if the call was made on a scratch file (--scratch DIR). Returns 0 if not: then the caller lets
 * the time of the call pass. The processes of a collective call have met in both cases.
 */
int skel_file_open(int k, MPI_Comm c);
int skel_file_close(int k);
int skel_file_sync(int k);
/* MPI_File_preallocate, or MPI_File_set_size. */
int skel_file_size(int k, int allocate, int64_t size);
int skel_file_view(int k, int64_t disp, MPI_Datatype unit, MPI_Datatype t);
int skel_file_atomicity(int k, int flag);
int skel_file_seek(int k, int64_t offset, int whence);
int skel_file_seek_shared(int k, int64_t offset, int whence);
/* Reads, or writes with SKEL_IO_WRITE. SKEL_IO_AT: at the offset; else at the individual pointer. SKEL_IO_SHARED: at the
 * shared pointer. SKEL_IO_ORDERED: there, collective. SKEL_IO_ALL: collective. SKEL_IO_BEGIN: skel_file_end ends it. */
#define SKEL_IO_WRITE   1
#define SKEL_IO_AT      2
#define SKEL_IO_ALL     4
#define SKEL_IO_SHARED  8
#define SKEL_IO_ORDERED 16
#define SKEL_IO_BEGIN   32
int skel_file_access(int k, int how, int64_t offset, int64_t count, MPI_Datatype t);
int skel_file_end(int k);
/* The same without waiting; skel_file_wait waits for the requests in these slots. */
int skel_file_start(int k, int how, int64_t offset, int64_t count, MPI_Datatype t, MPI_Request *q);
int skel_file_wait(int n, const int *slot);
/* Only the meeting. */
void skel_file_meet(int k);
/* Of n calls on files the trace does not tell everything that they need: none is made. */
void skel_files_unknown(int n);
/* Let as much time pass, on any machine; or the time of this rank in skel.c.data. */
void skel_delay(double ns);
void skel_delay_by_rank(int gap);

#endif
