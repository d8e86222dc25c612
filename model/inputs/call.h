/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded call as a control point with named whole numbers. The fixed parts of the call are its name: function, call
 * site, types, operation. Its values are the parts that may differ between ranks and runs:
 *
 *   - peers, numbered in the communicator of the call
 *   - tags, counts, roots, displacements
 *   - members of the communicator
 *   - arguments of the constructor of a datatype, a window or a file
 *   - the place where a wildcard was matched
 *
 * Request slots and the results of completions are not among the values.
 */
#ifndef PRECEDENT_MODEL_INPUTS_CALL_H
#define PRECEDENT_MODEL_INPUTS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/defs.h"

#define CALL_VALUES  32
#define CALL_MISSING INT64_MIN /* MPI ignores the value, or the call has none */

struct call_view {
	uint64_t key;	/* of the name */
	char name[200]; /* "MPI_Send heat+0x1a2b MPI_DOUBLE world" */
	uint32_t n;
	struct {
		char name[28];
		int64_t v;
	} value[CALL_VALUES];
};

#define CALL_TYPE_INTS	16 /* of a datatype's constructor that are values */
#define CALL_TYPE_ADDRS 12
#define CALL_FILE_NUMBERS 4 /* in the last part of a file's name */

/* How many of a constructor's contents are values. Lists whose length is a count of the call have none. */
uint32_t call_type_ints(const struct trace_type *t);
uint32_t call_type_addrs(const struct trace_type *t);
/* Returns true if the contents alone do not determine size, lower bound and extent. Then these three are the first
 * values. */
bool call_type_measured(const struct trace_type *t);
/* The next number in the last part of a path, from *at on: its digits, and *at behind them. NULL: there is none. */
const char *call_file_number(const char *path, size_t *at, size_t *n);

#define CALL_PLACE 80 /* a module of 40 characters and two numbers */
/* Where the call is, as in call_view.name: "heat+0x1a2b". Returns the length. site: below d->n_site. */
size_t call_place(const struct trace_defs *d, uint32_t site, char *text, size_t size);

/* Of a symbol in the definitions of a rank. The names of the values depend on the control point only. */
void call_view(const struct trace_defs *d, uint32_t sym, struct call_view *out);

#endif
