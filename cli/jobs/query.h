/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the verbs that ask precedentd. */
#ifndef PRECEDENT_CLI_QUERY_H
#define PRECEDENT_CLI_QUERY_H

#include <jansson.h>
#include <time.h>

/* An empty request of that verb. */
json_t *query_request(const char *verb);
/* The daemon's answer, or NULL with the message written. Steals nothing. */
json_t *query_ask(json_t *request);
/* An answer that --json printed once, with that member; NULL with the message written. */
json_t *query_load(const char *path, const char *verb, const char *member);
/* The answer for machines; returns the exit code. */
int query_print_json(json_t *answer);

/*
 * Adds takes, limit_end, end, end_lo and end_hi to a job of squeue. run: precedentd's answer about the job, or NULL. No end is
 * later than the limit's. A job that waits cannot begin before now.
 */
void queue_expect(json_t *job, const json_t *run, time_t now);

#endif
