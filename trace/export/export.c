/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that the exporters share: the walk over calls and spans, text, call sites. See export_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "trace/export/export_impl.h"
#include "trace/functions.h"

#define PROGRESS_CALLS 65536
#define FLUSH_BYTES    (256u << 10)

int export_begin(struct export *x, const struct trace *t, const struct export_options *o, struct export_report *report,
		 struct errbuf *err)
{
	*x = (struct export){.t = t, .o = o, .report = report};
	*report = (struct export_report){0};
	x->window = o->t0_ns || o->t1_ns != UINT64_MAX;
	if (o->r0 >= o->r1 || o->r1 > trace_n_ranks(t))
		return err_set(err, "ranks %u to %u: the trace has ranks 0 to %u", o->r0, o->r1 ? o->r1 - 1 : 0,
			       trace_n_ranks(t) - 1);
	if (o->t0_ns >= o->t1_ns)
		return err_set(err, "the window is empty");
	if (trace_is_imported(t))
		return 0;
	for (uint32_t r = o->r0; r < o->r1; r++)
		x->total += (double)trace_get_rank(t, r)->events.length;
	x->clock = trace_clock_create(t, err);
	return x->clock ? trace_clock_control(x->clock, t, NULL, err) : -1;
}

void export_end(struct export *x)
{
	trace_clock_destroy(x->clock);
	x->clock = NULL;
	if (x->o->progress)
		x->o->progress(x->o->progress_arg, 1, 1);
}

void export_progress(struct export *x, double calls)
{
	x->done += calls;
	if (x->o->progress)
		/* kept below 100 %: export_end reports the end */
		x->o->progress(x->o->progress_arg, x->done, x->total * 1.0001 + 1);
}

/* ---- calls ---- */

static bool in_window(const struct export_options *o, const struct export_call *c)
{
	return c->t0 < o->t1_ns && (c->t1 > o->t0_ns || c->t0 == o->t0_ns);
}

/* Fill in the call that the iterator gave last. *last: latest time so far; times never go back. */
static void place_call(const struct export *x, const struct trace_iter *it, struct export_call *c, uint64_t *last)
{
	uint64_t enter, leave;

	c->event = trace_iter_when(it, &enter, &leave);
	if (c->known) {
		c->t0 = trace_clock_ns(x->clock, c->rank, enter);
		c->t1 = trace_clock_ns(x->clock, c->rank, leave);
		if (c->t0 < *last)
			c->t0 = *last;
		if (c->t1 < c->t0)
			c->t1 = c->t0;
		*last = c->t1;
	} else {
		c->t0 = c->t1 = *last;
	}
}

static int walk_calls(struct export *x, struct trace_iter *it, uint32_t rank,
		      int (*f)(const struct export_call *c, void *arg, struct errbuf *err), void *arg, struct errbuf *err)
{
	struct export_call c = {.rank = rank};
	struct trace_event ev;
	uint64_t last = 0;
	uint32_t n = 0;

	while ((!x->window || trace_iter_skip_unknown(it)) && trace_iter_next(it, &ev, &c.known)) {
		c.sym = ev.sym;
		place_call(x, it, &c, &last);
		if (++n == PROGRESS_CALLS) {
			export_progress(x, n);
			n = 0;
		}
		if (x->window && c.known && c.t0 >= x->o->t1_ns)
			break;
		if (x->window && (!c.known || !in_window(x->o, &c)))
			continue;
		x->report->events++;
		x->report->untimed += !c.known;
		if (f(&c, arg, err) < 0)
			return -1;
	}
	export_progress(x, n);
	return 0;
}

int export_calls(struct export *x, uint32_t rank, int (*f)(const struct export_call *c, void *arg, struct errbuf *err),
		 void *arg, struct errbuf *err)
{
	struct trace_iter *it;
	int rv;

	if (!trace_get_rank(x->t, rank)->present)
		return 0;
	it = trace_iter_create(x->t, rank, err);
	if (!it)
		return -1;
	if (x->window)
		trace_iter_seek_ns(it, trace_clock_local(x->clock, rank, x->o->t0_ns));
	rv = walk_calls(x, it, rank, f, arg, err);
	trace_iter_destroy(it);
	return rv;
}

/* ---- spans of imported traces ---- */

struct spans {
	struct export *x;
	int (*f)(const struct timeline_span *s, void *arg, struct errbuf *err);
	int (*message)(const struct timeline_message *m, void *arg, struct errbuf *err);
	void *arg;
	struct errbuf *err;
	uint32_t n;
};

static int give_span(const struct timeline_span *s, void *arg)
{
	struct spans *p = arg;

	p->x->report->events++;
	if (++p->n == PROGRESS_CALLS) {
		p->x->done = s->rank - p->x->o->r0;
		export_progress(p->x, 0);
		p->n = 0;
	}
	return p->f(s, p->arg, p->err) < 0;
}

static int give_message(const struct timeline_message *m, void *arg)
{
	struct spans *p = arg;
	const struct export_options *o = p->x->o;

	if (m->src < o->r0 || m->src >= o->r1 || m->dst < o->r0 || m->dst >= o->r1)
		return 0;
	p->x->report->messages++;
	return p->message(m, p->arg, p->err) < 0;
}

int export_spans(struct export *x, int (*f)(const struct timeline_span *s, void *arg, struct errbuf *err),
		 int (*message)(const struct timeline_message *m, void *arg, struct errbuf *err), void *arg, struct errbuf *err)
{
	struct spans p = {.x = x, .f = f, .message = message, .arg = arg, .err = err};
	struct timeline *tl = timeline_create(x->t, err);
	uint64_t end = x->o->t1_ns;
	int rv;

	if (!tl)
		return -1;
	if (end > timeline_end_ns(tl))
		end = timeline_end_ns(tl) + 1;
	x->total = x->o->r1 - x->o->r0;
	rv = f ? timeline_spans(tl, x->o->r0, x->o->r1, x->o->t0_ns, end, give_span, &p, err) : 0;
	if (rv == 0 && message)
		rv = timeline_messages(tl, x->o->t0_ns, end, give_message, &p, err);
	timeline_destroy(tl);
	return rv ? -1 : 0;
}

/* ---- names ---- */

const char *export_site(const struct export *x, const struct trace_defs *d, uint32_t sym, char *buf, size_t size)
{
	const struct trace_site *s = &d->site[d->sigs.sig[sym].site];
	const char *path, *base;

	if (x->o->site)
		return x->o->site(x->o->site_arg, d, s, buf, size);
	buf[0] = '\0';
	if (!s->n_frame)
		return buf;
	path = d->module[s->module[0]].path;
	base = strrchr(path, '/');
	snprintf(buf, size, "%s+0x%llx", base ? base + 1 : path, (unsigned long long)s->offset[0]);
	return clean_line(buf);
}

const char *export_state(unsigned state)
{
	static const char *const name[TSTATE_N] = {"waiting", "working", "sending", "receiving"};

	return state < TSTATE_N ? name[state] : "?";
}

int export_memo_init(struct export_memo *m, const struct trace_defs *d, struct errbuf *err)
{
	m->n = d->sigs.n;
	m->text = calloc(m->n + 1u, sizeof(*m->text));
	return m->text ? 0 : err_set(err, "no memory");
}

void export_memo_free(struct export_memo *m)
{
	for (uint32_t i = 0; m->text && i < m->n; i++)
		free(m->text[i]);
	free(m->text);
	*m = (struct export_memo){0};
}

/* ---- text ---- */

void export_put(struct export_text *x, const char *s)
{
	buf_put(&x->b, s, strlen(s));
}

void export_put_number(struct export_text *x, uint64_t v)
{
	char s[24], *p = s + sizeof(s);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	buf_put(&x->b, p, (size_t)(s + sizeof(s) - p));
}

void export_put_time(struct export_text *x, uint64_t ns, int digits)
{
	char s[16] = ".";
	uint64_t unit = 1, part;

	for (int i = 0; i < digits; i++)
		unit *= 10;
	part = ns % unit;
	export_put_number(x, ns / unit);
	for (int i = digits; i > 0; i--, part /= 10)
		s[i] = (char)('0' + part % 10);
	buf_put(&x->b, s, (size_t)digits + 1);
}

int export_flush(struct export_text *x, bool all, struct errbuf *err)
{
	if (x->b.failed)
		return err_set(err, "no memory");
	if (!all && x->b.len < FLUSH_BYTES)
		return 0;
	if (fwrite(x->b.data, 1, x->b.len, x->out) != x->b.len || (all && fflush(x->out)))
		return err_set(err, "cannot write: %s", strerror(errno));
	buf_reset(&x->b);
	return 0;
}
