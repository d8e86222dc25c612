/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces of simulated ranks, for tests without MPI. Calls are added rank by rank, written as a real trace file and
 * opened again. The added symbols are kept as the oracle. Helpers abort the test program if memory runs out or a
 * write fails.
 */
#ifndef PRECEDENT_TESTS_SYNTHETIC_H
#define PRECEDENT_TESTS_SYNTHETIC_H

#include <stdint.h>

#include "trace/format/samples.h"
#include "trace/read/reader.h"

/* Parameters by kind; a function takes the parameters of its row in trace.rules. */
struct syn_args {
	int64_t comm, dst, src, asrc, tag, atag, count, type, op, root, req, newcomm, newtype, inplace, integer;
	const int64_t *reqs, *counts, *ints; /* TK_REQS, TK_COUNTS, TK_INTS; done requests are the reqs */
	const int64_t *asrcs, *atags;        /* of done requests; NULL: no wildcards */
	int64_t win, file, disp;             /* also for calls that create one */
	int64_t message;                     /* TK_REQ if it differs from req: slot + 1 */
	uint32_t n_reqs, n_counts, n_ints;
	uint64_t gap_ns, dur_ns;
	uint64_t poll_ns;                    /* time in unsuccessful tests before the gap */
};

/* SYN(.dst = 3, .tag = 7). Members without a value are 0; times of 0 mean 1000 and 500 ns; asrc and atag count
 * for wildcards. */
#define SYN(...) (&(struct syn_args){__VA_ARGS__})

struct syn_rank {
	struct trace_defs defs;
	struct fold *fold;
	struct buf times, polls; /* gaps and durations; uv per event */
	uint64_t ticks;
	struct trace_sample *sample; /* finished windows */
	uint32_t n_sample;
	uint64_t delayed_ns; /* delay in the last window; 0 without windows: no samples */
	uint32_t *sym; /* the oracle */
	uint64_t n, cap;
};

struct syn {
	uint32_t n_ranks;
	struct syn_rank *rank;
	/* Form of the file; all 0: one page of times per rank, without levels. */
	uint64_t page_events; /* events per page of times */
	uint64_t drop_every;  /* of this many pages of times one is left out */
	bool levels;          /* with LEVELS pages */
	const char *job;      /* lines of facts of the job; NULL: none */
};

/* Create ranks with MPI_COMM_WORLD (0), MPI_COMM_SELF (1), types MPI_DOUBLE (0), MPI_INT (1), MPI_BYTE (2), op
 * MPI_SUM (0). */
struct syn *syn_create(uint32_t n_ranks);
void syn_destroy(struct syn *s);
/* Add a call. site: any number for the place in the program. */
void syn_call(struct syn *s, uint32_t rank, const char *fn, uint64_t site, const struct syn_args *args);
/* Add a communicator to a rank's definitions; members in its order. Returns its index. */
uint32_t syn_comm(struct syn *s, uint32_t rank, const uint32_t *member, uint32_t n);
/* Add a window or a file of a communicator. Returns its index. */
uint32_t syn_win(struct syn *s, uint32_t rank, uint32_t comm, uint64_t size);
uint32_t syn_file(struct syn *s, uint32_t rank, uint32_t comm, const char *name);
/* Add MPI_Init, or MPI_Finalize, on all ranks. */
void syn_begin(struct syn *s);
void syn_end(struct syn *s);
/* Add delay to the rank's samples: since the last window, or in total. */
void syn_delayed(struct syn *s, uint32_t rank, uint64_t ns);
/* Add a sample here, with the delay since the one before. At most TSAMPLE_MAX - 2 samples. */
void syn_window(struct syn *s, uint32_t rank, uint64_t delayed_ns);
/* Write, open and remove the file. partial: like a run that died. */
struct trace *syn_open(struct syn *s);
struct trace *syn_open_partial(struct syn *s);
/* Write only; no process has noted its end. */
void syn_write(struct syn *s, const char *path);

/* Programs from MPI_Init to MPI_Finalize. */
enum syn_border { SYN_SKIP, SYN_PROC_NULL, SYN_PERIODIC };
struct syn *syn_stencil(uint32_t columns, uint32_t rows, uint32_t iterations, enum syn_border border);
struct syn *syn_wavefront(uint32_t columns, uint32_t rows, uint32_t planes, uint32_t iterations);
struct syn *syn_cg(uint32_t columns, uint32_t rows, uint32_t iterations); /* row communicators, columns a power of 2 */
struct syn *syn_ring(uint32_t n_ranks, uint32_t iterations);
struct syn *syn_pipeline(uint32_t n_ranks, uint32_t iterations);
struct syn *syn_master_worker(uint32_t n_ranks, uint32_t tasks, uint64_t seed);
/* Rank 1 computes, and rank 0 tests until the answer comes. No step is like another one. */
struct syn *syn_polled_tasks(uint32_t tasks);
/* A ring with allreduce, whose message counts change every `every` iterations, like molecular dynamics. */
struct syn *syn_reneighbour(uint32_t n_ranks, uint32_t iterations, uint32_t every);
/* Rank 0 writes a checkpoint every 10 iterations. */
struct syn *syn_checkpoint(uint32_t n_ranks, uint32_t iterations);
/* Random neighbours (about `degree` each, in both directions), with an exchange in every iteration. */
struct syn *syn_graph(uint32_t n_ranks, uint32_t degree, uint32_t iterations, uint64_t seed);
/* A random nested program, in which every rank omits some statements. */
struct syn *syn_irregular(uint32_t n_ranks, uint64_t seed);

uint64_t syn_random(uint64_t *state);
/* p, or the end of the program if it is NULL. */
void *syn_need(void *p);

#endif
