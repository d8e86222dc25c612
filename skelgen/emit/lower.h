/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data of one lowering of the merged tree to operations. */
#ifndef PRECEDENT_SKELGEN_EMIT_LOWER_H
#define PRECEDENT_SKELGEN_EMIT_LOWER_H

#include "skelgen/emit/code.h"
#include "skelgen/emit/data.h"
#include "skelgen/emit/skeleton.h"
#include "skelgen/plan/plan.h"
#include "skelgen/profile/compute_profile.h"
#include "skelgen/timing/gap_rank_order.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/callinfo.h"
#include "skelgen/tree/wildcard.h"

enum { WAIT_FILE = 1, WAIT_OTHER = 2 };

/* Input and state of one lowering. */
struct emit {
	const struct skel_tree *tree;
	const struct skel_times *times;
	const struct skel_plan *plan;
	const struct compute_profile *profile;     /* what the gaps consist of */
	const struct skel_buffered *buffered; /* sends that rely on buffers; may be NULL */
	const struct pieces *pieces; /* of the run, if this is an excerpt; else NULL */
	uint64_t events;     /* of the whole run */
	const struct skel_emit_options *opt;
	struct emit_data *data;
	struct code_arrays array; /* file-scope arrays and sets */
	struct code body;    /* statements of run() */
	struct text notes;   /* notes on single calls for the report */
	struct named_array {
		uint64_t hash;
		uint32_t n, id;
	} *named;            /* arrays of integers: equal ones share a name */
	uint32_t n_named;
	uint32_t n_loop;     /* loops that the runtime follows */
	bool *type_used;     /* by global number */
	bool types_indexed;  /* type[] must hold the predefined ones too */
	int64_t max_slot;    /* of requests */
	int64_t bsend_bytes; /* longest buffered send */
	int64_t rma_bytes;   /* longest access to a window */
	int64_t sent_bytes;  /* longest message of all ranks; 0: not known yet */
	const char *mpi4;    /* a function that MPI has from version 4 on, or NULL */
	uint8_t *wait_kind;  /* by leaf_id: kinds of requests that its waits complete, WAIT_*; NULL: no request is of a file */
	double io_ns;        /* of calls on files, mean over ranks */
	uint64_t io_leaves;
	uint64_t io_calls[2][TRACE_FN_N]; /* of functions on files: [0] always delays, [1] made where there are scratch files */
	uint32_t io_unknown; /* calls in the source whose file, datatype or request the trace does not tell */
	bool *recorded;      /* by leaf_id: each gap that runs is written */
	uint64_t gap_bytes;  /* that gaps may have in the data */
	struct rank_share *share; /* by 2 * leaf_id: of its gap; by 2 * leaf_id + 1: of its calls that are delays */
	bool *follows;       /* by node id: loops whose windows vary as the traced iterations did */
	double lost_ns;      /* of calls that cannot be reproduced, mean over ranks */
	bool clocks_apart;   /* of ranks: a share of long gaps ran since they last met */
	bool no_memory;
	/* Arrays made for the present leaf. */
	int64_t **made;
	uint32_t n_made;
};

#endif
