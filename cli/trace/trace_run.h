/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running a command under the tracer. */
#ifndef PRECEDENT_CLI_TRACE_RUN_H
#define PRECEDENT_CLI_TRACE_RUN_H

#include "cli/trace/own_rules.h"
#include "common/errbuf.h"

/* Run cmd with the tracer preloaded. The trace goes to `file`; an older one is removed first. Output goes to `log`; it is
 * inherited if that is NULL. rules: functions of the program that are recorded, too; NULL: none. Returns the exit status of
 * cmd, or -1 with a message. The file may be missing afterwards; the tracer's own reason is in err, or "". Signals are passed
 * to cmd: cli_outlived() says which. */
int trace_run(char *const cmd[], const char *file, const char *log, const struct own_rules *rules, struct errbuf *err);

#endif
