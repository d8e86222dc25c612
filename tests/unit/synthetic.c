/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of simulated ranks: see synthetic.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "synthetic.h"
#include "trace/format/ends.h"
#include "trace/format/levels.h"
#include "trace/format/page.h"
#include "trace/format/samples.h"
#include "trace/format/writer.h"
#include "trace/functions.h"

#define MAX_VALUES 8192

void *syn_need(void *p)
{
	if (!p) {
		perror("synthetic trace");
		abort();
	}
	return p;
}

static void need_ok(int rv, const struct errbuf *err)
{
	if (rv < 0) {
		fprintf(stderr, "synthetic trace: %s\n", err->text);
		abort();
	}
}

uint64_t syn_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

/* ---- definitions ---- */

uint32_t syn_comm(struct syn *s, uint32_t rank, const uint32_t *member, uint32_t n)
{
	struct trace_defs *d = &s->rank[rank].defs;
	struct trace_comm *c;

	d->comm = syn_need(realloc(d->comm, (d->n_comm + 1u) * sizeof(*d->comm)));
	c = &d->comm[d->n_comm];
	*c = (struct trace_comm){.kind = TCOMM_INTRA};
	c->members.rank = syn_need(malloc(n * sizeof(*member)));
	memcpy(c->members.rank, member, n * sizeof(*member));
	c->members.n = n;
	return d->n_comm++;
}

uint32_t syn_win(struct syn *s, uint32_t rank, uint32_t comm, uint64_t size)
{
	struct trace_defs *d = &s->rank[rank].defs;

	d->win = syn_need(realloc(d->win, (d->n_win + 1u) * sizeof(*d->win)));
	d->win[d->n_win] = (struct trace_win){.kind = TWIN_CREATE, .comm = comm, .ordinal = d->n_win, .size = size,
					      .disp_unit = 8};
	return d->n_win++;
}

uint32_t syn_file(struct syn *s, uint32_t rank, uint32_t comm, const char *name)
{
	struct trace_defs *d = &s->rank[rank].defs;

	d->file = syn_need(realloc(d->file, (d->n_file + 1u) * sizeof(*d->file)));
	d->file[d->n_file] = (struct trace_file){.comm = comm, .amode = TFILE_RDWR, .name = syn_need(strdup(name))};
	return d->n_file++;
}

static void add_type(struct trace_defs *d, const char *name, int64_t size)
{
	d->type = syn_need(realloc(d->type, (d->n_type + 1u) * sizeof(*d->type)));
	d->type[d->n_type++] =
		(struct trace_type){.name = syn_need(strdup(name)), .combiner = TCOMB_NAMED, .size = size, .extent = size};
}

static uint32_t site_index(struct trace_defs *d, uint64_t site)
{
	for (uint32_t i = 0; i < d->n_site; i++)
		if (d->site[i].hash == site)
			return i;
	d->site = syn_need(realloc(d->site, (d->n_site + 1u) * sizeof(*d->site)));
	d->site[d->n_site] = (struct trace_site){.hash = site, .n_frame = 1, .offset = {0x1000 + 16 * site}};
	return d->n_site++;
}

static void init_rank(struct syn *s, uint32_t rank, const uint32_t *world)
{
	struct syn_rank *r = &s->rank[rank];
	struct trace_defs *d = &r->defs;

	r->fold = syn_need(fold_create());
	syn_comm(s, rank, world, s->n_ranks);
	syn_comm(s, rank, &rank, 1);
	add_type(d, "MPI_DOUBLE", 8);
	add_type(d, "MPI_INT", 4);
	add_type(d, "MPI_BYTE", 1);
	d->op = syn_need(calloc(1, sizeof(*d->op)));
	d->op[0] = (struct trace_op){syn_need(strdup("MPI_SUM")), 1};
	d->n_op = 1;
	d->module = syn_need(calloc(1, sizeof(*d->module)));
	d->module[0] = (struct trace_module){syn_need(strdup("/usr/bin/simulated")), syn_need(strdup("ab12"))};
	d->n_module = 1;
	d->proc = (struct trace_proc){.host = syn_need(strdup("node1")), .program = syn_need(strdup("/usr/bin/simulated")),
				      .pid = 1000 + rank, .ns_per_tick = 1.0, .start_real_ns = 1000000000,
				      .finalized = 1};
}

struct syn *syn_create(uint32_t n_ranks)
{
	struct syn *s = syn_need(calloc(1, sizeof(*s)));
	uint32_t *world = syn_need(calloc(n_ranks, sizeof(*world)));

	s->n_ranks = n_ranks;
	s->rank = syn_need(calloc(n_ranks, sizeof(*s->rank)));
	for (uint32_t r = 0; r < n_ranks; r++)
		world[r] = r;
	for (uint32_t r = 0; r < n_ranks; r++)
		init_rank(s, r, world);
	free(world);
	return s;
}

void syn_destroy(struct syn *s)
{
	if (!s)
		return;
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		trace_defs_free(&s->rank[r].defs);
		fold_destroy(s->rank[r].fold);
		buf_free(&s->rank[r].times);
		buf_free(&s->rank[r].polls);
		free(s->rank[r].sym);
		free(s->rank[r].sample);
	}
	free(s->rank);
	free(s);
}

/* ---- calls ---- */

static uint16_t function_number(const char *name)
{
	static uint16_t last;

	if (!strcmp(trace_fn[last].name, name))
		return last;
	for (uint16_t i = 0; i < TRACE_FN_N; i++)
		if (!strcmp(trace_fn[i].name, name))
			return last = i;
	fprintf(stderr, "synthetic trace: no function %s\n", name);
	abort();
}

static int64_t scalar(uint8_t kind, const struct syn_args *a)
{
	switch (kind) {
	case TK_COMM: return a->comm;
	case TK_NEWCOMM: return a->newcomm;
	case TK_DST: return a->dst;
	case TK_SRC: return a->src;
	case TK_ASRC: return a->src == TRACE_ANY_SOURCE ? a->asrc : TRACE_NULL;
	case TK_TAG: return a->tag;
	case TK_ATAG: return a->tag == TRACE_ANY_TAG ? a->atag : TRACE_NULL;
	case TK_COUNT: return a->count;
	case TK_TYPE: return a->type;
	case TK_NEWTYPE: return a->newtype;
	case TK_OP: return a->op;
	case TK_ROOT: return a->root;
	case TK_NEWREQ: return a->req;
	case TK_REQ: return a->message ? a->message - 1 : a->req;
	case TK_INPLACE: return a->inplace;
	case TK_WIN:
	case TK_NEWWIN: return a->win;
	case TK_FILE:
	case TK_NEWFILE: return a->file;
	case TK_DISP: return a->disp;
	default: return a->integer;
	}
}

/* Sources and tags of completed requests without wildcards. */
#define MAX_REQS 16
static const int64_t no_wildcard[MAX_REQS] = {
	[0 ... MAX_REQS - 1] = TRACE_NULL,
};

static uint32_t array(uint8_t kind, const struct syn_args *a, const int64_t **val)
{
	switch (kind) {
	case TK_COUNTS: *val = a->counts; return a->n_counts;
	case TK_REQS:
	case TK_DONE: *val = a->reqs; return a->n_reqs;
	case TK_INTS: *val = a->ints; return a->n_ints;
	case TK_ASRCS: *val = a->asrcs ? a->asrcs : no_wildcard; return a->n_reqs;
	case TK_ATAGS: *val = a->atags ? a->atags : no_wildcard; return a->n_reqs;
	default: *val = NULL; return 0;
	}
}

void syn_call(struct syn *s, uint32_t rank, const char *fn, uint64_t site, const struct syn_args *args)
{
	struct syn_rank *r = &s->rank[rank];
	uint16_t f = function_number(fn);
	int64_t val[MAX_VALUES];
	uint32_t n = 0, sym;
	uint64_t gap, dur;

	for (int i = 0; i < trace_fn[f].n_param; i++) {
		uint8_t kind = trace_fn[f].param[i].kind;
		const int64_t *from;
		uint32_t len;

		if (!trace_kind_is_array(kind)) {
			val[n++] = scalar(kind, args);
			continue;
		}
		len = array(kind, args, &from);
		val[n++] = len;
		if (len)
			memcpy(val + n, from, len * sizeof(*val));
		n += len;
	}
	sym = sigtable_intern(&r->defs.sigs, f, site_index(&r->defs, site), val, n);
	fold_push(r->fold, sym);
	gap = args->gap_ns ? args->gap_ns : 1000;
	dur = args->dur_ns ? args->dur_ns : 500;
	trace_times_put(&r->times, gap, dur);
	buf_put_uv(&r->polls, args->poll_ns);
	r->defs.proc.poll_ticks += args->poll_ns;
	r->ticks += args->poll_ns + gap + dur;
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 256;
		r->sym = syn_need(realloc(r->sym, r->cap * sizeof(*r->sym)));
	}
	r->sym[r->n++] = sym;
}

void syn_begin(struct syn *s)
{
	for (uint32_t r = 0; r < s->n_ranks; r++)
		syn_call(s, r, "MPI_Init", 1, SYN(.tag = 0));
}

void syn_end(struct syn *s)
{
	for (uint32_t r = 0; r < s->n_ranks; r++)
		syn_call(s, r, "MPI_Finalize", 2, SYN(.tag = 0));
}

void syn_delayed(struct syn *s, uint32_t rank, uint64_t ns)
{
	s->rank[rank].delayed_ns = ns;
}

void syn_window(struct syn *s, uint32_t rank, uint64_t delayed_ns)
{
	struct syn_rank *r = &s->rank[rank];

	r->sample = syn_need(realloc(r->sample, (r->n_sample + 1u) * sizeof(*r->sample)));
	r->sample[r->n_sample++] =
		(struct trace_sample){.flags = TSAMPLE_BORDER, .event = r->n, .tick = r->ticks, .delayed_ns = delayed_ns};
}

/* ---- the file ---- */

static void encode_samples(const struct syn_rank *r, struct buf *raw)
{
	struct trace_sample *sample = syn_need(calloc(r->n_sample + 2u, sizeof(*sample)));
	struct trace_samples all = {.n = r->n_sample + 2, .n_thread = 1, .period_ns = 1000000, .sample = sample};

	sample[0].flags = TSAMPLE_BORDER;
	if (r->n_sample)
		memcpy(sample + 1, r->sample, r->n_sample * sizeof(*sample));
	sample[all.n - 1] =
		(struct trace_sample){.flags = TSAMPLE_BORDER, .event = r->n, .tick = r->ticks, .delayed_ns = r->delayed_ns};
	trace_samples_encode(&all, raw);
	free(sample);
}


static void add_page(struct buf *out, const struct trace_page *page, const struct buf *raw)
{
	need_ok(trace_page_encode(page, raw->data, raw->len, out), &(struct errbuf){"page"});
}

/* Pages of times with their summaries, and the rank's levels and totals. */
static void add_times(struct syn *s, uint32_t rank, struct levels *levels, struct buf *out)
{
	struct syn_rank *r = &s->rank[rank];
	struct rdbuf in = {.data = r->times.data, .len = r->times.len}, polls = {.data = r->polls.data, .len = r->polls.len};
	uint64_t per_page = s->page_events ? s->page_events : r->n, tick = 0, pages = 0;
	struct buf raw = {0}, idle = {0};

	for (uint64_t i = 0; i < r->n;) {
		uint64_t last_idle = 0;
		struct trace_page page = {.type = TPAGE_TIMES, .rank = rank, .first = i, .t0 = tick};

		buf_reset(&raw);
		buf_reset(&idle);
		for (; i < r->n && page.n < per_page; i++, page.n++) {
			uint64_t gap = rdbuf_uv(&in), dur = rdbuf_uv(&in), poll = rdbuf_uv(&polls);
			enum trace_state state = trace_class_state(trace_fn[r->defs.sigs.sig[r->sym[i]].fn].cls);

			trace_times_put(&raw, gap, dur);
			if (poll) {
				buf_put_uv(&idle, page.n - last_idle);
				buf_put_uv(&idle, poll);
				buf_put_uv(&idle, 0);
				last_idle = page.n;
			}
			page.state[TSTATE_WAITING] += poll;
			levels_add(levels, tick, tick + poll, TSTATE_WAITING);
			tick += poll;
			page.state[TSTATE_WORKING] += gap;
			page.state[state] += dur;
			levels_add(levels, tick, tick + gap, TSTATE_WORKING);
			levels_add(levels, tick + gap, tick + gap + dur, state);
			tick += gap + dur;
		}
		page.t1 = tick;
		buf_put(&raw, idle.data, idle.len);
		for (int k = 0; k < TSTATE_N; k++)
			r->defs.proc.state_ticks[k] += page.state[k];
		pages++;
		if (s->drop_every && pages % s->drop_every == 0)
			r->defs.proc.dropped_events += page.n;
		else
			add_page(out, &page, &raw);
	}
	buf_free(&raw);
	buf_free(&idle);
}

static void write_rank(struct syn *s, uint32_t rank, struct trace_writer *w)
{
	struct syn_rank *r = &s->rank[rank];
	struct trace_page page = {.rank = rank, .t1 = r->ticks};
	struct buf raw = {0}, out = {0};
	struct levels levels;
	struct errbuf err;

	need_ok(levels_init(&levels, 0), &(struct errbuf){"levels"});
	r->defs.proc.end_ticks = r->ticks;
	memset(r->defs.proc.state_ticks, 0, sizeof(r->defs.proc.state_ticks));
	r->defs.proc.dropped_events = 0;
	add_times(s, rank, &levels, &out);
	trace_defs_encode(&r->defs, &raw);
	page.type = TPAGE_DEFS;
	add_page(&out, &page, &raw);
	buf_reset(&raw);
	need_ok(fold_encode(r->fold, &raw), &(struct errbuf){"structure"});
	page.type = TPAGE_STRUCT;
	add_page(&out, &page, &raw);
	buf_reset(&raw);
	levels_encode(&levels, &raw);
	page.type = TPAGE_LEVELS;
	if (s->levels)
		add_page(&out, &page, &raw);
	buf_reset(&raw);
	page.type = TPAGE_SAMPLES;
	if (r->delayed_ns || r->n_sample) {
		encode_samples(r, &raw);
		add_page(&out, &page, &raw);
	}
	need_ok(trace_writer_pages(w, out.data, out.len, &err), &err);
	levels_free(&levels);
	buf_free(&raw);
	buf_free(&out);
}

/* Fill in the ends of processes. */
static void put_ends(const struct syn *s, const char *path)
{
	struct buf b = {0};
	int fd = open(path, O_WRONLY);

	for (uint32_t r = 0; r < s->n_ranks; r++)
		buf_put_u64(&b, trace_end_pack(r, s->rank[r].defs.proc.after_ns));
	need_ok(fd < 0 || lseek(fd, -(off_t)(TRACE_TRAILER + b.len), SEEK_END) < 0 || write(fd, b.data, b.len) != (ssize_t)b.len ? -1 : 0,
		&(struct errbuf){"ends"});
	close(fd);
	buf_free(&b);
}

static void write_job(const struct syn *s, struct trace_writer *w)
{
	struct trace_page page = {.type = TPAGE_JOB};
	struct buf raw = {0}, out = {0};
	struct errbuf err;

	if (!s->job)
		return;
	buf_put(&raw, s->job, strlen(s->job));
	add_page(&out, &page, &raw);
	need_ok(trace_writer_pages(w, out.data, out.len, &err), &err);
	buf_free(&raw);
	buf_free(&out);
}

static void write_to(struct syn *s, const char *path, bool partial)
{
	struct errbuf err;
	struct trace_writer *w = trace_writer_create(path, s->n_ranks, &err);

	need_ok(w ? 0 : -1, &err);
	write_job(s, w);
	for (uint32_t r = 0; r < s->n_ranks; r++)
		write_rank(s, r, w);
	trace_writer_ends(w);
	need_ok(trace_writer_close(w, partial, &err), &err);
}

void syn_write(struct syn *s, const char *path)
{
	write_to(s, path, false);
}

static struct trace *open_as(struct syn *s, bool partial)
{
	const char *dir = getenv("TMPDIR");
	char path[512];
	struct errbuf err;
	struct trace *t;
	int fd;

	snprintf(path, sizeof(path), "%s/precedent-synthetic-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	need_ok(fd, &(struct errbuf){"cannot create a file"});
	close(fd);
	write_to(s, path, partial);
	put_ends(s, path);
	t = trace_open(path, &err);
	unlink(path);
	need_ok(t ? 0 : -1, &err);
	return t;
}

struct trace *syn_open(struct syn *s)
{
	return open_as(s, false);
}

struct trace *syn_open_partial(struct syn *s)
{
	return open_as(s, true);
}
