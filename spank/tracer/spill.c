/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spill files: see spill.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "spank/tracer/quiet.h"
#include "spank/tracer/spill.h"

#define PAGE        4096u
#define JOURNAL_CAP (64u << 10)
#define SPARE       4096u /* bytes of the stream beyond the size at which it is split */
#define ENTRIES_MIN 8192u
#define ENTRIES_MAX 32768u
/* high, since programs rely on low numbers; low enough for select() */
#define FD_LEAST    900

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

static uint64_t page_up(uint64_t n)
{
	return (n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* ---- the window ---- */

static void lay_out_window(struct spill *s, struct spill_header *h, struct spill_size size)
{
	uint32_t stream_cap = size.stream_cap, n = stream_cap ? (256u << 10) / stream_cap * ENTRIES_MIN : ENTRIES_MAX;

	s->n_entry = n < ENTRIES_MIN ? ENTRIES_MIN : n > ENTRIES_MAX ? ENTRIES_MAX : n;
	h->n_entry = s->n_entry;
	h->journal_cap = JOURNAL_CAP;
	h->stream_cap = stream_cap + SPARE;
	h->live_at = page_up(sizeof(*h));
	h->group_at = h->live_at + page_up(sizeof(*s->live));
	h->counter_at = h->group_at + page_up((size.n_ranks + 7) / 8);
	h->name_at = h->counter_at + page_up(SPILL_COUNTERS_MAX * sizeof(*s->counter));
	h->module_at = h->name_at + page_up(SPILL_NAMES_MAX);
	h->entry_at = h->module_at + page_up(SPILL_MODULES_MAX * sizeof(struct spill_module));
	h->journal_at = h->entry_at + page_up(s->n_entry * sizeof(*s->entry));
	h->stream_at = h->journal_at + JOURNAL_CAP;
	h->window = h->stream_at + page_up(h->stream_cap);
}

/* Does this file system guarantee allocated room? Others copy on write and may be full later, which raises SIGBUS
 * in a mapping. */
static bool keeps_room(int fd)
{
	struct statfs f;

	if (fstatfs(fd, &f) < 0)
		return false;
	return f.f_type == EXT4_SUPER_MAGIC || f.f_type == XFS_SUPER_MAGIC || f.f_type == TMPFS_MAGIC ||
	       f.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Does the descriptor still belong to the file? */
static bool is_open(const struct spill *s)
{
	struct stat st;

	return s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
}

/* The lock tells collectors of spill files that this process lives. */
static void lock_file(int fd)
{
	struct flock alive = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	fcntl(fd, F_SETLK, &alive);
}

/* Reopen the file after the program has closed its descriptor. */
static bool reopen_file(struct spill *s)
{
	s->fd = open(s->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (!is_open(s)) {
		if (s->fd >= 0)
			close(s->fd);
		s->fd = -1;
		return false;
	}
	lock_file(s->fd);
	return true;
}

static void close_file(struct spill *s)
{
	if (is_open(s))
		close(s->fd);
	s->fd = -1;
}

/* Close the file and remove its name. */
static void delete_file(struct spill *s)
{
	close_file(s);
	unlink(s->path);
	s->inode = 0;
}

/* Move the descriptor to a number as high as possible. */
static void move_up(struct spill *s)
{
	int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, FD_LEAST);

	if (fd < 0)
		return;
	close(s->fd);
	s->fd = fd;
}

/* Create the file with room for the window. Returns the descriptor, or -1. */
static int create_file(struct spill *s, const char *dir, const char *id, uint32_t rank, struct errbuf *err)
{
	struct stat st;
	int rv = 0;

	if (snprintf(s->path, sizeof(s->path), "%s/%s.r%u" SPILL_SUFFIX, dir, id, rank) >= (int)sizeof(s->path))
		return err_set(err, "%s: the path is too long", dir);
	unlink(s->path); /* from an earlier run with this name */
	s->fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->fd < 0)
		return err_set(err, "%s: cannot create: %s", s->path, strerror(errno));
	move_up(s);
	if (fstat(s->fd, &st) == 0) {
		s->device = st.st_dev;
		s->inode = st.st_ino;
	}
	lock_file(s->fd);
	if (!keeps_room(s->fd))
		err_set(err, "%s: its file system does not guarantee room for a mapping", s->path);
	else if ((rv = posix_fallocate(s->fd, 0, (off_t)s->window)))
		err_set(err, "%s: no room for %llu bytes: %s", s->path, (unsigned long long)s->window, strerror(rv));
	else
		return 0;
	delete_file(s);
	return -1;
}

static int map_window(struct spill *s, struct errbuf *err)
{
	int flags = s->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *p = mmap(NULL, s->window, PROT_READ | PROT_WRITE, flags, s->fd, 0);

	if (p == MAP_FAILED && s->fd >= 0) {
		err_set(err, "%s: cannot map: %s", s->path, strerror(errno));
		delete_file(s);
		p = mmap(NULL, s->window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	if (p == MAP_FAILED)
		return err_set(err, "no memory for %llu bytes", (unsigned long long)s->window);
	s->map = p;
	return 0;
}

int spill_open(struct spill *s, const char *dir, const char *id, uint32_t rank, struct spill_size size,
	       struct errbuf *err)
{
	static struct spill_header h; /* static, since the stack may be small */

	h = (struct spill_header){.version = SPILL_VERSION, .rank = rank, .world_size = size.n_ranks};
	memcpy(h.magic, SPILL_MAGIC, sizeof(h.magic));
	*s = (struct spill){.fd = -1};
	lay_out_window(s, &h, size);
	s->window = s->end = h.window;
	snprintf(h.id, sizeof(h.id), "%s", id);
	s->memory = calloc(s->n_entry, sizeof(*s->memory));
	s->idle = malloc(s->n_entry * sizeof(*s->idle));
	if (!s->memory || !s->idle)
		return err_set(err, "no memory");
	if (dir)
		create_file(s, dir, id, rank, err);
	if (map_window(s, err) < 0)
		return -1;
	s->header = (struct spill_header *)s->map;
	s->live = (struct spill_live *)(s->map + h.live_at);
	s->entry = (struct spill_entry *)(s->map + h.entry_at);
	s->journal = s->map + h.journal_at;
	s->group = s->map + h.group_at;
	s->stream = s->map + h.stream_at;
	*s->header = h;
	return 0;
}

void spill_start(struct spill *s)
{
	uint64_t hash = XXH3_64bits(s->header, offsetof(struct spill_header, hash));

	__atomic_store_n(&s->header->hash, hash, __ATOMIC_RELEASE);
}

/* ---- counters ---- */

static size_t counters_size(uint32_t n)
{
	return page_up(n * sizeof(uint64_t));
}

/* Replace the pages of the counters by other pages with the same contents. Works in a child of fork: needs no
 * heap. */
static int counters_move(uint64_t *counter, uint32_t n, int fd, uint64_t at)
{
	size_t size = counters_size(n);
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, (off_t)at);

	if (p == MAP_FAILED)
		return -1;
	memcpy(p, counter, size);
	if (mremap(p, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, counter) != MAP_FAILED)
		return 0;
	munmap(p, size);
	return -1;
}

void spill_counters(struct spill *s, uint64_t *counter, uint32_t n, const char *names)
{
	struct spill_header *h = s->header;
	size_t len = 0, page = (size_t)sysconf(_SC_PAGESIZE);

	for (uint32_t i = 0; i < n; i++)
		len += strlen(names + len) + 1;
	if (!spill_protects(s) || !n || n > SPILL_COUNTERS_MAX || len > SPILL_NAMES_MAX || page > PAGE ||
	    (uintptr_t)counter % PAGE)
		return;
	memcpy(s->map + h->name_at, names, len);
	if (counters_move(counter, n, s->fd, h->counter_at) < 0)
		return;
	s->counter = counter;
	h->n_counter = n;
	h->names_len = (uint32_t)len;
}

/* Move the counters back to memory; on failure they stay in the file. */
static void leave_counters(struct spill *s)
{
	if (s->counter)
		counters_move(s->counter, s->header->n_counter, -1, 0);
	s->counter = NULL;
}

struct spill_module *spill_module_new(struct spill *s)
{
	struct spill_header *h = s->header;

	if (!spill_protects(s) || h->n_module == SPILL_MODULES_MAX)
		return NULL;
	return (struct spill_module *)(s->map + h->module_at) + h->n_module++;
}

/* ---- room in the file ---- */

static uint64_t take_room(struct spill *s, uint64_t len)
{
	uint64_t at;

	for (uint32_t i = 0; i < s->n_hole; i++) {
		if (s->hole[i].len < len)
			continue;
		at = s->hole[i].at;
		s->hole[i].at += len;
		s->hole[i].len -= len;
		if (!s->hole[i].len)
			memmove(&s->hole[i], &s->hole[i + 1], (--s->n_hole - i) * sizeof(*s->hole));
		return at;
	}
	at = s->end;
	s->end += len;
	return at;
}

/* Holes are in order and touch neither each other nor the end. If memory runs out, the room is lost, nothing else. */
static void give_room(struct spill *s, uint64_t at, uint64_t len)
{
	struct spill_extent *h;
	uint32_t i = s->n_hole;

	while (i && s->hole[i - 1].at > at)
		i--;
	if (i && s->hole[i - 1].at + s->hole[i - 1].len == at) {
		at = s->hole[--i].at;
		len += s->hole[i].len;
		memmove(&s->hole[i], &s->hole[i + 1], (--s->n_hole - i) * sizeof(*s->hole));
	}
	if (i < s->n_hole && at + len == s->hole[i].at) {
		len += s->hole[i].len;
		memmove(&s->hole[i], &s->hole[i + 1], (--s->n_hole - i) * sizeof(*s->hole));
	}
	if (at + len == s->end) {
		s->end = at;
		return;
	}
	if (s->n_hole == s->cap_hole) {
		uint32_t cap = s->cap_hole ? s->cap_hole * 2 : 64;

		h = realloc(s->hole, cap * sizeof(*h));
		if (!h)
			return;
		s->hole = h;
		s->cap_hole = cap;
	}
	memmove(&s->hole[i + 1], &s->hole[i], (s->n_hole++ - i) * sizeof(*s->hole));
	s->hole[i] = (struct spill_extent){.at = at, .len = len};
}

static int write_all(const struct spill *s, const uint8_t *p, size_t n, uint64_t at)
{
	while (n) {
		ssize_t k = pwrite(s->fd, p, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		p += k;
		n -= (size_t)k;
		at += (uint64_t)k;
	}
	return 0;
}

static int write_at(struct spill *s, const uint8_t *p, size_t n, uint64_t at)
{
	struct quiet q;
	int rv;

	if (!is_open(s) && !reopen_file(s))
		return -1;
	quiet_begin(&q);
	rv = write_all(s, p, n, at);
	quiet_end(&q);
	return rv;
}

/* ---- pages ---- */

static int32_t take_entry(struct spill *s)
{
	if (s->n_idle)
		return (int32_t)s->idle[--s->n_idle];
	return s->n_used < s->n_entry ? (int32_t)s->n_used++ : -1;
}

static int keep_in_memory(struct spill *s, int32_t i, const struct buf *page)
{
	uint8_t *p = malloc(page->len);

	if (!p)
		return -1;
	memcpy(p, page->data, page->len);
	s->memory[i] = (struct buf){.data = p, .len = page->len, .cap = page->len};
	return 0;
}

int32_t spill_put(struct spill *s, const struct trace_page *m, uint64_t epoch, const struct buf *page, bool must)
{
	int32_t i = page->len <= UINT32_MAX ? take_entry(s) : -1;
	struct spill_entry *e;

	if (i < 0) {
		s->file_failed = true;
		return -1;
	}
	e = &s->entry[i];
	*e = (struct spill_entry){.first = m->first, .n = m->n, .type = m->type, .len = (uint32_t)page->len, .epoch = epoch};
	if (spill_protects(s)) {
		e->offset = take_room(s, page->len);
		if (write_at(s, page->data, page->len, e->offset) == 0) {
			__atomic_store_n(&e->on, 1, __ATOMIC_RELEASE);
			return i;
		}
		s->file_failed = true;
		e->offset = 0;
	}
	if (must && keep_in_memory(s, i, page) == 0)
		return i;
	s->idle[s->n_idle++] = (uint32_t)i;
	return -1;
}

int spill_get(struct spill *s, int32_t i, struct buf *out)
{
	const struct spill_entry *e = &s->entry[i];
	size_t got = 0;

	if (s->memory[i].data) {
		buf_put(out, s->memory[i].data, s->memory[i].len);
		return out->failed ? -1 : 0;
	}
	if ((!is_open(s) && !reopen_file(s)) || buf_reserve(out, e->len) < 0)
		return -1;
	while (got < e->len) {
		ssize_t k = pread(s->fd, out->data + out->len + got, e->len - got, (off_t)(e->offset + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		got += (size_t)k;
	}
	out->len += got;
	return 0;
}

void spill_drop(struct spill *s, int32_t i)
{
	struct spill_entry *e = &s->entry[i];

	__atomic_store_n(&e->on, 0, __ATOMIC_RELEASE);
	if (s->memory[i].data)
		buf_free(&s->memory[i]);
	else if (e->offset)
		give_room(s, e->offset, e->len);
	e->offset = 0;
	s->idle[s->n_idle++] = (uint32_t)i;
}

/* ---- the journal ---- */

/* Write a page of bytes to the end of the journal. */
static int journal_page(struct spill *s, const void *data, size_t len)
{
	struct trace_page m = {.type = SPAGE_JOURNAL, .rank = s->header->rank, .n = len,
			       .first = s->live->journal_first + s->live->journal_len};
	struct buf page = {0};
	int32_t e = -1;

	if (data == s->journal)
		m.first = s->live->journal_first;
	if (trace_page_encode(&m, data, len, &page) == 0)
		e = spill_put(s, &m, 0, &page, false);
	buf_free(&page);
	if (e < 0)
		s->file_failed = true;
	return e < 0 ? -1 : 0;
}

static void journal_reset(struct spill *s, uint64_t first)
{
	__atomic_store_n(&s->live->journal_len, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&s->live->journal_first, first, __ATOMIC_RELEASE);
}

int spill_journal(struct spill *s, const void *data, size_t len)
{
	struct spill_live *l = s->live;

	if (!spill_protects(s))
		return -1;
	if (l->journal_len + len > JOURNAL_CAP && l->journal_len) {
		if (journal_page(s, s->journal, l->journal_len) < 0)
			return -1;
		journal_reset(s, l->journal_first + l->journal_len);
	}
	if (len > JOURNAL_CAP) {
		if (journal_page(s, data, len) < 0)
			return -1;
		journal_reset(s, l->journal_first + len);
		return 0;
	}
	memcpy(s->journal + l->journal_len, data, len);
	__atomic_store_n(&l->journal_len, l->journal_len + len, __ATOMIC_RELEASE);
	return 0;
}

/* ---- the end ---- */

static void give_up_file(struct spill *s)
{
	leave_counters(s);
	if (s->map)
		munmap(s->map, s->window);
	close_file(s);
	for (uint32_t i = 0; s->memory && i < s->n_used; i++)
		buf_free(&s->memory[i]);
	free(s->memory);
	free(s->idle);
	free(s->hole);
	*s = (struct spill){.fd = -1};
}

void spill_remove(struct spill *s)
{
	if (!s->map)
		return; /* never opened */
	if (s->inode)
		unlink(s->path);
	give_up_file(s);
}

/* Only shared resources are released: heap memory is the child's own copy, and must not be freed here. */
void spill_forget(struct spill *s)
{
	if (!s->map)
		return;
	leave_counters(s);
	munmap(s->map, s->window);
	close_file(s);
	s->map = NULL;
}
