/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI call in which a rank was when it died, or where it computed, from its spill file. */
#ifndef PRECEDENT_TRACE_SALVAGE_CALL_H
#define PRECEDENT_TRACE_SALVAGE_CALL_H

#include "trace/format/defs.h"
#include "trace/format/defs_journal.h"
#include "trace/salvage/salvage_rank.h"

/*
 * Read function, site and parameters of the call; out->ticks stays 0. If the journal lacks the call site, the site
 * and its module are added to the journal. The modules come from the spill file. out->site then lies behind the
 * sites of defs. The caller frees out->group.rank. Returns false if the file does not tell the call.
 */
bool salvage_call_read(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *journal,
		       struct trace_in_call *out);
/*
 * Read where the rank computed after `events` events, the latest place first: call sites for trace_proc.place. A place
 * in a library has a second frame, the program's call that led there, if it is known. The sites and their modules are
 * added to the journal. Returns their number, at most TRACE_PLACES_MAX.
 */
uint32_t salvage_places_read(const struct salvage_rank *s, const struct trace_defs *defs,
			     struct journal_reader *journal, uint64_t events, uint32_t *site);
/* Add a signature of the call to the journal, with the call site of salvage_call_read. Counts and datatypes are not
 * known: they are 0 and TRACE_NULL. Returns false, and the journal is as before, if the file does not tell the
 * call's communicator, window, peers or tag. */
bool salvage_call_define(struct journal_reader *journal, const struct trace_in_call *call);

#endif
