/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded call as a control point with named whole numbers: what it is (function, call site, types, operation) is its
 * name, what may differ between ranks and runs (peers in the communicator of the call, tags, counts, roots, members of
 * the communicator) are its values. Request slots and what a wildcard or a completion brought are not among them.
 */
#ifndef PRECEDENT_PREDICTOR_INPUTS_CALL_H
#define PRECEDENT_PREDICTOR_INPUTS_CALL_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/defs.h"

#define CALL_VALUES  24
#define CALL_MISSING INT64_MIN /* MPI does not look at it, or there is none */

struct call_view {
	uint64_t key;	/* of the name */
	char name[200]; /* "MPI_Send heat+0x1a2b MPI_DOUBLE world" */
	uint32_t n;
	struct {
		char name[28];
		int64_t v;
	} value[CALL_VALUES];
};

/* Of a symbol in the definitions of a rank. The names of the values depend on the control point only. */
void call_view(const struct trace_defs *d, uint32_t sym, struct call_view *out);

#endif
