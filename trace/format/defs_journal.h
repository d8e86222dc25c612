/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of definitions: one record per definition, written when the definition appears. If a rank dies, its
 * journal holds complete definitions. Records hold the same bytes as the definitions page. A reader joins them into
 * such a page, and the decoder of that page checks them.
 */
#ifndef PRECEDENT_TRACE_DEFS_JOURNAL_H
#define PRECEDENT_TRACE_DEFS_JOURNAL_H

#include <stdint.h>

#include "common/buf.h"
#include "trace/format/defs.h"

/* Kinds of records, in the order of the definitions page. Kinds after TDEF_SIG exist in the journal only. */
enum trace_def_kind {
	TDEF_COMM, TDEF_TYPE, TDEF_OP, TDEF_WIN, TDEF_FILE, TDEF_MODULE, TDEF_SITE, TDEF_FN, TDEF_SIG,
	TDEF_ADDRESS, /* for each call site: u64 innermost return address in this process */
	TDEF_N
};

/* ---- defs.c ---- */
uint32_t trace_defs_count(const struct trace_defs *d, enum trace_def_kind kind);
/* fn: number of the signature's function in the list of names. */
void trace_defs_encode_one(const struct trace_defs *d, enum trace_def_kind kind, uint32_t i, uint32_t fn, struct buf *b);
void trace_defs_encode_proc(const struct trace_defs *d, struct buf *b);

/* ---- writing ---- */
struct journal {
	uint32_t done[TDEF_N]; /* number of definitions that are in the journal */
	uint32_t *fn;          /* number of each function in the list of names, + 1 */
};

int journal_init(struct journal *j); /* 0 on success, -1 if memory runs out */
void journal_free(struct journal *j);
/* Append a record (u8 kind, uv length, bytes) for each definition since the last call. site_address may be NULL. */
void journal_put(struct journal *j, const struct trace_defs *d, uintptr_t (*site_address)(uint32_t site), struct buf *out);

/* ---- reading ---- */
struct journal_reader {
	struct buf part[TDEF_N];
	uint32_t n[TDEF_N];
};

/* Read whole records from the front of data. Returns the number of bytes read; the rest is incomplete or no
 * record. */
size_t journal_read(struct journal_reader *r, const uint8_t *data, size_t len);
/* The innermost return address of a call site; 0: not known. */
uint64_t journal_address(const struct journal_reader *r, uint32_t site);
/* Write the contents of a definitions page, with process facts and counted functions from `own`. The contents are
 * unchecked: the caller decodes them. */
void journal_encode(const struct journal_reader *r, const struct trace_defs *own, struct buf *out);
void journal_reader_free(struct journal_reader *r);

#endif
