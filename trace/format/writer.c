/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing of trace files: see writer.h. The layout is in page.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/format/ends.h"
#include "trace/format/page.h"
#include "trace/format/writer.h"

struct trace_writer {
	char *path, *temp;
	int fd;
	uint32_t n_ranks, n_pages;
	uint64_t offset;
	bool ends;
	struct buf index;
};

static int write_all(struct trace_writer *w, const void *p, size_t n, struct errbuf *err)
{
	const char *c = p;

	w->offset += n;
	while (n) {
		ssize_t k = write(w->fd, c, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return err_set(err, "%s: cannot write: %s", w->temp, strerror(k < 0 ? errno : ENOSPC));
		c += k;
		n -= (size_t)k;
	}
	return 0;
}

static int write_file_header(struct trace_writer *w, struct errbuf *err)
{
	struct buf b = {0};
	int rv;

	buf_put(&b, TRACE_FILE_MAGIC, 8);
	buf_put_u32(&b, TRACE_VERSION);
	buf_put_u32(&b, TRACE_FILE_HEADER);
	buf_put_u32(&b, w->n_ranks);
	buf_put_u32(&b, 0);
	buf_put_u64(&b, (uint64_t)time(NULL));
	for (int i = 0; i < 3; i++)
		buf_put_u64(&b, 0);
	buf_put_u64(&b, b.failed ? 0 : XXH3_64bits(b.data, b.len));
	rv = b.failed ? err_set(err, "%s: no memory", w->path) : write_all(w, b.data, b.len, err);
	buf_free(&b);
	return rv;
}

struct trace_writer *trace_writer_create(const char *path, uint32_t n_ranks, struct errbuf *err)
{
	struct trace_writer *w = calloc(1, sizeof(*w));

	if (!w || !(w->path = strdup(path)) || asprintf(&w->temp, "%s.tmp.%ld", path, (long)getpid()) < 0) {
		err_set(err, "%s: no memory", path);
		if (w)
			free(w->path);
		free(w);
		return NULL;
	}
	w->n_ranks = n_ranks;
	unlink(w->temp);
	w->fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (w->fd < 0) {
		err_set(err, "%s: cannot create: %s", w->temp, strerror(errno));
		trace_writer_abort(w);
		return NULL;
	}
	if (write_file_header(w, err) < 0) {
		trace_writer_abort(w);
		return NULL;
	}
	return w;
}

/* An index entry has type, rank, offset, first, n, t0, t1, ticks in each state and the hash of the page header. */
static int index_page(struct trace_writer *w, const struct trace_page *p, uint64_t offset)
{
	buf_put_uv(&w->index, p->type);
	buf_put_uv(&w->index, p->rank);
	buf_put_uv(&w->index, offset);
	buf_put_uv(&w->index, p->first);
	buf_put_uv(&w->index, p->n);
	buf_put_uv(&w->index, p->t0);
	buf_put_uv(&w->index, p->t1);
	for (int s = 0; s < TSTATE_N; s++)
		buf_put_uv(&w->index, p->state[s]);
	buf_put_u64(&w->index, p->hash);
	w->n_pages++;
	return w->index.failed ? -1 : 0;
}

int trace_writer_pages(struct trace_writer *w, const void *pages, size_t len, struct errbuf *err)
{
	const uint8_t *p = pages;

	for (size_t pos = 0; pos < len;) {
		struct trace_page pg;

		if (len - pos < TRACE_PAGE_HEADER || trace_page_header(p + pos, &pg) < 0 ||
		    len - pos - TRACE_PAGE_HEADER < pg.comp_len)
			return err_set(err, "%s: a rank delivered a malformed page", w->path);
		if (index_page(w, &pg, w->offset + pos) < 0)
			return err_set(err, "%s: no memory", w->path);
		pos += TRACE_PAGE_HEADER + pg.comp_len;
	}
	return write_all(w, pages, len, err);
}

void trace_writer_ends(struct trace_writer *w)
{
	w->ends = true;
}

static int write_tail(struct trace_writer *w, bool partial, struct errbuf *err)
{
	struct trace_page pg = {.type = TPAGE_INDEX, .n = w->n_pages};
	uint64_t at = w->offset;
	struct buf b = {0};
	int rv = -1;

	if (trace_page_encode(&pg, w->index.data, w->index.len, &b) < 0 ||
	    write_all(w, b.data, b.len, err) < 0) {
		if (b.failed)
			err_set(err, "%s: no memory", w->path);
		goto out;
	}
	buf_reset(&b);
	for (uint32_t r = 0; w->ends && r < w->n_ranks; r++)
		buf_put_u64(&b, 0);
	if (!b.failed && b.len && write_all(w, b.data, b.len, err) < 0)
		goto out;
	buf_reset(&b);
	buf_put_u64(&b, at);
	buf_put_u32(&b, w->n_pages);
	buf_put_u32(&b, (partial ? TRACE_PARTIAL : 0) | (w->ends ? TRACE_HAS_ENDS : 0));
	buf_put_u64(&b, w->offset + TRACE_TRAILER); /* length of the file */
	buf_put_u64(&b, b.failed ? 0 : XXH3_64bits(b.data, b.len));
	buf_put(&b, TRACE_END_MAGIC, 8);
	if (b.failed) {
		err_set(err, "%s: no memory", w->path);
		goto out;
	}
	rv = write_all(w, b.data, b.len, err);
out:
	buf_free(&b);
	return rv;
}

int trace_writer_close(struct trace_writer *w, bool partial, struct errbuf *err)
{
	int rv = write_tail(w, partial, err);

	if (rv == 0 && fsync(w->fd) < 0 && errno != EINVAL)
		rv = err_set(err, "%s: cannot sync: %s", w->temp, strerror(errno));
	if (rv == 0 && rename(w->temp, w->path) < 0)
		rv = err_set(err, "%s: cannot rename: %s", w->path, strerror(errno));
	if (rv == 0) {
		free(w->temp);
		w->temp = NULL;
	}
	trace_writer_abort(w);
	return rv;
}

void trace_writer_abort(struct trace_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	if (w->temp)
		unlink(w->temp);
	buf_free(&w->index);
	free(w->temp);
	free(w->path);
	free(w);
}
