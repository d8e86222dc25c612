/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of an imported trace, as the program of paper 002 prints them: marks per processor and state. */
#ifndef PRECEDENT_CLI_IMPORT_STATS_H
#define PRECEDENT_CLI_IMPORT_STATS_H

#include <stdbool.h>

#include "trace/read/reader.h"

/* On standard output; without `all` the first processors only. The exit code. */
int import_stats_print(const struct trace *t, const char *path, bool all);
int import_stats_print_json(const struct trace *t, const char *path);

#endif
