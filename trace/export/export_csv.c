/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls as comma-separated values: see export.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/export/export_impl.h"
#include "trace/functions.h"

struct csv {
	struct export x;
	struct export_text text;
	const struct trace_defs *d;
	struct export_memo memo;
};

/* Write a field in quotes; quotes inside are doubled. */
static void put_quoted(struct buf *b, const char *s)
{
	buf_put(b, "\"", 1);
	for (; *s; s++)
		buf_put(b, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	buf_put(b, "\"", 1);
}

static void put_value(struct buf *b, const struct trace_defs *d, uint8_t kind, int64_t v)
{
	const char *name = NULL;
	char s[32];

	if (kind == TK_TYPE && v >= 0 && v < (int64_t)d->n_type)
		name = d->type[v].name;
	else if (kind == TK_OP && v >= 0 && v < (int64_t)d->n_op)
		name = d->op[v].name;
	snprintf(s, sizeof(s), "%" PRId64, v);
	name = name && name[0] ? name : s;
	buf_put(b, name, strlen(name));
}

/* comm=0 dst=1 reqs=[0 1] */
static void put_params(struct buf *b, const struct trace_defs *d, uint32_t sym)
{
	const char *sep = "";
	struct sig_walk w;

	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w); sep = " ") {
		buf_put(b, sep, strlen(sep));
		buf_put(b, w.name, strlen(w.name));
		buf_put(b, "=", 1);
		if (!trace_kind_is_array(w.kind)) {
			put_value(b, d, w.kind, w.val[0]);
			continue;
		}
		buf_put(b, "[", 1);
		for (uint32_t i = 0; i < w.n; i++) {
			buf_put(b, " ", i ? 1 : 0);
			put_value(b, d, w.kind == TK_TYPES ? TK_TYPE : w.kind, w.val[i]);
		}
		buf_put(b, "]", 1);
	}
}

/* The part of a row that all calls of a signature share: from the state on. */
static char *common_part(struct csv *c, uint32_t sym)
{
	const struct trace_fn_info *fn = &trace_fn[c->d->sigs.sig[sym].fn];
	struct buf b = {0}, params = {0};
	char site[512];

	buf_put(&b, ",", 1);
	buf_put(&b, export_state(trace_class_state(fn->cls)), strlen(export_state(trace_class_state(fn->cls))));
	buf_put(&b, ",", 1);
	buf_put(&b, fn->name, strlen(fn->name));
	buf_put(&b, ",", 1);
	put_quoted(&b, export_site(&c->x, c->d, sym, site, sizeof(site)));
	put_params(&params, c->d, sym);
	buf_put_u8(&params, 0);
	buf_put(&b, ",", 1);
	if (!params.failed)
		put_quoted(&b, (char *)params.data);
	buf_put(&b, "\n", 2);
	if (params.failed)
		b.failed = true;
	buf_free(&params);
	if (b.failed)
		buf_free(&b);
	return (char *)b.data;
}

static int put_call(const struct export_call *e, void *arg, struct errbuf *err)
{
	struct csv *c = arg;
	char **common = &c->memo.text[e->sym];

	if (!*common && !(*common = common_part(c, e->sym)))
		return err_set(err, "no memory");
	export_put_number(&c->text, e->rank);
	export_put(&c->text, ",");
	export_put_number(&c->text, e->event);
	export_put(&c->text, ",");
	if (e->known) {
		export_put_time(&c->text, e->t0, 9);
		export_put(&c->text, ",");
		export_put_time(&c->text, e->t1 - e->t0, 9);
	} else {
		export_put(&c->text, ",");
	}
	export_put(&c->text, *common);
	return export_flush(&c->text, false, err);
}

static int put_span(const struct timeline_span *s, void *arg, struct errbuf *err)
{
	struct csv *c = arg;

	export_put_number(&c->text, s->rank);
	export_put(&c->text, ",");
	export_put_time(&c->text, s->t0_ns, 9);
	export_put(&c->text, ",");
	export_put_time(&c->text, s->t1_ns - s->t0_ns, 9);
	export_put(&c->text, ",");
	export_put(&c->text, export_state(s->state));
	export_put(&c->text, ",,,\n");
	return export_flush(&c->text, false, err);
}

/* From the moment when it is sent to its arrival. */
static int put_message(const struct timeline_message *m, void *arg, struct errbuf *err)
{
	struct csv *c = arg;

	export_put_number(&c->text, m->src);
	export_put(&c->text, ",");
	export_put_time(&c->text, m->t0_ns, 9);
	export_put(&c->text, ",");
	export_put_time(&c->text, m->t1_ns - m->t0_ns, 9);
	export_put(&c->text, ",message,");
	export_put_number(&c->text, m->dst);
	export_put(&c->text, ",");
	export_put_number(&c->text, m->bytes);
	export_put(&c->text, ",");
	export_put_number(&c->text, (uint32_t)m->tag);
	export_put(&c->text, "\n");
	return export_flush(&c->text, false, err);
}

static int put_rank(struct csv *c, uint32_t rank, struct errbuf *err)
{
	int rv;

	c->d = &trace_get_rank(c->x.t, rank)->defs;
	rv = export_memo_init(&c->memo, c->d, err);
	if (rv == 0)
		rv = export_calls(&c->x, rank, put_call, c, err);
	export_memo_free(&c->memo);
	return rv;
}

int export_csv(const struct trace *t, FILE *out, const struct export_options *o, struct export_report *report,
	       struct errbuf *err)
{
	struct csv c = {.text.out = out};
	int rv = export_begin(&c.x, t, o, report, err);

	if (rv == 0 && trace_is_imported(t)) {
		export_put(&c.text, "rank,start_s,duration_s,state,to,bytes,tag\n");
		rv = export_spans(&c.x, put_span, put_message, &c, err);
	} else if (rv == 0) {
		export_put(&c.text, "rank,event,start_s,duration_s,state,function,site,parameters\n");
		for (uint32_t r = o->r0; rv == 0 && r < o->r1; r++)
			rv = put_rank(&c, r, err);
	}
	if (rv == 0)
		rv = export_flush(&c.text, true, err);
	buf_free(&c.text.b);
	export_end(&c.x);
	return rv;
}
