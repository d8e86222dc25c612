/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent import --sacct: past jobs of the accounting, for the store of precedentd. */
#ifndef PRECEDENT_CLI_TRACE_IMPORT_SACCT_H
#define PRECEDENT_CLI_TRACE_IMPORT_SACCT_H

#include <stdbool.h>

/* Reads the output of sacct from `file`. "-" is standard input. If file is NULL, sacct is run. It is then asked for
 * scripts for at most scripts_s seconds. Returns the exit code. */
int import_sacct(const char *file, double scripts_s, bool json, bool quiet);

#endif
