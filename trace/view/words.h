/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of a call's parameters: "to rank 3, 200 x MPI_DOUBLE (1.6 KiB), tag 7". */
#ifndef PRECEDENT_TRACE_VIEW_WORDS_H
#define PRECEDENT_TRACE_VIEW_WORDS_H

#include "common/buf.h"
#include "trace/format/defs.h"
#include "trace/format/event.h"

/* Append the text to out, without a NUL. Peers are world ranks. */
void view_words(const struct trace_defs *d, uint32_t sym, struct buf *out);

#endif
