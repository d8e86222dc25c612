/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions of one rank: the objects that signatures refer to by number, and facts of the process and its clock.
 * The tracer fills and encodes definitions; the reader decodes them and checks every bound.
 */
#ifndef PRECEDENT_TRACE_DEFS_H
#define PRECEDENT_TRACE_DEFS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/event.h"
#include "trace/format/sigtable.h"

/* A list of world ranks in group order. */
struct trace_group {
	uint32_t n;
	uint32_t *rank; /* world ranks */
	bool shared;    /* shared_groups of the trace's reader owns the list */
};

enum trace_comm_kind { TCOMM_INTRA, TCOMM_INTER };

/* A communicator. Communicators of different ranks are the same if kind, members, remote members and ordinal are
 * equal. From the other side of an intercommunicator, members and remote members are swapped. The ordinal is the
 * lowest that is free among live communicators with the same members. Index 0 is MPI_COMM_WORLD, index 1 is
 * MPI_COMM_SELF. */
struct trace_comm {
	uint8_t kind;
	uint32_t ordinal;
	struct trace_group members; /* local group, in rank order of the communicator */
	struct trace_group remote;  /* remote group of an intercommunicator; else empty */
};

/* A datatype, by content: the name of a predefined type, or envelope and contents of a derived type's constructor. */
struct trace_type {
	char *name;        /* "MPI_INT"; NULL if derived */
	int32_t combiner;  /* enum trace_combiner; TCOMB_NAMED if predefined */
	uint32_t n_int, n_addr, n_sub;
	int64_t *integer;
	int64_t *addr;
	uint32_t *sub;     /* indexes of earlier types */
	int64_t size;      /* bytes of data */
	int64_t lb, extent;
};

/* Constructors of datatypes, numbered alike for every MPI library. Contents are as in MPI_Type_get_contents. */
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
	char *build_id; /* hex; "" if the module has none */
};

#define TRACE_SITE_MAX_FRAMES 8

/* A call site: return addresses, innermost first, as offsets into modules. The hash does not depend on ASLR. */
struct trace_site {
	uint64_t hash;
	uint8_t n_frame;
	uint32_t module[TRACE_SITE_MAX_FRAMES];
	uint64_t offset[TRACE_SITE_MAX_FRAMES];
};

/* A window. Windows of different ranks are the same if communicator members and ordinal are equal. */
enum trace_win_kind { TWIN_CREATE, TWIN_ALLOCATE, TWIN_SHARED, TWIN_DYNAMIC };

struct trace_win {
	uint8_t kind;
	uint32_t comm;     /* index of trace_comm */
	uint32_t ordinal;  /* lowest that is free among live windows of the communicator */
	uint64_t size;     /* bytes of this rank's part */
	uint32_t disp_unit;
};

struct trace_file {
	uint32_t comm;
	uint32_t ordinal;  /* lowest that is free among live files of the communicator */
	int32_t amode;     /* TFILE_* */
	char *name;
};

enum trace_file_mode {
	TFILE_RDONLY = 1, TFILE_WRONLY = 2, TFILE_RDWR = 4, TFILE_CREATE = 8, TFILE_EXCL = 16, TFILE_DELETE = 32,
	TFILE_UNIQUE = 64, TFILE_SEQUENTIAL = 128, TFILE_APPEND = 256
};

struct trace_counted {
	char *name;     /* a function that is only counted, not recorded as an event */
	uint64_t calls;
};

/* Offset of this rank's clock from rank 0's, measured at one or two moments: rank 0's time - own time. */
struct trace_clock_fix {
	uint8_t n;           /* measured moments: 0, 1 (drift not known) or 2 */
	uint64_t tick[2];    /* own time, from the rank's start */
	/* add to the time since own start_real_ns to get the time since rank 0's start */
	double offset_ns[2];
	double error_ns[2];  /* half of the shortest round trip: bound of the offset's error */
};

#define TRACE_PLACES_MAX 15 /* one less than the spill file has: the oldest place there may be half overwritten */

#define TRACE_IN_CALL_NONE INT64_MIN /* the call has no such parameter */

/* The MPI call in which a rank was when it ended. Ranks are relative to the communicator or window, as in
 * signatures. All members are valid only if the rank was inside a call. */
struct trace_in_call {
	bool inside;       /* false: the rank was in no call */
	uint32_t fn;
	uint32_t site;     /* UINT32_MAX: not known */
	int64_t comm, win; /* TRACE_NULL: none or not known */
	/* destination or root; source; TRACE_IN_CALL_NONE: no such parameter */
	int64_t dst, src;
	int64_t tag;       /* the receive's tag if there are two; TRACE_IN_CALL_NONE: no tag */
	uint64_t requests; /* number of requests that the call waits for; 0: none */
	uint64_t ticks;    /* time since entry */
	uint64_t bytes;    /* of the message that the call sends; 0: none or not known */
	int64_t file;      /* TRACE_NULL: none or not known */
	uint8_t lock;      /* enum trace_lock; 0: none or not known */
	struct trace_group group; /* of MPI_Win_start, as ranks of the window; empty: none or not known */
};

/* Facts of the process. ns = ticks * ns_per_tick; ticks are of the recorder's clock. */
struct trace_proc {
	char *host, *program;
	uint32_t pid;
	double ns_per_tick;
	uint64_t start_real_ns; /* CLOCK_REALTIME at the return of MPI_Init, which is tick 0 of the rank */
	uint64_t end_ticks;     /* entry of MPI_Finalize */
	uint64_t init_ns;       /* duration of MPI_Init */
	uint64_t before_ns;     /* from process start to MPI_Init */
	/* from MPI_Finalize to the end of the process; 0: not known. Stored apart from these facts: see ends.h. */
	uint64_t after_ns;
	uint64_t cpu_ns;        /* CPU time of the process from start to end */
	uint64_t polls;         /* number of unsuccessful tests and probes */
	uint64_t poll_ticks;    /* time in unsuccessful tests and probes */
	double overhead_ticks;  /* recorder's cost per event, as it measured itself */
	uint8_t thread_level, finalized;
	/* whole run, by enum trace_state, including events whose times were not kept */
	uint64_t state_ticks[4];
	uint64_t dropped_events;     /* events whose times are in histograms only */
	char *ended;                 /* how the run ended before MPI_Finalize; else "" */
	struct trace_clock_fix clock;
	uint32_t processors;         /* processors that the process may use; 0: unknown */
	uint64_t processor_set;      /* hash of the set of these processors */
	/* throttled time of the process's control groups (processor time limits) between start and end */
	uint64_t throttled_ns;
	uint32_t host_processors;    /* processors of the host; 0: unknown */
	struct trace_in_call in_call;
	/* Where a rank that ended outside of MPI computed after its last call, the latest place first: indexes of call
	 * sites. The first address is one byte behind the program counter, as return addresses are behind a call. The
	 * second one, if any, is that of the program's call that led into the library of the first. */
	uint32_t n_place, place[TRACE_PLACES_MAX];
	/* switches from the top down to the host's switch, joined by dots; "" or NULL: unknown */
	char *network;
	uint64_t devices;            /* accelerators that the process used, by enum trace_device (device.h) */
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
/* Append the encoded definitions to out. If memory runs out, out->failed is set. */
void trace_defs_encode(const struct trace_defs *d, struct buf *out);
/* Decode, and validate every index. n_ranks bounds group members. Returns 0 on success; -1 on bad input, with
 * *out freed. */
int trace_defs_decode(struct rdbuf *in, uint32_t n_ranks, struct trace_defs *out, struct errbuf *err);

/* Iterator over the parameters of a signature. sig_walk_next returns false at the end. */
struct sig_walk {
	const struct trace_fn_info *fn;
	uint32_t i;
	const int64_t *amount, *row; /* the next values */
	/* the current parameter: */
	uint8_t kind;
	const char *name;
	const int64_t *val;
	uint32_t n;
};
void sig_walk_begin(struct sig_walk *w, const struct trace_defs *d, uint32_t sym);
int sig_walk_next(struct sig_walk *w);
/* Copy all values, arrays behind their lengths, to out unless it is NULL. Returns their number. */
uint32_t sig_values(const struct trace_defs *d, uint32_t sym, int64_t *out);
/* Value of the first scalar parameter of this kind, or `missing`. */
int64_t sig_scalar(const struct trace_defs *d, uint32_t sym, uint8_t kind, int64_t missing);

/* Number of the MPI function with this name, or TRACE_FN_N. */
uint32_t trace_fn_by_name(const char *name);
/* Hash over the names of all functions in the order of their numbers. */
uint64_t trace_fn_hash(void);

#endif
