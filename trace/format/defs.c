/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encoding and decoding of a rank's definitions: one function per kind; decode_* mirrors encode_*. Signatures: see
 * sigs.h.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "trace/format/defs.h"
#include "trace/format/defs_journal.h"
#include "trace/format/sigs.h"
#include "trace/format/event.h"
#include "trace/functions.h"

#define MAX_NAME   4096
#define MAX_VALUES (1u << 24)

/* Names are shown. Paths of modules are opened too, and stay as they are. */
static char *name_read(struct rdbuf *in)
{
	return clean_line(rdbuf_str(in, MAX_NAME));
}

static void group_free(struct trace_group *g)
{
	if (!g->shared)
		free(g->rank);
}

void trace_defs_free(struct trace_defs *d)
{
	for (uint32_t i = 0; i < d->n_comm; i++) {
		group_free(&d->comm[i].members);
		group_free(&d->comm[i].remote);
	}
	for (uint32_t i = 0; i < d->n_type; i++) {
		free(d->type[i].name);
		free(d->type[i].integer);
		free(d->type[i].addr);
		free(d->type[i].sub);
	}
	for (uint32_t i = 0; i < d->n_op; i++)
		free(d->op[i].name);
	for (uint32_t i = 0; i < d->n_module; i++) {
		free(d->module[i].path);
		free(d->module[i].build_id);
	}
	for (uint32_t i = 0; i < d->n_counted; i++)
		free(d->counted[i].name);
	for (uint32_t i = 0; i < d->n_file; i++)
		free(d->file[i].name);
	free(d->win);
	free(d->file);
	free(d->proc.ended);
	free(d->proc.network);
	free(d->comm);
	free(d->type);
	free(d->op);
	free(d->module);
	free(d->site);
	free(d->counted);
	free(d->proc.host);
	free(d->proc.program);
	group_free(&d->proc.in_call.group);
	sigtable_free(&d->sigs);
	*d = (struct trace_defs){0};
}

/* ---- groups: runs of equally spaced ranks ---- */

static void encode_group(const struct trace_group *g, struct buf *b)
{
	buf_put_uv(b, g->n);
	for (uint32_t i = 0; i < g->n;) {
		int64_t stride = i + 1 < g->n ? (int64_t)g->rank[i + 1] - g->rank[i] : 1;
		uint32_t n = 1;

		while (i + n < g->n && (int64_t)g->rank[i + n] - g->rank[i + n - 1] == stride)
			n++;
		buf_put_uv(b, g->rank[i]);
		buf_put_sv(b, stride);
		buf_put_uv(b, n);
		i += n;
	}
}

static int decode_group(struct rdbuf *in, uint32_t n_ranks, struct trace_group *g)
{
	uint64_t n = rdbuf_uv(in);

	if (in->failed || n > n_ranks)
		return -1;
	g->rank = calloc(n ? n : 1, sizeof(*g->rank));
	if (!g->rank)
		return -1;
	while (g->n < n) {
		uint64_t first = rdbuf_uv(in), run;
		int64_t stride = rdbuf_sv(in);

		run = rdbuf_uv(in);
		if (in->failed || !run || run > n - g->n || first >= n_ranks || stride > (int64_t)n_ranks ||
		    stride < -(int64_t)n_ranks)
			return -1;
		for (uint64_t k = 0; k < run; k++) {
			int64_t r = (int64_t)first + (int64_t)k * stride;

			if (r < 0 || r >= (int64_t)n_ranks)
				return -1;
			g->rank[g->n++] = (uint32_t)r;
		}
	}
	return 0;
}

/* ---- communicators, datatypes, operations ---- */

static void encode_comm(const struct trace_comm *c, struct buf *b)
{
	buf_put_u8(b, c->kind);
	buf_put_uv(b, c->ordinal);
	encode_group(&c->members, b);
	encode_group(&c->remote, b);
}

/* Allocate an array of n elements. Each element takes at least one byte of input, which bounds n. */
static void *decode_array(struct rdbuf *in, uint32_t *n, size_t size)
{
	uint64_t v = rdbuf_uv(in);
	void *p;

	*n = 0;
	if (in->failed || v > rdbuf_left(in) || v > MAX_VALUES) {
		in->failed = true;
		return NULL;
	}
	p = calloc(v ? v : 1, size);
	if (!p)
		in->failed = true;
	else
		*n = (uint32_t)v;
	return p;
}

static int decode_comms(struct rdbuf *in, uint32_t n_ranks, struct trace_defs *d)
{
	d->comm = decode_array(in, &d->n_comm, sizeof(*d->comm));
	for (uint32_t i = 0; !in->failed && i < d->n_comm; i++) {
		struct trace_comm *c = &d->comm[i];

		c->kind = rdbuf_u8(in);
		c->ordinal = (uint32_t)rdbuf_uv(in);
		if (c->kind > TCOMM_INTER || decode_group(in, n_ranks, &c->members) < 0 ||
		    decode_group(in, n_ranks, &c->remote) < 0)
			return -1;
	}
	return in->failed ? -1 : 0;
}

static void encode_type(const struct trace_type *t, struct buf *b)
{
	buf_put_str(b, t->name);
	buf_put_uv(b, (uint64_t)t->combiner);
	buf_put_uv(b, t->n_int);
	for (uint32_t k = 0; k < t->n_int; k++)
		buf_put_sv(b, t->integer[k]);
	buf_put_uv(b, t->n_addr);
	for (uint32_t k = 0; k < t->n_addr; k++)
		buf_put_sv(b, t->addr[k]);
	buf_put_uv(b, t->n_sub);
	for (uint32_t k = 0; k < t->n_sub; k++)
		buf_put_uv(b, t->sub[k]);
	buf_put_sv(b, t->size);
	buf_put_sv(b, t->lb);
	buf_put_sv(b, t->extent);
}

static int decode_types(struct rdbuf *in, struct trace_defs *d)
{
	d->type = decode_array(in, &d->n_type, sizeof(*d->type));
	for (uint32_t i = 0; !in->failed && i < d->n_type; i++) {
		struct trace_type *t = &d->type[i];
		uint64_t comb;

		t->name = name_read(in);
		comb = rdbuf_uv(in);
		t->integer = decode_array(in, &t->n_int, sizeof(*t->integer));
		for (uint32_t k = 0; k < t->n_int; k++)
			t->integer[k] = rdbuf_sv(in);
		t->addr = decode_array(in, &t->n_addr, sizeof(*t->addr));
		for (uint32_t k = 0; k < t->n_addr; k++)
			t->addr[k] = rdbuf_sv(in);
		t->sub = decode_array(in, &t->n_sub, sizeof(*t->sub));
		for (uint32_t k = 0; k < t->n_sub; k++) {
			uint64_t s = rdbuf_uv(in);

			if (s >= i)
				return -1;
			t->sub[k] = (uint32_t)s;
		}
		t->size = rdbuf_sv(in);
		t->lb = rdbuf_sv(in);
		t->extent = rdbuf_sv(in);
		if (comb >= TCOMB_N || t->size < 0)
			return -1;
		t->combiner = (int32_t)comb;
		if (t->name && !*t->name) {
			free(t->name);
			t->name = NULL;
		}
	}
	return in->failed ? -1 : 0;
}

static void encode_op(const struct trace_op *o, struct buf *b)
{
	buf_put_str(b, o->name);
	buf_put_u8(b, o->commutes);
}

static int decode_ops(struct rdbuf *in, struct trace_defs *d)
{
	d->op = decode_array(in, &d->n_op, sizeof(*d->op));
	for (uint32_t i = 0; !in->failed && i < d->n_op; i++) {
		d->op[i].name = name_read(in);
		d->op[i].commutes = rdbuf_u8(in);
	}
	return in->failed ? -1 : 0;
}

/* ---- windows and files ---- */

static void encode_win(const struct trace_win *w, struct buf *b)
{
	buf_put_u8(b, w->kind);
	buf_put_uv(b, w->comm);
	buf_put_uv(b, w->ordinal);
	buf_put_uv(b, w->size);
	buf_put_uv(b, w->disp_unit);
}

static void encode_file(const struct trace_file *f, struct buf *b)
{
	buf_put_uv(b, f->comm);
	buf_put_uv(b, f->ordinal);
	buf_put_uv(b, (uint64_t)f->amode);
	buf_put_str(b, f->name);
}

static int decode_windows(struct rdbuf *in, struct trace_defs *d)
{
	d->win = decode_array(in, &d->n_win, sizeof(*d->win));
	for (uint32_t i = 0; !in->failed && i < d->n_win; i++) {
		struct trace_win *w = &d->win[i];

		w->kind = rdbuf_u8(in);
		w->comm = (uint32_t)rdbuf_uv(in);
		w->ordinal = (uint32_t)rdbuf_uv(in);
		w->size = rdbuf_uv(in);
		w->disp_unit = (uint32_t)rdbuf_uv(in);
		if (w->kind > TWIN_DYNAMIC || w->comm >= d->n_comm)
			return -1;
	}
	d->file = decode_array(in, &d->n_file, sizeof(*d->file));
	for (uint32_t i = 0; !in->failed && i < d->n_file; i++) {
		struct trace_file *f = &d->file[i];

		f->comm = (uint32_t)rdbuf_uv(in);
		f->ordinal = (uint32_t)rdbuf_uv(in);
		f->amode = (int32_t)(rdbuf_uv(in) & 0xffff);
		f->name = name_read(in);
		if (f->comm >= d->n_comm)
			return -1;
	}
	return in->failed ? -1 : 0;
}

/* ---- call sites ---- */

static void encode_module(const struct trace_module *m, struct buf *b)
{
	buf_put_str(b, m->path);
	buf_put_str(b, m->build_id);
}

static void encode_site(const struct trace_site *s, struct buf *b)
{
	buf_put_u64(b, s->hash);
	buf_put_u8(b, s->n_frame);
	for (int k = 0; k < s->n_frame; k++) {
		buf_put_uv(b, s->module[k]);
		buf_put_uv(b, s->offset[k]);
	}
}

static int decode_sites(struct rdbuf *in, struct trace_defs *d)
{
	d->module = decode_array(in, &d->n_module, sizeof(*d->module));
	for (uint32_t i = 0; !in->failed && i < d->n_module; i++) {
		d->module[i].path = rdbuf_str(in, MAX_NAME);
		d->module[i].build_id = name_read(in);
	}
	if (in->failed)
		return -1;
	d->site = decode_array(in, &d->n_site, sizeof(*d->site));
	for (uint32_t i = 0; !in->failed && i < d->n_site; i++) {
		struct trace_site *s = &d->site[i];

		s->hash = rdbuf_u64(in);
		s->n_frame = rdbuf_u8(in);
		if (s->n_frame > TRACE_SITE_MAX_FRAMES)
			return -1;
		for (int k = 0; k < s->n_frame; k++) {
			uint64_t m = rdbuf_uv(in);

			if (m >= d->n_module)
				return -1;
			s->module[k] = (uint32_t)m;
			s->offset[k] = rdbuf_uv(in);
		}
	}
	return in->failed ? -1 : 0;
}

/* ---- the process ---- */

static void put_double(struct buf *b, double v)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	buf_put_u64(b, u);
}

static double get_double(struct rdbuf *in)
{
	uint64_t u = rdbuf_u64(in);
	double v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

/* An empty function name means that the process was in no call; otherwise the parameters follow. */
static void encode_in_call(const struct trace_in_call *c, struct buf *b)
{
	if (!c->inside) {
		buf_put_str(b, "");
		return;
	}
	buf_put_str(b, trace_fn[c->fn].name);
	buf_put_uv(b, (uint64_t)(uint32_t)(c->site + 1));
	buf_put_sv(b, c->comm);
	buf_put_sv(b, c->win);
	buf_put_sv(b, c->dst);
	buf_put_sv(b, c->src);
	buf_put_sv(b, c->tag);
	buf_put_uv(b, c->requests);
	buf_put_uv(b, c->ticks);
}

/* Members that came later. */
static void encode_in_call_more(const struct trace_in_call *c, struct buf *b)
{
	buf_put_sv(b, c->inside ? c->file : TRACE_NULL);
	buf_put_uv(b, c->lock);
	buf_put_uv(b, 0); /* length of the group's list in older traces */
}

void trace_defs_encode_proc(const struct trace_defs *d, struct buf *b)
{
	const struct trace_proc *p = &d->proc;

	buf_put_str(b, p->host);
	buf_put_str(b, p->program);
	buf_put_uv(b, p->pid);
	put_double(b, p->ns_per_tick);
	buf_put_uv(b, p->start_real_ns);
	buf_put_uv(b, p->end_ticks);
	buf_put_uv(b, p->init_ns);
	buf_put_uv(b, p->before_ns);
	buf_put_uv(b, p->cpu_ns);
	buf_put_uv(b, p->polls);
	buf_put_uv(b, p->poll_ticks);
	put_double(b, p->overhead_ticks);
	buf_put_u8(b, p->thread_level);
	buf_put_u8(b, p->finalized);
	for (int s = 0; s < 4; s++)
		buf_put_uv(b, p->state_ticks[s]);
	buf_put_uv(b, p->dropped_events);
	buf_put_str(b, p->ended ? p->ended : "");
	buf_put_u8(b, p->clock.n);
	for (int i = 0; i < p->clock.n; i++) {
		buf_put_uv(b, p->clock.tick[i]);
		put_double(b, p->clock.offset_ns[i]);
		put_double(b, p->clock.error_ns[i]);
	}
	buf_put_uv(b, d->n_counted);
	for (uint32_t i = 0; i < d->n_counted; i++) {
		buf_put_str(b, d->counted[i].name);
		buf_put_uv(b, d->counted[i].calls);
	}
	buf_put_uv(b, p->processors);
	buf_put_u64(b, p->processor_set);
	buf_put_uv(b, p->throttled_ns);
	buf_put_uv(b, p->host_processors);
	buf_put_str(b, p->network ? p->network : "");
	encode_in_call(&p->in_call, b);
	buf_put_uv(b, p->devices);
	buf_put_uv(b, p->in_call.bytes);
	encode_in_call_more(&p->in_call, b);
	buf_put_uv(b, p->n_place);
	for (uint32_t i = 0; i < p->n_place; i++)
		buf_put_uv(b, p->place[i]);
	encode_group(&p->in_call.group, b);
}

static int decode_in_call(struct rdbuf *in, const struct trace_defs *d, struct trace_in_call *c)
{
	char *name = name_read(in);

	c->fn = name ? trace_fn_by_name(name) : TRACE_FN_N;
	free(name);
	if (in->failed || c->fn == TRACE_FN_N)
		return in->failed ? -1 : 0;
	c->inside = true;
	c->site = (uint32_t)(rdbuf_uv(in) - 1);
	c->comm = rdbuf_sv(in);
	c->win = rdbuf_sv(in);
	c->dst = rdbuf_sv(in);
	c->src = rdbuf_sv(in);
	c->tag = rdbuf_sv(in);
	c->requests = rdbuf_uv(in);
	c->ticks = rdbuf_uv(in);
	if ((c->site != UINT32_MAX && c->site >= d->n_site) || c->comm >= (int64_t)d->n_comm || c->win >= (int64_t)d->n_win ||
	    c->ticks > UINT64_MAX / 4)
		return -1;
	return in->failed ? -1 : 0;
}

static int decode_in_call_more(struct rdbuf *in, uint32_t n_ranks, const struct trace_defs *d, struct trace_in_call *c)
{
	uint64_t n;

	c->file = rdbuf_sv(in);
	c->lock = (uint8_t)rdbuf_uv(in);
	n = rdbuf_uv(in);
	if (c->file >= (int64_t)d->n_file || n > n_ranks)
		return -1;
	if (n && !(c->group.rank = calloc(n, sizeof(*c->group.rank))))
		return -1;
	while (c->group.n < n)
		c->group.rank[c->group.n++] = (uint32_t)rdbuf_sv(in);
	return in->failed ? -1 : 0;
}

static int decode_places(struct rdbuf *in, const struct trace_defs *d, struct trace_proc *p)
{
	uint64_t n = rdbuf_uv(in);

	if (n > TRACE_PLACES_MAX)
		return -1;
	for (p->n_place = 0; p->n_place < n; p->n_place++) {
		p->place[p->n_place] = (uint32_t)rdbuf_uv(in);
		if (p->place[p->n_place] >= d->n_site)
			return -1;
	}
	return in->failed ? -1 : 0;
}

static int decode_clock(struct rdbuf *in, struct trace_clock_fix *c)
{
	c->n = rdbuf_u8(in);
	if (c->n > 2)
		return -1;
	for (int i = 0; i < c->n; i++) {
		c->tick[i] = rdbuf_uv(in);
		c->offset_ns[i] = get_double(in);
		c->error_ns[i] = get_double(in);
		if (!(c->offset_ns[i] > -1e19 && c->offset_ns[i] < 1e19) || !(c->error_ns[i] >= 0 && c->error_ns[i] < 1e19))
			return -1;
	}
	return 0;
}

static int decode_proc(struct rdbuf *in, uint32_t n_ranks, struct trace_defs *d)
{
	struct trace_proc *p = &d->proc;

	p->host = name_read(in);
	p->program = name_read(in);
	p->pid = (uint32_t)rdbuf_uv(in);
	p->ns_per_tick = get_double(in);
	p->start_real_ns = rdbuf_uv(in);
	p->end_ticks = rdbuf_uv(in);
	p->init_ns = rdbuf_uv(in);
	p->before_ns = rdbuf_uv(in);
	p->cpu_ns = rdbuf_uv(in);
	p->polls = rdbuf_uv(in);
	p->poll_ticks = rdbuf_uv(in);
	p->overhead_ticks = get_double(in);
	p->thread_level = rdbuf_u8(in);
	p->finalized = rdbuf_u8(in);
	for (int s = 0; s < 4; s++)
		p->state_ticks[s] = rdbuf_uv(in);
	p->dropped_events = rdbuf_uv(in);
	p->ended = name_read(in);
	if (decode_clock(in, &p->clock) < 0)
		return -1;
	if (!(p->ns_per_tick > 1e-6 && p->ns_per_tick < 1e6) ||
	    !(p->overhead_ticks >= 0 && p->overhead_ticks < 1e9))
		return -1;
	d->counted = decode_array(in, &d->n_counted, sizeof(*d->counted));
	for (uint32_t i = 0; !in->failed && i < d->n_counted; i++) {
		d->counted[i].name = name_read(in);
		d->counted[i].calls = rdbuf_uv(in);
	}
	if (!in->failed && rdbuf_left(in)) { /* traces of older versions end here */
		p->processors = (uint32_t)rdbuf_uv(in);
		p->processor_set = rdbuf_u64(in);
		p->throttled_ns = rdbuf_uv(in);
	}
	if (!in->failed && rdbuf_left(in)) { /* and here */
		p->host_processors = (uint32_t)rdbuf_uv(in);
		p->network = name_read(in);
	}
	if (!in->failed && rdbuf_left(in) && decode_in_call(in, d, &p->in_call) < 0) /* and here */
		return -1;
	if (!in->failed && rdbuf_left(in)) /* and here */
		p->devices = rdbuf_uv(in);
	if (!in->failed && rdbuf_left(in)) /* and here */
		p->in_call.bytes = rdbuf_uv(in);
	p->in_call.file = TRACE_NULL;
	if (!in->failed && rdbuf_left(in) && decode_in_call_more(in, n_ranks, d, &p->in_call) < 0) /* and here */
		return -1;
	if (!in->failed && rdbuf_left(in) && decode_places(in, d, p) < 0) /* and here */
		return -1;
	if (!in->failed && rdbuf_left(in)) { /* and here */
		free(p->in_call.group.rank);
		p->in_call.group = (struct trace_group){0};
		if (decode_group(in, n_ranks, &p->in_call.group) < 0)
			return -1;
	}
	return in->failed ? -1 : 0;
}

uint32_t trace_defs_count(const struct trace_defs *d, enum trace_def_kind kind)
{
	switch (kind) {
	case TDEF_COMM: return d->n_comm;
	case TDEF_TYPE: return d->n_type;
	case TDEF_OP: return d->n_op;
	case TDEF_WIN: return d->n_win;
	case TDEF_FILE: return d->n_file;
	case TDEF_MODULE: return d->n_module;
	case TDEF_SITE: return d->n_site;
	case TDEF_SIG: return d->sigs.n;
	default: return 0;
	}
}

void trace_defs_encode_one(const struct trace_defs *d, enum trace_def_kind kind, uint32_t i, uint32_t fn, struct buf *b)
{
	switch (kind) {
	case TDEF_COMM: encode_comm(&d->comm[i], b); break;
	case TDEF_TYPE: encode_type(&d->type[i], b); break;
	case TDEF_OP: encode_op(&d->op[i], b); break;
	case TDEF_WIN: encode_win(&d->win[i], b); break;
	case TDEF_FILE: encode_file(&d->file[i], b); break;
	case TDEF_MODULE: encode_module(&d->module[i], b); break;
	case TDEF_SITE: encode_site(&d->site[i], b); break;
	case TDEF_SIG: sigs_encode_one(d, i, fn, b); break;
	default: break;
	}
}

void trace_defs_encode(const struct trace_defs *d, struct buf *out)
{
	for (enum trace_def_kind kind = 0; kind < TDEF_FN; kind++) {
		uint32_t n = trace_defs_count(d, kind);

		buf_put_uv(out, n);
		for (uint32_t i = 0; i < n; i++)
			trace_defs_encode_one(d, kind, i, 0, out);
	}
	sigs_encode(d, out);
	trace_defs_encode_proc(d, out);
}

int trace_defs_decode(struct rdbuf *in, uint32_t n_ranks, struct trace_defs *out, struct errbuf *err)
{
	*out = (struct trace_defs){0};
	if (decode_comms(in, n_ranks, out) < 0)
		err_set(err, "malformed communicators");
	else if (decode_types(in, out) < 0)
		err_set(err, "malformed datatypes");
	else if (decode_ops(in, out) < 0)
		err_set(err, "malformed operations");
	else if (decode_windows(in, out) < 0)
		err_set(err, "malformed windows or files");
	else if (decode_sites(in, out) < 0)
		err_set(err, "malformed call sites");
	else if (sigs_decode(in, out, err) < 0)
		;
	else if (decode_proc(in, n_ranks, out) < 0)
		err_set(err, "malformed process facts");
	else
		return 0;
	trace_defs_free(out);
	return -1;
}
