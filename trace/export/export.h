/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces for other programs: CSV for spreadsheets, Chrome trace events for browsers (chrome://tracing, Perfetto),
 * OTF2 for Vampir, ViTE, Scalasca and others. Exports stream: memory holds one rank's definitions and one page.
 * Times are those of timeline.h with the logical clock, so no message arrives before it was sent.
 */
#ifndef PRECEDENT_TRACE_EXPORT_EXPORT_H
#define PRECEDENT_TRACE_EXPORT_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct export_options {
	uint32_t r0, r1;       /* ranks, r1 exclusive */
	/* only calls that overlap [t0_ns, t1_ns); 0 and UINT64_MAX: all calls, including those without known times */
	uint64_t t0_ns, t1_ns;
	/* Name of a call site, written to buf. If NULL, sites are named module+offset. Returns buf. */
	const char *(*site)(void *arg, const struct trace_defs *d, const struct trace_site *s, char *buf, size_t size);
	void *site_arg;
	/* Called from time to time; may be NULL. */
	void (*progress)(void *arg, double done, double total);
	void *progress_arg;
};

struct export_report {
	uint64_t events;   /* calls (imported traces: spans) that were written */
	uint64_t untimed;  /* calls without known times: in CSV rows without times, otherwise left out */
	uint64_t messages; /* Chrome: arrows; OTF2: sends */
	/* OTF2: receives written with the size of their buffer, because too many messages were shorter than that */
	uint64_t posted_sizes;
};

/* One row per call: rank,event,start_s,duration_s,state,function,site,parameters. Imported traces: one row per
 * span. */
int export_csv(const struct trace *t, FILE *out, const struct export_options *o, struct export_report *report,
	       struct errbuf *err);

/* Hosts are processes, ranks threads, calls complete events, messages flows. */
int export_chrome(const struct trace *t, FILE *out, const struct export_options *o, struct export_report *report,
		  struct errbuf *err);

/* Write an archive: dir/traces.otf2 and its other files. dir must be new or empty; it is created. */
int export_otf2(const struct trace *t, const char *dir, const struct export_options *o, struct export_report *report,
		struct errbuf *err);

#endif
