/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For precedent doctor: whether tracing is suspected of making jobs fail, and which jobs to look at. Reads the store. */
#ifndef PRECEDENT_CLI_DOCTOR_TRACING_H
#define PRECEDENT_CLI_DOCTOR_TRACING_H

#include <stddef.h>
#include <stdint.h>

struct store;

enum tracing_verdict { TRACING_FINE, TRACING_DOUBT, TRACING_BROKEN };

/* out: one line for people, the finding and the remedy. Returns TRACING_DOUBT if the store cannot be read. */
enum tracing_verdict tracing_report(struct store *s, int64_t now, char *out, size_t size);

#endif
