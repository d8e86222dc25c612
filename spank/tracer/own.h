/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of the program's own functions, by rules of the user (precedent-trace-rules(5)). Wrappers that cli/trace/own_wrap.c
 * writes tell of a call and of its return by MPI_Pcontrol(OWN_LEVEL, &call), whose further arguments the standard leaves to
 * tools. A call is two events without a duration, since MPI calls may lie between them. One string has
 * the function's name and the names of its values (trace/format/own_name.h). The string is an operation among the rank's
 * definitions, which no MPI call uses.
 */
#ifndef PRECEDENT_SPANK_TRACER_OWN_H
#define PRECEDENT_SPANK_TRACER_OWN_H

#include <stdint.h>

#define OWN_LEVEL      0x50524543 /* "PREC": no program's own level */
#define OWN_VERSION    1
#define OWN_VALUES_MAX 16 /* TRACE_OWN_VALUES of trace/format/own_name.h */

/* The layout is known to cli/trace/own_wrap.c too. */
struct own_call {
	uint32_t version, is_return;
	const char *name;        /* the same address each time */
	uintptr_t ra, cfa;       /* of the wrapper: who called the function */
	uint64_t n;
	const int64_t *value;    /* [n] */
};

void own_call(const struct own_call *o);

#endif
