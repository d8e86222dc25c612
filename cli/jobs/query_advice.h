/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `precedent advise` says first, for `precedent show`: of the traced run of the job's program. It is the caller's
 * own process that reads the caller's own trace, and only where that takes a moment: a small file, not too many calls.
 */
#ifndef PRECEDENT_CLI_QUERY_ADVICE_H
#define PRECEDENT_CLI_QUERY_ADVICE_H

#include <jansson.h>

/* An answer to "show". Prints nothing where there is no trace, or none that is the caller's. */
void query_print_advice(const json_t *answer);
/* How the traced run ended, if it left a partial trace: hung, died, or still at work. For `precedent explain`. */
void query_print_ending(const json_t *answer);

#endif
