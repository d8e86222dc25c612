/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI call that a rank was in when it died, from its spill file. */
#ifndef PRECEDENT_TRACE_SALVAGE_CALL_H
#define PRECEDENT_TRACE_SALVAGE_CALL_H

#include "trace/format/defs.h"
#include "trace/format/defs_journal.h"
#include "trace/salvage/salvage_rank.h"

/*
 * What the call was passed. out->ticks stays 0. A call site that the journal does not have is added to it, with its
 * module, from the modules that the file tells; out->site then lies behind those of defs.
 * Returns false if the file does not say which call it was.
 */
bool salvage_call_read(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *journal,
		       struct trace_in_call *out);
/* Does a signature have these parameters? */
bool salvage_call_is(const struct trace_defs *defs, uint32_t symbol, const struct trace_in_call *call);

#endif
