/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types shared by the files of precedent-replay: expressions as trees, lists of statements and steps, and the functions
 * that they call. In an expression, every part that depends only on the rank is already computed. */
#ifndef PRECEDENT_SKELGEN_REPLAY_REPLAY_H
#define PRECEDENT_SKELGEN_REPLAY_REPLAY_H

#include <mpi.h>

#include "skelgen/replay/ops.h"
#include "skelgen/runtime/runtime.h"

/* A value of any kind of calls.h, by the kind's letter. For NULL, all bytes are 0. */
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

/* An expression. If op is OPS_INT, the value is known; it may be of any kind. */
struct node {
	uint8_t op;
	char kind;
	uint32_t n, arg;
	struct node **of; /* n operands */
	union value v;
	/* of a call */
	call_fn call;
	union value *a;   /* parameters; the known ones are already filled in */
	uint8_t n_open;   /* parameters that are computed at each call */
	uint8_t open[OPS_MAX_ARGS]; /* their indexes in a[] */
};

struct statement {
	uint8_t op;
	uint32_t arg;
	uint32_t end;     /* if the statement begins a block: number of the statement after the block */
	struct node *a, *b;
};

/* Operation of a step: it sets *s->result or jumps. */
enum step_op {
	STEP_CALL,       /* *result = call(a) */
	STEP_VALUE,      /* value arg of the enclosing call that varies */
	STEP_PLACE,      /* address of the table entry at byte offset arg */
	STEP_INT, STEP_POINTER, /* value of the table entry at byte offset arg */
	STEP_EVAL,       /* value of a node */
	STEP_SET_TYPE,   /* type[node] = other */
	STEP_UNLESS,     /* to `to` unless the node is true */
	STEP_GO,         /* to `to` */
	STEP_FOR,        /* counter arg = node */
	STEP_AGAIN,      /* if counter arg is not 0, subtract 1 and jump to `to` */
	STEP_ENTER,      /* is loop arg the one that has been entered? */
	STEP_LOOP,       /* jump to `to` for the loop's next iteration */
	STEP_VALUES, STEP_VALUES_END, /* select the values of call arg; the outer call's values are kept at `depth` */
	STEP_END,
};

struct step {
	enum step_op op;
	uint32_t arg;
	union value *result;
	union {
		call_fn call;
		struct node *node;
		const void *table; /* address of the pointer to its first entry */
	};
	union {
		union value *a;
		struct node *other;
		const struct step *to;
		uint32_t depth;
	};
};

struct replay {
	struct ops_file file;
	struct skel_program program;
	struct statement *statement;
	uint32_t n_statement;
	struct step *step;
	uint32_t n_step;
	union value unused; /* receives the result of calls whose result is not used */
	struct node *node, **operand;
	union value *parameter; /* as many as operands */
	uint64_t n_node, n_operand;
};

/* functions.c: the implementation of function `number` of calls.h. synchronous: sends are synchronous. NULL if this MPI
 * library lacks the function. */
call_fn replay_function(uint32_t number, int synchronous);
/* The value of constant `number` of calls.h. */
union value replay_constant(uint32_t number);
/* Entries of each table; the guarded functions check indexes against them. */
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

/* steps.c: the same as steps, before the run. */
void replay_steps(struct replay *r);
/* steps_run.c */
void replay_run(struct replay *r);
extern const int64_t *replay_values; /* of the enclosing call that varies */

#endif
