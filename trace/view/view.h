/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace as one page for a browser. HTML, style, script and data are in a single file that loads nothing else. A
 * served page can also ask its server for more data. A budget bounds the page. The page always has totals and
 * levels of the whole run. Single calls and messages are included from the start of the run on, as far as the
 * budget allows. The binary packs are described in pack.h and read by data.js.
 */
#ifndef PRECEDENT_TRACE_VIEW_VIEW_H
#define PRECEDENT_TRACE_VIEW_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/read/reader.h"
#include "trace/timeline/timeline.h"

/* A loop of one rank, in program order, outer loops before inner loops. Strings are borrowed. */
struct view_loop {
	uint32_t parent;          /* index of an earlier loop, or UINT32_MAX */
	char *name;               /* "main (heat.c:88)" */
	char *first_call;         /* "MPI_Sendrecv" */
	uint32_t calls;           /* calls in its body in the program */
	uint64_t executions, iterations;
	uint64_t turns_min, turns_max;   /* iterations of an execution */
	uint64_t events_min, events_max; /* events of an iteration */
	double share, mpi_share;  /* share of the rank's time; MPI's share of the loop's time */
	double mean_ns, sd_ns, min_ns, max_ns;
	uint64_t slowest;         /* number of the iteration that took max_ns */
	uint32_t n_mark;          /* marks: events [begin, end) of `stride` iterations each */
	uint64_t stride;
	uint64_t *begin, *end;
};

/* A loss of time: rank `rank` waits longest in [t0, t1); ranks first to last lose `ns` together. */
struct view_problem_mark {
	uint32_t rank, first, last;
	uint64_t t0_ns, t1_ns, ns;
};

/* A problem that rules found. Times in ns of the timeline; t1 <= t0: the whole run. rank UINT32_MAX: all ranks. */
struct view_problem {
	const char *title, *text, *advice, *site;
	double share;             /* share of the time of all ranks */
	uint64_t ns, times;
	uint32_t rank;
	uint64_t t0_ns, t1_ns;    /* the longest occurrence */
	/* occurrences in order of time, including the longest; others may be missing */
	struct view_problem_mark *mark;
	uint32_t n_mark;
};

struct view_input {
	const struct trace *trace;
	struct timeline *timeline;
	const char *path;         /* path of the trace, as the user wrote it */
	/* Write a readable name of a call site to buf, and return buf. */
	const char *(*site_name)(void *arg, const struct trace_defs *d, const struct trace_site *site, char *buf,
				 size_t size);
	void *site_arg;
	uint32_t loop_rank, n_loop, n_problem;
	const struct view_loop *loop;
	const struct view_problem *problem;
	const char *const *ending; /* why a run did not reach MPI_Finalize, in words */
	uint32_t n_ending;
	/* approximate size of the page in bytes; levels and statistics come first, calls take the rest */
	uint64_t budget;
	bool served;              /* the page may ask its server for data */
	void (*progress)(const char *what, double done, double total); /* may be NULL */
};

struct view;

/* *in and its pointers must outlive the view. Returns NULL on error (err says why). */
struct view *view_create(const struct view_input *in, struct errbuf *err);
void view_destroy(struct view *v);

/* Write the whole page. */
int view_page(struct view *v, struct buf *out, struct errbuf *err);

/* Answers of the server, as packs. Windows are clipped to the run. At most max spans or messages are sent; *cut
 * tells that there are more. Returns 0 on success, -1 on error (err says why). */
int view_levels(struct view *v, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns, uint32_t n, struct buf *out,
		struct errbuf *err);
int view_spans(struct view *v, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns, uint64_t max, bool *cut,
	       struct buf *out, struct errbuf *err);
int view_messages(struct view *v, uint64_t t0_ns, uint64_t t1_ns, uint64_t max, bool *cut, struct buf *out,
		  struct errbuf *err);

#endif
