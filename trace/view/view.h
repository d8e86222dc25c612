/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace as one page for a browser: HTML, style, script and data in a single file that asks for nothing else, or, when
 * it is served, the same page with the means to ask the server for more. What is in the page is bounded by a budget:
 * totals and levels of the whole run always, single calls and messages from the start of the run on, as far as they go.
 * The binary packs are described in pack.h; what reads them is data.js.
 */
#ifndef PRECEDENT_TRACE_VIEW_VIEW_H
#define PRECEDENT_TRACE_VIEW_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/read/reader.h"
#include "trace/timeline/timeline.h"

/* A loop of one rank, in the order in which the program comes to them, outer before inner. Borrowed. */
struct view_loop {
	uint32_t parent;          /* an earlier one, or UINT32_MAX */
	char *name;               /* "main (heat.c:88)" */
	char *first_call;         /* "MPI_Sendrecv" */
	uint32_t calls;           /* in its body as the program has them */
	uint64_t executions, iterations;
	uint64_t turns_min, turns_max;   /* iterations of an execution */
	uint64_t events_min, events_max; /* of an iteration */
	double share, mpi_share;  /* of the rank's time; of the loop's own */
	double mean_ns, sd_ns, min_ns, max_ns;
	uint64_t slowest;         /* number of the iteration that took max_ns */
	uint32_t n_mark;          /* marks: events [begin, end) of `stride` iterations each */
	uint64_t stride;
	uint64_t *begin, *end;
};

/* Where time was lost: rank `rank` waits in [t0, t1), most of ranks first to last, which lose ns together. */
struct view_problem_mark {
	uint32_t rank, first, last;
	uint64_t t0_ns, t1_ns, ns;
};

/* What rules found. Times in ns of the timeline; t1 <= t0: the whole run. rank UINT32_MAX: all. */
struct view_problem {
	const char *title, *text, *advice, *site;
	double share;             /* of the time of all ranks */
	uint64_t ns, times;
	uint32_t rank;
	uint64_t t0_ns, t1_ns;    /* the longest one */
	struct view_problem_mark *mark; /* some, the longest at least, in order of time */
	uint32_t n_mark;
};

struct view_input {
	const struct trace *trace;
	struct timeline *timeline;
	const char *path;         /* of the trace, as the user named it */
	/* The name of a call site for people; returns buf. */
	const char *(*site_name)(void *arg, const struct trace_defs *d, const struct trace_site *site, char *buf,
				 size_t size);
	void *site_arg;
	uint32_t loop_rank, n_loop, n_problem;
	const struct view_loop *loop;
	const struct view_problem *problem;
	uint64_t budget;          /* bytes of the page, about: what levels and statistics leave is for calls */
	bool served;              /* the page may ask the server that sent it */
	void (*progress)(const char *what, double done, double total); /* or NULL */
};

struct view;

/* in and what it points to must outlive the view. NULL with the reason. */
struct view *view_create(const struct view_input *in, struct errbuf *err);
void view_destroy(struct view *v);

/* The whole page. */
int view_page(struct view *v, struct buf *out, struct errbuf *err);

/* The answers of the server, in the packs' own forms. Windows are clipped to the run; -1 with the reason. More than
 * max spans or messages are not sent: *cut then says so. */
int view_levels(struct view *v, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns, uint32_t n, struct buf *out,
		struct errbuf *err);
int view_spans(struct view *v, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns, uint64_t max, bool *cut,
	       struct buf *out, struct errbuf *err);
int view_messages(struct view *v, uint64_t t0_ns, uint64_t t1_ns, uint64_t max, bool *cut, struct buf *out,
		  struct errbuf *err);

#endif
