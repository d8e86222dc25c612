/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One rank's spill file, read after its death: see salvage.h and spill_format.h. */
#ifndef PRECEDENT_TRACE_SALVAGE_RANK_H
#define PRECEDENT_TRACE_SALVAGE_RANK_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/spill_format.h"
#include "trace/format/writer.h"

struct salvage_rank {
	int fd;
	uint64_t size;
	uint64_t seen_real_ns;   /* the file was last touched */
	struct spill_header header;
	uint8_t *window;
	const struct spill_live *live;
	const struct spill_entry *entry;
};

/* -1: not a spill file, or one whose run had not begun. */
int salvage_rank_open(struct salvage_rank *s, const char *path, struct errbuf *err);
/* Pages of definitions, structure, times, levels and histograms. death_real_ns: when the run was last known to live.
 * -1: nothing of it can be used (w is as before), or the writer failed. */
int salvage_rank_write(const struct salvage_rank *s, struct trace_writer *w, const char *ended, uint64_t death_real_ns,
		       uint64_t *events, struct errbuf *err);
void salvage_rank_close(struct salvage_rank *s);

#endif
