/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces for other programs: CSV for tables, Chrome trace events for browsers (chrome://tracing, Perfetto), OTF2 for
 * Vampir, ViTE, Scalasca and the like. Everything streams: memory is that of one rank's definitions and one page.
 * Times are those of timeline.h, under the logical clock: no message arrives before it was sent.
 */
#ifndef PRECEDENT_TRACE_EXPORT_EXPORT_H
#define PRECEDENT_TRACE_EXPORT_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct export_options {
	uint32_t r0, r1;       /* ranks, r1 exclusive */
	uint64_t t0_ns, t1_ns; /* calls that overlap this; 0 and UINT64_MAX: all, also those whose times are not known */
	/* Name of a call site; NULL: module+offset. Returns buf. */
	const char *(*site)(void *arg, const struct trace_defs *d, const struct trace_site *s, char *buf, size_t size);
	void *site_arg;
	/* Now and then; may be NULL. */
	void (*progress)(void *arg, double done, double total);
	void *progress_arg;
};

struct export_report {
	uint64_t events;   /* calls, or spans of imported traces, that were written */
	uint64_t untimed;  /* calls without known times: rows without times in CSV, left out elsewhere */
	uint64_t messages; /* Chrome: arrows; OTF2: sends */
	uint64_t posted_sizes; /* OTF2: receives written with the size of their buffer: too many had shorter messages */
};

/* One row per call: rank,event,start_s,duration_s,state,function,site,parameters. Imported traces: per span. */
int export_csv(const struct trace *t, FILE *out, const struct export_options *o, struct export_report *report,
	       struct errbuf *err);

/* Hosts are processes, ranks threads, calls complete events, messages flows. */
int export_chrome(const struct trace *t, FILE *out, const struct export_options *o, struct export_report *report,
		  struct errbuf *err);

/* An archive: dir/traces.otf2 and what belongs to it. dir is created, and must be new or empty. */
int export_otf2(const struct trace *t, const char *dir, const struct export_options *o, struct export_report *report,
		struct errbuf *err);

#endif
