/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From checked operations to the program of one rank. Every expression that depends only on rank and size is computed
 * here, once. In a compiled skeleton, the compiler does the same.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/replay/replay.h"

struct builder {
	struct replay *r;
	struct node **stack;
	uint64_t n;
	int rank, size, synchronous;
	uint32_t block[OPS_MAX_DEPTH]; /* statements that begin blocks which are open */
	int n_block;
};

/* ---- values ---- */

static int64_t divided(int64_t a, int64_t b, int rest)
{
	if (b == 0 || (b == -1 && a == INT64_MIN))
		skel_fail("the operations divide by nothing");
	return rest ? a % b : a / b;
}

static int64_t binary(unsigned op, int64_t x, int64_t y)
{
	const uint64_t a = (uint64_t)x, b = (uint64_t)y;

	switch (op) {
	case OPS_ADD:
		return (int64_t)(a + b);
	case OPS_SUB:
		return (int64_t)(a - b);
	case OPS_MUL:
		return (int64_t)(a * b);
	case OPS_DIV:
	case OPS_MOD:
		return divided(x, y, op == OPS_MOD);
	case OPS_XOR:
		return x ^ y;
	case OPS_OR:
		return x | y;
	case OPS_LT:
		return x < y;
	case OPS_LE:
		return x <= y;
	case OPS_GT:
		return x > y;
	case OPS_GE:
		return x >= y;
	case OPS_EQ:
		return x == y;
	case OPS_NE:
		return x != y;
	case OPS_ANDAND:
		return x != 0 && y != 0;
	default:
		return x != 0 || y != 0;
	}
}

static int64_t element(const struct node *n, int64_t i)
{
	if (i < 0 || i >= n->of[1]->v.i)
		skel_fail("the operations name an element that there is not");
	switch (n->of[1]->kind) {
	case 'I':
		return ((const int32_t *)n->v.p)[i];
	case 'A':
		return ((const int64_t *)n->v.p)[i];
	default:
		return ((const char *)n->v.p)[i];
	}
}

static int64_t place(const struct node *n)
{
	int64_t i = replay_eval(n->of[0]).i;

	if (i < 0 || i >= replay_table_n[n->arg])
		skel_fail("the operations name %s %lld of %lld",
			  (const char *const[]){"communicator", "datatype", "window", "request", "message"}[n->arg],
			  (long long)i, (long long)replay_table_n[n->arg]);
	return i;
}

static union value handle(const struct node *n)
{
	int64_t i = place(n);
	int pointer = n->op == OPS_PLACE;

	switch (n->arg) {
	case OPS_COMM:
		return pointer ? (union value){.C = &comm[i]} : (union value){.m = comm[i]};
	case OPS_TYPE:
		return pointer ? (union value){.T = &type[i]} : (union value){.t = type[i]};
	case OPS_WIN:
		return pointer ? (union value){.W = &win[i]} : (union value){.w = win[i]};
	case OPS_REQ:
		return pointer ? (union value){.Q = &req[i]} : (union value){.q = req[i]};
	default:
		return (union value){.M = &message[i]};
	}
}

static union value list(const struct node *n)
{
	MPI_Datatype *t = skel_alloc(n->n, sizeof *t);

	for (uint32_t i = 0; i < n->n; i++)
		t[i] = replay_eval(n->of[i]).t;
	return (union value){.Y = t};
}

/* The tables do not move: a place whose number is known stays where it is. */
static union value place_kept(struct node *n)
{
	union value v = handle(n);

	if (n->of[0]->op == OPS_INT) {
		n->v = v;
		n->op = OPS_INT;
	}
	return v;
}

union value replay_eval(struct node *n)
{
	union value result = {.i = 0};

	switch (n->op) {
	case OPS_INT:
		return n->v;
	case OPS_VALUE:
		return (union value){.i = replay_values[n->arg]};
	case OPS_ELEMENT:
		return (union value){.i = element(n, replay_eval(n->of[0]).i)};
	case OPS_HANDLE:
		return handle(n);
	case OPS_PLACE:
		return place_kept(n);
	case OPS_TO_INT:
		return (union value){.i = (int)replay_eval(n->of[0]).i};
	case OPS_NEGATE:
		return (union value){.i = (int64_t)-(uint64_t)replay_eval(n->of[0]).i};
	case OPS_NOT:
		return (union value){.i = !replay_eval(n->of[0]).i};
	case OPS_CHOOSE:
		return replay_eval(n->of[replay_eval(n->of[0]).i ? 1 : 2]);
	case OPS_LIST:
		return list(n);
	case OPS_CALL:
		replay_call(n, &result);
		return result;
	default:
		return (union value){.i = binary(n->op, replay_eval(n->of[0]).i, replay_eval(n->of[1]).i)};
	}
}

/* ---- nodes ---- */

static struct node *node_new(struct builder *b, unsigned op, uint32_t arg, uint32_t n)
{
	struct replay *r = b->r;
	struct node *made = &r->node[r->n_node++];

	*made = (struct node){.op = (uint8_t)op, .arg = arg, .n = n, .of = r->operand + r->n_operand};
	b->n -= n;
	for (uint32_t i = 0; i < n; i++)
		made->of[i] = b->stack[b->n + i];
	r->n_operand += n;
	b->stack[b->n++] = made;
	return made;
}

static void known(struct node *n, union value v)
{
	n->op = OPS_INT;
	n->v = v;
}

/* Compute what is known already. Of a choice, the branch that is not taken goes. */
static void fold(struct builder *b, struct node *n)
{
	int all = n->n > 0;

	for (uint32_t i = 0; i < n->n; i++)
		all &= n->of[i]->op == OPS_INT;
	if (n->op == OPS_CHOOSE && n->of[0]->op == OPS_INT)
		b->stack[b->n - 1] = n->of[n->of[0]->v.i ? 1 : 2];
	else if (all && (n->op == OPS_ELEMENT || n->op == OPS_TO_INT || n->op == OPS_NEGATE || n->op == OPS_NOT ||
			 (n->op >= OPS_ADD && n->op <= OPS_OROR)))
		known(n, replay_eval(n));
}

/* Put down the parameters that are known, and which are not. */
static void parameters_bind(struct builder *b, struct node *n)
{
	n->a = b->r->parameter + (n->of - b->r->operand);
	for (uint32_t i = 0; i < n->n; i++)
		if (n->of[i]->op == OPS_INT)
			n->a[i] = n->of[i]->v;
		else
			n->open[n->n_open++] = (uint8_t)i;
}

/* Parameters that are numbers with a fraction may be given as integers. */
static void call_bind(struct builder *b, struct node *n)
{
	const struct ops_function *f = &ops_function[n->arg];

	n->kind = f->gives;
	n->call = replay_function(n->arg, b->synchronous);
	if (n->call == NULL)
		skel_fail("the program calls %s, which this MPI library does not have", f->name);
	for (uint32_t i = 0; i < n->n; i++)
		if (f->takes[i] == 'd' && n->of[i]->kind != 'd') {
			if (n->of[i]->op != OPS_INT)
				skel_fail("the operations give %s an integer", f->name);
			n->of[i]->v.d = (double)n->of[i]->v.i;
			n->of[i]->kind = 'd';
		}
	parameters_bind(b, n);
}

static void array_of(struct builder *b, struct node *n)
{
	uint64_t entry = b->r->file.array[n->arg];

	n->kind = ops_array_kind(entry);
	n->v.p = (void *)(uintptr_t)b->r->file.values[n->arg];
}

/* One expression of the code; returns the words it takes. */
static uint64_t expression(struct builder *b, const uint64_t *at)
{
	unsigned op = OPS_OP(*at);
	uint32_t arg = OPS_ARG(*at);
	char takes[OPS_MAX_ARGS];
	uint32_t n = op == OPS_LIST ? OPS_COUNT(*at) : (uint32_t)ops_takes(*at, takes);
	struct node *made = node_new(b, op, arg, n);

	switch (op) {
	case OPS_INT:
	case OPS_REAL:
		memcpy(&made->v, at + 1, sizeof *at);
		made->op = OPS_INT;
		made->kind = op == OPS_INT ? 'l' : 'd';
		return 2;
	case OPS_RANK:
	case OPS_SIZE:
		known(made, (union value){.i = op == OPS_RANK ? b->rank : b->size});
		break;
	case OPS_NAMED:
		made->kind = ops_constant[arg].kind;
		known(made, replay_constant(arg));
		break;
	case OPS_ARRAY:
		array_of(b, made);
		made->op = OPS_INT;
		break;
	case OPS_ELEMENT:
		array_of(b, made);
		/* Kind and length of the array, beside the index. */
		b->r->node[b->r->n_node] = (struct node){.op = OPS_INT, .kind = made->kind};
		b->r->node[b->r->n_node].v.i = (int64_t)ops_array_length(b->r->file.array[arg]);
		b->r->operand[b->r->n_operand++] = &b->r->node[b->r->n_node++];
		made->kind = 'l';
		break;
	case OPS_CALL:
		call_bind(b, made);
		break;
	default:
		break;
	}
	fold(b, made);
	return 1;
}

/* ---- statements ---- */

static void statement(struct builder *b, uint64_t w)
{
	struct replay *r = b->r;
	struct statement *s = &r->statement[r->n_statement];
	unsigned op = OPS_OP(w);

	*s = (struct statement){.op = (uint8_t)op, .arg = OPS_ARG(w)};
	if (b->n > 0)
		s->a = b->stack[0];
	if (b->n > 1)
		s->b = b->stack[1];
	b->n = 0;
	r->n_statement++;
	if (op == OPS_END)
		r->statement[b->block[--b->n_block]].end = r->n_statement;
	else if (op != OPS_DO && op != OPS_SET_TYPE)
		b->block[b->n_block++] = r->n_statement - 1;
}

static void limits_set(const struct replay *r)
{
	const struct skel_program *p = &r->program;

	replay_table_n[OPS_COMM] = p->n_comms > 2 ? p->n_comms : 2;
	replay_table_n[OPS_TYPE] = p->n_types;
	replay_table_n[OPS_WIN] = p->n_wins;
	replay_table_n[OPS_REQ] = replay_table_n[OPS_MESSAGE] = p->n_requests;
	replay_n_loops = p->n_loops;
}

void replay_build(struct replay *r, int rank, int size, int synchronous)
{
	struct builder b = {.r = r, .rank = rank, .size = size, .synchronous = synchronous};
	const struct ops_file *f = &r->file;

	/* An element takes two nodes more than it is: its array's, and an operand for it. */
	r->node = skel_alloc(2 * f->n_node + 1, sizeof *r->node);
	r->operand = skel_alloc(2 * f->n_node + 1, sizeof *r->operand);
	r->parameter = skel_alloc(2 * f->n_node + 1, sizeof *r->parameter);
	r->statement = skel_alloc(f->n_statement + 1, sizeof *r->statement);
	b.stack = skel_alloc(f->n_node + 1, sizeof *b.stack);
	limits_set(r);
	for (uint64_t i = 0; i < f->n_code;)
		if (OPS_OP(f->code[i]) <= OPS_LAST_EXPRESSION)
			i += expression(&b, f->code + i);
		else
			statement(&b, f->code[i++]);
	free(b.stack);
	replay_steps(r);
}

void replay_free(struct replay *r)
{
	free(r->node);
	free(r->operand);
	free(r->parameter);
	free(r->statement);
	free(r->step);
	free((void *)(uintptr_t)r->file.word);
	ops_file_free(&r->file);
}
