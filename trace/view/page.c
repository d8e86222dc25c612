/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the page: the template with its marks filled in. Trace data is written as JSON whose strings cannot end a
 * script (json.h), as escaped HTML text or as base64. A nonce that is new for each page allows the page's own
 * script and style and nothing else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "trace/functions.h"
#include "trace/view/assets.h"
#include "trace/view/json.h"
#include "trace/view/pack.h"

#define MESSAGES_OF_BUDGET 4 /* messages get one part in four */

struct page {
	struct view *v;
	struct buf *out;
	char nonce[33];
	struct view_columns columns;
	struct view_exchange exchange;
	struct buf levels, marks, ranks;
};

static void append_string(struct buf *out, const char *s)
{
	buf_put(out, s, strlen(s));
}

/* ---- what is told in words and numbers ---- */

static void put_job(struct json *j, const struct page *p)
{
	static const char *const keys[] = {"program", "arguments", "job", "step", "launcher", "mpi", "hosts", "date", TRACE_PREDICTED};
	const struct trace *t = p->v->in->trace;

	json_open(j, "job", '{');
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (trace_job_get(t, keys[i]))
			json_str(j, keys[i], trace_job_get(t, keys[i]));
	json_close(j, '}');
}

/* "killed by signal 9 (Killed); in MPI_Recv for 2.1 s" */
static const char *end_text(const struct trace_proc *p, char *text, size_t size)
{
	const struct trace_in_call *c = &p->in_call;

	if (!c->inside)
		return p->ended;
	snprintf(text, size, "%s%sin %s for %.3f s", p->ended, *p->ended ? "; " : "", trace_fn[c->fn].name,
		 (double)c->ticks * p->ns_per_tick * 1e-9);
	return text;
}

/* Warnings that the reader needs before using this trace. */
static void put_state_of_trace(struct json *j, const struct page *p)
{
	const struct trace *t = p->v->in->trace;
	uint32_t missing = 0;
	char text[512];

	json_bool(j, "partial", trace_is_partial(t));
	json_bool(j, "imported", trace_is_imported(t));
	if (trace_predicted(t))
		json_str(j, "predicted", trace_predicted(t));
	json_open(j, "damage", '[');
	for (uint32_t i = 0; i < trace_n_damage(t) && i < 100; i++)
		json_str(j, NULL, trace_damage(t, i));
	json_close(j, ']');
	json_open(j, "ending", '[');
	for (uint32_t i = 0; i < p->v->in->n_ending; i++)
		json_str(j, NULL, p->v->in->ending[i]);
	json_close(j, ']');
	json_open(j, "ended", '[');
	for (uint32_t r = 0; r < p->v->n_ranks; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);

		missing += !k->present;
		if (!k->present || !k->defs.proc.ended || (!*k->defs.proc.ended && !k->defs.proc.in_call.inside))
			continue;
		json_open(j, NULL, '[');
		json_uint(j, NULL, r);
		json_str(j, NULL, end_text(&k->defs.proc, text, sizeof(text)));
		json_close(j, ']');
	}
	json_close(j, ']');
	json_uint(j, "missing", trace_is_imported(t) ? 0 : missing);
	json_uint(j, "untimed", p->v->untimed);
}

/* Unsuccessful tests, which are only counted: of each rank their number and their time. */
static void put_polls(struct json *j, const struct page *p)
{
	json_open(j, "polls", '[');
	for (uint32_t r = 0; r < p->v->n_ranks; r++) {
		const struct trace_proc *proc = &trace_get_rank(p->v->in->trace, r)->defs.proc;

		if (!trace_get_rank(p->v->in->trace, r)->present || !proc->polls)
			continue;
		json_open(j, NULL, '[');
		json_uint(j, NULL, r);
		json_uint(j, NULL, proc->polls);
		json_uint(j, NULL, (uint64_t)((double)proc->poll_ticks * proc->ns_per_tick));
		json_close(j, ']');
	}
	json_close(j, ']');
}

/* Host names, and the ranks of each host. */
static void put_hosts(struct json *j, const struct page *p)
{
	const struct trace *t = p->v->in->trace;
	const char *last = NULL;
	uint32_t n = 0;

	json_open(j, "hosts", '['); /* ranges of ranks: first rank, host */
	for (uint32_t r = 0; r < p->v->n_ranks; r++) {
		const char *host = trace_get_rank(t, r)->defs.proc.host;

		host = trace_get_rank(t, r)->present && host ? host : "";
		if (last && !strcmp(last, host))
			continue;
		last = host;
		n++;
		json_open(j, NULL, '[');
		json_uint(j, NULL, r);
		json_str(j, NULL, host);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_uint(j, "host_runs", n);
}

/* Recording unsuccessful tests takes time, which the sums of a trace have among waiting. Take it out of the rank's
 * seconds: then waiting is waiting calls and the tests themselves. Pages show no polling if not all is known. */
static void leave_out_recording(const struct page *p, uint32_t rank, double seconds[TSTATE_N])
{
	const struct view *v = p->v;
	const struct trace_proc *proc = &trace_get_rank(v->in->trace, rank)->defs.proc;
	double known = (double)proc->poll_ticks * proc->ns_per_tick * 1e-9;

	if (!proc->polls || v->untimed || trace_is_partial(v->in->trace) || trace_n_damage(v->in->trace))
		return;
	for (uint32_t f = 0; f < TRACE_FN_N; f++)
		if (v->fn_id[f] && trace_class_state(trace_fn[f].cls) == TSTATE_WAITING)
			known += v->fn_ns[(size_t)rank * v->n_fn + v->fn_id[f] - 1] * 1e-9;
	if (seconds[TSTATE_WAITING] > known)
		seconds[TSTATE_WAITING] = known;
}

static void put_totals(struct json *j, const struct page *p)
{
	json_open(j, "totals", '[');
	for (uint32_t r = 0; r < p->v->n_ranks; r++) {
		double s[TSTATE_N] = {0};

		timeline_totals(p->v->in->timeline, r, s);
		leave_out_recording(p, r, s);
		view_late_totals(p->v, r, s);
		for (int i = 0; i < TSTATE_N; i++)
			json_num(j, NULL, s[i]);
	}
	json_close(j, ']');
}

static void put_places(struct json *j, const struct page *p)
{
	const struct view *v = p->v;

	json_open(j, "sites", '[');
	for (uint32_t i = 0; i < v->n_site; i++)
		json_str(j, NULL, v->site_name[i]);
	json_close(j, ']');
	json_open(j, "places", '['); /* function, site, calls, ns, largest ns of one rank, that rank */
	for (uint32_t i = 0; i < v->n_place; i++) {
		json_open(j, NULL, '[');
		json_uint(j, NULL, v->fn_id[v->place[i].fn] - 1);
		json_uint(j, NULL, v->place[i].site);
		json_uint(j, NULL, v->place[i].calls);
		json_num(j, NULL, v->place[i].ns);
		json_num(j, NULL, v->place[i].max_ns);
		json_uint(j, NULL, v->place[i].max_rank);
		json_close(j, ']');
	}
	json_close(j, ']');
}

static void put_dictionary(struct json *j, const struct page *p)
{
	const struct view *v = p->v;
	const char *words = (const char *)v->sig_words.data;
	uint16_t *fn = calloc((size_t)v->n_fn + 1, sizeof(*fn));

	for (uint16_t f = 0; fn && f < TRACE_FN_N; f++)
		if (v->fn_id[f])
			fn[v->fn_id[f] - 1] = f;
	json_open(j, "fns", '['); /* name, state */
	for (uint32_t i = 0; fn && i < v->n_fn; i++) {
		json_open(j, NULL, '[');
		json_str(j, NULL, trace_fn[fn[i]].name);
		json_uint(j, NULL, trace_class_state(trace_fn[fn[i]].cls));
		json_close(j, ']');
	}
	json_close(j, ']');
	free(fn);
	put_places(j, p);
	json_open(j, "sigs", '['); /* place, words */
	for (uint32_t i = 0; i < v->n_sig; i++, words += strlen(words) + 1) {
		json_uint(j, NULL, v->sig_place[i]);
		json_str(j, NULL, words);
	}
	json_close(j, ']');
}

static void put_loops(struct json *j, const struct page *p)
{
	const struct view_input *in = p->v->in;

	json_uint(j, "loop_rank", in->loop_rank);
	json_open(j, "loops", '[');
	for (uint32_t i = 0; i < in->n_loop; i++) {
		const struct view_loop *l = &in->loop[i];

		json_open(j, NULL, '{');
		if (l->parent != UINT32_MAX)
			json_uint(j, "parent", l->parent);
		json_str(j, "name", l->name);
		json_str(j, "first", l->first_call);
		json_uint(j, "calls", l->calls);
		json_uint(j, "executions", l->executions);
		json_uint(j, "iterations", l->iterations);
		json_uint(j, "turns_min", l->turns_min);
		json_uint(j, "turns_max", l->turns_max);
		json_uint(j, "events_min", l->events_min);
		json_uint(j, "events_max", l->events_max);
		json_num(j, "share", l->share);
		json_num(j, "mpi", l->mpi_share);
		json_num(j, "mean", l->mean_ns);
		json_num(j, "sd", l->sd_ns);
		json_num(j, "min", l->min_ns);
		json_num(j, "max", l->max_ns);
		json_uint(j, "slowest", l->slowest);
		json_uint(j, "stride", l->stride);
		json_uint(j, "marks", l->n_mark);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_problems(struct json *j, const struct page *p)
{
	const struct view_input *in = p->v->in;

	json_open(j, "problems", '[');
	for (uint32_t i = 0; i < in->n_problem; i++) {
		const struct view_problem *q = &in->problem[i];

		json_open(j, NULL, '{');
		json_str(j, "title", q->title);
		json_str(j, "text", q->text);
		json_str(j, "advice", q->advice);
		json_str(j, "site", q->site);
		json_num(j, "share", q->share);
		json_uint(j, "ns", q->ns);
		json_uint(j, "times", q->times);
		if (q->rank != UINT32_MAX)
			json_uint(j, "rank", q->rank);
		if (q->t1_ns > q->t0_ns) {
			json_uint(j, "t0", q->t0_ns);
			json_uint(j, "t1", q->t1_ns);
		}
		json_open(j, "marks", '['); /* rank, first, last, begin, length, lost */
		for (uint32_t k = 0; k < q->n_mark; k++) {
			const struct view_problem_mark *m = &q->mark[k];
			const uint64_t v[] = {m->rank, m->first, m->last, m->t0_ns, m->t1_ns - m->t0_ns, m->ns};

			for (size_t n = 0; n < sizeof(v) / sizeof(*v); n++)
				json_uint(j, NULL, v[n]);
		}
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Sizes of the columns in characters of the text that put_columns writes. */
static void put_detail(struct json *j, const struct page *p)
{
	json_open(j, "columns", '{');
	json_num(j, "width", p->columns.width_ns);
	json_uint(j, "end", p->columns.end_ns);
	json_uint(j, "spans", p->columns.n_span);
	json_open(j, "chars", '[');
	for (uint32_t i = 0; i < p->columns.n; i++)
		json_uint(j, NULL, (p->columns.column[i].len + 2) / 3 * 4);
	json_close(j, ']');
	json_close(j, '}');
	json_open(j, "messages", '{');
	json_uint(j, "n", p->exchange.n);
	json_uint(j, "bytes", p->exchange.bytes);
	json_uint(j, "kept", p->exchange.n_kept);
	json_uint(j, "end", p->exchange.end_ns);
	json_uint(j, "shift", p->exchange.shift);
	json_close(j, '}');
}

static void put_meta(struct page *p)
{
	struct json j = json_begin(p->out);
	const struct view *v = p->v;

	json_open(&j, NULL, '{');
	json_str(&j, "version", PRECEDENT_VERSION);
	json_str(&j, "path", v->in->path);
	json_bool(&j, "served", v->in->served);
	json_uint(&j, "ranks", v->n_ranks);
	json_uint(&j, "end", v->end_ns);
	json_uint(&j, "events", v->events);
	json_uint(&j, "file_bytes", trace_file_size(v->in->trace));
	json_uint(&j, "steps", v->end_ns ? view_steps(v) : 0);
	put_job(&j, p);
	put_state_of_trace(&j, p);
	put_polls(&j, p);
	put_hosts(&j, p);
	put_totals(&j, p);
	put_dictionary(&j, p);
	put_loops(&j, p);
	put_problems(&j, p);
	put_detail(&j, p);
	json_close(&j, '}');
}

/* ---- the template ---- */

static void put_pack(struct page *p, const char *id, const struct buf *pack)
{
	append_string(p->out, "<script type=\"application/octet-stream\" id=\"");
	append_string(p->out, id);
	append_string(p->out, "\">");
	base64_put(p->out, pack->data, pack->len);
	append_string(p->out, "</script>\n");
}

static void put_packs(struct page *p)
{
	put_pack(p, "pack-levels", &p->levels);
	put_pack(p, "pack-ranks", &p->ranks);
	put_pack(p, "pack-marks", &p->marks);
	put_pack(p, "pack-pairs", &p->exchange.pairs);
	put_pack(p, "pack-messages", &p->exchange.messages);
	append_string(p->out, "<script type=\"application/octet-stream\" id=\"pack-columns\">");
	for (uint32_t i = 0; i < p->columns.n; i++)
		base64_put(p->out, p->columns.column[i].data, p->columns.column[i].len);
	append_string(p->out, "</script>\n");
}

static void put_title(struct page *p)
{
	const char *slash = strrchr(p->v->in->path, '/');

	html_text(p->out, slash ? slash + 1 : p->v->in->path);
}

static void fill_mark(struct page *p, const char *name, size_t len)
{
	if (len == 5 && !memcmp(name, "nonce", len))
		append_string(p->out, p->nonce);
	else if (len == 7 && !memcmp(name, "connect", len))
		append_string(p->out, p->v->in->served ? "'self'" : "'none'");
	else if (len == 5 && !memcmp(name, "title", len))
		put_title(p);
	else if (len == 5 && !memcmp(name, "style", len))
		append_string(p->out, view_asset_view_css);
	else if (len == 4 && !memcmp(name, "meta", len))
		put_meta(p);
	else if (len == 5 && !memcmp(name, "packs", len))
		put_packs(p);
	else if (len == 6 && !memcmp(name, "script", len))
		for (int i = 0; view_scripts[i]; i++)
			append_string(p->out, view_scripts[i]);
}

/* Replace each {{name}} in the template. */
static void write_page(struct page *p)
{
	const char *s = view_asset_page_html, *open;

	while ((open = strstr(s, "{{"))) {
		const char *close = strstr(open, "}}");

		if (!close)
			break;
		buf_put(p->out, s, (size_t)(open - s));
		fill_mark(p, open + 2, (size_t)(close - open - 2));
		s = close + 2;
	}
	append_string(p->out, s);
}

static int make_nonce(char out[33], struct errbuf *err)
{
	uint8_t r[16];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return err_set(err, "no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(out + 2 * i, 3, "%02x", r[i]);
	return 0;
}

/* Bytes left for packs with single calls and messages. A server delivers the rest on request. */
static uint64_t call_budget(const struct page *p)
{
	uint64_t packs = p->v->in->budget / 4 * 3, used = p->levels.len + p->ranks.len + p->marks.len;

	for (uint32_t i = 0; i < p->v->in->n_problem; i++)
		used += 60ull * p->v->in->problem[i].n_mark + 1024;
	used += p->v->sig_words.len + 16ull * p->v->n_sig + 64ull * p->v->n_place + 48ull * p->v->n_ranks + (256u << 10);
	packs = used < packs ? packs - used : 0;
	return p->v->in->served ? packs / 8 : packs;
}

/* Build the packs: messages first, up to their part of the room; single calls take the rest. */
static int build_packs(struct page *p, struct errbuf *err)
{
	struct view *v = p->v;
	uint64_t budget;

	if (make_nonce(p->nonce, err) < 0)
		return -1;
	view_progress(v, "levels", 0, 1);
	if (view_levels(v, 0, v->n_ranks, 0, v->end_ns, view_steps(v), &p->levels, err) < 0)
		return -1;
	view_stats_put_ranks(v, &p->ranks);
	if (view_marks_build(v, &p->marks, err) < 0)
		return -1;
	budget = call_budget(p);
	if (view_exchange_build(v, budget / MESSAGES_OF_BUDGET, &p->exchange, err) < 0)
		return -1;
	budget -= p->exchange.messages.len < budget ? p->exchange.messages.len : budget;
	if (view_columns_build(v, budget, &p->columns, err) < 0)
		return -1;
	view_progress(v, "", 1, 1);
	return 0;
}

int view_page(struct view *v, struct buf *out, struct errbuf *err)
{
	struct page p = {.v = v, .out = out};
	int rv = build_packs(&p, err);

	if (rv == 0)
		write_page(&p);
	if (rv == 0 && (out->failed || p.ranks.failed || p.levels.failed || p.exchange.pairs.failed ||
			p.exchange.messages.failed))
		rv = err_set(err, "no memory");
	view_columns_free(&p.columns);
	view_exchange_free(&p.exchange);
	buf_free(&p.levels);
	buf_free(&p.marks);
	buf_free(&p.ranks);
	return rv;
}
