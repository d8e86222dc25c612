/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of the tiled store: the index of tiles and pyramid pages, totals, counts and spans. See tiles.h; messages
 * are in tiles_exchange.c. Pages are user data: tiles that overlap others or exceed the matrix are left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tiles/tiles_page.h"
#include "trace/tiles/tiles_read.h"

#define GATHER_BYTES (16ull << 20) /* memory for rows in a call of tiles_spans */

/* ---- damage ---- */

static const char *type_name(uint32_t type)
{
	return type == TPAGE_TILE ? "summary" : type == TPAGE_STATES ? "content" : type == TPAGE_PYRAMID ? "pyramid"
											       : "exchanges";
}

void tiles_note(struct tiles *t, uint32_t page, const char *why)
{
	const struct trace_page *p = trace_page_at(t->t, page);
	char *s = NULL;
	int n;

	if (t->n_damage == TILES_DAMAGE_MAX || t->noted[page / 8] & 1u << (page % 8))
		return;
	t->noted[page / 8] |= (uint8_t)(1u << (page % 8));
	if (p->type == TPAGE_EXCHANGE)
		n = asprintf(&s, "page %u (exchanges, marks %llu-%llu) at byte %llu: %s", page, (unsigned long long)p->t0,
			     (unsigned long long)p->t1, (unsigned long long)p->offset, why);
	else
		n = asprintf(&s, "page %u (%s of processors %u-%u, marks %llu-%llu) at byte %llu: %s", page,
			     type_name(p->type), p->rank, tile_page_p1(p) - 1, (unsigned long long)p->t0,
			     (unsigned long long)p->t1, (unsigned long long)p->offset, why);
	if (n >= 0)
		t->damage[t->n_damage++] = s;
}

uint32_t tiles_n_damage(const struct tiles *t)
{
	return t->n_damage;
}

const char *tiles_damage(const struct tiles *t, uint32_t i)
{
	return i < t->n_damage ? t->damage[i] : NULL;
}

uint64_t tiles_pages_read(const struct tiles *t, uint32_t type)
{
	return type < TILES_PAGE_TYPES ? t->pages_read[type] : 0;
}

/* Returns the page's contents; NULL, and a note of the damage, if the page is damaged. */
uint8_t *tiles_page(struct tiles *t, uint32_t page, uint32_t *len)
{
	struct errbuf why;
	uint8_t *raw = trace_page_read(t->t, page, len, &why);

	t->pages_read[trace_page_at(t->t, page)->type]++;
	if (!raw)
		tiles_note(t, page, why.text);
	return raw;
}

/* ---- the index ---- */

/* Order by level, first processor, first mark; the summary comes before the content of the same tile. */
static int by_place(const void *va, const void *vb)
{
	const struct tile_ref *a = va, *b = vb;

	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->p0 != b->p0)
		return a->p0 < b->p0 ? -1 : 1;
	if (a->t0 != b->t0)
		return a->t0 < b->t0 ? -1 : 1;
	if (a->t1 != b->t1)
		return a->t1 < b->t1 ? -1 : 1;
	if ((a->content != TILES_NO_PAGE) != (b->content != TILES_NO_PAGE))
		return a->content != TILES_NO_PAGE ? 1 : -1;
	return 0;
}

static struct tile_ref ref_of(const struct trace_page *p, uint32_t page)
{
	struct tile_ref r = {.p0 = p->rank, .p1 = tile_page_p1(p), .t0 = p->t0, .t1 = p->t1, .n = p->n,
			     .level = tile_page_level(p), .summary = TILES_NO_PAGE, .content = TILES_NO_PAGE};

	r.own = p->type == TPAGE_PYRAMID ? p->t0 : p->t1 + 1 - p->n;
	if (p->type == TPAGE_STATES)
		r.content = page;
	else
		r.summary = page;
	return r;
}

/* Join summary and content of each tile, and leave out tiles that overlap earlier ones. */
static void join_tiles(struct tiles *t, struct tile_list *l)
{
	uint32_t n = 0;

	if (l->n)
		qsort(l->ref, l->n, sizeof(*l->ref), by_place);
	for (uint32_t i = 0; i < l->n; i++) {
		struct tile_ref *a = n ? &l->ref[n - 1] : NULL, *b = &l->ref[i];
		uint32_t page = b->content != TILES_NO_PAGE ? b->content : b->summary;

		if (a && a->level == b->level && a->p0 == b->p0 && a->p1 == b->p1 && a->t0 == b->t0 && a->t1 == b->t1 &&
		    a->n == b->n && a->content == TILES_NO_PAGE && b->content != TILES_NO_PAGE) {
			a->content = b->content;
		} else if (a && a->level == b->level &&
			   (a->p0 == b->p0 ? a->p1 != b->p1 || b->own <= a->t1 : b->p0 < a->p1)) {
			tiles_note(t, page, "overlaps another one");
		} else {
			l->ref[n++] = *b;
		}
	}
	l->n = n;
}

static int count_types(const struct tiles *t, uint32_t n[TILES_PAGE_TYPES])
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < trace_n_pages(t->t); i++) {
		uint32_t type = trace_page_at(t->t, i)->type;

		if (type < TILES_PAGE_TYPES)
			n[type]++;
		all += type == TPAGE_TILE || type == TPAGE_STATES;
	}
	return all ? 0 : -1;
}

static int index_pages(struct tiles *t, struct errbuf *err)
{
	uint32_t n[TILES_PAGE_TYPES] = {0};

	if (count_types(t, n) < 0)
		return err_set(err, "has no tiles of states: it was traced, not imported");
	t->tile.ref = malloc(((uint64_t)n[TPAGE_TILE] + n[TPAGE_STATES]) * sizeof(*t->tile.ref));
	t->pyramid.ref = malloc((n[TPAGE_PYRAMID] + 1ull) * sizeof(*t->pyramid.ref));
	if (!t->tile.ref || !t->pyramid.ref)
		return err_set(err, "no memory for the index of tiles");
	for (uint32_t i = 0; i < trace_n_pages(t->t); i++) {
		const struct trace_page *p = trace_page_at(t->t, i);
		struct tile_list *l = p->type == TPAGE_PYRAMID ? &t->pyramid : &t->tile;

		if (p->type != TPAGE_TILE && p->type != TPAGE_STATES && p->type != TPAGE_PYRAMID)
			continue;
		if (tiles_page_makes_sense(p, t->n_ranks))
			l->ref[l->n++] = ref_of(p, i);
		else
			tiles_note(t, i, "has contradictory header fields");
	}
	join_tiles(t, &t->tile);
	join_tiles(t, &t->pyramid);
	return t->tile.n ? 0 : err_set(err, "no tile of states has valid header fields");
}

static int find_extent(struct tiles *t, struct errbuf *err)
{
	const char *ns = trace_job_get(t->t, "mark_ns");

	t->first = UINT64_MAX;
	for (uint32_t i = 0; i < t->tile.n + t->pyramid.n; i++) {
		const struct tile_ref *e = i < t->tile.n ? &t->tile.ref[i] : &t->pyramid.ref[i - t->tile.n];

		t->first = e->t0 < t->first ? e->t0 : t->first;
		t->last = e->t1 > t->last ? e->t1 : t->last;
	}
	if (t->last - t->first >= TILES_MARKS_MAX)
		return err_set(err, "claims marks %llu to %llu", (unsigned long long)t->first, (unsigned long long)t->last);
	t->mark_ns = ns ? strtod(ns, NULL) : 0;
	if (!(t->mark_ns > 0 && t->mark_ns < 1e18))
		t->mark_ns = TILES_MARK_NS;
	t->n_levels = 1;
	while (t->n_levels < TILES_LEVELS_MAX &&
	       t->last - t->first + 1 > TILES_STEP_FACTOR * tiles_level_step(t->n_levels - 1))
		t->n_levels++;
	return 0;
}

struct tiles *tiles_open(const struct trace *trace, struct errbuf *err)
{
	struct tiles *t = calloc(1, sizeof(*t));

	if (!t || !(t->noted = calloc(trace_n_pages(trace) / 8 + 1, 1))) {
		err_set(err, "no memory");
		free(t);
		return NULL;
	}
	t->t = trace;
	t->n_ranks = trace_n_ranks(trace);
	if (index_pages(t, err) < 0 || find_extent(t, err) < 0 || tiles_index_exchanges(t, err) < 0) {
		tiles_close(t);
		return NULL;
	}
	return t;
}

void tiles_close(struct tiles *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_damage; i++)
		free(t->damage[i]);
	for (int k = 0; k < EXCHANGE_LISTS; k++)
		free(t->exchange[k].page);
	free(t->tile.ref);
	free(t->pyramid.ref);
	free(t->noted);
	free(t);
}

uint32_t tiles_n_ranks(const struct tiles *t)
{
	return t->n_ranks;
}

uint64_t tiles_first(const struct tiles *t)
{
	return t->first;
}

uint64_t tiles_end(const struct tiles *t)
{
	return t->last + 1;
}

double tiles_mark_ns(const struct tiles *t)
{
	return t->mark_ns;
}

uint32_t tiles_n_levels(const struct tiles *t)
{
	return t->n_levels;
}

uint64_t tiles_level_step(uint32_t level)
{
	return (uint64_t)TILES_STEP0 << (4 * level);
}

uint64_t tiles_level_steps(const struct tiles *t, uint32_t level)
{
	return (t->last - t->first) / tiles_level_step(level) + 1;
}

/* First entry at or behind (level, processor, mark), by bisection. */
static uint32_t lower_bound(const struct tile_list *l, uint32_t level, uint32_t p0, uint64_t t1)
{
	uint32_t a = 0, b = l->n;

	while (a < b) {
		uint32_t m = a + (b - a) / 2;
		const struct tile_ref *r = &l->ref[m];

		if (r->level != level ? r->level < level : r->p0 != p0 ? r->p0 < p0 : r->t1 < t1)
			a = m + 1;
		else
			b = m;
	}
	return a;
}

/* Find the entries that overlap the marks [t0, t1) in the group of processors that contains r, or in the next
 * group. Returns false if there is none from r on. */
static bool find_group(const struct tile_list *l, uint32_t level, uint32_t r, uint64_t t0, uint64_t t1, struct tile_group *g)
{
	uint32_t i = lower_bound(l, level, r + 1, 0); /* behind all entries that begin at r or before */

	if (!i || l->ref[i - 1].level != level || l->ref[i - 1].p1 <= r) {
		if (i == l->n || l->ref[i].level != level)
			return false;
	} else {
		i--;
	}
	g->p0 = l->ref[i].p0;
	g->p1 = l->ref[i].p1;
	g->begin = lower_bound(l, level, g->p0, t0);
	for (g->end = g->begin; g->end < l->n; g->end++) {
		const struct tile_ref *e = &l->ref[g->end];

		if (e->level != level || e->p0 != g->p0 || e->t0 >= t1)
			break;
	}
	return true;
}

/* ---- totals ---- */

static int content_totals(struct tiles *t, const struct tile_ref *e, uint32_t a, uint32_t b, struct tile_totals *out)
{
	uint64_t cells = e->t1 - e->t0 + 1, skip = cells - e->n, start, n;
	struct rdbuf r = {0};
	uint32_t len = 0;
	uint8_t *raw = e->content == TILES_NO_PAGE ? NULL : tiles_page(t, e->content, &len), state;
	int more = 0;

	if (!raw)
		return -1;
	r.data = raw;
	r.len = len;
	for (uint32_t p = e->p0; p < b && !r.failed && more >= 0; p++) {
		struct tile_row row = tile_row_next(&r);
		struct tile_runs it;

		if (p < a || r.failed)
			continue;
		tile_runs_begin(&it, &row, cells);
		while ((more = tile_runs_next(&it, &start, &n, &state)) > 0) {
			uint64_t hidden = start < skip ? skip - start : 0;

			out[p - a].marks[state] += n - hidden;
			out[p - a].spans[state] += start >= skip;
		}
	}
	free(raw);
	if (r.failed || more < 0)
		tiles_note(t, e->content, "malformed row of states");
	return r.failed || more < 0 ? -1 : 0;
}

static void add_tile_totals(struct tiles *t, const struct tile_ref *e, uint32_t r0, uint32_t r1, struct tile_totals *out)
{
	uint32_t a = e->p0 > r0 ? e->p0 : r0, b = e->p1 < r1 ? e->p1 : r1, len = 0;
	uint8_t *raw = e->summary == TILES_NO_PAGE ? NULL : tiles_page(t, e->summary, &len);
	struct errbuf why;

	if (raw) {
		int rv = tile_summary_decode(raw, len, e->p1 - e->p0, e->n == e->t1 - e->t0, e->n, a - e->p0, b - e->p0,
					     out + (a - r0), NULL, &why);

		free(raw);
		if (rv == 0)
			return;
		tiles_note(t, e->summary, why.text);
	}
	content_totals(t, e, a, b, out + (a - r0));
}

int tiles_totals(struct tiles *t, uint32_t r0, uint32_t r1, struct tile_totals *out, struct errbuf *err)
{
	struct tile_group g;

	if (r0 > r1 || r1 > t->n_ranks)
		return err_set(err, "there are %u processors", t->n_ranks);
	memset(out, 0, (r1 - r0) * sizeof(*out));
	for (uint32_t r = r0; r < r1 && find_group(&t->tile, 0, r, 0, UINT64_MAX, &g) && g.p0 < r1; r = g.p1)
		for (uint32_t i = g.begin; i < g.end; i++)
			add_tile_totals(t, &t->tile.ref[i], r0, r1, out);
	return 0;
}

/* ---- the pyramid ---- */

struct count_window {
	uint32_t level, r0, r1;
	uint64_t s0, s1;
	uint32_t (*count)[TSTATE_N];
};

static uint32_t count_at(const uint8_t *p, uint32_t width)
{
	uint32_t v = p[0];

	for (uint32_t b = 1; b < width; b++)
		v |= (uint32_t)p[b] << (8 * b);
	return v;
}

static void read_counts(struct tiles *t, const struct tile_ref *e, const struct count_window *c)
{
	uint32_t width = tile_count_width(c->level), len, a = e->p0 > c->r0 ? e->p0 : c->r0, b = e->p1 < c->r1 ? e->p1 : c->r1;
	uint64_t step = tiles_level_step(c->level), base = (e->t0 - t->first) / step, plane = (uint64_t)(e->p1 - e->p0) * e->n;
	uint8_t *raw = tiles_page(t, e->summary, &len);
	bool bad = raw && (len != 3 * plane * width || (e->t0 - t->first) % step);

	for (uint32_t p = a; raw && !bad && p < b; p++)
		for (uint64_t s = base > c->s0 ? base : c->s0; s < base + e->n && s < c->s1; s++) {
			uint32_t *out = c->count[(uint64_t)(p - c->r0) * (c->s1 - c->s0) + s - c->s0];
			uint64_t at = (uint64_t)(p - e->p0) * e->n + s - base, sum = 0;
			uint64_t left = e->t1 + 1 - e->t0 - (s - base) * step, size = left < step ? left : step;

			for (int k = 0; k < 3; k++) {
				out[k + 1] = count_at(raw + (plane * (uint64_t)k + at) * width, width);
				sum += out[k + 1];
			}
			out[0] = (uint32_t)(size - sum);
			if (sum > size) {
				memset(out, 0, sizeof(*c->count));
				bad = true;
			}
		}
	free(raw);
	if (bad)
		tiles_note(t, e->summary, "malformed counts");
}

int tiles_counts(struct tiles *t, uint32_t level, uint32_t r0, uint32_t r1, uint64_t s0, uint64_t s1,
		 uint32_t (*count)[TSTATE_N], struct errbuf *err)
{
	struct count_window c = {.level = level, .r0 = r0, .r1 = r1, .s0 = s0, .s1 = s1, .count = count};
	struct tile_group g;

	if (level >= t->n_levels || r0 > r1 || r1 > t->n_ranks || s0 > s1 || s1 > tiles_level_steps(t, level))
		return err_set(err, "there are %u levels of %u processors", t->n_levels, t->n_ranks);
	memset(count, 0, (r1 - r0) * (s1 - s0) * sizeof(*count));
	if (s0 == s1)
		return 0;
	for (uint32_t r = r0; r < r1; r = g.p1) {
		uint64_t step = tiles_level_step(level);

		if (!find_group(&t->pyramid, level, r, t->first + s0 * step, t->first + s1 * step, &g) || g.p0 >= r1)
			break;
		for (uint32_t i = g.begin; i < g.end; i++)
			read_counts(t, &t->pyramid.ref[i], &c);
	}
	return 0;
}

/* ---- spans ---- */

struct gathered_row {
	uint64_t at;
	uint32_t len;
	bool dense, known;
};

struct span_window {
	uint64_t t0, t1;
	int (*f)(const struct tile_span *s, void *arg);
	void *arg;
	struct buf data;           /* rows, one behind the other */
	struct gathered_row *row;  /* [(rank - a) * tiles + tile] */
	struct tile_span span;     /* grows while the state does not change */
};

static int flush_span(struct span_window *w)
{
	struct tile_span s = w->span;

	w->span.t0 = w->span.t1;
	return s.t1 > s.t0 ? w->f(&s, w->arg) : 0;
}

/* Copy the rows of processors [a, b) from the tiles of a group. One tile at a time is in memory. */
static int gather_rows(struct tiles *t, struct span_window *w, const struct tile_group *g, uint32_t a, uint32_t b)
{
	uint32_t n_tiles = g->end - g->begin;

	buf_reset(&w->data);
	memset(w->row, 0, (uint64_t)(b - a) * n_tiles * sizeof(*w->row));
	for (uint32_t i = 0; i < n_tiles; i++) {
		const struct tile_ref *e = &t->tile.ref[g->begin + i];
		struct rdbuf r = {0};
		uint32_t len = 0;
		uint8_t *raw = e->content == TILES_NO_PAGE ? NULL : tiles_page(t, e->content, &len);

		r.data = raw;
		r.len = len;
		for (uint32_t p = e->p0; raw && p < b && !r.failed; p++) {
			struct tile_row row = tile_row_next(&r);

			if (p < a || r.failed)
				continue;
			w->row[(uint64_t)(p - a) * n_tiles + i] = (struct gathered_row){
				.at = w->data.len, .len = row.len, .dense = row.dense, .known = true};
			buf_put(&w->data, row.data, row.len);
		}
		free(raw);
		if (r.failed)
			tiles_note(t, e->content, "malformed row of states");
		if (w->data.failed)
			return -1;
	}
	return 0;
}

/* Report the runs of one row of one tile that lie behind the known ones. If a tile is damaged, the state carried
 * into the next tile is used. */
static int emit_row(struct tiles *t, struct span_window *w, const struct tile_ref *e, const struct gathered_row *g,
		    uint32_t rank)
{
	struct tile_row row = {.data = g->len ? w->data.data + g->at : NULL, .len = g->len, .dense = g->dense};
	uint64_t start, n;
	struct tile_runs it;
	uint8_t state;
	int more;

	tile_runs_begin(&it, &row, e->t1 - e->t0 + 1);
	while ((more = tile_runs_next(&it, &start, &n, &state)) > 0) {
		uint64_t a = e->t0 + start, b = a + n;

		if (a >= w->t1)
			return 0;
		a = a < w->t0 ? w->t0 : a;
		a = a < w->span.t1 ? w->span.t1 : a;
		b = b > w->t1 ? w->t1 : b;
		if (a >= b)
			continue;
		if (w->span.t1 != a || w->span.state != state || w->span.t0 == w->span.t1) {
			if (flush_span(w))
				return 1;
			w->span = (struct tile_span){.rank = rank, .state = state, .t0 = a};
		}
		w->span.t1 = b;
	}
	if (more < 0)
		tiles_note(t, e->content, "malformed row of states");
	return 0;
}

static int emit_ranks(struct tiles *t, struct span_window *w, const struct tile_group *g, uint32_t a, uint32_t b)
{
	uint32_t n_tiles = g->end - g->begin;

	for (uint32_t p = a; p < b; p++) {
		w->span = (struct tile_span){.rank = p};
		for (uint32_t i = 0; i < n_tiles; i++) {
			const struct gathered_row *row = &w->row[(uint64_t)(p - a) * n_tiles + i];

			if (row->known && emit_row(t, w, &t->tile.ref[g->begin + i], row, p))
				return 1;
		}
		if (flush_span(w))
			return 1;
	}
	return 0;
}

/* Report processors [a, b) of a group, as many at a time as memory allows. */
static int emit_group(struct tiles *t, struct span_window *w, const struct tile_group *g, uint32_t a, uint32_t b,
		      struct errbuf *err)
{
	uint64_t each = 0;
	uint32_t batch;

	for (uint32_t i = g->begin; i < g->end; i++)
		each += (t->tile.ref[i].t1 - t->tile.ref[i].t0) / 4 + 16 + sizeof(*w->row);
	if (!each)
		return 0;
	batch = (uint32_t)(each < GATHER_BYTES ? GATHER_BYTES / each : 1);
	if (batch > b - a)
		batch = b - a;
	w->row = malloc((uint64_t)batch * (g->end - g->begin) * sizeof(*w->row));
	if (!w->row)
		return err_set(err, "no memory for %u rows of states", batch);
	for (uint32_t p = a; p < b; p += batch) {
		uint32_t q = b - p < batch ? b : p + batch;
		int rv = gather_rows(t, w, g, p, q) < 0 ? err_set(err, "no memory for rows of states")
						   : emit_ranks(t, w, g, p, q);

		if (rv) {
			free(w->row);
			return rv;
		}
	}
	free(w->row);
	return 0;
}

int tiles_spans(struct tiles *t, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1,
		int (*f)(const struct tile_span *s, void *arg), void *arg, struct errbuf *err)
{
	struct span_window w = {.t0 = t0, .t1 = t1, .f = f, .arg = arg};
	struct tile_group g;
	int rv = 0;

	if (r0 > r1 || r1 > t->n_ranks)
		return err_set(err, "there are %u processors", t->n_ranks);
	for (uint32_t r = r0; !rv && r < r1 && t0 < t1; r = g.p1) {
		if (!find_group(&t->tile, 0, r, t0, t1, &g) || g.p0 >= r1)
			break;
		rv = emit_group(t, &w, &g, g.p0 > r ? g.p0 : r, g.p1 < r1 ? g.p1 : r1, err);
	}
	buf_free(&w.data);
	return rv;
}
