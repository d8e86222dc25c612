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
	uint64_t seen_real_ns;   /* modification time of the file */
	struct spill_header header;
	uint8_t *window;
	const struct spill_live *live;
	const struct spill_entry *entry;
};

/* Returns 0 on success; -1 if the file is no spill file or its run had not begun (err says why). */
int salvage_rank_open(struct salvage_rank *s, const char *path, struct errbuf *err);
/* Write pages of definitions, structure, times, levels and histograms. death_real_ns: last time at which the run
 * is known to have lived. Returns 0 on success. Returns -1 if the file is unusable (w is then unchanged) or the
 * writer failed (err says why). */
int salvage_rank_write(const struct salvage_rank *s, struct trace_writer *w, const char *ended, uint64_t death_real_ns,
		       uint64_t *events, struct errbuf *err);
void salvage_rank_close(struct salvage_rank *s);

#endif
