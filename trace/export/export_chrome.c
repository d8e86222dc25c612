/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome trace events (JSON). Processes are hosts, threads are ranks, calls are complete events. Messages are flows
 * from the sending call to the receiving call. See export.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "trace/export/export_impl.h"
#include "trace/functions.h"
#include "trace/messages/messages.h"

#define JSON_VALUES_MAX 64 /* values of an array parameter; longer arrays are cut, with a note */

struct chrome {
	struct export x;
	struct export_text text;
	const struct trace_defs *d;
	struct export_memo memo;
	uint32_t *host; /* process number of each rank, from 1 on */
	char (*place)[48]; /* ,"pid":1,"tid":0 of each rank */
	bool first;
	uint64_t flow;
};

static void put_string(struct buf *b, const char *s)
{
	buf_put_u8(b, '"');
	for (int len; *s; s += len) {
		uint32_t c = clean_char(s, &len);

		if (c == '\n' || c == '\t' || (c == CLEAN_UNFIT && len == 1)) {
			buf_put_u8(b, '?');
			continue;
		}
		if (c == '"' || c == '\\')
			buf_put_u8(b, '\\');
		buf_put(b, s, (size_t)len);
	}
	buf_put_u8(b, '"');
}

static void put_text(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

/* ---- what all calls of a signature have in common: name, category, parameters, call site ---- */

static void put_value(struct buf *b, const struct trace_defs *d, uint8_t kind, int64_t v)
{
	char s[32];

	if (kind == TK_TYPE && v >= 0 && v < (int64_t)d->n_type && d->type[v].name && d->type[v].name[0])
		return put_string(b, d->type[v].name);
	if (kind == TK_OP && v >= 0 && v < (int64_t)d->n_op && d->op[v].name)
		return put_string(b, d->op[v].name);
	snprintf(s, sizeof(s), "%" PRId64, v);
	put_text(b, s);
}

static void put_params(struct buf *b, const struct trace_defs *d, uint32_t sym)
{
	struct sig_walk w;

	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);) {
		put_string(b, w.name);
		put_text(b, ":");
		if (!trace_kind_is_array(w.kind)) {
			put_value(b, d, w.kind, w.val[0]);
		} else {
			put_text(b, "[");
			for (uint32_t i = 0; i < w.n && i < JSON_VALUES_MAX; i++) {
				put_text(b, i ? "," : "");
				put_value(b, d, w.kind == TK_TYPES ? TK_TYPE : w.kind, w.val[i]);
			}
			put_text(b, w.n > JSON_VALUES_MAX ? ",\"...\"]" : "]");
		}
		put_text(b, ",");
	}
}

static char *common_part(struct chrome *c, uint32_t sym)
{
	const struct trace_fn_info *fn = &trace_fn[c->d->sigs.sig[sym].fn];
	struct buf b = {0};
	char site[512];

	put_text(&b, "{\"ph\":\"X\",\"name\":");
	put_string(&b, fn->name);
	put_text(&b, ",\"cat\":");
	put_string(&b, export_state(trace_class_state(fn->cls)));
	put_text(&b, ",\"args\":{");
	put_params(&b, c->d, sym);
	put_text(&b, "\"site\":");
	put_string(&b, export_site(&c->x, c->d, sym, site, sizeof(site)));
	buf_put(&b, "}", 2);
	if (b.failed)
		buf_free(&b);
	return (char *)b.data;
}

/* ---- events ---- */

/* Write the comma before the next event. */
static void next_event(struct chrome *c)
{
	export_put(&c->text, c->first ? "\n" : ",\n");
	c->first = false;
}

static void put_when(struct chrome *c, uint32_t rank, uint64_t t0, uint64_t t1)
{
	export_put(&c->text, c->place[rank]);
	export_put(&c->text, ",\"ts\":");
	export_put_time(&c->text, t0, 3);
	export_put(&c->text, ",\"dur\":");
	export_put_time(&c->text, t1 - t0, 3);
	export_put(&c->text, "}");
}

static int put_call(const struct export_call *e, void *arg, struct errbuf *err)
{
	struct chrome *c = arg;
	char **common = &c->memo.text[e->sym];

	if (!e->known) {
		c->x.report->events--;
		return 0;
	}
	if (!*common && !(*common = common_part(c, e->sym)))
		return err_set(err, "no memory");
	next_event(c);
	export_put(&c->text, *common);
	put_when(c, e->rank, e->t0, e->t1);
	return export_flush(&c->text, false, err);
}

static int put_span(const struct timeline_span *s, void *arg, struct errbuf *err)
{
	struct chrome *c = arg;

	next_event(c);
	export_put(&c->text, "{\"ph\":\"X\",\"name\":\"");
	export_put(&c->text, export_state(s->state));
	export_put(&c->text, "\",\"cat\":\"state\"");
	put_when(c, s->rank, s->t0_ns, s->t1_ns);
	return export_flush(&c->text, false, err);
}

static void put_flow(struct chrome *c, const char *phase, uint32_t rank, uint64_t t)
{
	next_event(c);
	export_put(&c->text, phase);
	export_put_number(&c->text, c->flow);
	export_put(&c->text, c->place[rank]);
	export_put(&c->text, ",\"ts\":");
	export_put_time(&c->text, t, 3);
}

/* The end of a flow lies just inside the receiving call, so that viewers attach it to this call. */
static int put_arrow(const struct timeline_message *m, void *arg, struct errbuf *err)
{
	struct chrome *c = arg;

	c->flow++;
	put_flow(c, "{\"ph\":\"s\",\"name\":\"message\",\"cat\":\"message\",\"id\":", m->src, m->t0_ns);
	export_put(&c->text, ",\"args\":{\"bytes\":");
	export_put_number(&c->text, m->bytes);
	export_put(&c->text, ",\"tag\":");
	export_put_number(&c->text, (uint32_t)m->tag);
	export_put(&c->text, "}}");
	put_flow(c, "{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"message\",\"cat\":\"message\",\"id\":", m->dst, m->t1_ns - (m->t1_ns > m->t0_ns));
	export_put(&c->text, "}");
	return export_flush(&c->text, false, err);
}

static int put_message(const struct trace_message *m, void *arg)
{
	struct chrome *c = ((void **)arg)[0];
	struct errbuf *err = ((void **)arg)[1];
	const struct export_options *o = c->x.o;
	uint64_t t0 = trace_clock_ns(c->x.clock, m->src, m->send_ns);
	uint64_t t1 = trace_clock_ns(c->x.clock, m->dst, m->recv_ns);

	if (m->src < o->r0 || m->src >= o->r1 || m->dst < o->r0 || m->dst >= o->r1)
		return 0;
	if (t0 >= o->t1_ns || t1 <= o->t0_ns)
		return 0;
	c->x.report->messages++;
	return put_arrow(&(struct timeline_message){m->src, m->dst, t0, t1, m->bytes, m->tag}, c, err) < 0;
}

/* ---- processes and threads ---- */

static const char *host_name(const struct trace *t, uint32_t rank)
{
	const struct trace_rank *k = trace_get_rank(t, rank);

	return trace_is_imported(t) ? "imported" : k->present && k->defs.proc.host ? k->defs.proc.host : "?";
}

struct named {
	const char *name;
	uint32_t rank;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : x->rank < y->rank ? -1 : 1;
}

/* Number the hosts by name. */
static int number_hosts(struct chrome *c, struct errbuf *err)
{
	uint32_t n = trace_n_ranks(c->x.t), host = 0;
	struct named *list = calloc(n, sizeof(*list));

	c->host = calloc(n, sizeof(*c->host));
	c->place = calloc(n, sizeof(*c->place));
	if (!list || !c->host || !c->place) {
		free(list);
		return err_set(err, "no memory");
	}
	for (uint32_t r = 0; r < n; r++)
		list[r] = (struct named){host_name(c->x.t, r), r};
	qsort(list, n, sizeof(*list), by_name);
	for (uint32_t i = 0; i < n; i++) {
		host += !i || strcmp(list[i].name, list[i - 1].name);
		c->host[list[i].rank] = host;
	}
	for (uint32_t r = 0; r < n; r++)
		snprintf(c->place[r], sizeof(c->place[r]), ",\"pid\":%u,\"tid\":%u", c->host[r], r);
	free(list);
	return 0;
}

static int put_names(struct chrome *c, struct errbuf *err)
{
	char name[96];

	for (uint32_t r = c->x.o->r0; r < c->x.o->r1; r++) {
		if (r == c->x.o->r0 || c->host[r] != c->host[r - 1]) {
			next_event(c);
			export_put(&c->text, "{\"ph\":\"M\",\"name\":\"process_name\"");
			export_put(&c->text, c->place[r]);
			export_put(&c->text, ",\"args\":{\"name\":");
			put_string(&c->text.b, host_name(c->x.t, r));
			export_put(&c->text, "}}");
		}
		next_event(c);
		export_put(&c->text, "{\"ph\":\"M\",\"name\":\"thread_name\"");
		export_put(&c->text, c->place[r]);
		snprintf(name, sizeof(name), ",\"args\":{\"name\":\"%s %u\"}}", trace_is_imported(c->x.t) ? "processor" : "rank", r);
		export_put(&c->text, name);
		next_event(c);
		export_put(&c->text, "{\"ph\":\"M\",\"name\":\"thread_sort_index\"");
		export_put(&c->text, c->place[r]);
		snprintf(name, sizeof(name), ",\"args\":{\"sort_index\":%u}}", r);
		export_put(&c->text, name);
		if (export_flush(&c->text, false, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the file ---- */

static int put_rank(struct chrome *c, uint32_t rank, struct errbuf *err)
{
	int rv;

	c->d = &trace_get_rank(c->x.t, rank)->defs;
	rv = export_memo_init(&c->memo, c->d, err);
	if (rv == 0)
		rv = export_calls(&c->x, rank, put_call, c, err);
	export_memo_free(&c->memo);
	return rv;
}

static int put_traced(struct chrome *c, struct errbuf *err)
{
	struct trace_messages_report report;
	void *arg[2] = {c, err};

	for (uint32_t r = c->x.o->r0; r < c->x.o->r1; r++)
		if (put_rank(c, r, err) < 0)
			return -1;
	return trace_messages(c->x.t, put_message, arg, &report, err) ? -1 : 0;
}

int export_chrome(const struct trace *t, FILE *out, const struct export_options *o, struct export_report *report,
		  struct errbuf *err)
{
	struct chrome c = {.text.out = out, .first = true};
	int rv = export_begin(&c.x, t, o, report, err);

	if (rv == 0)
		rv = number_hosts(&c, err);
	if (rv == 0) {
		export_put(&c.text, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"creator\":\"precedent\"");
		if (trace_job_get(t, "program")) {
			export_put(&c.text, ",\"program\":");
			put_string(&c.text.b, trace_job_get(t, "program"));
		}
		export_put(&c.text, "},\"traceEvents\":[");
		rv = put_names(&c, err);
	}
	if (rv == 0)
		rv = trace_is_imported(t) ? export_spans(&c.x, put_span, put_arrow, &c, err) : put_traced(&c, err);
	export_put(&c.text, "\n]}\n");
	if (rv == 0)
		rv = export_flush(&c.text, true, err);
	buf_free(&c.text.b);
	free(c.host);
	free(c.place);
	export_end(&c.x);
	return rv;
}
