/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions as they come into being: one record each, in order, so that whatever a rank has journaled when it dies
 * makes complete definitions. Records hold the same bytes as the definitions page; reading them back is putting
 * these together again, and the decoder of that page is what checks them.
 */
#ifndef PRECEDENT_TRACE_DEFS_JOURNAL_H
#define PRECEDENT_TRACE_DEFS_JOURNAL_H

#include <stdint.h>

#include "common/buf.h"
#include "trace/format/defs.h"

/* In the order of the definitions page; what comes after TDEF_SIG is in the journal only. */
enum trace_def_kind {
	TDEF_COMM, TDEF_TYPE, TDEF_OP, TDEF_WIN, TDEF_FILE, TDEF_MODULE, TDEF_SITE, TDEF_FN, TDEF_SIG,
	TDEF_ADDRESS, /* u64 for each call site: the innermost return address in this process */
	TDEF_N
};

/* ---- defs.c ---- */
uint32_t trace_defs_count(const struct trace_defs *d, enum trace_def_kind kind);
/* fn: number of the signature's function in the list of names. */
void trace_defs_encode_one(const struct trace_defs *d, enum trace_def_kind kind, uint32_t i, uint32_t fn, struct buf *b);
void trace_defs_encode_proc(const struct trace_defs *d, struct buf *b);

/* ---- writing ---- */
struct journal {
	uint32_t done[TDEF_N]; /* definitions that are journaled */
	uint32_t *fn;          /* number of each function in the list of names + 1 */
};

int journal_init(struct journal *j); /* -1 without memory */
void journal_free(struct journal *j);
/* Append a record (u8 kind, uv length, bytes) for each definition that is new since the last time. site_address
 * may be NULL. */
void journal_put(struct journal *j, const struct trace_defs *d, uintptr_t (*site_address)(uint32_t site), struct buf *out);

/* ---- reading ---- */
struct journal_reader {
	struct buf part[TDEF_N];
	uint32_t n[TDEF_N];
};

/* Take whole records from the front; how many bytes. What follows is cut off or no record. */
size_t journal_read(struct journal_reader *r, const uint8_t *data, size_t len);
/* The innermost return address of a call site, or 0. */
uint64_t journal_address(const struct journal_reader *r, uint32_t site);
/* A definitions page's contents, with the process and the counted functions of `own`: decode it to check it. */
void journal_encode(const struct journal_reader *r, const struct trace_defs *own, struct buf *out);
void journal_reader_free(struct journal_reader *r);

#endif
