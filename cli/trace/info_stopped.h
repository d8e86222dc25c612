/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a run did not reach MPI_Finalize, and where its ranks stood. */
#ifndef PRECEDENT_CLI_INFO_STOPPED_H
#define PRECEDENT_CLI_INFO_STOPPED_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/trace/info_print.h"

/* Why the run ended, then a line for each group of ranks that stood at the same place. Nothing if it ended well. */
void info_print_stopped(const struct info_view *v);
/* The foremost reason in words: "rank 0 was in MPI_Recv from rank 1 in work (app.c:12), and ended before all others".
 * Returns false if none was found. */
bool info_first_ended(const struct trace *t, char *text, size_t size);
/* Set "ending", an array of reasons, and "stopped", an array of the ranks that did not reach MPI_Finalize. */
void info_set_stopped(json_t *root, const struct trace *t, struct symbolizer *sym);

#endif
