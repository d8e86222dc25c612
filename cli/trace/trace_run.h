/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running a command under the tracer. */
#ifndef PRECEDENT_CLI_TRACE_RUN_H
#define PRECEDENT_CLI_TRACE_RUN_H

#include "common/errbuf.h"

/* Run cmd with the tracer preloaded, the trace to go to `file` (an older one is removed first); output to `log`, or
 * inherited when NULL. Returns the exit status of cmd, or -1 with a message. The file may be missing afterwards; the
 * tracer's own reason is in err, or "". */
int trace_run(char *const cmd[], const char *file, const char *log, struct errbuf *err);

#endif
