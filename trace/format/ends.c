/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ends of processes: see ends.h. */
#include "trace/format/ends.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define US_MAX ((1ull << 48) - 1)

static uint64_t mark_of(uint32_t rank, uint64_t us)
{
	uint8_t b[12];

	for (int i = 0; i < 12; i++)
		b[i] = (uint8_t)(i < 4 ? rank >> 8 * i : us >> 8 * (i - 4));
	return XXH3_64bits(b, sizeof(b)) & 0xffff;
}

uint64_t trace_end_pack(uint32_t rank, uint64_t after_ns)
{
	uint64_t us = after_ns / 1000 < US_MAX ? after_ns / 1000 : US_MAX;

	return us ? us << 16 | mark_of(rank, us) : 0;
}

bool trace_end_unpack(uint32_t rank, uint64_t packed, uint64_t *after_ns)
{
	uint64_t us = packed >> 16;

	*after_ns = us && (packed & 0xffff) == mark_of(rank, us) ? us * 1000 : 0;
	return !packed || *after_ns;
}
