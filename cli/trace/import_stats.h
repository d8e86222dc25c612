/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics of an imported trace, marks per processor and state, as the program of Orlov (2017, cited in
 * trace/tiles/tiles.h) prints them.
 */
#ifndef PRECEDENT_CLI_IMPORT_STATS_H
#define PRECEDENT_CLI_IMPORT_STATS_H

#include <stdbool.h>

#include "trace/read/reader.h"

/* On standard output; without `all` the first processors only. The exit code. */
int import_stats_print(const struct trace *t, const char *path, bool all);
int import_stats_print_json(const struct trace *t, const char *path);

#endif
