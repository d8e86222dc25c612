/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks every byte of a trace. Opening a trace reads definitions and structure; this check also reads times. It
 * finds every changed, missing or appended byte: bytes outside of pages are damage too.
 */
#ifndef PRECEDENT_TRACE_CHECK_H
#define PRECEDENT_TRACE_CHECK_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct trace_check_report {
	uint32_t pages;   /* pages in the file, including the index */
	uint32_t damaged; /* number of lines given to f */
	uint64_t bytes;   /* bytes of all contents, decompressed */
};

/* Call f with one line per damage. Damage found by trace_open comes first ("page 12 (times of rank 3) at byte
 * 4096: bad checksum"). report may be NULL. Returns 0 if the trace is undamaged, 1 if it is damaged, -1 if memory
 * runs out. */
int trace_check(const struct trace *t, void (*f)(const char *line, void *arg), void *arg,
		struct trace_check_report *report, struct errbuf *err);

#endif
