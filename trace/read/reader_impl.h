/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals that the files of the reader share: see reader.h. */
#ifndef PRECEDENT_TRACE_READER_IMPL_H
#define PRECEDENT_TRACE_READER_IMPL_H

#include "trace/read/reader.h"
#include "trace/read/shared_groups.h"

#define TRACE_MAX_DAMAGE 64
#define TRACE_MAX_JOB_KEYS 256

struct trace {
	const uint8_t *map;
	uint64_t size;
	uint32_t n_ranks;
	bool partial;
	bool scanned; /* the file has no readable index */
	bool ends;    /* there is room for ends.h behind the index */
	struct trace_page *page;
	uint32_t n_page, cap_page;
	uint32_t *times;       /* page numbers of pages of times, ordered by rank and first event */
	uint32_t *times_begin; /* start of each rank in `times`; n_ranks + 1 entries */
	struct trace_rank *rank;
	struct shared_groups groups;
	char *job; /* text of the job page: key\0value\0 ... */
	char *key[TRACE_MAX_JOB_KEYS], *value[TRACE_MAX_JOB_KEYS];
	uint32_t n_key;
	char *damage[TRACE_MAX_DAMAGE];
	uint32_t n_damage;
};

/* Decompress page p and copy its header to *hdr. Returns NULL on error (err says why). */
uint8_t *trace_page_data(const struct trace *t, const struct trace_page *p, struct trace_page *hdr,
			 struct errbuf *err);
/* Write "page 12 (times of rank 3) at byte 4096" to buf. */
void trace_page_text(const struct trace *t, uint32_t page, char *buf, size_t size);
/* Fill t->times. Returns 0 on success, -1 if memory runs out. */
int trace_times_index(struct trace *t);

#endif
