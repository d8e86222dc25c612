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
#define GRAPH_MOST 16 /* neighbours */

static void *need(void *p)
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

	d->comm = need(realloc(d->comm, (d->n_comm + 1u) * sizeof(*d->comm)));
	c = &d->comm[d->n_comm];
	*c = (struct trace_comm){.kind = TCOMM_INTRA};
	c->members.rank = need(malloc(n * sizeof(*member)));
	memcpy(c->members.rank, member, n * sizeof(*member));
	c->members.n = n;
	return d->n_comm++;
}

uint32_t syn_win(struct syn *s, uint32_t rank, uint32_t comm, uint64_t size)
{
	struct trace_defs *d = &s->rank[rank].defs;

	d->win = need(realloc(d->win, (d->n_win + 1u) * sizeof(*d->win)));
	d->win[d->n_win] = (struct trace_win){.kind = TWIN_CREATE, .comm = comm, .ordinal = d->n_win, .size = size,
					      .disp_unit = 8};
	return d->n_win++;
}

uint32_t syn_file(struct syn *s, uint32_t rank, uint32_t comm, const char *name)
{
	struct trace_defs *d = &s->rank[rank].defs;

	d->file = need(realloc(d->file, (d->n_file + 1u) * sizeof(*d->file)));
	d->file[d->n_file] = (struct trace_file){.comm = comm, .amode = TFILE_RDWR, .name = need(strdup(name))};
	return d->n_file++;
}

static void add_type(struct trace_defs *d, const char *name, int64_t size)
{
	d->type = need(realloc(d->type, (d->n_type + 1u) * sizeof(*d->type)));
	d->type[d->n_type++] =
		(struct trace_type){.name = need(strdup(name)), .combiner = TCOMB_NAMED, .size = size, .extent = size};
}

static uint32_t site_index(struct trace_defs *d, uint64_t site)
{
	for (uint32_t i = 0; i < d->n_site; i++)
		if (d->site[i].hash == site)
			return i;
	d->site = need(realloc(d->site, (d->n_site + 1u) * sizeof(*d->site)));
	d->site[d->n_site] = (struct trace_site){.hash = site, .n_frame = 1, .offset = {0x1000 + 16 * site}};
	return d->n_site++;
}

static void init_rank(struct syn *s, uint32_t rank, const uint32_t *world)
{
	struct syn_rank *r = &s->rank[rank];
	struct trace_defs *d = &r->defs;

	r->fold = need(fold_create());
	syn_comm(s, rank, world, s->n_ranks);
	syn_comm(s, rank, &rank, 1);
	add_type(d, "MPI_DOUBLE", 8);
	add_type(d, "MPI_INT", 4);
	add_type(d, "MPI_BYTE", 1);
	d->op = need(calloc(1, sizeof(*d->op)));
	d->op[0] = (struct trace_op){need(strdup("MPI_SUM")), 1};
	d->n_op = 1;
	d->module = need(calloc(1, sizeof(*d->module)));
	d->module[0] = (struct trace_module){need(strdup("/usr/bin/simulated")), need(strdup("ab12"))};
	d->n_module = 1;
	d->proc = (struct trace_proc){.host = need(strdup("node1")), .program = need(strdup("/usr/bin/simulated")),
				      .pid = 1000 + rank, .ns_per_tick = 1.0, .start_real_ns = 1000000000,
				      .finalized = 1};
}

struct syn *syn_create(uint32_t n_ranks)
{
	struct syn *s = need(calloc(1, sizeof(*s)));
	uint32_t *world = need(calloc(n_ranks, sizeof(*world)));

	s->n_ranks = n_ranks;
	s->rank = need(calloc(n_ranks, sizeof(*s->rank)));
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
static const int64_t first_request[1] = {0};

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
		r->sym = need(realloc(r->sym, r->cap * sizeof(*r->sym)));
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

	r->sample = need(realloc(r->sample, (r->n_sample + 1u) * sizeof(*r->sample)));
	r->sample[r->n_sample++] =
		(struct trace_sample){.flags = TSAMPLE_BORDER, .event = r->n, .tick = r->ticks, .delayed_ns = delayed_ns};
}

/* ---- the file ---- */

static void encode_samples(const struct syn_rank *r, struct buf *raw)
{
	struct trace_sample *sample = need(calloc(r->n_sample + 2u, sizeof(*sample)));
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

/* ---- programs ---- */

/* Neighbour of a rank on a grid, row-major: TRACE_PROC_NULL outside an open border. */
static int64_t neighbour(uint32_t columns, uint32_t rows, uint32_t rank, int dc, int dr, enum syn_border border)
{
	int64_t c = (int64_t)(rank % columns) + dc, r = (int64_t)(rank / columns) + dr;

	if (border == SYN_PERIODIC) {
		c = (c + columns) % columns;
		r = (r + rows) % rows;
	}
	if (c < 0 || r < 0 || c >= columns || r >= rows)
		return TRACE_PROC_NULL;
	return r * columns + c;
}

struct syn *syn_stencil(uint32_t columns, uint32_t rows, uint32_t iterations, enum syn_border border)
{
	static const int dc[4] = {-1, 1, 0, 0}, dr[4] = {0, 0, -1, 1};
	struct syn *s = syn_create(columns * rows);

	syn_begin(s);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		syn_call(s, r, "MPI_Bcast", 10, SYN(.count = 4, .type = 1));
		for (uint32_t i = 0; i < iterations; i++) {
			int64_t reqs[8];
			uint32_t n = 0;

			for (int k = 0; k < 4; k++) {
				int64_t p = neighbour(columns, rows, r, dc[k], dr[k], border);

				if (border == SYN_SKIP && p < 0)
					continue;
				syn_call(s, r, "MPI_Irecv", 20 + k, SYN(.src = p, .tag = k ^ 1, .count = 100, .req = n));
				reqs[n] = n;
				n++;
			}
			for (int k = 0; k < 4; k++) {
				int64_t p = neighbour(columns, rows, r, dc[k], dr[k], border);

				if (border == SYN_SKIP && p < 0)
					continue;
				syn_call(s, r, "MPI_Isend", 30 + k, SYN(.dst = p, .tag = k, .count = 100, .req = n));
				reqs[n] = n;
				n++;
			}
			syn_call(s, r, "MPI_Waitall", 40, SYN(.reqs = reqs, .n_reqs = n, .dur_ns = 2000));
			if (i % 10 == 9)
				syn_call(s, r, "MPI_Allreduce", 41, SYN(.tag = 0));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_wavefront(uint32_t columns, uint32_t rows, uint32_t planes, uint32_t iterations)
{
	struct syn *s = syn_create(columns * rows);

	syn_begin(s);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		int64_t w = neighbour(columns, rows, r, -1, 0, SYN_PROC_NULL);
		int64_t e = neighbour(columns, rows, r, 1, 0, SYN_PROC_NULL);
		int64_t n = neighbour(columns, rows, r, 0, -1, SYN_PROC_NULL);
		int64_t t = neighbour(columns, rows, r, 0, 1, SYN_PROC_NULL);

		for (uint32_t i = 0; i < iterations; i++) {
			for (uint32_t k = 0; k < planes; k++) {
				if (n >= 0)
					syn_call(s, r, "MPI_Recv", 20, SYN(.src = n, .tag = 1, .count = 40));
				if (w >= 0)
					syn_call(s, r, "MPI_Recv", 21, SYN(.src = w, .tag = 1, .count = 40));
				if (t >= 0)
					syn_call(s, r, "MPI_Send", 22, SYN(.dst = t, .tag = 1, .count = 40));
				if (e >= 0)
					syn_call(s, r, "MPI_Send", 23, SYN(.dst = e, .tag = 1, .count = 40));
			}
			for (uint32_t k = 0; k < planes; k++) {
				if (t >= 0)
					syn_call(s, r, "MPI_Recv", 30, SYN(.src = t, .tag = 2, .count = 40));
				if (e >= 0)
					syn_call(s, r, "MPI_Recv", 31, SYN(.src = e, .tag = 2, .count = 40));
				if (n >= 0)
					syn_call(s, r, "MPI_Send", 32, SYN(.dst = n, .tag = 2, .count = 40));
				if (w >= 0)
					syn_call(s, r, "MPI_Send", 33, SYN(.dst = w, .tag = 2, .count = 40));
			}
			syn_call(s, r, "MPI_Allreduce", 40, SYN(.count = 5));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_cg(uint32_t columns, uint32_t rows, uint32_t iterations)
{
	struct syn *s = syn_create(columns * rows);
	uint32_t *member = need(calloc(columns, sizeof(*member)));

	syn_begin(s);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		uint32_t me = r % columns, comm;

		for (uint32_t c = 0; c < columns; c++)
			member[c] = r / columns * columns + c;
		comm = syn_comm(s, r, member, columns);
		syn_call(s, r, "MPI_Comm_split", 10, SYN(.integer = r / columns, .newcomm = comm));
		for (uint32_t i = 0; i < iterations; i++) {
			for (uint32_t m = 1; m < columns; m *= 2) {
				syn_call(s, r, "MPI_Irecv", 20, SYN(.comm = comm, .src = me ^ m, .tag = 1, .count = 70));
				syn_call(s, r, "MPI_Send", 21, SYN(.comm = comm, .dst = me ^ m, .tag = 1, .count = 70));
				syn_call(s, r, "MPI_Wait", 22, SYN(.reqs = first_request, .n_reqs = 1));
			}
			if (columns == rows)
				syn_call(s, r, "MPI_Send", 25, SYN(.dst = r % columns * columns + r / columns));
			syn_call(s, r, "MPI_Allreduce", 30, SYN(.tag = 0));
		}
	}
	syn_end(s);
	free(member);
	return s;
}

struct syn *syn_ring(uint32_t n_ranks, uint32_t iterations)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++) {
		int64_t to = (r + 1) % n_ranks, from = (r + n_ranks - 1) % n_ranks;

		for (uint32_t i = 0; i < iterations; i++) {
			if (r == 0)
				syn_call(s, r, "MPI_Send", 20, SYN(.dst = to, .count = 8));
			syn_call(s, r, "MPI_Recv", 21, SYN(.src = from, .count = 8));
			if (r)
				syn_call(s, r, "MPI_Send", 22, SYN(.dst = to, .count = 8));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_pipeline(uint32_t n_ranks, uint32_t iterations)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (uint32_t i = 0; i < iterations; i++) {
			if (r)
				syn_call(s, r, "MPI_Recv", 20, SYN(.src = r - 1, .count = 64));
			if (r + 1 < n_ranks)
				syn_call(s, r, "MPI_Send", 21, SYN(.dst = r + 1, .count = 64));
		}
	syn_end(s);
	return s;
}

struct syn *syn_master_worker(uint32_t n_ranks, uint32_t tasks, uint64_t seed)
{
	struct syn *s = syn_create(n_ranks);
	uint32_t *done = need(calloc(n_ranks, sizeof(*done)));

	syn_begin(s);
	for (uint32_t k = 0; k < tasks; k++) {
		uint32_t w = 1 + (uint32_t)(syn_random(&seed) % (n_ranks - 1));

		syn_call(s, 0, "MPI_Recv", 20, SYN(.src = TRACE_ANY_SOURCE, .asrc = w, .count = 3));
		syn_call(s, 0, "MPI_Send", 21, SYN(.dst = w, .count = 1 + (int64_t)(k % 7)));
		done[w]++;
	}
	for (uint32_t r = 1; r < n_ranks; r++)
		for (uint32_t k = 0; k < done[r]; k++) {
			syn_call(s, r, "MPI_Send", 30, SYN(.dst = 0, .count = 3));
			syn_call(s, r, "MPI_Recv", 31, SYN(.src = 0, .count = 9));
		}
	syn_end(s);
	free(done);
	return s;
}

struct syn *syn_reneighbour(uint32_t n_ranks, uint32_t iterations, uint32_t every)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++) {
		uint64_t state = 77 + r;
		int64_t count = 1000;

		for (uint32_t i = 0; i < iterations; i++) {
			if (i % every == 0) {
				count = 1000 + (int64_t)(syn_random(&state) % 100);
				syn_call(s, r, "MPI_Sendrecv", 19, SYN(.dst = (r + 1) % n_ranks,
								       .src = (r + n_ranks - 1) % n_ranks));
			}
			for (int k = 0; k < 2; k++) {
				int64_t p = (r + (k ? 1 : n_ranks - 1)) % n_ranks, q = (r + (k ? n_ranks - 1 : 1)) % n_ranks;

				syn_call(s, r, "MPI_Irecv", 20, SYN(.src = q, .count = 4000));
				syn_call(s, r, "MPI_Send", 21, SYN(.dst = p, .count = count));
				syn_call(s, r, "MPI_Wait", 22, SYN(.reqs = first_request, .n_reqs = 1));
			}
			if (i % 50 == 49)
				syn_call(s, r, "MPI_Allreduce", 23, SYN(.count = 6));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_checkpoint(uint32_t n_ranks, uint32_t iterations)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (uint32_t i = 0; i < iterations; i++) {
			syn_call(s, r, "MPI_Allreduce", 20, SYN(.count = 2));
			if (r == 0 && i % 10 == 9)
				syn_call(s, r, "MPI_Send", 21, SYN(.comm = 1, .dst = 0, .count = 1));
		}
	syn_end(s);
	return s;
}

struct syn *syn_graph(uint32_t n_ranks, uint32_t degree, uint32_t iterations, uint64_t seed)
{
	struct syn *s = syn_create(n_ranks);
	uint32_t *peer = need(calloc((size_t)n_ranks * GRAPH_MOST, sizeof(*peer))), *n = need(calloc(n_ranks, sizeof(*n)));

	for (uint64_t k = 0; k < (uint64_t)n_ranks * degree / 2; k++) {
		uint32_t a = (uint32_t)(syn_random(&seed) % n_ranks), b = (uint32_t)(syn_random(&seed) % n_ranks);

		if (a == b || n[a] == GRAPH_MOST || n[b] == GRAPH_MOST)
			continue;
		peer[a * GRAPH_MOST + n[a]++] = b;
		peer[b * GRAPH_MOST + n[b]++] = a;
	}
	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (uint32_t i = 0; i < iterations; i++) {
			for (uint32_t k = 0; k < n[r]; k++)
				syn_call(s, r, "MPI_Irecv", 20, SYN(.src = peer[r * GRAPH_MOST + k], .count = 50 + k, .req = k));
			for (uint32_t k = 0; k < n[r]; k++)
				syn_call(s, r, "MPI_Send", 21, SYN(.dst = peer[r * GRAPH_MOST + k], .count = 50 + r % 7));
			for (uint32_t k = 0; k < n[r]; k++) {
				int64_t slot = k;

				syn_call(s, r, "MPI_Wait", 22, SYN(.reqs = &slot, .n_reqs = 1));
			}
			syn_call(s, r, "MPI_Allreduce", 23, SYN(.count = 2));
		}
	syn_end(s);
	free(peer);
	free(n);
	return s;
}

/* ---- random nested programs ---- */

#define PROGRAM_MAX 64

struct statement {
	uint8_t kind; /* 0 send, 1 receive, 2 allreduce, 3 loop */
	uint8_t drop; /* ranks that omit it, in quarters; 0: none */
	uint8_t vary; /* counts change between iterations */
	uint8_t by_rank; /* the number of iterations depends on the rank */
	uint32_t site, count, n_child, child[4];
};

struct program {
	struct statement st[PROGRAM_MAX];
	uint32_t n;
	uint64_t state;
};

static uint32_t random_statement(struct program *p, int depth)
{
	uint32_t i = p->n++;
	struct statement *st = &p->st[i];

	st->kind = (uint8_t)(syn_random(&p->state) % (depth < 3 ? 6 : 3));
	st->kind = st->kind > 3 ? 3 : st->kind;
	st->drop = syn_random(&p->state) % 3 ? 0 : (uint8_t)(syn_random(&p->state) % 4);
	st->vary = syn_random(&p->state) % 8 == 0;
	st->by_rank = syn_random(&p->state) % 6 == 0;
	st->site = 100 + (syn_random(&p->state) % 5 ? i : 0);
	st->count = 1 + (uint32_t)(syn_random(&p->state) % 6);
	for (uint32_t k = 1 + (uint32_t)(syn_random(&p->state) % 4); st->kind == 3 && k && p->n < PROGRAM_MAX - 8; k--) {
		uint32_t c = random_statement(p, depth + 1);

		p->st[i].child[p->st[i].n_child++] = c;
	}
	return i;
}

static void run_statement(struct syn *s, uint32_t r, const struct program *p, uint32_t i, uint32_t iteration)
{
	const struct statement *st = &p->st[i];
	int64_t count = st->count + (st->vary ? iteration % 3 : 0);

	if (st->drop && (r * 2654435761u + i * 40503u) >> 16 & 3 && ((r * 2654435761u + i * 40503u) >> 16 & 3) <= st->drop)
		return;
	if (st->kind == 0)
		syn_call(s, r, "MPI_Send", st->site, SYN(.dst = (r + st->count) % s->n_ranks, .count = count));
	else if (st->kind == 1)
		syn_call(s, r, "MPI_Recv", st->site, SYN(.src = r ? 0 : TRACE_PROC_NULL, .count = count));
	else if (st->kind == 2)
		syn_call(s, r, "MPI_Allreduce", st->site, SYN(.count = count));
	for (uint32_t k = 0; st->kind == 3 && k < st->count + (st->by_rank ? r % 4 : 0); k++)
		for (uint32_t c = 0; c < st->n_child; c++)
			run_statement(s, r, p, st->child[c], k);
}

struct syn *syn_irregular(uint32_t n_ranks, uint64_t seed)
{
	struct program p = {.state = seed * 0x9e3779b97f4a7c15ull + 1};
	struct syn *s = syn_create(n_ranks);
	uint32_t top[6];

	for (int k = 0; k < 6; k++)
		top[k] = p.n < PROGRAM_MAX - 8 ? random_statement(&p, 0) : 0;
	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (int k = 0; k < 6; k++)
			run_statement(s, r, &p, top[k], 0);
	syn_end(s);
	return s;
}
