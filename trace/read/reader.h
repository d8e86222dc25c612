/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a trace file. Definitions and structure are held in memory; times are decoded page by page. A damaged page
 * is noted (trace_damage) and the other pages are read. A rank without definitions or structure has n_events == 0.
 */
#ifndef PRECEDENT_TRACE_READER_H
#define PRECEDENT_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/errbuf.h"
#include "trace/format/defs.h"
#include "trace/format/event.h"
#include "trace/format/fold.h"
#include "trace/format/page.h"

struct trace_rank {
	bool present;
	struct trace_defs defs;
	struct folded events;
	/* Numbers of its pages of samples and of histograms, plus 1; 0: none. */
	uint32_t samples_page, hist_page;
	double wall_ns; /* from the return of MPI_Init to the entry of MPI_Finalize, without the recorder's cost */
};

struct trace;

/* Returns NULL on error (err says why): not a trace, a newer version, no readable page, or no memory. */
struct trace *trace_open(const char *path, struct errbuf *err);
void trace_close(struct trace *t);

uint32_t trace_n_ranks(const struct trace *t);
const struct trace_rank *trace_get_rank(const struct trace *t, uint32_t rank);
bool trace_is_partial(const struct trace *t);
/* Value of a key of the job page, or NULL. Keys: "program", "arguments", "job", "step", "launcher", "mpi",
 * "nodes", "node_class", "hosts" ... */
const char *trace_job_get(const struct trace *t, const char *key);
/* Of a trace that was predicted, the models that it comes from; NULL for a recorded run. */
#define TRACE_PREDICTED "predicted"
static inline const char *trace_predicted(const struct trace *t)
{
	return trace_job_get(t, TRACE_PREDICTED);
}
/* Why no samples were taken; NULL: they were, or the trace does not say. */
static inline const char *trace_unsampled(const struct trace *t)
{
	const char *samples = trace_job_get(t, "samples");

	return samples && !strncmp(samples, "none: ", 6) ? samples + 6 : NULL;
}
/* Accelerators that ranks used, together, by enum trace_device (format/device.h). *ranks: how many ranks used any. */
uint64_t trace_devices(const struct trace *t, uint32_t *ranks);
/* Damage found at opening: number of notes, and each note ("page 12 (times of rank 3) at byte 4096: bad
 * checksum"). */
uint32_t trace_n_damage(const struct trace *t);
const char *trace_damage(const struct trace *t, uint32_t i);
uint64_t trace_file_size(const struct trace *t);
/* An imported trace has tiles of states, but neither definitions nor structure. All its ranks are absent. */
bool trace_is_imported(const struct trace *t);
/* Pages in file order, without the index. Contents are checked, malloced and *len bytes long. NULL on error (err
 * says why). */
uint32_t trace_n_pages(const struct trace *t);
const struct trace_page *trace_page_at(const struct trace *t, uint32_t i);
/* The numbers of a rank's pages of times, in order of their first event. *n: how many. */
const uint32_t *trace_times_pages(const struct trace *t, uint32_t rank, uint32_t *n);
uint8_t *trace_page_read(const struct trace *t, uint32_t i, uint32_t *len, struct errbuf *err);

/* Iterator over the events of one rank, with times. gap_ns excludes the recorder's cost and is at least 0. Events
 * without known times have times_known == false and times of zero: their page is damaged or was not kept. */
struct trace_iter;
struct trace_iter *trace_iter_create(const struct trace *t, uint32_t rank, struct errbuf *err);
int trace_iter_next(struct trace_iter *it, struct trace_event *ev, bool *times_known); /* 1: next event, 0: end */
/* Index, entry and return of the event that trace_iter_next gave last. Times are local, in ns since the rank's
 * start, including the recorder's cost. If its times are not known, both are the end of the last known event. */
uint64_t trace_iter_when(const struct trace_iter *it, uint64_t *enter_ns, uint64_t *leave_ns);
/* Time in unsuccessful tests and probes since the previous call, ns. This time lies before the event's gap or
 * between parts of the gap. */
uint64_t trace_iter_polled(const struct trace_iter *it);
/* Start of the event's gap: the return of the previous call. */
uint64_t trace_iter_gap_begin(const struct trace_iter *it);
/* Continue with this event, or at the end if there are fewer. Costs about as much as decoding one page. */
void trace_iter_seek(struct trace_iter *it, uint64_t event);
/* Continue with the first event with known times that returned at or after local_ns. Returns 1, or 0 if there is
 * none. */
int trace_iter_seek_ns(struct trace_iter *it, uint64_t local_ns);
/* Skip events without known times. Returns 1, or 0 if no other events follow. */
int trace_iter_skip_unknown(struct trace_iter *it);
/* Memory held by the iterator, in bytes. */
size_t trace_iter_memory(const struct trace_iter *it);
void trace_iter_destroy(struct trace_iter *it);

#endif
