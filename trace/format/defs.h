/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions of one rank: what the numbers in its signatures mean, and the facts of its process and clock.
 * The tracer fills and encodes them, the reader decodes them. Everything is bounded on decoding.
 */
#ifndef PRECEDENT_TRACE_DEFS_H
#define PRECEDENT_TRACE_DEFS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/event.h"
#include "trace/format/sigtable.h"

/* A sorted or unsorted list of world ranks, kept in group order. */
struct trace_group {
	uint32_t n;
	uint32_t *rank; /* world ranks */
};

enum trace_comm_kind { TCOMM_INTRA, TCOMM_INTER };

/* Communicator. Two communicators of different ranks are the same one iff kind, members, remote members (local
 * and remote sides swapped for the other side of an intercommunicator) and ordinal are equal. The ordinal is the
 * lowest that is free among the live communicators with the same members. Index 0 is MPI_COMM_WORLD,
 * 1 is MPI_COMM_SELF. */
struct trace_comm {
	uint8_t kind;
	uint32_t ordinal;
	struct trace_group members; /* in rank order of the communicator (local group) */
	struct trace_group remote;  /* remote group of an intercommunicator, else empty */
};

/* Datatype, by content. Predefined: name. Derived: the envelope and contents of its constructor. */
struct trace_type {
	char *name;        /* "MPI_INT", or NULL when derived */
	int32_t combiner;  /* enum trace_combiner, TCOMB_NAMED when predefined */
	uint32_t n_int, n_addr, n_sub;
	int64_t *integer;
	int64_t *addr;
	uint32_t *sub;     /* indexes of earlier types */
	int64_t size;      /* bytes of data */
	int64_t lb, extent;
};

/* Constructors, independent of the MPI library; the contents are those of MPI_Type_get_contents. */
enum trace_combiner {
	TCOMB_NAMED, TCOMB_DUP, TCOMB_CONTIGUOUS, TCOMB_VECTOR, TCOMB_HVECTOR, TCOMB_INDEXED, TCOMB_HINDEXED,
	TCOMB_INDEXED_BLOCK, TCOMB_HINDEXED_BLOCK, TCOMB_STRUCT, TCOMB_SUBARRAY, TCOMB_DARRAY, TCOMB_RESIZED,
	TCOMB_F90, TCOMB_OTHER, TCOMB_N
};

struct trace_op {
	char *name; /* "MPI_SUM", or "user" */
	uint8_t commutes;
};

struct trace_module {
	char *path;
	char *build_id; /* hex, "" when it has none */
};

#define TRACE_SITE_MAX_FRAMES 8

/* Call site: return addresses, innermost first, as offsets into modules; hash is stable over ASLR. */
struct trace_site {
	uint64_t hash;
	uint8_t n_frame;
	uint32_t module[TRACE_SITE_MAX_FRAMES];
	uint64_t offset[TRACE_SITE_MAX_FRAMES];
};

/* Window. Two windows of different ranks are the same one iff communicator members and ordinal are equal. */
enum trace_win_kind { TWIN_CREATE, TWIN_ALLOCATE, TWIN_SHARED, TWIN_DYNAMIC };

struct trace_win {
	uint8_t kind;
	uint32_t comm;     /* index of trace_comm */
	uint32_t ordinal;  /* lowest free among live windows of that communicator */
	uint64_t size;     /* bytes of this rank's part */
	uint32_t disp_unit;
};

struct trace_file {
	uint32_t comm;
	uint32_t ordinal;  /* lowest free among live files of that communicator */
	int32_t amode;     /* TFILE_* */
	char *name;
};

enum trace_file_mode {
	TFILE_RDONLY = 1, TFILE_WRONLY = 2, TFILE_RDWR = 4, TFILE_CREATE = 8, TFILE_EXCL = 16, TFILE_DELETE = 32,
	TFILE_UNIQUE = 64, TFILE_SEQUENTIAL = 128, TFILE_APPEND = 256
};

struct trace_counted {
	char *name;     /* function that passed through uncounted in the structure */
	uint64_t calls;
};

/* This rank's clock against that of rank 0, measured at two moments: offset = rank 0's time - ours. */
struct trace_clock_fix {
	uint8_t n;           /* moments measured: 0, 1 (no drift known) or 2 */
	uint64_t tick[2];    /* ours, from the rank's start */
	double offset_ns[2]; /* to add to our time since our start_real_ns to get rank 0's time since its own start */
	double error_ns[2];  /* half of the shortest round trip: bound of the error, the residual */
};

#define TRACE_IN_CALL_NONE INT64_MIN /* the call has no such parameter */

/* The MPI call that a rank was in when it ended. Ranks are those of the communicator or window, as in signatures. */
struct trace_in_call {
	bool inside;       /* false: it was in none */
	uint32_t fn;
	uint32_t site;     /* UINT32_MAX: not known */
	int64_t comm, win; /* TRACE_NULL: none, or not known */
	int64_t dst, src;  /* the rank that it sends to, or its root; the rank that it receives from; or TRACE_IN_CALL_NONE */
	int64_t tag;       /* of the receive where it has two; or TRACE_IN_CALL_NONE */
	uint64_t requests; /* that it waits for, 0: none */
	uint64_t ticks;    /* that it had taken */
};

/* Facts of the process. Ticks are the recorder's clock; ns = ticks * ns_per_tick. */
struct trace_proc {
	char *host, *program;
	uint32_t pid;
	double ns_per_tick;
	uint64_t start_real_ns; /* CLOCK_REALTIME when MPI_Init returned: tick 0 of this rank's times */
	uint64_t end_ticks;     /* entry of MPI_Finalize, from start */
	uint64_t init_ns;       /* duration of MPI_Init */
	uint64_t before_ns;     /* process start to MPI_Init */
	uint64_t after_ns;      /* MPI_Finalize to the end of the process, 0: not told; kept beside these facts: ends.h */
	uint64_t cpu_ns;        /* process CPU time between start and end */
	uint64_t polls;         /* unsuccessful tests and probes */
	uint64_t poll_ticks;    /* time inside them */
	double overhead_ticks;  /* the recorder's own cost per event, measured by itself */
	uint8_t thread_level, finalized;
	uint64_t state_ticks[4];     /* of the whole run, by enum trace_state, whether its times were kept or not */
	uint64_t dropped_events;     /* events whose times are in histograms only */
	char *ended;                 /* how a run ended that did not reach MPI_Finalize, else "" */
	struct trace_clock_fix clock;
	uint32_t processors;         /* that the process may use, 0: unknown */
	uint64_t processor_set;      /* a hash of which they are */
	uint64_t throttled_ns;       /* of its control groups by their limits of processor time, between start and end */
	uint32_t host_processors;    /* of its host, 0: unknown */
	struct trace_in_call in_call;
	char *network;               /* switches from the top down to its host's, by points; "" or NULL: unknown */
};

struct trace_defs {
	struct trace_comm *comm;
	struct trace_type *type;
	struct trace_op *op;
	struct trace_module *module;
	struct trace_site *site;
	struct trace_counted *counted;
	struct trace_win *win;
	struct trace_file *file;
	uint32_t n_comm, n_type, n_op, n_module, n_site, n_counted, n_win, n_file;
	struct sigtable sigs;
	struct trace_proc proc;
};

void trace_defs_free(struct trace_defs *d);
/* Append the encoded form to out (out->failed on lack of memory). */
void trace_defs_encode(const struct trace_defs *d, struct buf *out);
/* Decode and validate every index; n_ranks bounds group members. -1 on bad input, out freed. */
int trace_defs_decode(struct rdbuf *in, uint32_t n_ranks, struct trace_defs *out, struct errbuf *err);

/* Walk the parameters of a signature: returns 0 at the end. */
struct sig_walk {
	const struct trace_defs *d;
	uint32_t sym, i;
	uint32_t pos;
	/* of the current parameter: */
	uint8_t kind;
	const char *name;
	const int64_t *val;
	uint32_t n;
};
void sig_walk_begin(struct sig_walk *w, const struct trace_defs *d, uint32_t sym);
int sig_walk_next(struct sig_walk *w);
/* First scalar parameter of that kind, or `missing`. */
int64_t sig_scalar(const struct trace_defs *d, uint32_t sym, uint8_t kind, int64_t missing);

/* Number of a function of MPI by its name, or TRACE_FN_N. */
uint32_t trace_fn_by_name(const char *name);
/* A hash of the names of all functions in the order of their numbers. */
uint64_t trace_fn_hash(void);

#endif
