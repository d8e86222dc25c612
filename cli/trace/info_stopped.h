/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the ranks of a run stood that did not reach MPI_Finalize: the MPI call that each was in, or the last one it made. */
#ifndef PRECEDENT_CLI_INFO_STOPPED_H
#define PRECEDENT_CLI_INFO_STOPPED_H

#include <jansson.h>

#include "cli/trace/info_print.h"

/* A line for each group of ranks that stood at the same place; nothing for a run that ended well. */
void info_print_stopped(const struct info_view *v);
/* An object for each such rank. */
json_t *info_stopped_json(const struct trace *t, struct symbolizer *sym);

#endif
