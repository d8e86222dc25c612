/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON of all verbs: see precedent-json(5). */
#ifndef PRECEDENT_CLI_JSON_OUT_H
#define PRECEDENT_CLI_JSON_OUT_H

#include <jansson.h>

#define JSON_SCHEMA 1 /* raised when a member changes its name, type or meaning, or goes */

/* Print the object on standard output, with its schema, and free it. Returns the exit code, with a message on error. o: NULL is
 * an error. */
int cli_print_json(json_t *o);

#endif
