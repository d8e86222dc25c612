/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partial execution: a traced program run again, in a sandbox, until enough of its main loop is done. Used by the verbs
 * predict and probe.
 */
#ifndef PRECEDENT_CLI_PARTIAL_H
#define PRECEDENT_CLI_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/partial/partial.h"

struct partial_wish {
	double seconds;        /* of the iterations that are run */
	char *const *command;  /* NULL-ended, launcher and all; NULL: as the trace says */
	const char *dir;       /* an empty directory of ours, for the stop file and the marks */
	const char *log;       /* NULL: inherited */
	double limit_s;
};

/* Did the run ask for it? Unreadable: no. */
bool partial_asked(const char *trace);

/* Of the traced run. */
struct partial_traced {
	double mpi_s;      /* MPI_Init's return to MPI_Finalize, longest rank */
	double computed_s; /* of these, between calls: mean over ranks */
	uint64_t events;   /* calls of all ranks */
	uint32_t n_ranks;
};

/* Returns -1 with the reason if the command is unknown, or if the run cannot be stopped half way. Also returns -1 if
 * the run cannot be protected, or differs from the trace. traced: NULL is legal. */
int partial_predict(const char *trace, const struct partial_wish *wish, struct partial_estimate *out,
		    struct partial_traced *traced, struct errbuf *err);

/* Why neither a skeleton nor partial execution predicts. A reason that both have is given once. unpartial: of
 * partial_predict(). Returns a text that lives as long as unskeleton and both. */
const char *partial_reasons(const char *unskeleton, const struct errbuf *unpartial, struct errbuf *both);

#endif
