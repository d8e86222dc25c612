/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a trace file: definitions and structure are held, times are decoded page by page. A damaged page is
 * noted (trace_damage) and the rest is read; a rank without its definitions or structure has n_events == 0.
 */
#ifndef PRECEDENT_TRACE_READER_H
#define PRECEDENT_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/defs.h"
#include "trace/format/event.h"
#include "trace/format/fold.h"
#include "trace/format/page.h"

struct trace_rank {
	bool present;
	struct trace_defs defs;
	struct folded events;
	double wall_ns; /* MPI_Init returned .. MPI_Finalize entered, recorder's overhead taken out */
};

struct trace;

/* -> NULL with a clear line: not a trace, newer version, no page readable, no memory. */
struct trace *trace_open(const char *path, struct errbuf *err);
void trace_close(struct trace *t);

uint32_t trace_n_ranks(const struct trace *t);
const struct trace_rank *trace_get_rank(const struct trace *t, uint32_t rank);
bool trace_is_partial(const struct trace *t);
/* Value of a key of the job page, or NULL: "program", "arguments", "job", "step", "launcher", "mpi", "nodes",
 * "node_class", "hosts" ... */
const char *trace_job_get(const struct trace *t, const char *key);
/* Of a run that there never was: from what it is predicted. NULL: of a run. */
#define TRACE_PREDICTED "predicted"
static inline const char *trace_predicted(const struct trace *t)
{
	return trace_job_get(t, TRACE_PREDICTED);
}
/* Damage found on opening: number, and the text of each ("page 12 (times of rank 3) at byte 4096: bad checksum"). */
uint32_t trace_n_damage(const struct trace *t);
const char *trace_damage(const struct trace *t, uint32_t i);
uint64_t trace_file_size(const struct trace *t);
/* An imported trace has tiles of states but neither definitions nor structure: no rank is present. */
bool trace_is_imported(const struct trace *t);
/* Pages in file order, without the index. Contents are malloced, checked, of *len bytes; NULL with the reason. */
uint32_t trace_n_pages(const struct trace *t);
const struct trace_page *trace_page_at(const struct trace *t, uint32_t i);
/* A rank's pages of times, by first event: their numbers, and how many. */
const uint32_t *trace_times_pages(const struct trace *t, uint32_t rank, uint32_t *n);
uint8_t *trace_page_read(const struct trace *t, uint32_t i, uint32_t *len, struct errbuf *err);

/* Events of one rank in order, with times. gap_ns has the recorder's own cost taken out (never below 0). Events
 * whose times page is damaged or was not kept come with times_known == false and zero times. */
struct trace_iter;
struct trace_iter *trace_iter_create(const struct trace *t, uint32_t rank, struct errbuf *err);
int trace_iter_next(struct trace_iter *it, struct trace_event *ev, bool *times_known); /* 1, or 0 at the end */
/* Where the event lies that trace_iter_next gave last: its index, and its entry and return in ns since the rank's own
 * start as its clock went, the recorder's cost left in. Without known times: the end of what was known before. */
uint64_t trace_iter_when(const struct trace_iter *it, uint64_t *enter_ns, uint64_t *leave_ns);
/* How long unsuccessful tests and probes took since the call before it, ns; they lie before its gap, or between parts of it. */
uint64_t trace_iter_polled(const struct trace_iter *it);
/* Where its gap began: the return of the call before it. */
uint64_t trace_iter_gap_begin(const struct trace_iter *it);
/* Go on with this event (the end, when there are no more): about the cost of one page. */
void trace_iter_seek(struct trace_iter *it, uint64_t event);
/* Go on with the first event of known times that returned after local_ns, or at it: 1, or 0 when there is none. */
int trace_iter_seek_ns(struct trace_iter *it, uint64_t local_ns);
/* Go on behind events without known times: 1, or 0 when there are no others. */
int trace_iter_skip_unknown(struct trace_iter *it);
/* Bytes that the iterator holds. */
size_t trace_iter_memory(const struct trace_iter *it);
void trace_iter_destroy(struct trace_iter *it);

#endif
