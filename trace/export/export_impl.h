/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals that the exporters share: see export.h. */
#ifndef PRECEDENT_TRACE_EXPORT_EXPORT_IMPL_H
#define PRECEDENT_TRACE_EXPORT_EXPORT_IMPL_H

#include <stdbool.h>

#include "common/buf.h"
#include "trace/clock/clock.h"
#include "trace/export/export.h"
#include "trace/timeline/timeline.h"

struct export {
	const struct trace *t;
	const struct export_options *o;
	struct export_report *report;
	struct trace_clock *clock; /* NULL for imported traces */
	bool window;               /* only a part of the run is exported */
	double done, total;        /* calls of all ranks, for progress */
};

/* A call on the time line of all ranks. */
struct export_call {
	uint32_t rank, sym;
	uint64_t event;
	uint64_t t0, t1;
	bool known; /* its times are known */
};

int export_begin(struct export *x, const struct trace *t, const struct export_options *o, struct export_report *report,
		 struct errbuf *err);
void export_end(struct export *x);
void export_progress(struct export *x, double calls);

/* Call f for the calls of a rank in order; times never go back. f returns -1 to end the walk with its error. */
int export_calls(struct export *x, uint32_t rank, int (*f)(const struct export_call *c, void *arg, struct errbuf *err),
		 void *arg, struct errbuf *err);
/* Call f for the spans of an imported trace, rank by rank in order of time, then message for its messages. Either may
 * be NULL. */
int export_spans(struct export *x, int (*f)(const struct timeline_span *s, void *arg, struct errbuf *err),
		 int (*message)(const struct timeline_message *m, void *arg, struct errbuf *err), void *arg, struct errbuf *err);

const char *export_site(const struct export *x, const struct trace_defs *d, uint32_t sym, char *buf, size_t size);
const char *export_state(unsigned state);

/* Text that is written in pieces. */
struct export_text {
	FILE *out;
	struct buf b;
};

void export_put(struct export_text *x, const char *s);
void export_put_number(struct export_text *x, uint64_t v);
/* Nanoseconds as a decimal number of units of 10^digits ns. */
void export_put_time(struct export_text *x, uint64_t ns, int digits);
/* Returns 0 on success, -1 if the file cannot be written (err says why). */
int export_flush(struct export_text *x, bool all, struct errbuf *err);

/* Text that is made once per signature of a rank. */
struct export_memo {
	char **text;
	uint32_t n;
};

int export_memo_init(struct export_memo *m, const struct trace_defs *d, struct errbuf *err);
void export_memo_free(struct export_memo *m);

#endif
