/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Storage of a rank's recording. A spill file (trace/format/spill_format.h) survives the process; without room for
 * a file, memory is used. After a failed write, nothing more goes to the file. The file stays valid, and later data
 * are kept in memory, where only a run that ends well can use them.
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
	int fd;                  /* -1: memory. The program may have closed it and reused its number */
	uint64_t device, inode;  /* identity of the file */
	bool file_failed;        /* no further writes to the file */
	char path[PATH_MAX];
	uint8_t *map;            /* the window */
	uint64_t window;
	struct spill_header *header;
	struct spill_live *live;
	struct spill_entry *entry;
	uint8_t *group;          /* bits of the group of an epoch; of header->world_size ranks */
	uint32_t n_entry, n_used; /* entries from n_used on were never used */
	struct buf *memory;      /* pages that are not in the file, by entry; otherwise data is NULL */
	uint32_t *idle, n_idle;  /* entries that were switched off */
	uint8_t *journal, *stream;
	struct spill_extent *hole;
	uint32_t n_hole, cap_hole;
	uint64_t end;            /* end of the file */
	uint64_t *counter;       /* counters of the process that are in the file; NULL: none */
};

/* What the size of the window depends on. */
struct spill_size {
	uint32_t n_ranks, stream_cap;
};

/* dir NULL: use memory. If the file cannot be created, err says why, and memory is used. Returns 0; -1 if memory
 * runs out. A file is created only on file systems that guarantee allocated room, so that its mapping never
 * raises SIGBUS. */
int spill_open(struct spill *s, const char *dir, const char *id, uint32_t rank, struct spill_size size,
	       struct errbuf *err);
/* The facts in the header are complete: the file can be salvaged from now on. */
void spill_start(struct spill *s);
/* Move n counters into the file, under names that are joined with a NUL after each. The counters must fill whole
 * pages, and keep their addresses. When the file is given up, they return to memory. Call before spill_start.
 * Does nothing without a file or if they do not fit. */
void spill_counters(struct spill *s, uint64_t *counter, uint32_t n, const char *names);
/* Room for one more module, before spill_start. NULL: no room or no file. */
struct spill_module *spill_module_new(struct spill *s);
/* Store an encoded page. m: type, first, n. must: use memory if the file has no room. Returns the entry, or -1 if
 * there is no room. */
int32_t spill_put(struct spill *s, const struct trace_page *m, uint64_t epoch, const struct buf *page, bool must);
/* Append a page to out. */
int spill_get(struct spill *s, int32_t entry, struct buf *out);
void spill_drop(struct spill *s, int32_t entry);
/* Append to the journal. Returns 0, or -1 if it is not in the file. */
int spill_journal(struct spill *s, const void *data, size_t len);
static inline bool spill_protects(const struct spill *s)
{
	return s->fd >= 0 && !s->file_failed;
}
/* Remove the file and free the memory. */
void spill_remove(struct spill *s);
/* In a child of fork: release the parent's file without removing it. */
void spill_forget(struct spill *s);

#endif
