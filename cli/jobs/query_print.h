/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the answers of precedentd are shown to people: see query_print.c and query_explain.c. */
#ifndef PRECEDENT_CLI_QUERY_PRINT_H
#define PRECEDENT_CLI_QUERY_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Members of an object. "" or 0 if the member is missing or of another type, or if o is NULL. */
const char *jstr(const json_t *o, const char *name);
double jnum(const json_t *o, const char *name);

/* A limit in minutes, "UNLIMITED" or null. */
void minutes_text(const json_t *v, char *out, size_t size);
/* "00:03:12 (00:03:05-00:03:20)" of an object with seconds, lo_s, hi_s. */
void interval_text(const json_t *o, char *out, size_t size);
#define JOB_TEXT_MAX 24 /* two numbers of 32 bits */
/* The job as squeue names it. A task has an index when it has started. Returns out. */
const char *job_text(const json_t *run, char out[JOB_TEXT_MAX]);
/* A point in time, local; "-" for none. Returns out. */
const char *time_text(double when, char *out, size_t size);
/* "12.3 s", from ten minutes on "00:12:34". Returns out. */
const char *span_text(double seconds, char *out, size_t size);

/* Its candidates, where it was chosen between some (explain_place.c). */
void explain_place(const json_t *weighed);

/* The length of the first items of a node class's text, with commas between, that fit into max columns. */
int node_width(const char *text, int max);

/* Is this the run that was to be traced, and left no trace? program: NULL if none is known. */
bool run_left_no_trace(const json_t *job, const json_t *program);

/* An answer to "show", whole and in words. Return the exit code. */
int query_print_show(json_t *answer);
int query_print_explain(json_t *answer);

#endif
