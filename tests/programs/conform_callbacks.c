/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conform_callbacks: functions of the program that MPI calls: operations, attribute copies and deletions, error
 * handlers, generalized requests. Their own MPI calls are inside another call, and so are no events.
 */
#include "conform.h"

static int op_calls, copies, deletions, errors;

static void add_twice(void *in, void *inout, int *n, MPI_Datatype *type)
{
	int size;

	MPI_Type_size(*type, &size);
	op_calls++;
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i] + (size != (int)sizeof(int));
}

static int copy_attribute(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
	int rank;

	(void)key;
	(void)extra;
	MPI_Comm_rank(c, &rank);
	copies++;
	*(void **)out = in;
	*flag = rank == conform_rank;
	return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm c, int key, void *value, void *extra)
{
	int size;

	(void)key;
	(void)value;
	(void)extra;
	MPI_Comm_size(c, &size);
	deletions++;
	return MPI_SUCCESS;
}

static void handle_error(MPI_Comm *c, int *code, ...)
{
	int class;

	(void)c;
	MPI_Error_class(*code, &class);
	errors += class != MPI_SUCCESS;
}

static void operations(void)
{
	int v = conform_rank + 1, sum = 0, want = conform_size * (conform_size + 1) / 2;
	MPI_Op op;

	DO(MPI_Op_create(add_twice, 1, &op));
	for (int i = 0; i < 5; i++) {
		DO(MPI_Allreduce(&v, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
		CHECK(sum == want);
	}
	DO(MPI_Op_free(&op));
	CHECK(op == MPI_OP_NULL);
	MPI_Allreduce(MPI_IN_PLACE, &op_calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	did("MPI_Allreduce", 1);
	CHECK(conform_size == 1 || op_calls > 0);
}

static void attributes(void)
{
	static int value = 42;
	MPI_Comm dup;
	void *got;
	int key, flag;

	MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
	DO(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	MPI_Comm_get_attr(dup, key, &got, &flag);
	CHECK(flag && *(int *)got == 42);
	DO(MPI_Comm_free(&dup));
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	MPI_Comm_free_keyval(&key);
	CHECK(copies == 1 && deletions == 2);
}

static void error_handlers(void)
{
	MPI_Errhandler h;
	MPI_Comm dup;
	int v = 0;

	DO(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
	CHECK(MPI_Send(&v, 1, MPI_INT, conform_size + 5, 0, dup) != MPI_SUCCESS); /* fails: no event */
	MPI_Comm_create_errhandler(handle_error, &h);
	MPI_Comm_set_errhandler(dup, h);
	CHECK(MPI_Send(&v, 1, MPI_INT, conform_size + 5, 0, dup) != MPI_SUCCESS);
	CHECK(errors == 1);
	MPI_Errhandler_free(&h);
	DO(MPI_Comm_free(&dup));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	conform_begin();
	operations();
	attributes();
	error_handlers();
	DO(MPI_Barrier(MPI_COMM_WORLD));
	conform_end();
	MPI_Finalize();
	return 0;
}
