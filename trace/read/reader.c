/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of trace files. The file is mapped. The trailer tells where the index is. If trailer or index are damaged,
 * the file is scanned for pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "common/clean.h"
#include "trace/format/ends.h"
#include "trace/format/page.h"
#include "trace/read/reader_impl.h"

#define RANKS_FREE 65536u

static const char *page_name(uint32_t type)
{
	static const char *const name[] = {"of an unknown kind", "job facts", "definitions", "structure", "times", "index",
					   "histograms", "levels", "tile", "pyramid", "exchanges", "tile content"};

	return type < sizeof(name) / sizeof(*name) ? name[type] : name[0];
}

void trace_page_text(const struct trace *t, uint32_t page, char *buf, size_t size)
{
	const struct trace_page *p = &t->page[page];
	char rank[32] = "";

	if (p->type != TPAGE_JOB && p->type != TPAGE_INDEX && strcmp(page_name(p->type), page_name(0)))
		snprintf(rank, sizeof(rank), " of rank %u", p->rank);
	snprintf(buf, size, "page %u (%s%s) at byte %llu", page, page_name(p->type), rank,
		 (unsigned long long)p->offset);
}

static void note_damage(struct trace *t, uint32_t page, const char *why)
{
	char text[128], *s = NULL;
	int n;

	if (t->n_damage == TRACE_MAX_DAMAGE)
		return;
	if (page < t->n_page) {
		trace_page_text(t, page, text, sizeof(text));
		n = asprintf(&s, "%s: %s", text, why);
	} else {
		n = asprintf(&s, "%s", why);
	}
	if (n >= 0)
		t->damage[t->n_damage++] = s;
}

/* ---- finding the pages ---- */

static int add_page(struct trace *t, const struct trace_page *p)
{
	if (ARRAY_ROOM(t->page, t->cap_page, t->n_page + 1) != 0)
		return -1;
	t->page[t->n_page++] = *p;
	return 0;
}

/* The file's bytes stay in the system's cache; our memory does not grow with the file. */
static void unmap_read(const struct trace *t, uint64_t offset, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = (offset + page - 1) / page * page, end = (offset + len) / page * page;

	if (begin < end)
		madvise((void *)(t->map + begin), end - begin, MADV_DONTNEED);
}

uint8_t *trace_page_data(const struct trace *t, const struct trace_page *p, struct trace_page *hdr, struct errbuf *err)
{
	const uint8_t *h = p->offset < t->size ? t->map + p->offset : NULL;
	uint8_t *raw;

	if (!h || t->size - p->offset < TRACE_PAGE_HEADER || trace_page_header(h, hdr) < 0) {
		err_set(err, "bad page header");
		return NULL;
	}
	if (t->size - p->offset - TRACE_PAGE_HEADER < hdr->comp_len) {
		err_set(err, "cut off");
		return NULL;
	}
	if (hdr->type != p->type || (p->type != TPAGE_INDEX && hdr->hash != p->hash)) {
		err_set(err, "is another page than the index says");
		return NULL;
	}
	if (trace_page_payload(hdr, h, h + TRACE_PAGE_HEADER, &raw, err) < 0)
		return NULL;
	unmap_read(t, p->offset, TRACE_PAGE_HEADER + (uint64_t)hdr->comp_len);
	return raw;
}

static int read_index(struct trace *t, struct errbuf *err)
{
	struct rdbuf r = {.data = t->map + t->size - TRACE_TRAILER, .len = TRACE_TRAILER};
	struct trace_page ip = {.type = TPAGE_INDEX}, hdr;
	uint32_t n, flags;
	uint8_t *raw;

	if (t->size < TRACE_FILE_HEADER + TRACE_TRAILER || memcmp(r.data + TRACE_TRAILER - 8, TRACE_END_MAGIC, 8))
		return err_set(err, "the end of the file is missing");
	ip.offset = rdbuf_u64(&r);
	n = rdbuf_u32(&r);
	flags = rdbuf_u32(&r);
	t->partial = flags & TRACE_PARTIAL;
	if (rdbuf_u64(&r) != t->size || rdbuf_u64(&r) != XXH3_64bits(r.data, TRACE_TRAILER - 16))
		return err_set(err, "the trailer is damaged");
	t->ends = flags & TRACE_HAS_ENDS && (t->size - TRACE_FILE_HEADER - TRACE_TRAILER) / TRACE_END_BYTES >= t->n_ranks;
	ip.n = n;
	raw = trace_page_data(t, &ip, &hdr, err);
	if (!raw)
		return err_prefix(err, "index page");
	r = (struct rdbuf){.data = raw, .len = hdr.raw_len};
	for (uint32_t i = 0; i < n && !r.failed; i++) {
		struct trace_page p = {0};

		p.type = (uint32_t)rdbuf_uv(&r);
		p.rank = (uint32_t)rdbuf_uv(&r);
		p.offset = rdbuf_uv(&r);
		p.first = rdbuf_uv(&r);
		p.n = rdbuf_uv(&r);
		p.t0 = rdbuf_uv(&r);
		p.t1 = rdbuf_uv(&r);
		for (int s = 0; s < TSTATE_N; s++)
			p.state[s] = rdbuf_uv(&r);
		p.hash = rdbuf_u64(&r);
		if (!r.failed && add_page(t, &p) < 0)
			r.failed = true;
	}
	free(raw);
	if (r.failed) {
		t->n_page = 0;
		return err_set(err, "the index is malformed");
	}
	return 0;
}

static int scan_pages(struct trace *t)
{
	for (uint64_t pos = TRACE_FILE_HEADER; pos + TRACE_PAGE_HEADER <= t->size;) {
		struct trace_page p;

		if (trace_page_header(t->map + pos, &p) < 0) {
			const void *next = memmem(t->map + pos + 1, t->size - pos - 1, "PPG1", 4);

			if (!next)
				break;
			pos = (uint64_t)((const uint8_t *)next - t->map);
			continue;
		}
		p.offset = pos;
		if (p.type == TPAGE_INDEX)
			break; /* appended bytes follow, perhaps pages of another trace */
		if (add_page(t, &p) < 0)
			return -1;
		pos += TRACE_PAGE_HEADER;
		if (t->size - pos >= p.comp_len)
			pos += p.comp_len;
	}
	return 0;
}

/* ---- reading the pages that are held ---- */

static void split_job(struct trace *t, uint8_t *raw, uint32_t len)
{
	char *s = realloc(raw, len + 1u), *end;

	if (!s) {
		free(raw);
		return;
	}
	if (t->job) {
		free(s);
		return;
	}
	s[len] = '\0';
	t->job = s;
	for (end = s + len; s < end && t->n_key < TRACE_MAX_JOB_KEYS;) {
		char *nl = memchr(s, '\n', (size_t)(end - s)), *eq;

		if (!nl)
			break;
		*nl = '\0';
		eq = strchr(s, '=');
		if (eq) {
			*eq = '\0';
			t->key[t->n_key] = s;
			t->value[t->n_key++] = clean_line(eq + 1);
		}
		s = nl + 1;
	}
}

static int load_defs(struct trace *t, const uint8_t *raw, uint32_t len, uint32_t rank, struct errbuf *err)
{
	struct rdbuf r = {.data = raw, .len = len};
	struct trace_rank *k = &t->rank[rank];

	if (k->defs.n_site || k->defs.n_comm)
		return err_set(err, "the rank has a second page of this type");
	if (trace_defs_decode(&r, t->n_ranks, &k->defs, err) < 0)
		return -1;
	for (uint32_t i = 0; i < k->defs.n_comm; i++) {
		shared_groups_take(&t->groups, &k->defs.comm[i].members);
		shared_groups_take(&t->groups, &k->defs.comm[i].remote);
	}
	return 0;
}

static int load_struct(struct trace *t, const uint8_t *raw, uint32_t len, uint32_t rank, struct errbuf *err)
{
	struct rdbuf r = {.data = raw, .len = len};
	struct trace_rank *k = &t->rank[rank];

	if (k->events.body)
		return err_set(err, "the rank has a second page of this type");
	return folded_decode(&r, k->defs.sigs.n, &k->events, err);
}

/* Load the pages of one type. Definitions are loaded before structure, in any order in the file. */
static void load_pages(struct trace *t, uint32_t type)
{
	for (uint32_t i = 0; i < t->n_page; i++) {
		struct errbuf why = {{0}};
		struct trace_page hdr;
		uint8_t *raw;
		int rv = 0;

		if (t->page[i].type != type)
			continue;
		raw = trace_page_data(t, &t->page[i], &hdr, &why);
		if (!raw) {
			note_damage(t, i, why.text);
			continue;
		}
		if (type == TPAGE_JOB) {
			split_job(t, raw, hdr.raw_len);
			continue;
		}
		if (t->page[i].rank >= t->n_ranks)
			rv = err_set(&why, "no such rank");
		else if (type == TPAGE_STRUCT && !t->rank[t->page[i].rank].defs.n_comm)
			; /* without definitions, whose damage is noted, structure cannot be read */
		else if (type == TPAGE_DEFS)
			rv = load_defs(t, raw, hdr.raw_len, t->page[i].rank, &why);
		else
			rv = load_struct(t, raw, hdr.raw_len, t->page[i].rank, &why);
		if (rv < 0)
			note_damage(t, i, why.text);
		free(raw);
	}
}

static void read_end(struct trace *t, uint32_t rank, uint64_t *after_ns)
{
	struct rdbuf r = {.data = t->map, .len = t->size};
	char why[64];

	if (!t->ends)
		return;
	r.pos = t->size - TRACE_TRAILER - (uint64_t)TRACE_END_BYTES * (t->n_ranks - rank);
	if (trace_end_unpack(rank, rdbuf_u64(&r), after_ns))
		return;
	snprintf(why, sizeof(why), "the time of rank %u after MPI_Finalize is damaged", rank);
	note_damage(t, UINT32_MAX, why);
}

/*
 * Ticks between MPI_Init and MPI_Finalize without the recorder's cost. That cost is a cost per event and rare long
 * pauses, mainly the compression of pages. The pauses count to no state. Unsuccessful tests count as waiting.
 */
static double program_ticks(const struct trace_proc *p, uint64_t events)
{
	double all = (double)p->end_ticks, known = 0;

	for (int s = 0; s < TSTATE_N; s++)
		known += (double)p->state_ticks[s];
	if (p->finalized && known > 0 && known < all)
		all = known;
	all -= p->overhead_ticks * (double)events;
	return all > 0 ? all : 0;
}

/* The first page of each kind counts. */
static void find_rank_pages(struct trace *t)
{
	for (uint32_t i = t->n_page; i > 0; i--) {
		const struct trace_page *p = &t->page[i - 1];

		if (p->rank >= t->n_ranks)
			continue;
		if (p->type == TPAGE_SAMPLES)
			t->rank[p->rank].samples_page = i;
		else if (p->type == TPAGE_HIST)
			t->rank[p->rank].hist_page = i;
	}
}

static void settle_ranks(struct trace *t)
{
	for (uint32_t r = 0; r < t->n_ranks; r++) {
		struct trace_rank *k = &t->rank[r];

		k->present = k->defs.n_comm && k->events.body;
		if (!k->present) {
			char why[64];

			folded_free(&k->events);
			snprintf(why, sizeof(why), "rank %u is missing", r);
			note_damage(t, UINT32_MAX, why);
			continue;
		}
		read_end(t, r, &k->defs.proc.after_ns);
		k->wall_ns = program_ticks(&k->defs.proc, k->events.length) * k->defs.proc.ns_per_tick;
		if (!k->defs.proc.finalized)
			t->partial = true;
	}
}

/* ---- opening ---- */

static int map_file(struct trace *t, const char *path, struct errbuf *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *p;

	if (fd < 0)
		return err_set(err, "%s: cannot open: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, "%s: is not a regular file", path);
	}
	t->size = (uint64_t)st.st_size;
	if (t->size < TRACE_FILE_HEADER) {
		close(fd);
		return err_set(err, "%s: is not a Precedent trace (%s)", path,
			       t->size ? "too short" : "the file is empty");
	}
	p = mmap(NULL, t->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return err_set(err, "%s: cannot map: %s", path, strerror(errno));
	t->map = p;
	return 0;
}

static int read_file_header(struct trace *t, const char *path, struct errbuf *err)
{
	struct rdbuf r = {.data = t->map, .len = TRACE_FILE_HEADER, .pos = 8};
	uint32_t version;

	if (memcmp(t->map, TRACE_FILE_MAGIC, 8))
		return err_set(err, "%s: is not a Precedent trace (see precedent-trace(5))", path);
	version = rdbuf_u32(&r);
	if (version > TRACE_VERSION)
		return err_set(err, "%s: trace format %u is newer than this program (format %d): update Precedent",
			       path, version, TRACE_VERSION);
	if (version < TRACE_VERSION)
		return err_set(err, "%s: trace format %u is older than this program reads (format %d): trace the run again",
			       path, version, TRACE_VERSION);
	rdbuf_u32(&r);
	t->n_ranks = rdbuf_u32(&r);
	r.pos = TRACE_FILE_HEADER - 8;
	if (rdbuf_u64(&r) != XXH3_64bits(t->map, TRACE_FILE_HEADER - 8))
		return err_set(err, "%s: the file header is damaged: the trace cannot be read", path);
	if (!t->n_ranks || t->n_ranks > TRACE_MAX_RANKS)
		return err_set(err, "%s: claims %u ranks", path, t->n_ranks);
	return 0;
}

/* Each rank of a traced run has two pages, so the file size bounds the number of ranks. If a run died, most ranks
 * may be missing: a minimum is always allowed. */
static int make_ranks(struct trace *t, const char *path, struct errbuf *err)
{
	if (t->n_ranks > RANKS_FREE && t->n_ranks - RANKS_FREE > t->size / 4)
		return err_set(err, "%s: claims %u ranks but is only %llu bytes long", path, t->n_ranks,
			       (unsigned long long)t->size);
	t->rank = calloc(t->n_ranks, sizeof(*t->rank));
	return t->rank ? 0 : err_set(err, "%s: no memory", path);
}

struct trace *trace_open(const char *path, struct errbuf *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	struct errbuf why = {{0}};
	uint32_t present = 0;

	if (!t) {
		err_set(err, "%s: no memory", path);
		return NULL;
	}
	if (map_file(t, path, err) < 0 || read_file_header(t, path, err) < 0)
		goto fail;
	if (read_index(t, &why) < 0) {
		note_damage(t, UINT32_MAX, why.text);
		t->n_page = 0;
		t->partial = t->scanned = true;
		if (scan_pages(t) < 0) {
			err_set(err, "%s: no memory", path);
			goto fail;
		}
	}
	load_pages(t, TPAGE_JOB);
	if (trace_times_index(t) < 0) {
		err_set(err, "%s: no memory", path);
		goto fail;
	}
	if (trace_is_imported(t))
		return t;
	if (make_ranks(t, path, err) < 0)
		goto fail;
	load_pages(t, TPAGE_DEFS);
	load_pages(t, TPAGE_STRUCT);
	find_rank_pages(t);
	settle_ranks(t);
	for (uint32_t r = 0; r < t->n_ranks; r++)
		present += t->rank[r].present;
	if (!present) {
		err_set(err, "%s: no rank can be read (%s)", path, t->n_damage ? t->damage[0] : "no pages");
		goto fail;
	}
	return t;
fail:
	trace_close(t);
	return NULL;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	for (uint32_t r = 0; t->rank && r < t->n_ranks; r++) {
		trace_defs_free(&t->rank[r].defs);
		folded_free(&t->rank[r].events);
	}
	shared_groups_free(&t->groups);
	for (uint32_t i = 0; i < t->n_damage; i++)
		free(t->damage[i]);
	if (t->map)
		munmap((void *)t->map, t->size);
	free(t->rank);
	free(t->page);
	free(t->times);
	free(t->times_begin);
	free(t->job);
	free(t);
}

uint32_t trace_n_ranks(const struct trace *t)
{
	return t->n_ranks;
}

const struct trace_rank *trace_get_rank(const struct trace *t, uint32_t rank)
{
	static const struct trace_rank absent; /* imported traces have only absent ranks */

	return rank < t->n_ranks ? t->rank ? &t->rank[rank] : &absent : NULL;
}

bool trace_is_partial(const struct trace *t)
{
	return t->partial;
}

const char *trace_job_get(const struct trace *t, const char *key)
{
	for (uint32_t i = 0; i < t->n_key; i++)
		if (!strcmp(t->key[i], key))
			return t->value[i];
	return NULL;
}

uint64_t trace_devices(const struct trace *t, uint32_t *ranks)
{
	uint64_t all = 0;

	*ranks = 0;
	for (uint32_t r = 0; t->rank && r < t->n_ranks; r++) {
		all |= t->rank[r].defs.proc.devices;
		*ranks += t->rank[r].defs.proc.devices != 0;
	}
	return all;
}

uint32_t trace_n_damage(const struct trace *t)
{
	return t->n_damage;
}

const char *trace_damage(const struct trace *t, uint32_t i)
{
	return i < t->n_damage ? t->damage[i] : NULL;
}

uint64_t trace_file_size(const struct trace *t)
{
	return t->size;
}

bool trace_is_imported(const struct trace *t)
{
	bool tiles = false;

	for (uint32_t i = 0; i < t->n_page; i++) {
		if (t->page[i].type == TPAGE_DEFS)
			return false;
		tiles |= t->page[i].type == TPAGE_TILE;
	}
	return tiles;
}

uint32_t trace_n_pages(const struct trace *t)
{
	return t->n_page;
}

const struct trace_page *trace_page_at(const struct trace *t, uint32_t i)
{
	return i < t->n_page ? &t->page[i] : NULL;
}

uint8_t *trace_page_read(const struct trace *t, uint32_t i, uint32_t *len, struct errbuf *err)
{
	struct trace_page hdr;
	uint8_t *raw = trace_page_data(t, &t->page[i], &hdr, err);

	if (raw)
		*len = hdr.raw_len;
	return raw;
}
