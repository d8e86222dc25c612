/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls played into the recorder: see play.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "play.h"
#include "spank/tracer/site.h"
#include "trace/format/writer.h"
#include "trace/functions.h"

#define MAX_VALUES 8

static uint32_t world_rank[2] = {0, 1};
static struct trace_comm comm[2] = {{.members = {.n = 1, .rank = world_rank}}, {.members = {.n = 1, .rank = world_rank}}};
static struct trace_type type[1] = {{.name = "MPI_INT", .size = 4, .extent = 4}};

static void define(struct trace_defs *d)
{
	d->comm = comm;
	d->n_comm = 2;
	d->type = type;
	d->n_type = 1;
	site_define(d);
}

/* Function and values of event i, and its call site (an address in this function). */
static uint32_t event(enum play_program program, uint64_t i, uint16_t *fn, int64_t *v, uintptr_t *ra)
{
	uint64_t k = (program == PLAY_MIXED ? ((i + 1) * 0x9e3779b97f4a7c15ull ^ i * i * i) >> 33 : i) % 7;
	bool own = program == PLAY_CHAOS || (program == PLAY_GROWING && i % 50 == 0);

	*ra = (uintptr_t)event + 1 + k;
	v[0] = 0;
	if (k == 6) {
		*fn = FN_MPI_Barrier;
		return 1;
	}
	*fn = k & 1 ? FN_MPI_Recv : FN_MPI_Send;
	v[1] = 0;
	v[2] = own ? (int64_t)(1000 + i) : (int64_t)k;
	v[3] = (int64_t)(1 + k);
	v[4] = 0;
	v[5] = v[6] = TRACE_UNDEFINED;
	return k & 1 ? 7 : 5;
}

void (*play_opened)(struct spill *s);

int play_begin(struct play *p, enum play_program program, const char *local, const char *id, uint32_t rank,
	       uint32_t n_ranks, uint64_t memory, uint64_t structure, struct errbuf *err)
{
	struct rec_options o = {.rank = rank, .n_ranks = n_ranks, .memory = memory ? memory : 64u << 20,
				.structure = structure, .local = local, .id = id, .define = define};
	struct spill_header facts = {.world_size = n_ranks, .host = "node1", .program = "/bin/played",
				     .facts = "program=/bin/played\nranks=1\n"};
	uint64_t init_ns, init_ticks;

	clock_is_tsc = clock_has_tsc();
	init_ns = clock_ns(CLOCK_MONOTONIC);
	init_ticks = clock_ticks();
	*p = (struct play){.program = program};
	err->text[0] = '\0';
	memset(site_cache, 0, sizeof(site_cache)); /* from an earlier recording */
	if (rec_begin(&o, err) < 0)
		return -1;
	if (play_opened)
		play_opened(&rec.pages.spill);
	facts.init_mono_ns = init_ns;
	facts.init_ticks = init_ticks;
	facts.start_real_ns = clock_ns(CLOCK_REALTIME);
	rec_go(&facts);
	return 0;
}

static void poll_once(uintptr_t ra)
{
	struct rec_call c;

	if (!rec_enter(&c, ra, 0))
		return;
	rec_start_poll(&c, (struct rec_inside){0});
	rec_leave_poll(&c, true, false);
}

bool play_one(struct play *p)
{
	int64_t v[MAX_VALUES];
	struct rec_call c;
	uintptr_t ra;
	uint16_t fn;
	uint32_t n = event(p->program, p->i, &fn, v, &ra);

	if (p->program == PLAY_POLLS && fn == FN_MPI_Recv)
		for (uint64_t k = 0; k < 1 + p->i % 5; k++)
			poll_once(ra);
	if (!rec_enter(&c, ra, 0))
		return false;
	rec_start(&c, (struct rec_inside){0});
	if (!rec_leave(&c, true))
		return false;
	memcpy(c.self->v, v, n * sizeof(*v));
	rec_event(&c, fn, n);
	p->i++;
	return true;
}

bool play_is(enum play_program program, uint64_t i, const struct trace_defs *d, uint32_t symbol)
{
	const struct trace_sig *s = &d->sigs.sig[symbol];
	int64_t v[MAX_VALUES], own[MAX_VALUES];
	uintptr_t ra;
	uint16_t fn;
	uint32_t n = event(program, i, &fn, v, &ra);

	if (s->fn != fn || sig_values(d, symbol, NULL) != n)
		return false;
	sig_values(d, symbol, own);
	return !memcmp(own, v, n * sizeof(*v));
}

static int write_pages(struct trace_writer *w, struct errbuf *err)
{
	struct trace_page m = {.type = TPAGE_DEFS};
	struct trace_defs d = {0};
	struct buf raw = {0}, page = {0};
	int rv = -1;

	define(&d);
	d.sigs = rec.sigs;
	d.proc.host = d.proc.program = "played";
	d.proc.ns_per_tick = 0.5;
	rec_facts(&d.proc);
	trace_defs_encode(&d, &raw);
	if (trace_page_encode(&m, raw.data, raw.len, &page) < 0)
		goto out;
	buf_reset(&raw);
	m.type = TPAGE_STRUCT;
	if (fold_encode(rec.fold, &raw) < 0 || trace_page_encode(&m, raw.data, raw.len, &page) < 0)
		goto out;
	for (uint32_t i = 0; i < rec_n_pages(); i++)
		if (rec_page_take(i, &page) < 0)
			goto out;
	rv = trace_writer_pages(w, page.data, page.len, err);
out:
	buf_free(&raw);
	buf_free(&page);
	return rv;
}

int play_end(struct play *p, const char *path, struct errbuf *err)
{
	struct trace_writer *w = trace_writer_create(path, 1, err);

	(void)p;
	rec_end();
	if (!w)
		return -1;
	if (write_pages(w, err) < 0) {
		trace_writer_abort(w);
		return -1;
	}
	rec_close();
	return trace_writer_close(w, false, err);
}
