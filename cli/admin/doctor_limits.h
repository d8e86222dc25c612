/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For precedent doctor: whether a shortened job was ended early, and whether limits are lowered at all. Reads the store. */
#ifndef PRECEDENT_CLI_DOCTOR_LIMITS_H
#define PRECEDENT_CLI_DOCTOR_LIMITS_H

#include <stddef.h>

struct store;

enum limits_verdict { LIMITS_FINE, LIMITS_DOUBT, LIMITS_BROKEN };

/* out: one line for people, the finding and the remedy. Both return LIMITS_DOUBT if the store cannot be read. */
enum limits_verdict limits_report(struct store *s, char *out, size_t size);
/* Rules of the site by which jobs keep their limits. out "": there are none. */
enum limits_verdict limits_report_rules(struct store *s, char *out, size_t size);

#endif
