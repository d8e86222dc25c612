/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inputs of fuzzers for traces. Compression and checksums would reject most inputs. So an input is a list of pages,
 * with header fields and contents, from which a valid file is made. If the first byte says so, the input is the
 * bytes of a file, whose checksums are corrected. Whole traces become inputs at the start.
 */
#ifndef PRECEDENT_TESTS_FUZZ_PACKED_H
#define PRECEDENT_TESTS_FUZZ_PACKED_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/unit/synthetic.c"
#include "trace/format/ends.h"
#include "trace/read/reader.h"

enum { PACKED, PACKED_NO_TRAILER, PACKED_WRONG_INDEX, FILE_BYTES, MODES };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_fd; /* memfd_create */

/* ---- input to file ---- */

static void put_header(struct buf *out, uint32_t n_ranks)
{
	buf_put(out, TRACE_FILE_MAGIC, 8);
	buf_put_u32(out, TRACE_VERSION);
	buf_put_u32(out, TRACE_FILE_HEADER);
	buf_put_u32(out, n_ranks);
	buf_put_u32(out, 0);
	for (int i = 0; i < 4; i++)
		buf_put_u64(out, 0);
	buf_put_u64(out, XXH3_64bits(out->data, out->len));
}

/* Read a page of the input: type, rank, first, n, t0, t1 and four sums as uv; uv length, and the content. */
static int get_page(struct rdbuf *in, struct trace_page *p, const void **raw, size_t *len)
{
	*p = (struct trace_page){.type = rdbuf_u8(in), .rank = (uint32_t)rdbuf_uv(in)};
	p->first = rdbuf_uv(in);
	p->n = rdbuf_uv(in);
	p->t0 = rdbuf_uv(in);
	p->t1 = rdbuf_uv(in);
	for (int s = 0; s < TSTATE_N; s++)
		p->state[s] = rdbuf_uv(in);
	*len = rdbuf_uv(in);
	if (*len > rdbuf_left(in))
		*len = rdbuf_left(in); /* the mutator changes lengths: the remaining bytes count */
	*raw = rdbuf_bytes(in, *len);
	return in->failed ? -1 : 0;
}

static void put_entry(struct buf *index, const struct trace_page *p, uint64_t offset, uint8_t wrong)
{
	buf_put_uv(index, p->type);
	buf_put_uv(index, p->rank);
	buf_put_uv(index, offset + (wrong & 1 ? wrong : 0));
	buf_put_uv(index, p->first);
	buf_put_uv(index, p->n + (wrong & 2 ? wrong : 0));
	buf_put_uv(index, p->t0);
	buf_put_uv(index, p->t1);
	for (int s = 0; s < TSTATE_N; s++)
		buf_put_uv(index, p->state[s]);
	buf_put_u64(index, p->hash);
}

/* Read the ends of processes: their number (uv), which may differ from the number of ranks. Each has a time in ns
 * (uv). If the time is even, it is written correctly; otherwise its bytes are written as they are. */
static void get_ends(struct rdbuf *in, struct buf *ends)
{
	uint64_t n = rdbuf_uv(in) % 300;

	for (uint32_t r = 0; r < n; r++) {
		uint64_t ns = rdbuf_uv(in);

		buf_put_u64(ends, ns % 2 ? ns : trace_end_pack(r, ns));
	}
}

static void put_tail(struct buf *out, struct buf *index, uint32_t n, uint8_t flags, const struct buf *ends)
{
	struct trace_page p = {.type = TPAGE_INDEX, .n = n};
	uint64_t at = out->len;
	size_t tail;

	trace_page_encode(&p, index->data, index->len, out);
	buf_put(out, ends->data, ends->len);
	tail = out->len;
	buf_put_u64(out, at);
	buf_put_u32(out, n);
	buf_put_u32(out, flags);
	buf_put_u64(out, tail + TRACE_TRAILER);
	buf_put_u64(out, XXH3_64bits(out->data + tail, TRACE_TRAILER - 16));
	buf_put(out, TRACE_END_MAGIC, 8);
}

static void pack(struct rdbuf *in, int mode, struct buf *out)
{
	struct buf index = {0}, ends = {0};
	struct trace_page p;
	const void *raw;
	uint32_t n = 0;
	uint8_t flags;
	size_t len;

	put_header(out, rdbuf_u8(in));
	flags = rdbuf_u8(in) & (TRACE_PARTIAL | TRACE_HAS_ENDS);
	get_ends(in, &ends);
	while (rdbuf_left(in) && get_page(in, &p, &raw, &len) == 0) {
		uint64_t at = out->len;

		if (trace_page_encode(&p, raw, len, out) < 0)
			break;
		trace_page_header(out->data + at, &p);
		if (p.type == TPAGE_INDEX)
			continue;
		put_entry(&index, &p, at, mode == PACKED_WRONG_INDEX ? (uint8_t)len : 0);
		n++;
	}
	if (mode != PACKED_NO_TRAILER)
		put_tail(out, &index, n, flags, &ends);
	buf_free(&index);
	buf_free(&ends);
}

/* Correct every checksum at its position. */
static void set_hash(uint8_t *at, const uint8_t *from, size_t n)
{
	uint64_t h = XXH3_64bits(from, n);

	memcpy(at, &h, 8);
}

static void mend(struct rdbuf *in, struct buf *out)
{
	size_t n = rdbuf_left(in);

	buf_put(out, rdbuf_bytes(in, n), n);
	if (n < TRACE_FILE_HEADER + TRACE_TRAILER)
		return;
	set_hash(out->data + TRACE_FILE_HEADER - 8, out->data, TRACE_FILE_HEADER - 8);
	for (size_t at = TRACE_FILE_HEADER; at + TRACE_PAGE_HEADER < n;) {
		uint8_t *h = out->data + at;
		uint32_t comp;

		if (memcmp(h, "PPG1", 4)) {
			at++;
			continue;
		}
		memcpy(&comp, h + 16, 4);
		if (comp > n - at - TRACE_PAGE_HEADER)
			comp = (uint32_t)(n - at - TRACE_PAGE_HEADER);
		set_hash(h + TRACE_PAGE_HEADER - 16, h + TRACE_PAGE_HEADER, comp);
		set_hash(h + TRACE_PAGE_HEADER - 8, h, TRACE_PAGE_HEADER - 8);
		at += TRACE_PAGE_HEADER + comp;
	}
	set_hash(out->data + n - 16, out->data + n - TRACE_TRAILER, TRACE_TRAILER - 16);
	memcpy(out->data + n - 8, TRACE_END_MAGIC, 8);
}

/* ---- trace to input ---- */

static void unpack(const struct trace *t, int mode, struct buf *out)
{
	struct errbuf err;

	buf_put_u8(out, (uint8_t)mode);
	buf_put_u8(out, (uint8_t)trace_n_ranks(t));
	buf_put_u8(out, trace_is_imported(t) ? 0 : TRACE_HAS_ENDS);
	buf_put_uv(out, trace_is_imported(t) ? 0 : trace_n_ranks(t));
	for (uint32_t r = 0; !trace_is_imported(t) && r < trace_n_ranks(t); r++)
		buf_put_uv(out, trace_get_rank(t, r)->defs.proc.after_ns);
	for (uint32_t i = 0; i < trace_n_pages(t); i++) {
		const struct trace_page *p = trace_page_at(t, i);
		uint32_t len;
		uint8_t *raw = trace_page_read(t, i, &len, &err);

		if (!raw)
			continue;
		buf_put_u8(out, (uint8_t)p->type);
		buf_put_uv(out, p->rank);
		buf_put_uv(out, p->first);
		buf_put_uv(out, p->n);
		buf_put_uv(out, p->t0);
		buf_put_uv(out, p->t1);
		for (int s = 0; s < TSTATE_N; s++)
			buf_put_uv(out, p->state[s]);
		buf_put_uv(out, len);
		buf_put(out, raw, len);
		free(raw);
	}
}

static void save(const char *dir, const char *name, int k, const struct buf *b)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/seed-%s-%d", dir, name, k);
	f = fopen(path, "wb");
	if (!f)
		return;
	fwrite(b->data, 1, b->len, f);
	fclose(f);
}

static void seed_of(const char *dir, const char *name, struct trace *t)
{
	for (int mode = PACKED; mode < FILE_BYTES && t; mode++) {
		struct buf b = {0};

		unpack(t, mode, &b);
		save(dir, name, mode, &b);
		buf_free(&b);
	}
	trace_close(t);
}

/* Use the bytes of the file as an input, including the ends. */
static void seed_bytes(const char *dir, const char *name, struct syn *s)
{
	char path[] = "/tmp/precedent-fuzz-XXXXXX";
	struct buf b = {0};
	uint8_t byte;
	FILE *f;

	close(mkstemp(path));
	syn_write(s, path);
	put_ends(s, path);
	buf_put_u8(&b, FILE_BYTES);
	f = fopen(path, "rb");
	while (f && fread(&byte, 1, 1, f) == 1)
		buf_put_u8(&b, byte);
	if (f)
		fclose(f);
	unlink(path);
	save(dir, name, FILE_BYTES, &b);
	buf_free(&b);
}

static void seed_program(const char *dir, const char *name, struct syn *s)
{
	s->rank[0].defs.proc.after_ns = 1500000000;
	seed_of(dir, name, syn_open(s));
	seed_bytes(dir, name, s);
	syn_destroy(s);
}

static void seed_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);
		struct errbuf err;
		char path[4096];

		if (n < 8 || strcmp(e->d_name + n - 7, ".ptrace"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		seed_of(dir, e->d_name, trace_open(path, &err));
	}
	if (d)
		closedir(d);
}

/* The trace of an input; NULL if the input is none. */
static struct trace *packed_open(const uint8_t *data, size_t size)
{
	struct rdbuf in = {.data = data, .len = size};
	int mode = rdbuf_u8(&in) % MODES;
	struct buf file = {0};
	struct trace *t = NULL;
	struct errbuf err;
	char path[64];

	if (mode == FILE_BYTES)
		mend(&in, &file);
	else
		pack(&in, mode, &file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_fd);
	if (!file.failed && ftruncate(memory_fd, 0) == 0 && pwrite(memory_fd, file.data, file.len, 0) == (ssize_t)file.len)
		t = trace_open(path, &err);
	buf_free(&file);
	return t;
}

#endif
