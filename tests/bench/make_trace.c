/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make_trace RANKS EVENTS FILE [SKEW_NS [irregular]]: a trace of a simulated run, quickly and with little memory, for benchmarks
 * and tests of what reads large traces. EVENTS is the sum over all ranks, about.
 * Ranks stand in a ring, compute, exchange with both neighbours and reduce every tenth step; some compute longer in the
 * middle of the run, so that waiting spreads. Sixteen ranks share a host; SKEW_NS sets the hosts' clocks apart.
 * irregular: the steps that end with a reduction are at random, so that the run does not fold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format/defs.h"
#include "trace/format/fold.h"
#include "trace/format/levels.h"
#include "trace/format/page.h"
#include "trace/format/writer.h"
#include "trace/functions.h"

#define PER_HOST 16
#define PAGE_MAX (256u << 10)
#define COUNT    1000 /* doubles per message */

enum { INIT, BCAST, RECV_L, RECV_R, SEND_L, SEND_R, WAITALL, ALLREDUCE, FINALIZE, N_SYM };

struct rank {
	struct trace_defs defs;
	struct fold *fold;
	struct levels levels;
	struct buf times;
	struct trace_page page;
	uint64_t n, end;   /* events, tick of the last return */
	uint64_t now, posted;
};

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 11;
}

static void die(const char *why)
{
	fprintf(stderr, "make_trace: %s\n", why);
	exit(1);
}

static void *need(void *p)
{
	if (!p)
		die("no memory");
	return p;
}

/* ---- definitions ---- */

static uint16_t function(const char *name)
{
	for (uint16_t i = 0; i < TRACE_FN_N; i++)
		if (!strcmp(trace_fn[i].name, name))
			return i;
	die(name);
	return 0;
}

static void add_signature(struct trace_defs *d, const char *name, uint32_t site, int64_t peer, int64_t tag, int64_t req)
{
	static const int64_t all[] = {0, 1, 2, 3}, none[4];
	uint16_t f = function(name);
	int64_t val[64];
	uint32_t n = 0;

	for (int i = 0; i < trace_fn[f].n_param; i++) {
		uint8_t kind = trace_fn[f].param[i].kind;
		uint32_t len = 4;

		if (!trace_kind_is_array(kind)) {
			val[n++] = kind == TK_DST || kind == TK_SRC ? peer : kind == TK_TAG ? tag :
				kind == TK_COUNT ? (peer >= 0 ? COUNT : 1) : kind == TK_NEWREQ ? req :
				kind == TK_ASRC || kind == TK_ATAG ? TRACE_NULL : 0;
			continue;
		}
		if (kind == TK_ASRCS || kind == TK_ATAGS)
			memset(memcpy(val + n + 1, none, sizeof(none)), 0xff, sizeof(none)); /* TRACE_NULL */
		else
			memcpy(val + n + 1, all, sizeof(all));
		val[n] = len;
		n += 1 + len;
	}
	sigtable_intern(&d->sigs, f, site, val, n);
}

static void add_group(struct trace_group *g, uint32_t first, uint32_t n)
{
	g->n = n;
	g->rank = need(malloc(n * sizeof(*g->rank)));
	for (uint32_t i = 0; i < n; i++)
		g->rank[i] = first + i;
}

static void define(struct trace_defs *d, uint32_t rank, uint32_t n_ranks, uint64_t skew)
{
	int64_t left = (rank + n_ranks - 1) % n_ranks, right = (rank + 1) % n_ranks;
	char host[32];

	d->n_comm = 2;
	d->comm = need(calloc(2, sizeof(*d->comm)));
	add_group(&d->comm[0].members, 0, n_ranks);
	add_group(&d->comm[1].members, rank, 1);
	d->n_type = d->n_op = d->n_module = 1;
	d->type = need(calloc(1, sizeof(*d->type)));
	d->type[0] = (struct trace_type){.name = need(strdup("MPI_DOUBLE")), .size = 8, .extent = 8};
	d->op = need(calloc(1, sizeof(*d->op)));
	d->op[0] = (struct trace_op){need(strdup("MPI_SUM")), 1};
	d->module = need(calloc(1, sizeof(*d->module)));
	d->module[0] = (struct trace_module){need(strdup("/usr/bin/simulated")), need(strdup("ab12"))};
	d->n_site = N_SYM;
	d->site = need(calloc(N_SYM, sizeof(*d->site)));
	for (uint32_t i = 0; i < N_SYM; i++)
		d->site[i] = (struct trace_site){.hash = 100 + i, .n_frame = 1, .offset = {0x1000 + 16 * i}};
	add_signature(d, "MPI_Init", INIT, -1, 0, 0);
	add_signature(d, "MPI_Bcast", BCAST, -1, 0, 0);
	add_signature(d, "MPI_Irecv", RECV_L, left, 1, 0);
	add_signature(d, "MPI_Irecv", RECV_R, right, 2, 1);
	add_signature(d, "MPI_Isend", SEND_L, left, 2, 2);
	add_signature(d, "MPI_Isend", SEND_R, right, 1, 3);
	add_signature(d, "MPI_Waitall", WAITALL, -1, 0, 0);
	add_signature(d, "MPI_Allreduce", ALLREDUCE, -1, 0, 0);
	add_signature(d, "MPI_Finalize", FINALIZE, -1, 0, 0);
	snprintf(host, sizeof(host), "node%u", rank / PER_HOST + 1);
	d->proc = (struct trace_proc){.host = need(strdup(host)), .program = need(strdup("/usr/bin/simulated")),
				      .pid = 1000 + rank, .ns_per_tick = 1, .finalized = 1,
				      .start_real_ns = 1700000000000000000ull + (skew ? rank / PER_HOST * 7919 % skew : 0)};
}

/* ---- recording ---- */

static void put(struct trace_writer *w, const struct trace_page *page, struct buf *raw)
{
	struct buf out = {0};
	struct errbuf err = {{0}};

	if (trace_page_encode(page, raw->data, raw->len, &out) < 0 || trace_writer_pages(w, out.data, out.len, &err) < 0)
		die(err.text[0] ? err.text : "cannot encode a page");
	buf_free(&out);
	buf_reset(raw);
}

static void flush(struct trace_writer *w, struct rank *r)
{
	r->page.n = r->n - r->page.first;
	r->page.t1 = r->end;
	for (int s = 0; s < TSTATE_N; s++)
		r->defs.proc.state_ticks[s] += r->page.state[s];
	if (r->page.n)
		put(w, &r->page, &r->times);
	memset(r->page.state, 0, sizeof(r->page.state));
	r->page.first = r->n;
	r->page.t0 = r->end;
}

static void call(struct trace_writer *w, struct rank *r, uint32_t sym, uint64_t enter, uint64_t leave, uint32_t page_max)
{
	enum trace_state s = trace_class_state(trace_fn[r->defs.sigs.sig[sym].fn].cls);

	trace_times_put(&r->times, enter - r->end, leave - enter);
	fold_push(r->fold, sym);
	r->page.state[TSTATE_WORKING] += enter - r->end;
	r->page.state[s] += leave - enter;
	levels_add(&r->levels, r->end, enter, TSTATE_WORKING);
	levels_add(&r->levels, enter, leave, s);
	r->end = leave;
	r->n++;
	if (r->times.len > page_max - 32)
		flush(w, r);
}

static uint64_t max3(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t m = a > b ? a : b;

	return m > c ? m : c;
}

struct run {
	struct trace_writer *w;
	struct rank *rank;
	uint32_t n, page_max;
	uint64_t steps;
	bool irregular;
};

/* One step of all ranks: compute, post, wait for both neighbours, at times for all. */
static void step(const struct run *run, uint64_t i)
{
	struct trace_writer *w = run->w;
	struct rank *rank = run->rank;
	uint32_t n = run->n, page_max = run->page_max;
	uint64_t all = 0, steps = run->steps;
	bool reduces = run->irregular ? rnd() % 2 == 0 : i % 10 == 9;

	for (uint32_t k = 0; k < n; k++) {
		struct rank *r = &rank[k];
		uint64_t t = r->end + 20000 + rnd() % 4000;

		if (i > steps / 3 && i < 2 * steps / 3 && k % 8 == 3)
			t += 15000;
		for (uint32_t sym = RECV_L; sym <= SEND_R; sym++) {
			call(w, r, sym, t, t + 300 + rnd() % 200, page_max);
			t = r->end + 50 + rnd() % 50;
		}
		r->posted = r->end;
	}
	for (uint32_t k = 0; k < n; k++) {
		struct rank *r = &rank[k];
		uint64_t ready = max3(rank[(k + n - 1) % n].posted, rank[(k + 1) % n].posted, r->posted + 60);

		call(w, r, WAITALL, r->posted + 60, ready + 2000 + rnd() % 500, page_max);
		if (r->end > all)
			all = r->end;
	}
	for (uint32_t k = 0; reduces && k < n; k++)
		call(w, &rank[k], ALLREDUCE, rank[k].end + 100, all + 5000 + rnd() % 1000, page_max);
}

static void end_rank(struct trace_writer *w, struct rank *r, uint32_t page_max)
{
	struct trace_page page = {.rank = r->page.rank};
	struct buf raw = {0};

	call(w, r, FINALIZE, r->end + 1000, r->end + 1000, page_max);
	flush(w, r);
	r->defs.proc.end_ticks = r->end;
	trace_defs_encode(&r->defs, &raw);
	page.type = TPAGE_DEFS;
	put(w, &page, &raw);
	if (fold_encode(r->fold, &raw) < 0)
		die("no memory");
	page.type = TPAGE_STRUCT;
	put(w, &page, &raw);
	levels_encode(&r->levels, &raw);
	page.type = TPAGE_LEVELS;
	put(w, &page, &raw);
	buf_free(&raw);
	trace_defs_free(&r->defs);
	fold_destroy(r->fold);
	levels_free(&r->levels);
	buf_free(&r->times);
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0, page_max;
	bool irregular = argc > 5;
	uint64_t events = argc > 3 ? strtoull(argv[2], NULL, 10) : 0, skew = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	uint64_t steps;
	struct trace_page job = {.type = TPAGE_JOB};
	struct errbuf err = {{0}};
	struct buf raw = {0};
	struct trace_writer *w;
	struct rank *rank;

	if (argc < 4 || argc > 6 || (argc == 6 && strcmp(argv[5], "irregular") != 0) || n < 2 || n > TRACE_MAX_RANKS || events < n) {
		fputs("Usage: make_trace RANKS EVENTS FILE [SKEW_NS [irregular]]\n", stderr);
		return 2;
	}
	steps = events / n * 10 / (irregular ? 55 : 51) + 1;
	page_max = (64u << 20) / n < PAGE_MAX ? (64u << 20) / n : PAGE_MAX;
	w = trace_writer_create(argv[3], n, &err);
	if (!w)
		die(err.text);
	rank = need(calloc(n, sizeof(*rank)));
	buf_put(&raw, "program=/usr/bin/simulated\narguments=\nlauncher=none\n", 51);
	put(w, &job, &raw);
	buf_free(&raw);
	for (uint32_t k = 0; k < n; k++) {
		define(&rank[k].defs, k, n, skew);
		rank[k].fold = need(fold_create());
		rank[k].page = (struct trace_page){.type = TPAGE_TIMES, .rank = k};
		if (levels_init(&rank[k].levels, 10) < 0)
			die("no memory");
		call(w, &rank[k], INIT, 0, 0, page_max);
		call(w, &rank[k], BCAST, 1000, 50000 + rnd() % 1000, page_max);
	}
	for (uint64_t i = 0; i < steps; i++)
		step(&(struct run){w, rank, n, page_max, steps, irregular}, i);
	for (uint32_t k = 0; k < n; k++)
		end_rank(w, &rank[k], page_max);
	free(rank);
	if (trace_writer_close(w, false, &err) < 0)
		die(err.text);
	return 0;
}
