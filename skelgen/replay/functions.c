/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of calls.h by number, each as one that takes its parameters from an array; and the constants. */
#include <string.h>

#include "skelgen/replay/calls.h"
#include "skelgen/replay/replay.h"
#include "skelgen/runtime/mpilib.h"

/* Parameter k as the kind says. */
#define GET_i(k) ((int)a[k].i)
#define GET_l(k) a[k].i
#define GET_d(k) a[k].d
#define GET_p(k) a[k].p
#define GET_I(k) a[k].I
#define GET_J(k) ((int *)a[k].I)
#define GET_A(k) a[k].A
#define GET_Y(k) a[k].Y
#define GET_t(k) a[k].t
#define GET_m(k) a[k].m
#define GET_o(k) a[k].o
#define GET_w(k) a[k].w
#define GET_g(k) a[k].g
#define GET_f(k) a[k].f
#define GET_q(k) a[k].q
#define GET_s(k) a[k].s
#define GET_T(k) a[k].T
#define GET_C(k) a[k].C
#define GET_W(k) a[k].W
#define GET_Q(k) a[k].Q
#define GET_M(k) a[k].M

#define G(k, kind) GET_##kind(k)
#define ARGS_1(a0) G(0, a0)
#define ARGS_2(a0, a1) ARGS_1(a0), G(1, a1)
#define ARGS_3(a0, a1, a2) ARGS_2(a0, a1), G(2, a2)
#define ARGS_4(a0, a1, a2, a3) ARGS_3(a0, a1, a2), G(3, a3)
#define ARGS_5(a0, a1, a2, a3, a4) ARGS_4(a0, a1, a2, a3), G(4, a4)
#define ARGS_6(a0, a1, a2, a3, a4, a5) ARGS_5(a0, a1, a2, a3, a4), G(5, a5)
#define ARGS_7(a0, a1, a2, a3, a4, a5, a6) ARGS_6(a0, a1, a2, a3, a4, a5), G(6, a6)
#define ARGS_8(a0, a1, a2, a3, a4, a5, a6, a7) ARGS_7(a0, a1, a2, a3, a4, a5, a6), G(7, a7)
#define ARGS_9(a0, a1, a2, a3, a4, a5, a6, a7, a8) ARGS_8(a0, a1, a2, a3, a4, a5, a6, a7), G(8, a8)
#define ARGS_10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) ARGS_9(a0, a1, a2, a3, a4, a5, a6, a7, a8), G(9, a9)
#define ARGS_11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) ARGS_10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9), G(10, a10)
#define ARGS_12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)                                                      \
	ARGS_11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), G(11, a11)
#define ARGS_13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)                                                 \
	ARGS_12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), G(12, a12)
#define ARGS_14(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)                                            \
	ARGS_13(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12), G(13, a13)
#define ARGS_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, NAME, ...) NAME
#define ARGS(...)                                                                                                      \
	ARGS_PICK(__VA_ARGS__, ARGS_14, ARGS_13, ARGS_12, ARGS_11, ARGS_10, ARGS_9, ARGS_8, ARGS_7, ARGS_6, ARGS_5,    \
		  ARGS_4, ARGS_3, ARGS_2, ARGS_1, 0)(__VA_ARGS__)

#define FIELD_i i
#define FIELD_l i
#define FIELD_p p
#define FIELD_I I
#define FIELD_A A
#define FIELD_Y Y
#define FIELD_o o
#define FIELD_g g

#define DO_CALL(function, ...)                                                                                         \
	static void do_##function(const union value *a, union value *result)                                           \
	{                                                                                                              \
		(void)result;                                                                                          \
		function(ARGS(__VA_ARGS__));                                                                           \
	}
#define DO_VALUE(function, gives, ...)                                                                                 \
	static void do_##function(const union value *a, union value *result)                                           \
	{                                                                                                              \
		result->FIELD_##gives = function(ARGS(__VA_ARGS__));                                                   \
	}
#define DO_CALL4(function, ...)  MPILIB_IF_4(DO_CALL(function, __VA_ARGS__), )
#define IN_TABLE4(function, ...) MPILIB_IF_4(do_##function, NULL),
#define IN_TABLE(function, ...) do_##function,

SKEL_CALLS(DO_CALL, DO_VALUE, DO_CALL4)

static const call_fn table[] = {SKEL_CALLS(IN_TABLE, IN_TABLE, IN_TABLE4)};

int64_t replay_table_n[OPS_TABLE_N];
int replay_n_loops;

/* ---- functions that access several entries of a table, or a table of the runtime ---- */

static void places_check(const MPI_Request *first, int64_t n)
{
	if (n < 0 || n > replay_table_n[OPS_REQ] - (first - req))
		skel_fail("the operations name requests that there are not");
}

static void guarded_Waitall(const union value *a, union value *result)
{
	places_check(a[1].Q, a[0].i);
	do_MPI_Waitall(a, result);
}

static void guarded_Startall(const union value *a, union value *result)
{
	places_check(a[1].Q, a[0].i);
	do_MPI_Startall(a, result);
}

static void loop_check(const union value *a)
{
	if (a[0].i < 0 || a[0].i >= replay_n_loops)
		skel_fail("the operations name a loop that there is not");
}

static void guarded_loop(const union value *a, union value *result)
{
	loop_check(a);
	do_skel_loop(a, result);
}

static void guarded_loop_first(const union value *a, union value *result)
{
	loop_check(a);
	do_skel_loop_first(a, result);
}

static void guarded_loop_some(const union value *a, union value *result)
{
	loop_check(a);
	do_skel_loop_some(a, result);
}

static void guarded_loop_part(const union value *a, union value *result)
{
	loop_check(a);
	do_skel_loop_part(a, result);
}

static void do_sendrecv_synchronous(const union value *a, union value *result)
{
	(void)result;
	skel_ssendrecv(ARGS(p, i, t, i, i, p, i, t, i, i, m, s));
}

static void do_sendrecv_replace_synchronous(const union value *a, union value *result)
{
	(void)result;
	skel_ssendrecv_replace(ARGS(p, i, t, i, i, i, i, m, s));
}

static const struct {
	const char *name;
	call_fn call;
} guarded[] = {
	{"MPI_Waitall", guarded_Waitall},
	{"MPI_Startall", guarded_Startall},
	{"skel_loop", guarded_loop},
	{"skel_loop_first", guarded_loop_first},
	{"skel_loop_some", guarded_loop_some},
	{"skel_loop_part", guarded_loop_part},
}, synchronous_ones[] = {
	{"MPI_Send", do_MPI_Ssend},
	{"MPI_Isend", do_MPI_Issend},
	{"MPI_Send_init", do_MPI_Ssend_init},
	{"MPI_Sendrecv", do_sendrecv_synchronous},
	{"MPI_Sendrecv_replace", do_sendrecv_replace_synchronous},
};

call_fn replay_function(uint32_t number, int synchronous)
{
	const char *name = ops_function[number].name;

	for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++)
		if (strcmp(name, guarded[i].name) == 0)
			return guarded[i].call;
	for (size_t i = 0; synchronous && i < sizeof synchronous_ones / sizeof *synchronous_ones; i++)
		if (strcmp(name, synchronous_ones[i].name) == 0)
			return synchronous_ones[i].call;
	return table[number];
}

/* ---- constants ---- */

#define NAMED_t(name) ((union value){.t = name})
#define NAMED_o(name) ((union value){.o = name})
#define NAMED_i(name) ((union value){.i = name})
#define NAMED_l(name) ((union value){.i = (int64_t)name})
#define NAMED_n(name) ((union value){.i = 0})
#define NAMED_I(name) ((union value){.I = (int *)MPI_UNWEIGHTED}) /* skel_unweighted, before the runtime has set it */
#define NAMED_m(name) ((union value){.m = name})
#define NAMED_f(name) ((union value){.f = name})
#define NAMED_s(name) ((union value){.s = name})
#define NAMED_p(name) ((union value){.p = name})
#define CASE(value)                                                                                                    \
	if (number-- == 0)                                                                                             \
		return value;
#define CASE_t(name)           CASE(NAMED_t(name))
#define CASE_o(name)           CASE(NAMED_o(name))
#define CASE_named(name, kind) CASE(NAMED_##kind(name))

union value replay_constant(uint32_t number)
{
	SKEL_DATATYPES(CASE_t)
	SKEL_OPS(CASE_o)
	SKEL_NAMED(CASE_named)
	return (union value){.i = 0};
}
