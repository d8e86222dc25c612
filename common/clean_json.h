/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from outside as JSON: always a valid string, and clean (clean.h). */
#ifndef PRECEDENT_COMMON_CLEAN_JSON_H
#define PRECEDENT_COMMON_CLEAN_JSON_H

#include <jansson.h>

/* A clean line. s: may be NULL, which gives null. */
json_t *clean_json(const char *s);

/* Clean all strings of a value that was parsed, in place. Members whose keys are not clean are removed. */
void clean_json_all(json_t *v);

#endif
