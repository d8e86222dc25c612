/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time spans in Slurm's formats: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS. Time spans with a unit: 90d,
 * 12h. Time limits are whole minutes, as in Slurm.
 */
#ifndef PRECEDENT_COMMON_DURATION_H
#define PRECEDENT_COMMON_DURATION_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define DURATION_UNLIMITED UINT32_MAX	    /* minutes: Slurm's INFINITE */
#define DURATION_UNSET	   (UINT32_MAX - 1) /* minutes: Slurm's NO_VAL */
#define DURATION_TEXT_MAX  32

/* Parse Slurm's format to seconds; a bare number is minutes. "UNLIMITED" and "INFINITE" give UINT64_MAX. Returns
 * 0 on success, -1 on error (err says why). */
int duration_parse(const char *text, uint64_t *seconds, struct errbuf *err);
/* Like duration_parse, rounded up to minutes; DURATION_UNLIMITED for UNLIMITED. */
int duration_parse_minutes(const char *text, uint32_t *minutes, struct errbuf *err);
/*
 * Parse a number with a unit s, m, h, d or w; a bare number is seconds. Slurm's formats with ':' or '-' are
 * accepted.
 */
int duration_parse_span(const char *text, uint64_t *seconds, struct errbuf *err);

/* Write HH:MM:SS, or D-HH:MM:SS from one day on, rounded to seconds. +inf gives UNLIMITED. Returns buf. */
const char *duration_format(char *buf, size_t size, double seconds);
/* Like duration_format, for minutes. The two special values give "UNLIMITED" and "-". */
const char *duration_format_minutes(char *buf, size_t size, uint32_t minutes);
/* Round up to minutes; 0 and negatives give 0. The result stays below the special values. */
uint32_t duration_ceil_minutes(double seconds);

/* Parse a share between 0 and max: "15%" or "0.15". */
int duration_parse_share(const char *text, double max, double *share, struct errbuf *err);

#endif
