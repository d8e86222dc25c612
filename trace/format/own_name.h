/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of a function of the program whose calls a rule of the user records: "solve(n;iterations)". The values of the
 * call stand before the semicolon, the values of the return behind it. The string is an operation among a rank's
 * definitions.
 */
#ifndef PRECEDENT_TRACE_OWN_NAME_H
#define PRECEDENT_TRACE_OWN_NAME_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_OWN_VALUES 16 /* at the call, and at the return */
#define TRACE_OWN_TEXT   1024

struct trace_own_name {
	char text[TRACE_OWN_TEXT];
	const char *name;
	const char *value[2][TRACE_OWN_VALUES]; /* in text */
	uint32_t n[2];
};

/* false: the string names no such function. */
bool trace_own_name(const char *string, struct trace_own_name *out);

#endif
