/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads every page of a trace: opening one reads definitions and structure, times only when they are wanted. Finds every
 * changed, missing or appended byte: what no page accounts for is damage too.
 */
#ifndef PRECEDENT_TRACE_CHECK_H
#define PRECEDENT_TRACE_CHECK_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct trace_check_report {
	uint32_t pages;   /* in the file, the index included */
	uint32_t damaged; /* lines given to f */
	uint64_t bytes;   /* of all contents, decompressed */
};

/* Calls f with one line for each damage, those found on opening first ("page 12 (times of rank 3) at byte 4096: bad
 * checksum"). report may be NULL. 0 sound, 1 damaged, -1 without memory. */
int trace_check(const struct trace *t, void (*f)(const char *line, void *arg), void *arg,
		struct trace_check_report *report, struct errbuf *err);

#endif
