/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces with pages of every type, one traced and one imported, with every kind of damage. Every bit is flipped,
 * and the file is cut at every length. Bytes are changed, inserted and appended. Pages are swapped, doubled, and
 * taken from another run. Each damage must be reported with its page, and all other data must be read.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/put_page.h"
#include "trace/format/hist.h"
#include "trace/format/levels.h"
#include "trace/format/page.h"
#include "trace/format/writer.h"
#include "trace/functions.h"
#include "trace/tiles/tiles_write.h"
#include "trace/timeline/check.h"

#define RANKS  2
#define EVENTS 40
#define PAGES_MAX 64
#define SIZE_MAX_FILE 65536

struct sample {
	uint8_t *data;
	size_t len;
	struct trace_page page[PAGES_MAX]; /* with their offsets; the index comes last */
	uint32_t n_page;
	uint64_t seed;
	bool imported;
};

static struct sample traced[2], imported[2]; /* two runs of the same program each */
static int memory_fd;

/* ---- the sample ---- */

static uint32_t symbol(uint32_t rank, uint32_t i)
{
	return (i * 5 + rank) % 3;
}

static void put_definitions(struct trace_writer *w, uint32_t rank, struct buf *raw)
{
	struct trace_defs d = {.n_comm = 2, .n_site = 1};
	int64_t val;

	d.comm = calloc(2, sizeof(*d.comm));
	d.comm[0].members = (struct trace_group){.n = RANKS, .rank = calloc(RANKS, 4)};
	d.comm[0].members.rank[1] = 1;
	d.comm[1].members = (struct trace_group){.n = 1, .rank = calloc(1, 4)};
	d.comm[1].members.rank[0] = rank;
	d.site = calloc(1, sizeof(*d.site));
	d.site[0].hash = 42;
	for (int s = 0; s < 3; s++) {
		val = s - 1;
		assert_int_equal(sigtable_intern(&d.sigs, FN_MPI_Barrier, 0, &val, 1), s);
	}
	d.proc = (struct trace_proc){.host = strdup("node1"), .program = strdup("/bin/app"), .ns_per_tick = 1,
				     .end_ticks = 1000000, .finalized = 1};
	trace_defs_encode(&d, raw);
	trace_defs_free(&d);
	put_page(w, TPAGE_DEFS, rank, 0, 0, raw);
}

static void put_rank(struct trace_writer *w, uint32_t rank, uint64_t seed)
{
	struct fold *f = fold_create();
	struct hist_table h;
	struct levels lv;
	struct buf raw = {0};

	put_definitions(w, rank, &raw);
	for (uint32_t i = 0; i < EVENTS; i++)
		fold_push(f, symbol(rank, i));
	assert_int_equal(fold_encode(f, &raw), 0);
	fold_destroy(f);
	put_page(w, TPAGE_STRUCT, rank, 0, 0, &raw);
	for (uint32_t first = 0; first < EVENTS; first += EVENTS / 2) {
		for (uint32_t i = 0; i < EVENTS / 2; i++)
			trace_times_put(&raw, 100 + (first + i) % 7 + seed, 10 + rank);
		put_page(w, TPAGE_TIMES, rank, first, EVENTS / 2, &raw);
	}
	assert_int_equal(levels_init(&lv, 4), 0);
	levels_add(&lv, 0, 300 + seed, TSTATE_WORKING);
	levels_add(&lv, 310 + seed, 400, TSTATE_WAITING);
	levels_encode(&lv, &raw);
	levels_free(&lv);
	put_page(w, TPAGE_LEVELS, rank, 0, 0, &raw);
	hist_table_init(&h, TRACE_FN_N);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(hist_table_add(&h, i % 3, FN_MPI_Barrier, i * seed, i), 0);
	hist_table_encode(&h, &raw);
	hist_table_free(&h);
	put_page(w, TPAGE_HIST, rank, 0, 0, &raw);
	buf_free(&raw);
}

static void put_tiles(struct trace_writer *w, uint64_t seed)
{
	struct tiles_extent x = {.n_ranks = RANKS, .last = 149, .tile_bytes = 64};
	struct errbuf err;
	struct tiles_writer *tw = tiles_writer_create(w, &x, &err);

	if (!tw)
		fail_msg("%s", err.text);
	for (uint32_t t = 0; t < 150; t += 1 + t % 3) {
		struct tile_change c = {.t = t, .rank = t % RANKS, .state = (uint8_t)((t / 4 + seed) % TSTATE_N)};
		struct exchange m = {.src = t % RANKS, .dst = (t + 1) % RANKS, .t0 = t, .t1 = t, .bytes = seed, .received = true};

		assert_int_equal(tiles_writer_put(tw, &c, 1, &err), 0);
		if (t % 10 == 0)
			assert_int_equal(tiles_writer_exchange(tw, &m, &err), 0);
	}
	assert_int_equal(tiles_writer_finish(tw, &err), 0);
	tiles_writer_destroy(tw);
}

static void make_sample(struct sample *s, uint64_t seed, bool tiles)
{
	char path[] = "/tmp/precedent-damage-XXXXXX";
	struct errbuf err;
	struct trace_writer *w;
	struct buf raw = {0};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	w = trace_writer_create(path, RANKS, &err);
	assert_non_null(w);
	buf_put(&raw, "program=/bin/app\n", 17);
	put_page(w, TPAGE_JOB, 0, 0, 0, &raw);
	if (tiles)
		put_tiles(w, seed);
	for (uint32_t r = 0; !tiles && r < RANKS; r++)
		put_rank(w, r, seed);
	buf_free(&raw);
	assert_int_equal(trace_writer_close(w, false, &err), 0);
	*s = (struct sample){.data = malloc(SIZE_MAX_FILE), .seed = seed, .imported = tiles};
	fd = open(path, O_RDONLY);
	s->len = (size_t)read(fd, s->data, SIZE_MAX_FILE);
	close(fd);
	unlink(path);
	assert_true(s->len > 1000 && s->len < SIZE_MAX_FILE / 2);
	for (size_t at = TRACE_FILE_HEADER; at + TRACE_TRAILER < s->len;) {
		struct trace_page *p = &s->page[s->n_page++];

		assert_true(s->n_page < PAGES_MAX);
		assert_int_equal(trace_page_header(s->data + at, p), 0);
		p->offset = at;
		at += TRACE_PAGE_HEADER + p->comp_len;
	}
}

/* ---- reading what was done to it ---- */

struct told {
	uint32_t n;
	char text[8192];
};

static void hear(const char *line, void *arg)
{
	struct told *t = arg;

	assert_true(line[0]);
	t->n++;
	if (strlen(t->text) + strlen(line) + 2 < sizeof(t->text))
		strcat(strcat(t->text, line), "\n");
}

static struct trace *open_bytes(const uint8_t *p, size_t n, struct errbuf *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_fd);
	assert_int_equal(ftruncate(memory_fd, 0), 0);
	assert_int_equal(pwrite(memory_fd, p, n, 0), (ssize_t)n);
	return trace_open(path, err);
}

/* Are all events of a rank there with the right symbols and times? Wrong events are never allowed. */
static bool rank_is_whole(const struct trace *t, uint32_t rank, uint64_t seed)
{
	struct errbuf err;
	struct trace_iter *it = trace_iter_create(t, rank, &err);
	struct trace_event ev;
	uint32_t i = 0, timed = 0;
	bool known;

	if (!it)
		return false;
	for (; trace_iter_next(it, &ev, &known); i++) {
		assert_int_equal(ev.sym, symbol(rank, i));
		if (!known)
			continue;
		assert_int_equal(ev.gap_ns, 100 + i % 7 + seed);
		assert_int_equal(ev.dur_ns, 10 + rank);
		timed++;
	}
	trace_iter_destroy(it);
	return i == EVENTS && timed == EVENTS;
}

/* Returns -1 if the file is rejected with a reason; otherwise the number of undamaged ranks (0 if imported).
 * Damage must be reported. */
static int look(const struct sample *s, const uint8_t *p, size_t n, struct told *told, const char *what, size_t at)
{
	struct errbuf err = {{0}};
	struct trace *t = open_bytes(p, n, &err);
	int whole = 0;

	*told = (struct told){0};
	if (!t) {
		assert_true(err.text[0]);
		return -1;
	}
	if (trace_check(t, hear, told, NULL, &err) != 1 || !told->n)
		fail_msg("%s at %zu of %zu, and nobody noticed", what, at, n);
	for (uint32_t r = 0; r < RANKS; r++)
		whole += !s->imported && rank_is_whole(t, r, s->seed);
	trace_close(t);
	return whole;
}

/* The page that contains a byte; n_page for header and trailer. */
static uint32_t page_of(const struct sample *s, size_t at)
{
	for (uint32_t i = 0; i < s->n_page; i++)
		if (at >= s->page[i].offset && at < s->page[i].offset + TRACE_PAGE_HEADER + s->page[i].comp_len)
			return i;
	return s->n_page;
}

static bool holds_events(uint32_t type)
{
	return type == TPAGE_DEFS || type == TPAGE_STRUCT || type == TPAGE_TIMES;
}

/* ---- tests: *state is the sample of two ---- */

static void test_sound(void **state)
{
	const struct sample *s = *state;
	struct trace_check_report report;
	struct told told = {0};
	struct errbuf err;
	struct trace *t = open_bytes(s->data, s->len, &err);
	uint32_t types = 0;

	assert_non_null(t);
	if (trace_check(t, hear, &told, &report, &err) != 0)
		fail_msg("%s", told.text);
	assert_int_equal(told.n, 0);
	assert_int_equal(report.pages, s->n_page);
	assert_int_equal(trace_is_imported(t), s->imported);
	assert_true(report.bytes > 0 && (s->imported || (rank_is_whole(t, 0, s->seed) && rank_is_whole(t, 1, s->seed))));
	trace_close(t);
	for (uint32_t i = 0; i < s->n_page; i++)
		types |= 1u << s->page[i].type;
	assert_int_equal(types, s->imported ? 1 << TPAGE_JOB | 1 << TPAGE_TILE | 1 << TPAGE_STATES | 1 << TPAGE_PYRAMID |
						      1 << TPAGE_EXCHANGE | 1 << TPAGE_INDEX
					    : 1 << TPAGE_JOB | 1 << TPAGE_DEFS | 1 << TPAGE_STRUCT | 1 << TPAGE_TIMES |
						      1 << TPAGE_HIST | 1 << TPAGE_LEVELS | 1 << TPAGE_INDEX);
}

static void flip(struct sample *s, size_t i, int bit)
{
	uint32_t page = page_of(s, i), type = s->page[page].type;
	struct told told;
	char name[64];
	int whole;

	s->data[i] ^= (uint8_t)(1 << bit);
	whole = look(s, s->data, s->len, &told, "a bit is flipped", i);
	s->data[i] ^= (uint8_t)(1 << bit);
	if (i < TRACE_FILE_HEADER) {
		assert_int_equal(whole, -1);
		return;
	}
	if (page + 1 < s->n_page) {
		snprintf(name, sizeof(name), "page %u (", page);
		if (!strstr(told.text, name))
			fail_msg("byte %zu is on page %u: %s", i, page, told.text);
	}
	if (s->imported)
		return;
	/* Only the data of this page are lost: a rank, or some of its times. */
	assert_int_equal(whole, RANKS - (page < s->n_page && holds_events(type)));
	if (page + 1 < s->n_page)
		assert_int_equal(told.n, 1 + (type == TPAGE_DEFS || type == TPAGE_STRUCT));
}

static void test_every_bit(void **state)
{
	struct sample *s = *state;

	for (size_t i = 0; i < s->len; i++)
		for (int bit = 0; bit < 8; bit++)
			flip(s, i, bit);
}

static void test_every_length(void **state)
{
	struct sample *s = *state;
	const struct sample *other = s + 1;
	struct told told;
	int most = 0;

	for (size_t n = 0; n < s->len; n++) {
		int whole = look(s, s->data, n, &told, "cut off", n);

		assert_true(whole >= most || whole == -1); /* the longer the file, the more ranks */
		most = whole > most ? whole : most;
	}
	assert_int_equal(most, s->imported ? 0 : RANKS);
	for (size_t more = 1; more < 200; more++) {
		memset(s->data + s->len, (int)more, more);
		assert_int_equal(look(s, s->data, s->len + more, &told, "appended", more), most);
	}
	/* a complete trace behind another one */
	memcpy(s->data + s->len, other->data, other->len);
	assert_int_equal(look(s, s->data, s->len + other->len, &told, "a trace appended", 0), most);
}

static void test_byte_more_or_less(void **state)
{
	const struct sample *s = *state;
	uint8_t *p = malloc(SIZE_MAX_FILE);
	struct told told;

	for (size_t i = 0; i < s->len; i++) {
		memcpy(p, s->data, i);
		memcpy(p + i, s->data + i + 1, s->len - i - 1);
		look(s, p, s->len - 1, &told, "a byte is missing", i);
		memcpy(p + i + 1, s->data + i, s->len - i);
		p[i] = 0;
		look(s, p, s->len + 1, &told, "a byte too many", i);
	}
	free(p);
}

static size_t put_bytes(uint8_t *to, size_t at, const struct sample *s, uint32_t page)
{
	size_t n = TRACE_PAGE_HEADER + s->page[page].comp_len;

	memcpy(to + at, s->data + s->page[page].offset, n);
	return at + n;
}

/* Make a file of the samples' pages in another order, with header and trailer of the first. */
static size_t rearrange(uint8_t *to, const struct sample *s, const struct sample *const from[], const uint32_t page[],
			uint32_t n)
{
	size_t at = TRACE_FILE_HEADER;

	memcpy(to, s->data, at);
	for (uint32_t i = 0; i < n; i++)
		at = put_bytes(to, at, from[i], page[i]);
	memcpy(to + at, s->data + s->len - TRACE_TRAILER, TRACE_TRAILER);
	return at + TRACE_TRAILER;
}

static void test_pages_moved(void **state)
{
	const struct sample *s = *state, *from[PAGES_MAX];
	uint32_t order[PAGES_MAX], n = s->n_page;
	uint8_t *p = malloc(SIZE_MAX_FILE);
	struct told told;

	for (uint32_t i = 0; i < n; i++) {
		from[i] = s;
		order[i] = i;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n; k++) {
			if (i == k)
				continue;
			order[i] = k; /* one page is doubled, another is missing */
			look(s, p, rearrange(p, s, from, order, n), &told, "a page twice", i);
			order[k] = i;
			look(s, p, rearrange(p, s, from, order, n), &told, "pages swapped", i);
			order[i] = i;
			order[k] = k;
		}
	for (uint32_t i = 0; i < n; i++) {
		memmove(order + i, order + i + 1, (n - i) * sizeof(*order));
		look(s, p, rearrange(p, s, from, order, n - 1), &told, "a page is missing", i);
		for (uint32_t k = n - 1; k > i; k--)
			order[k] = order[k - 1];
		order[i] = i;
	}
	free(p);
}

/* The other run's pages look alike: the same kinds, ranks and events, some of the same length. */
static void test_foreign_pages(void **state)
{
	const struct sample *s = *state, *other = s + 1, *from[PAGES_MAX];
	uint32_t order[PAGES_MAX], same_length = 0;
	uint8_t *p = malloc(SIZE_MAX_FILE);
	struct told told;

	assert_int_equal(s->n_page, other->n_page);
	for (uint32_t i = 0; i < s->n_page; i++) {
		from[i] = s;
		order[i] = i;
	}
	for (uint32_t i = 0; i < s->n_page; i++) {
		const struct trace_page *a = &s->page[i], *b = &other->page[i];

		/* identical bytes are no damage */
		if (a->comp_len == b->comp_len &&
		    !memcmp(s->data + a->offset, other->data + b->offset, TRACE_PAGE_HEADER + a->comp_len))
			continue;
		same_length += a->comp_len == b->comp_len && i + 1 < s->n_page;
		from[i] = other;
		look(s, p, rearrange(p, s, from, order, s->n_page), &told, "a page of another run", i);
		from[i] = s;
	}
	assert_true(same_length > 0);
	free(p);
}

static int setup(void **state)
{
	(void)state;
	memory_fd = memfd_create("trace", 0);
	for (uint64_t i = 0; i < 2; i++) {
		make_sample(&traced[i], i + 1, false);
		make_sample(&imported[i], i + 1, true);
	}
	return memory_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		free(traced[i].data);
		free(imported[i].data);
	}
	return close(memory_fd);
}

#define BOTH(f) cmocka_unit_test_prestate(f, traced), cmocka_unit_test_prestate(f, imported)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_sound), BOTH(test_every_bit), BOTH(test_every_length), BOTH(test_byte_more_or_less),
		BOTH(test_pages_moved), BOTH(test_foreign_pages),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
