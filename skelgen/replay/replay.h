/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of precedent-replay share: expressions as trees with all that the rank decides already computed,
 * statements in a row, and the functions that they call. */
#ifndef PRECEDENT_SKELGEN_REPLAY_REPLAY_H
#define PRECEDENT_SKELGEN_REPLAY_REPLAY_H

#include <mpi.h>

#include "skelgen/replay/ops.h"
#include "skelgen/runtime/runtime.h"

/* A value of any kind of calls.h, by the kind's letter; of NULL all of it is 0. */
union value {
	int64_t i;
	double d;
	void *p;
	const int *I;
	const MPI_Aint *A;
	const MPI_Datatype *Y;
	MPI_Datatype t;
	MPI_Comm m;
	MPI_Op o;
	MPI_Win w;
	MPI_Group g;
	MPI_Info f;
	MPI_Request q;
	MPI_Status *s;
	MPI_Datatype *T;
	MPI_Comm *C;
	MPI_Win *W;
	MPI_Request *Q;
	MPI_Message *M;
};

typedef void (*call_fn)(const union value *a, union value *result);

/* An expression. op OPS_INT: its value is known, whatever its kind. */
struct node {
	uint8_t op;
	char kind;
	uint32_t n, arg;
	struct node **of; /* n operands */
	union value v;
	/* of a call */
	call_fn call;
	union value *a;   /* parameters: those that are known are there already, */
	uint8_t n_open;   /* and so many, */
	uint8_t open[OPS_MAX_ARGS]; /* these, are computed each time */
};

struct statement {
	uint8_t op;
	uint32_t arg;
	uint32_t end;     /* of what begins a block: the statement after it */
	struct node *a, *b;
};

struct replay {
	struct ops_file file;
	struct skel_program program;
	struct statement *statement;
	uint32_t n_statement;
	struct node *node, **operand;
	union value *parameter; /* as many as operands */
	uint64_t n_node, n_operand;
};

/* functions.c: what carries out function `number`, its sends synchronous or not; NULL where this MPI library lacks it. */
call_fn replay_function(uint32_t number, int synchronous);
/* Its value. */
union value replay_constant(uint32_t number);
/* The tables may hold this many; the guarded functions look at it. */
extern int64_t replay_table_n[OPS_TABLE_N];
extern int replay_n_loops;

/* build.c: the program of this rank. Fails through skel_fail. */
void replay_build(struct replay *r, int rank, int size, int synchronous);
void replay_free(struct replay *r);
union value replay_eval(struct node *n);
static inline void replay_call(const struct node *n, union value *result)
{
	for (unsigned k = 0; k < n->n_open; k++) {
		struct node *of = n->of[n->open[k]];

		n->a[n->open[k]] = of->op == OPS_INT ? of->v : replay_eval(of);
	}
	n->call(n->a, result);
}

/* run.c */
void replay_run(struct replay *r);
extern const int64_t *replay_values; /* of the enclosing call that varies */

#endif
