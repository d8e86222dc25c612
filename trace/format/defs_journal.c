/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of definitions: see defs_journal.h. */
#include <stdlib.h>
#include <string.h>

#include "trace/format/defs_journal.h"
#include "trace/functions.h"

int journal_init(struct journal *j)
{
	*j = (struct journal){0};
	j->fn = calloc(TRACE_FN_N, sizeof(*j->fn));
	return j->fn ? 0 : -1;
}

void journal_free(struct journal *j)
{
	free(j->fn);
	*j = (struct journal){0};
}

static void put_record(enum trace_def_kind kind, const struct buf *one, struct buf *out)
{
	buf_put_u8(out, (uint8_t)kind);
	buf_put_uv(out, one->len);
	buf_put(out, one->data, one->len);
	out->failed |= one->failed;
}

/* The function's number in the list of names. A new function is appended to the list. */
static uint32_t function_number(struct journal *j, uint16_t fn, struct buf *one, struct buf *out)
{
	if (!j->fn[fn]) {
		buf_reset(one);
		buf_put_str(one, trace_fn[fn].name);
		put_record(TDEF_FN, one, out);
		j->fn[fn] = ++j->done[TDEF_FN];
	}
	return j->fn[fn] - 1;
}

void journal_put(struct journal *j, const struct trace_defs *d, uintptr_t (*site_address)(uint32_t site), struct buf *out)
{
	struct buf one = {0};

	for (enum trace_def_kind kind = 0; kind <= TDEF_SIG; kind++) {
		uint32_t n = trace_defs_count(d, kind);

		for (uint32_t i = j->done[kind]; i < n && kind != TDEF_FN; i++) {
			uint32_t fn = kind == TDEF_SIG ? function_number(j, d->sigs.sig[i].fn, &one, out) : 0;

			buf_reset(&one);
			trace_defs_encode_one(d, kind, i, fn, &one);
			put_record(kind, &one, out);
			if (kind == TDEF_SITE && site_address) {
				buf_reset(&one);
				buf_put_u64(&one, site_address(i));
				put_record(TDEF_ADDRESS, &one, out);
			}
			j->done[kind] = i + 1;
		}
	}
	buf_free(&one);
}

size_t journal_read(struct journal_reader *r, const uint8_t *data, size_t len)
{
	struct rdbuf in = {.data = data, .len = len};
	size_t taken = 0;

	while (rdbuf_left(&in)) {
		uint8_t kind = rdbuf_u8(&in);
		uint64_t n = rdbuf_uv(&in);
		const void *p = n <= rdbuf_left(&in) ? rdbuf_bytes(&in, n) : NULL;

		if (in.failed || !p || kind >= TDEF_N || (kind == TDEF_ADDRESS && n != 8))
			break;
		buf_put(&r->part[kind], p, n);
		r->n[kind]++;
		taken = in.pos;
	}
	return taken;
}

uint64_t journal_address(const struct journal_reader *r, uint32_t site)
{
	struct rdbuf in = {.data = r->part[TDEF_ADDRESS].data, .len = r->part[TDEF_ADDRESS].len, .pos = 8ull * site};

	return in.pos + 8 <= in.len ? rdbuf_u64(&in) : 0;
}

void journal_encode(const struct journal_reader *r, const struct trace_defs *own, struct buf *out)
{
	for (enum trace_def_kind kind = 0; kind <= TDEF_SIG; kind++) {
		buf_put_uv(out, r->n[kind]);
		buf_put(out, r->part[kind].data, r->part[kind].len);
		out->failed |= r->part[kind].failed;
	}
	trace_defs_encode_proc(own, out);
}

void journal_reader_free(struct journal_reader *r)
{
	for (int i = 0; i < TDEF_N; i++)
		buf_free(&r->part[i]);
	*r = (struct journal_reader){0};
}
