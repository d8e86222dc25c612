/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace of one rank, from its spill file. Definitions come from the journal. Structure comes from the last
 * folded form and the symbols behind it. Times come from the pages in the file. The file is user data: the trace
 * ends before the first inconsistent part.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/format/defs_journal.h"
#include "trace/format/fold.h"
#include "trace/format/hist.h"
#include "trace/format/in_call.h"
#include "trace/format/levels.h"
#include "trace/format/page.h"
#include "trace/format/times.h"
#include "trace/functions.h"
#include "trace/salvage/salvage_call.h"
#include "trace/salvage/salvage_rank.h"

#define WINDOW_MAX   (32u << 20)
#define THREADS      3u /* MPI_THREAD_MULTIPLE in all known MPI libraries */
#define NO_SYMBOL    UINT32_MAX
#define NAME_LIMIT   256 /* length of a function's name */

/* ---- the file ---- */

static int read_at(int fd, void *to, size_t n, uint64_t at)
{
	uint8_t *p = to;

	while (n) {
		ssize_t k = pread(fd, p, n, (off_t)at);

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

static bool within_window(uint64_t at, uint64_t len, uint64_t window)
{
	return at % 64 == 0 && at >= sizeof(struct spill_header) && at <= window && len <= window - at;
}

static int check_header(struct spill_header *h, uint64_t size, struct errbuf *err)
{
	if (memcmp(h->magic, SPILL_MAGIC, sizeof(h->magic)))
		return err_set(err, "is not a spill file");
	if (h->version != SPILL_VERSION)
		return err_set(err, "was written by another version of the tracer (format %u)", h->version);
	if (h->hash != XXH3_64bits(h, offsetof(struct spill_header, hash)))
		return err_set(err, "its run had not begun");
	if (h->window > size || h->window > WINDOW_MAX || h->n_entry > SPILL_ENTRIES_MAX ||
	    !within_window(h->live_at, sizeof(struct spill_live), h->window) ||
	    h->n_counter > SPILL_COUNTERS_MAX || !within_window(h->counter_at, h->n_counter * sizeof(uint64_t), h->window) ||
	    h->names_len > SPILL_NAMES_MAX || !within_window(h->name_at, h->names_len, h->window) ||
	    h->n_module > SPILL_MODULES_MAX || !within_window(h->module_at, h->n_module * sizeof(struct spill_module), h->window) ||
	    !within_window(h->entry_at, h->n_entry * sizeof(struct spill_entry), h->window) ||
	    !within_window(h->journal_at, h->journal_cap, h->window) || !within_window(h->stream_at, h->stream_cap, h->window))
		return err_set(err, "is malformed");
	if (!h->world_size || h->world_size > TRACE_MAX_RANKS || h->rank >= h->world_size)
		return err_set(err, "claims rank %u of %u", h->rank, h->world_size);
	if (!within_window(h->group_at, (h->world_size + 7) / 8, h->window))
		return err_set(err, "is malformed");
	h->id[sizeof(h->id) - 1] = h->host[sizeof(h->host) - 1] = '\0';
	h->program[sizeof(h->program) - 1] = h->facts[sizeof(h->facts) - 1] = '\0';
	return 0;
}

int salvage_rank_open(struct salvage_rank *s, const char *path, struct errbuf *err)
{
	struct stat st;

	*s = (struct salvage_rank){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
	if (s->fd < 0)
		return err_set(err, "%s: cannot open: %s", path, strerror(errno));
	if (fstat(s->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(err, "%s: is not a regular file", path);
		goto fail;
	}
	s->size = (uint64_t)st.st_size;
	s->seen_real_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec;
	if (s->size < sizeof(s->header) || read_at(s->fd, &s->header, sizeof(s->header), 0) < 0) {
		err_set(err, "%s: is too short", path);
		goto fail;
	}
	if (check_header(&s->header, s->size, err) < 0) {
		err_prefix(err, "%s", path);
		goto fail;
	}
	s->window = malloc(s->header.window);
	if (!s->window || read_at(s->fd, s->window, s->header.window, 0) < 0) {
		err_set(err, "%s: cannot read", path);
		goto fail;
	}
	s->live = (const void *)(s->window + s->header.live_at);
	s->entry = (const void *)(s->window + s->header.entry_at);
	return 0;
fail:
	salvage_rank_close(s);
	return -1;
}

void salvage_rank_close(struct salvage_rank *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->window);
	*s = (struct salvage_rank){.fd = -1};
}

/* ---- its pages ---- */

/* The valid directory entries of one type, in order of their first event. */
struct list {
	uint32_t *e, n;
};

static int by_first(const void *a, const void *b, void *arg)
{
	const struct spill_entry *entry = arg, *x = &entry[*(const uint32_t *)a], *y = &entry[*(const uint32_t *)b];

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static int find_pages(const struct salvage_rank *s, uint32_t type, struct list *l)
{
	*l = (struct list){.e = malloc((s->header.n_entry + 1ull) * sizeof(*l->e))};
	if (!l->e)
		return -1;
	for (uint32_t i = 0; i < s->header.n_entry; i++) {
		const struct spill_entry *e = &s->entry[i];

		if (e->on == 1 && e->type == type && e->len >= TRACE_PAGE_HEADER && e->offset >= s->header.window &&
		    e->offset <= s->size && e->len <= s->size - e->offset)
			l->e[l->n++] = i;
	}
	qsort_r(l->e, l->n, sizeof(*l->e), by_first, (void *)s->entry);
	return 0;
}

/* Load a page and check it; *raw gets its malloced contents. Returns 0 on success, -1 if the page is damaged. */
static int load_page(const struct salvage_rank *s, const struct spill_entry *e, struct trace_page *m, struct buf *page,
		     struct buf *raw)
{
	struct errbuf err;

	buf_reset(page);
	*raw = (struct buf){0};
	if (buf_reserve(page, e->len) < 0 || read_at(s->fd, page->data, e->len, e->offset) < 0 ||
	    trace_page_header(page->data, m) < 0 || m->type != e->type || m->rank != s->header.rank ||
	    m->first != e->first || m->n != e->n || m->comp_len != e->len - TRACE_PAGE_HEADER ||
	    trace_page_payload(m, page->data, page->data + TRACE_PAGE_HEADER, &raw->data, &err) < 0)
		return -1;
	page->len = e->len;
	raw->len = raw->cap = m->raw_len;
	return 0;
}

/* ---- putting a rank together ---- */

struct whole {
	const struct salvage_rank *s;
	struct trace_proc proc;
	struct trace_counted *counted; /* names point into the file */
	uint32_t n_counted;
	struct journal_reader journal;
	struct trace_defs defs;
	struct fold *fold;
	uint64_t events;
	uint32_t *last_symbol;     /* last symbol + 1 of each call site */
	uint32_t last;             /* last symbol of the stream, or NO_SYMBOL */
	/* times that were not kept */
	uint64_t epoch, given_up_before;
	struct buf hist;           /* the encoded page */
	struct levels levels;
	uint64_t in_tick, end_tick; /* in_tick: entry of the call that did not return; 0: none */
	struct buf symbols, times, idle; /* contents of the stream */
	struct buf page, out;
	char ended[320];
};

static void whole_free(struct whole *w)
{
	journal_reader_free(&w->journal);
	w->defs.proc.host = w->defs.proc.program = w->defs.proc.ended = NULL;
	trace_defs_free(&w->defs);
	free(w->proc.in_call.group.rank);
	fold_destroy(w->fold);
	free(w->counted);
	free(w->last_symbol);
	levels_free(&w->levels);
	buf_free(&w->hist);
	buf_free(&w->symbols);
	buf_free(&w->times);
	buf_free(&w->idle);
	buf_free(&w->page);
	buf_free(&w->out);
}

static void read_journal(struct whole *w)
{
	const struct spill_live *live = w->s->live;
	struct list l;
	uint64_t have = 0;
	struct buf all = {0};

	if (find_pages(w->s, SPAGE_JOURNAL, &l) < 0)
		return;
	for (uint32_t i = 0; i < l.n; i++) {
		const struct spill_entry *e = &w->s->entry[l.e[i]];
		struct trace_page m;
		struct buf raw = {0};

		if (e->first == have && load_page(w->s, e, &m, &w->page, &raw) == 0 && m.raw_len == m.n) {
			buf_put(&all, raw.data, raw.len);
			have += raw.len;
		}
		buf_free(&raw);
	}
	if (live->journal_len <= w->s->header.journal_cap && live->journal_first == have)
		buf_put(&all, w->s->window + w->s->header.journal_at, live->journal_len);
	if (!all.failed)
		journal_read(&w->journal, all.data, all.len);
	free(l.e);
	buf_free(&all);
}

static double ns_per_tick(const struct salvage_rank *s)
{
	unsigned k = s->live->clock & 1;
	uint64_t ticks = s->live->clock_ticks[k] - s->header.init_ticks;
	uint64_t ns = s->live->clock_mono_ns[k] - s->header.init_mono_ns;
	double r = ticks ? (double)ns / (double)ticks : 0;

	return r > 1e-5 && r < 1e5 ? r : 1.0;
}

static void fill_proc(struct whole *w)
{
	const struct salvage_rank *s = w->s;
	double overhead = s->live->overhead_ticks;

	w->proc.host = (char *)s->header.host;
	w->proc.program = (char *)s->header.program;
	w->proc.pid = s->header.pid;
	w->proc.ns_per_tick = ns_per_tick(s);
	w->proc.start_real_ns = s->header.start_real_ns;
	w->proc.init_ns = s->header.init_ns;
	w->proc.before_ns = s->header.before_ns;
	w->proc.polls = s->live->polls;
	w->proc.poll_ticks = s->live->poll_ticks;
	w->proc.overhead_ticks = overhead >= 0 && overhead < 1e6 ? overhead : 0;
	w->proc.thread_level = (uint8_t)s->header.thread_level;
	w->proc.ended = w->ended;
}

/* Read the counters of functions that were only counted. */
static int read_counters(struct whole *w)
{
	const struct spill_header *h = &w->s->header;
	const uint64_t *counter = (const void *)(w->s->window + h->counter_at);
	const char *name = (const char *)(w->s->window + h->name_at), *end = name + h->names_len;

	w->counted = calloc(h->n_counter + 1ull, sizeof(*w->counted));
	if (!w->counted)
		return -1;
	for (uint32_t i = 0; i < h->n_counter; i++) {
		const char *zero = memchr(name, '\0', (size_t)(end - name));

		if (!zero)
			break;
		if (counter[i] && zero > name && zero - name < NAME_LIMIT)
			w->counted[w->n_counted++] = (struct trace_counted){.name = (char *)name, .calls = counter[i]};
		name = zero + 1;
	}
	return 0;
}

static void encode_defs(const struct whole *w, struct buf *out)
{
	const struct trace_defs own = {.proc = w->proc, .counted = w->counted, .n_counted = w->n_counted};

	journal_encode(&w->journal, &own, out);
}

/* Decode the definitions, which checks the journal. */
static int decode_defs(struct whole *w, struct trace_defs *out, struct errbuf *err)
{
	struct buf b = {0};
	struct rdbuf in;
	int rv;

	encode_defs(w, &b);
	in = (struct rdbuf){.data = b.data, .len = b.len};
	rv = b.failed ? err_set(err, "no memory") : trace_defs_decode(&in, w->s->header.world_size, out, err);
	buf_free(&b);
	if (rv == 0) {
		free(out->proc.host);
		free(out->proc.program);
		free(out->proc.ended);
		out->proc.host = out->proc.program = out->proc.ended = NULL;
	}
	return rv;
}

static int make_defs(struct whole *w, struct errbuf *err)
{
	read_journal(w);
	fill_proc(w);
	if (read_counters(w) < 0)
		return err_set(err, "no memory");
	if (decode_defs(w, &w->defs, err) < 0)
		return -1;
	w->last_symbol = calloc(w->defs.n_site + 1ull, sizeof(*w->last_symbol));
	return w->last_symbol ? 0 : err_set(err, "no memory");
}

static enum trace_state state_of(const struct whole *w, uint64_t symbol)
{
	return trace_class_state((enum trace_class)trace_fn[w->defs.sigs.sig[symbol].fn].cls);
}

/* ---- structure ---- */

/* Load the longest folded form that is undamaged. */
static void load_structure(struct whole *w)
{
	struct list l;

	if (find_pages(w->s, TPAGE_STRUCT, &l) < 0)
		return;
	for (uint32_t i = l.n; i > 0 && !w->fold; i--) { /* all have first == 0, so they are ordered by n */
		struct trace_page m;
		struct buf raw = {0};
		struct folded f = {0};
		struct errbuf err;

		if (load_page(w->s, &w->s->entry[l.e[i - 1]], &m, &w->page, &raw) == 0) {
			struct rdbuf in = {.data = raw.data, .len = raw.len};

			if (folded_decode(&in, w->defs.sigs.n, &f, &err) == 0 && f.length == m.n)
				w->fold = fold_load(&f);
		}
		folded_free(&f);
		buf_free(&raw);
	}
	free(l.e);
	if (!w->fold)
		w->fold = fold_create();
	w->events = w->fold ? fold_length(w->fold) : 0;
}

/* Append an event's symbol. Returns false if the symbol is not defined. */
static bool push_symbol(struct whole *w, uint64_t symbol)
{
	if (symbol >= w->defs.sigs.n)
		return false;
	fold_push(w->fold, (uint32_t)symbol);
	if (fold_failed(w->fold))
		return false;
	w->last_symbol[w->defs.sigs.sig[symbol].site] = (uint32_t)symbol + 1;
	w->events++;
	return true;
}

static void push_symbols(struct whole *w)
{
	struct list l;

	if (find_pages(w->s, SPAGE_SYMBOLS, &l) < 0)
		return;
	for (uint32_t i = 0; i < l.n; i++) {
		const struct spill_entry *e = &w->s->entry[l.e[i]];
		struct trace_page m;
		struct buf raw;
		struct rdbuf in;

		if (e->first > w->events)
			break; /* a gap: later symbols have no known position */
		if (e->first < w->events)
			continue;
		if (load_page(w->s, e, &m, &w->page, &raw) < 0)
			continue;
		in = (struct rdbuf){.data = raw.data, .len = raw.len};
		for (uint64_t k = 0; k < e->n; k++) {
			uint64_t symbol = rdbuf_uv(&in);

			if (in.failed || !push_symbol(w, symbol))
				break;
		}
		buf_free(&raw);
	}
	free(l.e);
}

/* ---- times ---- */

/* Add an event's times to the time line and to the sums. Returns the end of the event. */
static uint64_t lay_event(struct whole *w, uint64_t sum[TSTATE_N], uint64_t at, const struct times_one *t, enum trace_state s)
{
	levels_add(&w->levels, at, at + t->poll, TSTATE_WAITING);
	at += t->poll + t->own;
	levels_add(&w->levels, at, at + t->gap, TSTATE_WORKING);
	at += t->gap;
	levels_add(&w->levels, at, at + t->duration, s);
	sum[TSTATE_WAITING] += t->poll;
	sum[TSTATE_WORKING] += t->gap;
	sum[s] += t->duration;
	return at + t->duration;
}

static void load_given_up(struct whole *w)
{
	const struct spill_entry *best = NULL;
	struct trace_page m;
	struct buf raw = {0};
	struct list l;
	struct errbuf err;

	if (find_pages(w->s, TPAGE_HIST, &l) < 0)
		return;
	for (uint32_t i = 0; i < l.n; i++)
		if (!best || w->s->entry[l.e[i]].epoch > best->epoch)
			best = &w->s->entry[l.e[i]];
	free(l.e);
	if (best && load_page(w->s, best, &m, &w->page, &raw) == 0) {
		struct rdbuf in = {.data = raw.data, .len = raw.len};
		struct hist_table t;

		if (hist_table_decode(&in, &w->defs.sigs, TRACE_FN_N, &t, &err) == 0) {
			hist_table_free(&t);
			buf_put(&w->hist, w->page.data, w->page.len);
			w->epoch = best->epoch;
			w->given_up_before = best->first;
			memcpy(w->proc.state_ticks, m.state, sizeof(m.state));
		}
	}
	buf_free(&raw);
	if (!w->epoch || find_pages(w->s, TPAGE_LEVELS, &l) < 0)
		return;
	for (uint32_t i = 0; i < l.n && !w->levels.step; i++) {
		if (w->s->entry[l.e[i]].epoch == w->epoch && load_page(w->s, &w->s->entry[l.e[i]], &m, &w->page, &raw) == 0) {
			struct rdbuf in = {.data = raw.data, .len = raw.len};

			levels_decode(&in, &w->levels, &err);
		}
		buf_free(&raw);
	}
	free(l.e);
}

/* Add a page of times to the time line: call by call if the symbols are known, otherwise from the page's summary. */
static void lay_page(struct whole *w, const struct trace_page *m, const struct buf *times, const struct list *symbols)
{
	uint64_t sum[TSTATE_N] = {0}, at = m->t0;
	struct buf page = {0}, raw = {0};
	struct times_walk walk;
	struct times_one t;
	uint32_t lo = 0, hi = symbols->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (w->s->entry[symbols->e[mid]].first < m->first)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < symbols->n && w->s->entry[symbols->e[lo]].first == m->first) {
		struct trace_page sm;

		if (load_page(w->s, &w->s->entry[symbols->e[lo]], &sm, &page, &raw) == 0 && sm.n == m->n &&
		    times_begin(&walk, times->data, times->len, m->n) == 0) {
			struct rdbuf in = {.data = raw.data, .len = raw.len};

			while (times_next(&walk, &t)) {
				uint64_t symbol = rdbuf_uv(&in);

				at = lay_event(w, sum, at, &t, symbol < w->defs.sigs.n ? state_of(w, symbol) : TSTATE_WAITING);
			}
		}
	}
	buf_free(&page);
	buf_free(&raw);
	if (at != m->t0)
		return;
	for (int s = 0; s < TSTATE_N; s++) {
		levels_add(&w->levels, at, at + m->state[s], (enum trace_state)s);
		at += m->state[s];
	}
}

/* Write the kept pages of times. *covered: one of them begins with event `from`. */
static int write_times(struct whole *w, struct trace_writer *out, uint64_t from, bool *covered, uint64_t *n_kept,
		       struct errbuf *err)
{
	struct list l, symbols = {0};
	uint64_t end = 0;
	int rv = 0;

	if (find_pages(w->s, TPAGE_TIMES, &l) < 0)
		return err_set(err, "no memory");
	if (find_pages(w->s, SPAGE_SYMBOLS, &symbols) < 0)
		symbols.n = 0;
	for (uint32_t i = 0; i < l.n && rv == 0; i++) {
		const struct spill_entry *e = &w->s->entry[l.e[i]];
		struct trace_page m;
		struct buf raw;

		if ((e->epoch && e->epoch <= w->epoch) || e->first < end || e->n > w->events || !e->n ||
		    e->first > w->events - e->n)
			continue;
		if (load_page(w->s, e, &m, &w->page, &raw) < 0)
			continue;
		if (m.t1 < m.t0) {
			buf_free(&raw);
			continue;
		}
		lay_page(w, &m, &raw, &symbols);
		for (int s = 0; s < TSTATE_N; s++)
			w->proc.state_ticks[s] += m.state[s];
		rv = trace_writer_pages(out, w->page.data, w->page.len, err);
		*covered |= e->first == from;
		*n_kept += e->n;
		end = e->first + e->n;
		if (m.t1 > w->end_tick)
			w->end_tick = m.t1;
		buf_free(&raw);
	}
	free(l.e);
	free(symbols.e);
	return rv;
}

/* ---- the stream ---- */

/* Read the stream: append symbols that are in no page, and make a page's contents from all of its events. */
static void read_stream(struct whole *w, struct trace_page *m)
{
	const struct spill_live *live = w->s->live;
	struct rdbuf in = {.data = w->s->window + w->s->header.stream_at, .len = live->stream_len};
	uint64_t last_idle = 0;

	m->t0 = m->t1 = live->stream_tick;
	m->first = live->stream_first;
	if (live->stream_len > w->s->header.stream_cap || live->stream_first > w->events || m->t0 > UINT64_MAX / 4)
		return;
	while (rdbuf_left(&in)) {
		uint64_t tag = rdbuf_uv(&in), a = rdbuf_uv(&in), b = rdbuf_uv(&in);

		if (in.failed || a > UINT64_MAX / 4 - m->t1 || b > UINT64_MAX / 4 - m->t1)
			break;
		m->t1 += a + b;
		if (!tag) {
			buf_put_uv(&w->idle, m->n - last_idle);
			buf_put_uv(&w->idle, a);
			buf_put_uv(&w->idle, b);
			last_idle = m->n;
			continue;
		}
		if (tag > w->defs.sigs.n || (m->first + m->n == w->events && !push_symbol(w, tag - 1)))
			break;
		w->last = (uint32_t)tag - 1;
		buf_put_uv(&w->symbols, tag - 1);
		trace_times_put(&w->times, a, b);
		m->n++;
	}
	if (m->t1 > w->end_tick)
		w->end_tick = m->t1;
}

/* ---- the call that did not return ---- */

/* Entry of the call that did not return; 0: none. If several threads may call MPI, the entry is not known. */
static uint64_t open_call_entry(const struct whole *w, uint64_t end_tick)
{
	const struct spill_live *live = w->s->live;
	uint64_t at = live->enter_tick - w->s->header.start_ticks;

	return live->enter_tick && at >= end_tick && at <= UINT64_MAX / 4 && w->s->header.thread_level < THREADS ? at : 0;
}

/* Find a symbol for the call, preferably the last one of its call site. Returns NO_SYMBOL if there was no such
 * call before. */
static uint32_t symbol_of_call(const struct whole *w, const struct trace_in_call *call)
{
	uint32_t last = call->site < w->defs.n_site ? w->last_symbol[call->site] : 0;

	if (last && trace_in_call_is(&w->defs, last - 1, call))
		return last - 1;
	for (uint32_t k = w->defs.sigs.n; k > 0; k--)
		if (trace_in_call_is(&w->defs, k - 1, call))
			return k - 1;
	return NO_SYMBOL;
}

/* Has the rank tested requests since its last recorded call, without success? A test stays entered in the file until
 * the next call. */
static bool is_polling(const struct whole *w)
{
	const struct spill_live *live = w->s->live;
	uint32_t fn = SPILL_CALL_FN(live->enter_call);

	return live->polls && w->s->header.thread_level < THREADS && w->s->header.functions == trace_fn_hash() && fn < TRACE_FN_N &&
	       trace_fn_polls(fn) && (w->last == NO_SYMBOL || w->defs.sigs.sig[w->last].fn != fn);
}

/* Define a symbol for a call that was never made before. Returns NO_SYMBOL if the file does not tell enough. */
static uint32_t new_symbol(struct whole *w)
{
	struct journal_reader *j = &w->journal;
	size_t fn_len = j->part[TDEF_FN].len, sig_len = j->part[TDEF_SIG].len;
	uint32_t n_fn = j->n[TDEF_FN], n_sig = j->n[TDEF_SIG], *last;
	struct trace_defs defs;
	struct errbuf err;

	if (!salvage_call_define(j, &w->proc.in_call))
		return NO_SYMBOL;
	if (decode_defs(w, &defs, &err) < 0) {
		j->part[TDEF_FN].len = fn_len;
		j->part[TDEF_SIG].len = sig_len;
		j->n[TDEF_FN] = n_fn;
		j->n[TDEF_SIG] = n_sig;
		return NO_SYMBOL;
	}
	trace_defs_free(&w->defs);
	w->defs = defs;
	last = realloc(w->last_symbol, (defs.n_site + 1ull) * sizeof(*last));
	if (!last)
		return NO_SYMBOL;
	w->last_symbol = last;
	return defs.sigs.n - 1;
}

/* Append the call as the last event if it is no test. Its duration lasts until the run was last known to live. */
static void add_in_call(struct whole *w, struct trace_page *m, uint64_t death_real_ns)
{
	struct trace_in_call *call = &w->proc.in_call;
	double ns = w->proc.ns_per_tick, lived;
	uint64_t gap;
	uint32_t symbol;
	bool polls = is_polling(w);

	w->in_tick = polls ? m->t1 : open_call_entry(w, m->t1);
	if (!w->in_tick || !salvage_call_read(w->s, &w->defs, &w->journal, call))
		return;
	lived = death_real_ns > w->proc.start_real_ns ? (double)(death_real_ns - w->proc.start_real_ns) / ns : 0;
	if (lived > (double)w->in_tick && lived < 1e18)
		call->ticks = (uint64_t)lived - w->in_tick;
	symbol = polls ? NO_SYMBOL : symbol_of_call(w, call);
	if (!polls && symbol == NO_SYMBOL)
		symbol = new_symbol(w);
	if (symbol == NO_SYMBOL || m->first + m->n != w->events || !push_symbol(w, symbol))
		return;
	gap = w->in_tick - m->t1;
	trace_times_put(&w->times, gap, call->ticks);
	buf_put_uv(&w->symbols, symbol);
	m->t1 += gap + call->ticks;
	m->n++;
}

/* ---- pages out ---- */

static int write_page(struct whole *w, struct trace_writer *out, struct trace_page *m, const struct buf *raw, struct errbuf *err)
{
	m->rank = w->s->header.rank;
	buf_reset(&w->out);
	if (raw->failed || trace_page_encode(m, raw->data, raw->len, &w->out) < 0)
		return err_set(err, "no memory");
	return trace_writer_pages(out, w->out.data, w->out.len, err);
}

static int write_defs(struct whole *w, struct trace_writer *out, struct errbuf *err)
{
	struct trace_page m = {.type = TPAGE_DEFS};
	struct buf raw = {0};
	int rv;

	encode_defs(w, &raw);
	rv = write_page(w, out, &m, &raw, err);
	if (rv == 0) {
		buf_reset(&raw);
		m.type = TPAGE_STRUCT;
		rv = fold_encode(w->fold, &raw) < 0 ? err_set(err, "no memory") : write_page(w, out, &m, &raw, err);
	}
	if (rv == 0) {
		buf_reset(&raw);
		m.type = TPAGE_LEVELS;
		levels_limit(&w->levels, LEVELS_LEAST + w->events / LEVELS_CALLS);
		levels_encode(&w->levels, &raw);
		rv = write_page(w, out, &m, &raw, err);
	}
	if (rv == 0 && w->hist.len)
		rv = trace_writer_pages(out, w->hist.data, w->hist.len, err);
	buf_free(&raw);
	return rv;
}

/* Write the times of the stream and of the call that did not return. */
static int write_stream(struct whole *w, struct trace_writer *out, struct trace_page *m, uint64_t *n_kept,
			struct errbuf *err)
{
	struct rdbuf in = {.data = w->symbols.data, .len = w->symbols.len};
	struct times_walk walk;
	struct times_one t;
	uint64_t at = m->t0;

	buf_put(&w->times, w->idle.data, w->idle.len);
	if (w->times.failed || w->idle.failed || w->symbols.failed ||
	    times_begin(&walk, w->times.data, w->times.len, m->n) < 0)
		return err_set(err, "no memory");
	while (times_next(&walk, &t))
		at = lay_event(w, m->state, at, &t, state_of(w, rdbuf_uv(&in)));
	for (int s = 0; s < TSTATE_N; s++)
		w->proc.state_ticks[s] += m->state[s];
	*n_kept += m->n;
	if (m->t1 > w->end_tick)
		w->end_tick = m->t1;
	return write_page(w, out, m, &w->times, err);
}

/* Build everything except the pages of kept times. */
static int build_rank(struct whole *w, struct errbuf *err)
{
	if (make_defs(w, err) < 0)
		return -1;
	if (!w->defs.n_comm)
		return err_set(err, "nothing was recorded");
	load_structure(w);
	if (!w->fold)
		return err_set(err, "no memory");
	push_symbols(w);
	load_given_up(w);
	return w->levels.step || levels_init(&w->levels, 14) == 0 ? 0 : err_set(err, "no memory");
}

int salvage_rank_write(const struct salvage_rank *s, struct trace_writer *out, const char *ended, uint64_t death_real_ns,
		       uint64_t *events, struct errbuf *err)
{
	struct whole w = {.s = s, .last = NO_SYMBOL};
	struct trace_page m = {.type = TPAGE_TIMES};
	uint64_t n_kept = 0;
	bool covered = false;
	int rv = -1;

	snprintf(w.ended, sizeof(w.ended), "%.*s%s%.160s", (int)strnlen(s->live->ended, sizeof(s->live->ended)),
		 s->live->ended, s->live->ended[0] && *ended ? ", " : "", ended);
	if (build_rank(&w, err) < 0)
		goto out;
	read_stream(&w, &m);
	if (write_times(&w, out, m.first, &covered, &n_kept, err) < 0)
		goto out;
	if (covered || (m.n && m.first < w.given_up_before)) {
		/* All of the stream is in other pages; only the call that did not return is new. */
		m = (struct trace_page){.type = TPAGE_TIMES, .first = m.first + m.n, .t0 = m.t1, .t1 = m.t1};
		buf_reset(&w.symbols);
		buf_reset(&w.times);
		buf_reset(&w.idle);
	}
	add_in_call(&w, &m, death_real_ns);
	if (!w.proc.in_call.inside)
		w.proc.n_place = salvage_places_read(s, &w.defs, &w.journal, w.events, w.proc.place);
	if (m.n && write_stream(&w, out, &m, &n_kept, err) < 0)
		goto out;
	w.proc.end_ticks = w.end_tick;
	w.proc.dropped_events = w.events - n_kept;
	rv = write_defs(&w, out, err);
	*events = w.events;
out:
	whole_free(&w);
	return rv;
}
