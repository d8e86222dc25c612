/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signatures of calls in the definitions page. Functions are stored by name, so a file stays readable if the
 * order of rows in conf/trace.rules changes. How signatures are walked: see defs.h.
 */
#ifndef PRECEDENT_TRACE_SIGS_H
#define PRECEDENT_TRACE_SIGS_H

#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/defs.h"

/* Only interned signatures are encoded. out->failed is set if the table was decoded, or memory runs out. */
void sigs_encode(const struct trace_defs *d, struct buf *out);
/* fn: number of the signature's function in the list of names. */
void sigs_encode_one(const struct trace_defs *d, uint32_t sym, uint32_t fn, struct buf *out);
/* Decode into d->sigs, and validate against the other definitions, which are decoded. Returns 0, or -1 on bad input
 * (err says why). */
int sigs_decode(struct rdbuf *in, struct trace_defs *d, struct errbuf *err);

#endif
