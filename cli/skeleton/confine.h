/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent confine: a launcher starts it in place of each process of a partial execution over several nodes, or of
 * tasks that Slurm starts. precedent confine reads its parameters from the environment. partial.c sets the environment
 * before it starts the launcher.
 */
#ifndef PRECEDENT_CLI_CONFINE_H
#define PRECEDENT_CLI_CONFINE_H

#include "common/sandbox.h"

#define CONFINE_DIRECTORY   "PRECEDENT_CONFINE_DIRECTORY"
#define CONFINE_INPUT       "PRECEDENT_CONFINE_INPUT"
#define CONFINE_PRELOAD     "PRECEDENT_CONFINE_PRELOAD"
#define CONFINE_ENVIRONMENT "PRECEDENT_CONFINE_ENVIRONMENT" /* words (trace/format/words.h) */
#define CONFINE_LIMIT       "PRECEDENT_CONFINE_LIMIT"

/* What a program may write a private copy of: its directory, HOME, and where temporary files go. */
void partial_overlays(struct sandbox *s);

#endif
