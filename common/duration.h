/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time spans as Slurm writes them: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS; and spans with a unit
 * (90d, 12h). Time limits are whole minutes, as in Slurm.
 */
#ifndef PRECEDENT_COMMON_DURATION_H
#define PRECEDENT_COMMON_DURATION_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define DURATION_UNLIMITED UINT32_MAX	    /* minutes: Slurm's INFINITE */
#define DURATION_UNSET	   (UINT32_MAX - 1) /* minutes: Slurm's NO_VAL */
#define DURATION_TEXT_MAX  32

/* Slurm's format, a bare number being minutes, to seconds; "UNLIMITED" and "INFINITE" give UINT64_MAX. */
int duration_parse(const char *text, uint64_t *seconds, struct errbuf *err);
/* The same, rounded up to minutes; DURATION_UNLIMITED for UNLIMITED. */
int duration_parse_minutes(const char *text, uint32_t *minutes, struct errbuf *err);
/*
 * A number with a unit: s, m, h, d, w; a bare number is seconds. Slurm's formats with ':' or '-' are taken
 * too.
 */
int duration_parse_span(const char *text, uint64_t *seconds, struct errbuf *err);

/* HH:MM:SS, or D-HH:MM:SS from one day on; rounds to whole seconds; returns buf. UNLIMITED for +inf. */
const char *duration_format(char *buf, size_t size, double seconds);
/* The same for minutes; "UNLIMITED" and "-" for the two special values. */
const char *duration_format_minutes(char *buf, size_t size, uint32_t minutes);
/* Round up to minutes, saturating below the special values; 0 and negatives give 0. */
uint32_t duration_ceil_minutes(double seconds);

/* A share: "15%" or "0.15", between 0 and max. */
int duration_parse_share(const char *text, double max, double *share, struct errbuf *err);

#endif
