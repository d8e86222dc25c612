/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Predicted runs as traces: see predicted_trace.h. Each rank is gone through twice: for communicators and sums, and to write. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/predicted_comms.h"
#include "model/inputs/predicted_samples.h"
#include "model/inputs/predicted_types.h"
#include "model/inputs/predicted_trace.h"
#include "trace/format/levels.h"
#include "trace/format/writer.h"
#include "trace/functions.h"

#define PAGE_EVENTS 65536u
#define LEVEL_SHIFT 14u /* as the tracer's */

/* A control point of the model. */
struct point {
	uint32_t pattern;
	uint32_t var[CALL_VALUES]; /* of each value of the pattern, PATTERN_NONE */
};
struct writing {
	struct foresee *f;
	struct pattern_set *set;
	struct trace_writer *out;
	struct point *point;
	uint32_t compute; /* variable */
	struct predicted_samples samples;
	struct predicted_members members;
	int64_t *val;
	struct errbuf *err;
};
/* The rank that is being predicted. */
struct rank_writing {
	struct writing *w;
	uint32_t rank;
	bool writes, failed;
	struct predicted_comms comms;
	struct pattern_play play;
	struct pattern_sum *sum;
	uint64_t enter, n;     /* of the event before: entry, in ns; events */
	uint64_t gap;	       /* and its gap */
	uint32_t last;	       /* and its pattern; PATTERN_NONE: none yet */
	struct trace_page page;
	struct buf times;
	struct levels levels;
	struct fold *fold;
	struct trace_defs defs; /* of the set, and its own */
	struct predicted_types types;
	struct pattern_objects objects; /* that were made */
};

/* ---- pages ---- */

static int put_page(struct writing *w, const struct trace_page *page, const struct buf *raw)
{
	struct buf out = {0};
	int rc = -1;

	if (raw->failed || trace_page_encode(page, raw->data, raw->len, &out) < 0)
		err_set(w->err, "no memory for a page of the trace");
	else
		rc = trace_writer_pages(w->out, out.data, out.len, w->err);
	buf_free(&out);
	return rc;
}

static int flush_times(struct rank_writing *r, uint64_t t1)
{
	r->page.type = TPAGE_TIMES;
	r->page.rank = r->rank;
	r->page.t1 = t1;
	if (r->page.n && put_page(r->w, &r->page, &r->times) < 0)
		return -1;
	r->page = (struct trace_page){.first = r->page.first + r->page.n, .t0 = t1};
	buf_reset(&r->times);
	return 0;
}

/* The event before ends at `leave`. */
static int finish_event(struct rank_writing *r, uint64_t leave)
{
	uint8_t state;

	if (r->last == PATTERN_NONE)
		return 0;
	state = trace_class_state(trace_fn[r->w->set->pattern[r->last].fn].cls);
	r->sum[r->last].dur_ns += (double)(leave - r->enter);
	if (!r->writes)
		return 0;
	trace_times_put(&r->times, r->gap, leave - r->enter);
	r->page.state[TSTATE_WORKING] += r->gap;
	r->page.state[state] += leave - r->enter;
	r->defs.proc.state_ticks[TSTATE_WORKING] += r->gap;
	r->defs.proc.state_ticks[state] += leave - r->enter;
	levels_add(&r->levels, r->enter - r->gap, r->enter, TSTATE_WORKING);
	levels_add(&r->levels, r->enter, leave, state);
	return ++r->page.n < PAGE_EVENTS ? 0 : flush_times(r, leave);
}

/* ---- calls ---- */

static int no_call(struct rank_writing *r, uint32_t point, const char *what)
{
	const char *name = r->w->f->m->point[point], *end = strrchr(name, '(');

	r->failed = true;
	err_set(r->w->err, "rank %u, call %llu: %.*s %s", r->rank, (unsigned long long)r->n,
		(int)(end && end > name ? end - name - 1 : (long)strlen(name)), name, what);
	return 1;
}

static int take_values(struct rank_writing *r, uint32_t point, const double *var, int64_t value[CALL_VALUES])
{
	const struct point *at = &r->w->point[point];
	char text[120];

	for (uint32_t i = 0; i < r->w->set->pattern[at->pattern].n_value; i++) {
		double v = at->var[i] == PATTERN_NONE ? INPUTS_MISSING : var[at->var[i]];

		if (v == INPUTS_UNKNOWN && r->w->set->pattern[at->pattern].spare >> i & 1)
			v = INPUTS_MISSING;
		if (v == INPUTS_UNKNOWN || !(fabs(v) < 0x1p62)) {
			snprintf(text, sizeof(text), "has a %.28s that is not predicted: it varies, or no rule holds for it",
				 r->w->set->pattern[at->pattern].value_name[i]);
			return no_call(r, point, text);
		}
		value[i] = v == INPUTS_MISSING ? CALL_MISSING : llround(v);
	}
	return 0;
}

static int write_event(struct rank_writing *r, uint32_t pattern, uint32_t n)
{
	const struct pattern *p = &r->w->set->pattern[pattern];
	uint32_t sym;

	if (predicted_types_name(&r->types, r->w->set, pattern, r->w->val) < 0)
		return -1;
	sym = sigtable_intern(&r->defs.sigs, p->fn, p->site, r->w->val, n);
	if (sym == UINT32_MAX)
		return -1;
	fold_push(r->fold, sym);
	predicted_samples_pass(&r->w->samples, pattern, r->n, r->enter - r->gap, r->enter);
	return fold_failed(r->fold) ? -1 : 0;
}

static int predict_call(void *arg, uint32_t point, double time_s, const double *var)
{
	struct rank_writing *r = arg;
	const struct point *at = &r->w->point[point];
	int64_t value[CALL_VALUES];
	uint64_t enter = time_s > 0 ? (uint64_t)fmin(time_s * 1e9, 0x1p62) : 0, gap = 0;
	double compute = var[r->w->compute];
	const char *why;
	uint32_t n;

	if (at->pattern == PATTERN_NONE)
		return no_call(r, point, "is in none of the given traces, which say what kind of call it is");
	if (take_values(r, point, var, value))
		return 1;
	n = pattern_play_make(&r->play, at->pattern, value, r->w->val, &why);
	if (why)
		return no_call(r, point, why);
	enter = enter < r->enter ? r->enter : enter;
	if (compute > 0)
		gap = compute < (double)(enter - r->enter) ? (uint64_t)llround(compute) : enter - r->enter;
	gap = gap > enter - r->enter ? enter - r->enter : gap;
	if (finish_event(r, enter - gap) < 0) {
		r->failed = true;
		return 1;
	}
	r->enter = enter;
	r->gap = gap;
	r->last = at->pattern;
	r->sum[at->pattern].n++;
	r->sum[at->pattern].gap_ns += (double)gap;
	if (pattern_play_made(&r->play, at->pattern, r->w->val) < 0 || (r->writes && write_event(r, at->pattern, n) < 0))
		return no_call(r, point, "and those before it take more memory than there is");
	r->n++;
	return 0;
}

/* One pass through the rank's calls. */
static int pass_calls(struct rank_writing *r, bool writes)
{
	struct foresee_sink sink = {predict_call, r};

	r->writes = writes;
	r->enter = r->n = r->gap = 0;
	r->last = PATTERN_NONE;
	memset(r->sum, 0, (r->w->set->n + 1u) * sizeof(*r->sum));
	if (pattern_play_begin(&r->play, r->w->set, r->w->f->ranks) < 0)
		return err_set(r->w->err, "no memory for rank %u", r->rank);
	if (writes)
		predicted_comms_answer(&r->comms, &r->play);
	else
		predicted_comms_listen(&r->comms, &r->play);
	if (foresee_rank(r->w->f, r->rank, &sink, NULL, NULL, r->w->err) < 0)
		r->failed = true;
	if (!r->failed && finish_event(r, r->enter) < 0)
		r->failed = true;
	if (writes) {
		r->objects = r->play.objects;
		r->play.objects = (struct pattern_objects){0};
	}
	pattern_play_end(&r->play);
	return r->failed ? -1 : 0;
}

/* ---- a rank's definitions ---- */

/* Nothing of a process but its times is predicted; the traced one that is nearest lends what does not change. */
static void fill_proc(struct rank_writing *r)
{
	const struct pattern_set *set = r->w->set;
	struct trace_proc *p = &r->defs.proc;
	uint32_t nearest = predicted_nearest(set, r->sum, false);
	const struct pattern_rank *k = nearest == PATTERN_NONE ? NULL : &set->rank[nearest];
	const struct trace_proc *was = k ? &trace_get_rank(set->trace[k->run], k->rank)->defs.proc : NULL;

	p->host = (char *)"predicted";
	p->program = was ? was->program : NULL;
	p->ended = (char *)"";
	p->ns_per_tick = 1;
	p->end_ticks = r->enter;
	p->cpu_ns = p->state_ticks[TSTATE_WORKING];
	p->init_ns = was ? was->init_ns : 0;
	p->before_ns = was ? was->before_ns : 0;
	p->thread_level = was ? was->thread_level : 0;
	p->finalized = 1;
	p->clock = (struct trace_clock_fix){.n = r->rank ? 2 : 0, .tick = {0, r->enter}};
}

static int write_head(struct rank_writing *r)
{
	struct trace_page page = {.type = TPAGE_DEFS, .rank = r->rank, .t1 = r->enter};
	struct writing *w = r->w;
	struct buf raw = {0};
	int rc = -1;

	fill_proc(r);
	r->defs.type = r->types.type;
	r->defs.n_type = r->types.n;
	r->defs.win = r->objects.win;
	r->defs.n_win = r->objects.n_win;
	r->defs.file = r->objects.file;
	r->defs.n_file = r->objects.n_file;
	trace_defs_encode(&r->defs, &raw);
	if (put_page(w, &page, &raw) < 0)
		goto out;
	buf_reset(&raw);
	page.type = TPAGE_STRUCT;
	if (fold_encode(r->fold, &raw) < 0) {
		err_set(w->err, "no memory for the structure of rank %u", r->rank);
		goto out;
	}
	if (put_page(w, &page, &raw) < 0)
		goto out;
	buf_reset(&raw);
	page.type = TPAGE_LEVELS;
	levels_limit(&r->levels, LEVELS_LEAST + r->n / LEVELS_CALLS);
	levels_encode(&r->levels, &raw);
	if (put_page(w, &page, &raw) < 0)
		goto out;
	buf_reset(&raw);
	page.type = TPAGE_SAMPLES;
	if (predicted_samples_end(&w->samples, r->sum, r->n, r->enter, &raw) < 0) {
		err_set(w->err, "no memory for the samples of rank %u", r->rank);
		goto out;
	}
	rc = raw.len ? put_page(w, &page, &raw) : 0;
out:
	buf_free(&raw);
	return rc;
}

/* What of it the set lends is not freed. */
static int begin_rank(struct rank_writing *r)
{
	struct writing *w = r->w;

	r->sum = calloc(w->set->n + 1u, sizeof(*r->sum));
	r->fold = fold_create();
	predicted_comms_begin(&r->comms, w->set, r->rank, w->f->ranks);
	if (!r->sum || !r->fold || levels_init(&r->levels, LEVEL_SHIFT) < 0)
		return err_set(w->err, "no memory for rank %u", r->rank);
	return 0;
}

static int predict_rank(struct writing *w, uint32_t rank)
{
	struct rank_writing r = {.w = w, .rank = rank};
	int rc = -1;

	if (begin_rank(&r) < 0 || pass_calls(&r, false) < 0 || predicted_comms_number(&r.comms, w->err) < 0 ||
	    predicted_members_add(&w->members, &r.comms, w->err) < 0 ||
	    predicted_samples_begin(&w->samples, w->set, r.sum, w->err) < 0)
		goto out;
	r.defs = w->set->defs;
	r.defs.comm = r.comms.comm;
	r.defs.n_comm = r.comms.n_comm;
	r.defs.sigs = (struct sigtable){0};
	if (pass_calls(&r, true) == 0 && flush_times(&r, r.enter) == 0)
		rc = write_head(&r);
	sigtable_free(&r.defs.sigs);
out:
	predicted_comms_free(&r.comms);
	predicted_types_free(&r.types);
	pattern_objects_end(&r.objects);
	buf_free(&r.times);
	levels_free(&r.levels);
	fold_destroy(r.fold);
	free(r.sum);
	return rc;
}

/* ---- all of it ---- */

static int find_points(struct writing *w)
{
	const struct model *m = w->f->m;

	for (w->compute = 0; w->compute < m->n_vars; w->compute++)
		if (!strcmp(m->var[w->compute].name, INPUTS_COMPUTE))
			break;
	if (w->compute == m->n_vars)
		return err_set(w->err, "the model does not tell computation from communication: fit it anew");
	for (uint32_t i = 0; i < m->n_points; i++) {
		struct point *p = &w->point[i];
		const char *end = strrchr(m->point[i], '(');
		uint32_t at[CALL_VALUES], n = foresee_values(m, i, at);

		p->pattern = pattern_find(w->set, m->point[i], end && end > m->point[i] ? (size_t)(end - m->point[i]) - 1 : 0);
		for (uint32_t v = 0; p->pattern != PATTERN_NONE && v < w->set->pattern[p->pattern].n_value; v++) {
			p->var[v] = PATTERN_NONE;
			for (uint32_t k = 0; k < n; k++)
				if (!strcmp(m->var[at[k]].name, w->set->pattern[p->pattern].value_name[v]))
					p->var[v] = at[k];
		}
	}
	return 0;
}

static void put_fact(struct buf *b, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	buf_put(b, key, strlen(key));
	buf_put_u8(b, '=');
	for (; *value; value++)
		buf_put_u8(b, (uint8_t)(*value == '\n' || *value == '\r' ? ' ' : *value));
	buf_put_u8(b, '\n');
}

static int put_job(struct writing *w, const char *from)
{
	static const char *const lent[] = {"program", "launcher", "mpi"};
	struct trace_page page = {.type = TPAGE_JOB};
	struct buf raw = {0};
	char text[16];
	int rc;

	put_fact(&raw, TRACE_PREDICTED, from);
	for (size_t i = 0; i < sizeof(lent) / sizeof(*lent); i++)
		put_fact(&raw, lent[i], trace_job_get(w->set->trace[0], lent[i]));
	snprintf(text, sizeof(text), "%u", w->f->ranks);
	put_fact(&raw, "ranks", text);
	rc = put_page(w, &page, &raw);
	buf_free(&raw);
	return rc;
}

int predicted_trace_write(struct foresee *f, struct pattern_set *set, const char *from, const char *path, struct errbuf *err)
{
	struct writing w = {.f = f, .set = set, .err = err};
	int rc = -1;

	w.point = calloc(f->m->n_points + 1u, sizeof(*w.point));
	w.val = malloc(PATTERN_VALUES * sizeof(*w.val));
	if (!w.point || !w.val) {
		err_set(err, "no memory to predict a trace");
		goto out;
	}
	if (find_points(&w) < 0 || !(w.out = trace_writer_create(path, f->ranks, err)))
		goto out;
	rc = put_job(&w, from);
	for (uint32_t r = 0; rc == 0 && r < f->ranks; r++)
		rc = predict_rank(&w, r);
	if (rc == 0)
		rc = predicted_members_check(&w.members, err);
	if (rc == 0)
		rc = trace_writer_close(w.out, false, err);
	else
		trace_writer_abort(w.out);
out:
	predicted_samples_free(&w.samples);
	predicted_members_free(&w.members);
	free(w.point);
	free(w.val);
	return rc;
}
