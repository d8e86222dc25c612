/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a trace to a skeleton that has run: generate, compile, run, read its result. Used by the verbs skeleton,
 * predict and probe.
 */
#ifndef PRECEDENT_CLI_SKELETON_H
#define PRECEDENT_CLI_SKELETON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/errbuf.h"

struct skeleton_facts {
	uint32_t n_ranks;
	uint64_t events;      /* calls of the trace, all ranks */
	uint64_t length;      /* calls of the merged tree */
	double mpi_s;         /* traced seconds, MPI_Init returned to MPI_Finalize entered, longest rank */
	double computed_s;    /* of these, between calls: mean over ranks; 0: not known */
	double delayed_s;     /* of these, while others had its processor, on the rank that lost most: not repeated */
	double others_s;      /* the same, if ranks did not share processors: then other programs had them; else 0 */
	double unrepeated_s;  /* delayed_s, if the skeleton need not be delayed as well; else 0 */
	double squeezed_s;    /* of mpi_s at most: ranks waited in calls for a processor, though there are enough */
	double overlap;       /* further threads of a rank that are in MPI at the same time, mean; 0: none */
	double differs;       /* relative half width by which runs of the program differ, as far as the traced run tells */
	double planned_s;     /* what the skeleton should take on the traced machine */
	double whole_s;       /* of these, in no loop that is cut */
	uint32_t kinds;       /* of pieces that the skeleton consists of; 0: it is one of the whole run */
	double confidence;    /* 0..1 */
	char unsampled[256];  /* why no samples say what it computes; "": they do, or the trace gives no reason */
	uint32_t buffered;    /* call sites whose sends must be buffered for the program to go on; see report.txt */
	char launcher[16];    /* "srun" or "mpirun" */
	char hash[17];        /* of skel.c */
	char executable[17];  /* hash of skel, or of skel.ops if interpreted; "": not known */
	char interpreted[301]; /* why it is not compiled; "": it is, or nobody has tried */
};

/* Did others take enough to be worth saying? */
bool skeleton_was_delayed(const struct skeleton_facts *f);

struct skeleton_wish {
	double seconds; /* run time wanted; 0: by scale */
	double scale;   /* traced time over run time; 0: by seconds */
	FILE *tree;     /* also print the tree here, or NULL */
};

/* Read the trace, contract, merge, verify, plan, match, and write the program into dir (created if missing).
 * A skeleton that does not expand to the trace, or whose sends and receives do not match, is refused. */
int skeleton_generate(const char *trace, const char *dir, const struct skeleton_wish *wish,
		      struct skeleton_facts *facts, struct errbuf *err);

/* What skeleton_generate() says of the trace, without its name. */
const char *skeleton_reason(const char *trace, const struct errbuf *err);

/* 0 when a skeleton can be built from the trace; -1 with the reason when it is not whole. */
struct trace;
int skeleton_trace_check(const struct trace *t, struct errbuf *err);
/* On: call sites in messages and printed trees have function and line, as far as these are known. Then off. */
void skeleton_name_sites(bool on);

/* Does the run use an accelerator, whose work no skeleton repeats? Returns 1 with the reason, 0, or -1 with the error. */
int skeleton_device(const char *trace, struct errbuf *why);

/* Runs mpicc in dir; the compiler's messages go to `log` (NULL: inherited). */
int skeleton_compile(const char *dir, const char *log, struct errbuf *err);
/* The same, with the interpreter as a fallback. If the compiler cannot be run, or fails, the skeleton is interpreted.
 * `why`: the reason for that ("": the skeleton is compiled). Returns -1 if the interpreter is missing too. */
int skeleton_prepare(const char *dir, const char *log, char *why, size_t size, struct errbuf *err);

/* Hash of dir/skel, or of dir/skel.ops if the skeleton is interpreted. `hex`: 16 digits and the NUL. */
int skeleton_hash(const char *dir, bool interpreted, char hex[17], struct errbuf *err);

#define SKELETON_KERNELS 32

struct skeleton_result {
	double skel_s, lo_s, hi_s; /* the whole program, as extrapolated, and its 95 % interval */
	double computed_s;         /* of skel_s, in compute blocks: mean over ranks; 0: not known */
	double ran_s, init_s, wall_s;
	double launched_s;         /* launcher's start to its end */
	double noise;              /* relative deviation of the same work from time to time */
	/* Shares of a rank's time that other programs had its processors: of the rank that lost most. */
	double lacked_calibrating, lacked;
	double together;           /* least share of the run in which all ranks had their processors */
	int n_kernel;
	struct {
		char name[32];
		double ns_per_unit;
	} kernel[SKELETON_KERNELS];
};

struct skeleton_launch {
	const char *launcher;     /* "srun" or "mpirun" */
	uint32_t n_ranks;
	bool calibrate;           /* measure this machine and write dir/calibration; else use it */
	bool interpret;           /* dir/skel.ops by precedent-replay, not dir/skel */
	const char *scratch;      /* directory for the files of MPI-IO; NULL or "": calls on files are delays */
	const char *log;          /* NULL: inherited */
	double limit_s;
};
int skeleton_run(const char *dir, const struct skeleton_launch *how, struct skeleton_result *out, struct errbuf *err);

#endif
