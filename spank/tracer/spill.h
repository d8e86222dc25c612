/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a rank keeps what it records: a spill file (trace/format/spill_format.h), so that it survives the process, or
 * memory where there is no room for one. After a failed write no more goes to the file: what is there stays, what
 * comes is kept in memory, and only a run that ends well has it.
 */
#ifndef PRECEDENT_SPANK_TRACER_SPILL_H
#define PRECEDENT_SPANK_TRACER_SPILL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/page.h"
#include "trace/format/spill_format.h"

struct spill_extent {
	uint64_t at, len;
};

struct spill {
	int fd;                  /* -1: memory. The program may have closed it, and opened another file under its number */
	uint64_t device, inode;  /* of the file */
	bool file_failed;        /* nothing more is written to it */
	char path[PATH_MAX];
	uint8_t *map;            /* the window */
	uint64_t window;
	struct spill_header *header;
	struct spill_live *live;
	struct spill_entry *entry;
	uint32_t n_entry, n_used; /* entries beyond n_used were never used */
	struct buf *memory;      /* pages that are not in the file, by entry; data is NULL otherwise */
	uint32_t *idle, n_idle;  /* entries that were switched off */
	uint8_t *journal, *stream;
	struct spill_extent *hole;
	uint32_t n_hole, cap_hole;
	uint64_t end;            /* of the file */
	uint64_t *counter;       /* of the process, that lie in the file; NULL: none */
};

/* dir NULL: memory. A file that cannot be made is reported in err and memory is taken: -1 only without that. The file
 * is made only where a mapping of it can never raise SIGBUS: on file systems that keep the room they promise. */
int spill_open(struct spill *s, const char *dir, const char *id, uint32_t rank, uint32_t stream_cap, struct errbuf *err);
/* The header's facts are complete: from here on the file can be salvaged. */
void spill_start(struct spill *s);
/* Let n counters lie in the file from now on, under these names (one after the other, each ended by a zero byte). They
 * begin at a page, fill pages of their own, and stay where they are; when the file is left they are memory again.
 * Before spill_start. Nothing happens without a file, or where they do not fit. */
void spill_counters(struct spill *s, uint64_t *counter, uint32_t n, const char *names);
/* Where a module may be told: before spill_start. NULL: there is no more room, or no file. */
struct spill_module *spill_module_new(struct spill *s);
/* Keep an encoded page: the entry, or -1 without room. m: type, first, n. must: in memory if not in the file. */
int32_t spill_put(struct spill *s, const struct trace_page *m, uint64_t epoch, const struct buf *page, bool must);
/* Append a page to out. */
int spill_get(struct spill *s, int32_t entry, struct buf *out);
void spill_drop(struct spill *s, int32_t entry);
/* Append to the journal; -1 when it is not in the file. */
int spill_journal(struct spill *s, const void *data, size_t len);
static inline bool spill_protects(const struct spill *s)
{
	return s->fd >= 0 && !s->file_failed;
}
/* Take the file away, free the memory. */
void spill_remove(struct spill *s);
/* In a child of fork: the parent's file is not ours. */
void spill_forget(struct spill *s);

#endif
