/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrappers for functions of the program, from a user's rules (own_rules.h): a library that is preloaded behind the tracer's. */
#ifndef PRECEDENT_CLI_OWN_WRAP_H
#define PRECEDENT_CLI_OWN_WRAP_H

#include "cli/trace/own_rules.h"
#include "trace/read/reader.h"

/* Write and compile the wrappers in dir, as OWN_WRAP_LIBRARY. Returns 0, or -1 with the compiler's first error, whose place
 * is one in the file of rules. */
#define OWN_WRAP_LIBRARY "own.so"
int own_wrap_build(const struct own_rules *r, const char *dir, struct errbuf *err);

/* The wrappers as an object file, for a program that is linked with --wrap=FUNCTION: its own functions are recorded then too.
 * Returns 0, or -1. */
int own_wrap_object(const struct own_rules *r, const char *object, struct errbuf *err);

/* The first rule whose function has no call in the trace, or NULL. */
const struct own_rule *own_wrap_unused(const struct own_rules *r, const struct trace *t);

#endif
