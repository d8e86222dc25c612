/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent import --sacct: asks sacct for the scripts of imported jobs. */
#ifndef PRECEDENT_CLI_TRACE_IMPORT_SCRIPTS_H
#define PRECEDENT_CLI_TRACE_IMPORT_SCRIPTS_H

#include <stdbool.h>

#include "predictor/history/scripts.h"

/* At most `seconds`, with a progress line unless quiet. Returns 0, or -1 with the reason. */
int import_scripts(struct scripts *s, struct store *store, double seconds, bool quiet, struct scripts_report *report,
		   struct errbuf *err);

#endif
