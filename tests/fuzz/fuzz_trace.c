/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the contents of a trace file's pages: definitions and folded structure. Checksums are left out. The first
 * byte selects: 0 definitions, 1 structure, 2 ends of processes, else the page header.
 */
#include <stddef.h>
#include <stdint.h>

#include "trace/format/defs.h"
#include "trace/format/ends.h"
#include "trace/format/fold.h"
#include "trace/format/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void definitions(struct rdbuf *in)
{
	struct trace_defs d;
	struct errbuf err;

	if (trace_defs_decode(in, 64, &d, &err) < 0)
		return;
	for (uint32_t s = 0; s < d.sigs.n; s++) {
		struct sig_walk w;

		for (sig_walk_begin(&w, &d, s); sig_walk_next(&w);)
			for (uint32_t i = 0; i < w.n; i++)
				__asm__ volatile("" : : "r"(w.val[i]));
	}
	trace_defs_free(&d);
}

static void structure(struct rdbuf *in)
{
	struct folded f;
	struct folded_iter it;
	struct errbuf err;
	uint32_t sym;

	if (folded_decode(in, 100, &f, &err) < 0)
		return;
	folded_begin(&it, &f);
	for (int i = 0; i < 10000 && folded_next(&it, &sym); i++)
		if (sym >= 100)
			__builtin_trap();
	folded_seek(&it, &f, f.length / 3);
	if (folded_next(&it, &sym) != (f.length > 0) || (f.length && sym >= 100))
		__builtin_trap();
	folded_free(&f);
}

static void ends(struct rdbuf *in)
{
	for (uint32_t rank = 0; rdbuf_left(in) >= TRACE_END_BYTES; rank++) {
		uint64_t packed = rdbuf_u64(in), most = ((1ull << 48) - 1) * 1000, ns = packed < most ? packed : most, after_ns, again;

		/* A number is accepted for a rank if and only if the rank could have written it. */
		if (trace_end_unpack(rank, packed, &after_ns) ? trace_end_pack(rank, after_ns) != packed : after_ns != 0)
			__builtin_trap();
		if (!trace_end_unpack(rank, trace_end_pack(rank, packed), &again) || again != ns / 1000 * 1000)
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rdbuf in = {.data = data + 1, .len = size ? size - 1 : 0};
	struct trace_page p;

	if (!size)
		return 0;
	if (data[0] == 0)
		definitions(&in);
	else if (data[0] == 1)
		structure(&in);
	else if (data[0] == 2)
		ends(&in);
	else if (size > TRACE_PAGE_HEADER)
		trace_page_header(data + 1, &p);
	return 0;
}
