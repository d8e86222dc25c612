/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An excerpt of a run: a trace of the chosen segments alone, in their order, as if the program had done nothing else. At
 * the begin and the end of each piece stands a call of MPI_Pcontrol, whose level tells its number.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_EXCERPT_H
#define PRECEDENT_SKELGEN_PIECES_EXCERPT_H

#include "common/errbuf.h"
#include "skelgen/pieces/call_roles.h"
#include "skelgen/pieces/cuts.h"

/* Level of the call at the begin of piece k; at the end of the last piece before others are left out, of piece n. */
#define EXCERPT_LEVEL 0x50520000

/* By segment: does it run, and which part of its times; 1: all. */
struct excerpt_choice {
	const bool *chosen;
	const double *part;
};

/* Writes the trace file. roles: by rank. Returns 0, or -1 with the reason. */
int excerpt_write(const struct trace *t, const struct call_roles *roles, const struct cuts *cuts,
		  const struct excerpt_choice *choice, const char *path, struct errbuf *err);

#endif
