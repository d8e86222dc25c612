/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info --mix: the kinds of work in computation, block by block. Returns an exit code. */
#ifndef PRECEDENT_CLI_INFO_MIX_H
#define PRECEDENT_CLI_INFO_MIX_H

#include <stdbool.h>

#include "trace/read/reader.h"

int info_print_mix(const struct trace *t, const char *path, bool all, bool json);

#endif
