/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes salvage with a generated spill file. The header's magic, version and hash are set here, and so are the
 * hashes of every page that the directory names. Otherwise the checksums would reject all inputs.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/ending/ending.h"
#include "trace/format/page.h"
#include "trace/format/spill_format.h"
#include "trace/read/reader.h"
#include "trace/salvage/salvage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64];

/* A small window: the header, then the input, at positions that the fuzzer need not find. */
static void put_header(uint8_t *p, size_t size)
{
	struct spill_header *h = (void *)p;

	memcpy(h->magic, SPILL_MAGIC, sizeof(h->magic));
	h->version = SPILL_VERSION;
	h->rank = 0;
	h->world_size = 1 + h->world_size % 64;
	h->n_entry = 16;
	h->live_at = (sizeof(*h) + 63) & ~63ull;
	h->group_at = h->live_at + ((sizeof(struct spill_live) + 63) & ~63ull);
	h->entry_at = h->group_at + 64;
	h->journal_at = h->entry_at + 16 * sizeof(struct spill_entry);
	h->journal_at = (h->journal_at + 63) & ~63ull;
	h->journal_cap = 1024;
	h->stream_at = h->journal_at + 1024;
	h->stream_cap = 1024;
	h->counter_at = h->stream_at + 1024;
	h->n_counter %= 33;
	h->name_at = h->counter_at + 256;
	h->names_len %= 257;
	h->module_at = h->name_at + 256;
	h->n_module %= 3;
	h->window = h->module_at + 2 * sizeof(struct spill_module);
	h->functions = trace_fn_hash();
	memset(h->id, 0, sizeof(h->id));
	memcpy(h->id, "fuzz", 4);
	(void)size;
	h->hash = XXH3_64bits(h, offsetof(struct spill_header, hash));
}

static void put_pages(uint8_t *p, size_t size)
{
	const struct spill_header *h = (void *)p;
	struct spill_entry *e = (void *)(p + h->entry_at);

	for (uint32_t i = 0; i < h->n_entry; i++) {
		uint64_t hash;
		uint8_t *page;

		e[i].on &= 1;
		if (e[i].offset < h->window || e[i].offset > size || size - e[i].offset < TRACE_PAGE_HEADER ||
		    e[i].len < TRACE_PAGE_HEADER || e[i].len > size - e[i].offset)
			continue;
		page = p + e[i].offset;
		memcpy(page, "PPG1", 4);
		memcpy(page + 4, &e[i].type, 4);
		memset(page + 8, 0, 4);
		memcpy(page + 16, &(uint32_t){e[i].len - TRACE_PAGE_HEADER}, 4);
		memcpy(page + 24, &e[i].first, 8);
		memcpy(page + 32, &e[i].n, 8);
		hash = XXH3_64bits(page + TRACE_PAGE_HEADER, e[i].len - TRACE_PAGE_HEADER);
		memcpy(page + TRACE_PAGE_HEADER - 16, &hash, 8);
		hash = XXH3_64bits(page, TRACE_PAGE_HEADER - 8);
		memcpy(page + TRACE_PAGE_HEADER - 8, &hash, 8);
	}
}

static void clean(void)
{
	rmdir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct salvage_report r;
	struct errbuf err;
	char path[128], out[128];
	size_t least = sizeof(struct spill_header) + sizeof(struct spill_live) + 8192, len = size > least ? size : least;
	uint8_t *p = calloc(1, len);
	int fd;

	if (!dir[0]) {
		/* In memory: the output is synced. */
		snprintf(dir, sizeof(dir), "%s/fuzz_salvage.XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		if (!mkdtemp(dir))
			abort();
		atexit(clean);
	}
	memcpy(p, data, size);
	put_header(p, len);
	put_pages(p, len);
	snprintf(path, sizeof(path), "%s/fuzz.r0.spill", dir);
	snprintf(out, sizeof(out), "%s/out.ptrace", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, p, len) != (ssize_t)len)
		abort();
	close(fd);
	free(p);
	if (salvage_write(dir, "fuzz", dir, out, "killed", &r, &err) == 0) {
		struct trace *t = trace_open(out, &err);
		struct trace_iter *it;
		struct trace_event ev;

		if (!t)
			__builtin_trap(); /* the written trace must be readable */
		it = trace_iter_create(t, 0, &err);
		for (int i = 0; it && i < 10000 && trace_iter_next(it, &ev, NULL); i++)
			;
		trace_iter_destroy(it);
		ending_destroy(ending_create(t, &err));
		trace_close(t);
	}
	unlink(path);
	unlink(out);
	return 0;
}
