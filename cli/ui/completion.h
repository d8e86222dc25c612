/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion of the command line by shells, from the tables of the verbs. */
#ifndef PRECEDENT_CLI_COMPLETION_H
#define PRECEDENT_CLI_COMPLETION_H

#include "cli/ui/options.h"

/* The script for bash, zsh or fish on standard output. verbs: ended by NULL. */
void completion_print(const char *shell, const struct verb *const *verbs);

#endif
