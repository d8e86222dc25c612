/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples for predicted ranks: see predicted_samples.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/predicted_samples.h"
#include "trace/read/samples_read.h"

#define FAR 10 /* in powers of e: a block that one has and the other has not */

uint32_t predicted_nearest(const struct pattern_set *set, const struct pattern_sum *sum, bool sampled)
{
	uint32_t best = PATTERN_NONE;
	double least = INFINITY;

	for (uint32_t i = 0; i < set->n_ranks; i++) {
		const struct pattern_rank *r = &set->rank[i];
		double distance = 0;

		if (sampled && !r->sampled)
			continue;
		for (uint32_t k = 0; k < set->n; k++) {
			const struct pattern_sum *was = k < r->n_sum ? &r->sum[k] : NULL;
			double away = FAR;

			if (!sum[k].n || !(sum[k].gap_ns > 0))
				continue;
			if (was && was->n && was->gap_ns > 0)
				away = fmin(FAR, fabs(log(sum[k].gap_ns / (double)sum[k].n * (double)was->n / was->gap_ns)));
			distance += sum[k].gap_ns * away;
		}
		if (distance < least) {
			least = distance;
			best = i;
		}
	}
	return best;
}

/* ---- the traced rank ---- */

static void drop_source(struct predicted_samples *p)
{
	trace_samples_free(&p->s);
	free(p->where);
	p->where = NULL;
	p->source = PATTERN_NONE;
}

static int compare_code(const void *a, const void *b)
{
	const struct trace_code *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* In the modules of the set. Pieces of code keep their order within a module. */
static void map_modules(struct predicted_samples *p, const uint32_t *module)
{
	for (uint32_t i = 0; i < p->s.n_place; i++)
		p->s.place[i].module = module[p->s.place[i].module];
	for (uint32_t i = 0; i < p->s.n_code; i++)
		p->s.code[i].module = module[p->s.code[i].module];
	qsort(p->s.code, p->s.n_code, sizeof(*p->s.code), compare_code);
}

static bool has_modules(const struct trace_samples *s, const struct trace_defs *d)
{
	for (uint32_t i = 0; i < s->n_code; i++)
		if (s->code[i].module >= d->n_module)
			return false;
	return true;
}

/* Which call of which pattern each sample belongs to. */
static int find_calls(struct predicted_samples *p, const struct trace_rank *rank)
{
	uint32_t n_sigs = rank->defs.sigs.n, next = 0, sym;
	uint32_t *of = malloc((n_sigs + 1u) * sizeof(*of));
	uint64_t *passed = calloc(p->set->n + 1u, sizeof(*passed));
	struct folded_iter it;
	struct call_view v;

	for (uint32_t i = 0; of && i < n_sigs; i++) {
		call_view(&rank->defs, i, &v);
		of[i] = pattern_find(p->set, v.name, strlen(v.name));
	}
	if (!of || !passed) {
		free(of);
		free(passed);
		return -1;
	}
	folded_begin(&it, &rank->events);
	for (uint64_t e = 0; next < p->s.n && folded_next(&it, &sym); e++) {
		uint32_t k = of[sym];

		for (; next < p->s.n && p->s.sample[next].event <= e; next++)
			if (k != PATTERN_NONE && p->s.sample[next].event == e)
				p->where[next] = (struct predicted_sample){k, passed[k], false};
		if (k != PATTERN_NONE)
			passed[k]++;
	}
	free(of);
	free(passed);
	return 0;
}

static int take_source(struct predicted_samples *p, uint32_t source, struct errbuf *err)
{
	const struct pattern_rank *r = &p->set->rank[source];
	const struct trace_rank *rank = trace_get_rank(p->set->trace[r->run], r->rank);
	struct pattern_map map = {0};
	int rc = -1, got;

	drop_source(p);
	got = trace_samples_read(p->set->trace[r->run], r->rank, &p->s, err);
	if (got <= 0)
		return got;
	if (!has_modules(&p->s, &rank->defs))
		return err_set(err, "rank %u: code of a module that is not defined", r->rank);
	p->where = malloc((p->s.n + 1u) * sizeof(*p->where));
	for (uint32_t i = 0; p->where && i < p->s.n; i++)
		p->where[i] = (struct predicted_sample){.pattern = PATTERN_NONE};
	if (!p->where || pattern_map_make(p->set, &rank->defs, &map) < 0 || find_calls(p, rank) < 0) {
		err_set(err, "no memory for samples");
	} else {
		map_modules(p, map.module);
		p->source = source;
		rc = 0;
	}
	pattern_map_free(&map);
	return rc;
}

/* ---- the predicted rank ---- */

static void forget_rank(struct predicted_samples *p)
{
	free(p->now);
	free(p->order);
	free(p->first);
	free(p->passed);
	p->now = NULL;
	p->order = p->first = NULL;
	p->passed = NULL;
}

static int compare_where(const void *a, const void *b, void *arg)
{
	const struct predicted_sample *w = arg, *x = &w[*(const uint32_t *)a], *y = &w[*(const uint32_t *)b];

	if (x->pattern != y->pattern)
		return x->pattern < y->pattern ? -1 : 1;
	if (x->occurrence != y->occurrence)
		return x->occurrence < y->occurrence ? -1 : 1;
	return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

int predicted_samples_begin(struct predicted_samples *p, struct pattern_set *set, const struct pattern_sum *sum, struct errbuf *err)
{
	uint32_t nearest = predicted_nearest(set, sum, true);

	if (!p->set)
		p->source = PATTERN_NONE;
	p->set = set;
	forget_rank(p);
	if (nearest == PATTERN_NONE)
		return 0;
	if (nearest != p->source && take_source(p, nearest, err) < 0)
		return -1;
	if (p->source == PATTERN_NONE)
		return 0;
	p->n_patterns = set->n;
	p->now = malloc((p->s.n + 1u) * sizeof(*p->now));
	p->order = malloc((p->s.n + 1u) * sizeof(*p->order));
	p->first = malloc((set->n + 1u) * sizeof(*p->first));
	p->passed = calloc(set->n + 1u, sizeof(*p->passed));
	if (!p->now || !p->order || !p->first || !p->passed)
		return err_set(err, "no memory for samples");
	memcpy(p->now, p->s.sample, p->s.n * sizeof(*p->now));
	for (uint32_t i = 0; i < p->s.n; i++) {
		p->order[i] = i;
		p->where[i].placed = false;
	}
	qsort_r(p->order, p->s.n, sizeof(*p->order), compare_where, p->where);
	for (uint32_t k = 0, i = 0; k < set->n; k++) {
		while (i < p->s.n && p->where[p->order[i]].pattern < k)
			i++;
		p->first[k] = i;
	}
	for (uint32_t i = 0; i < p->s.n; i++) { /* the traced rank's n calls of a pattern are the predicted one's */
		const struct predicted_sample *w = &p->where[i];
		const struct pattern_rank *r = &set->rank[p->source];

		p->now[i].event = w->pattern == PATTERN_NONE || !r->sum[w->pattern].n ? 0
				      : (uint64_t)(((double)w->occurrence + 0.5) * (double)sum[w->pattern].n /
						   (double)r->sum[w->pattern].n);
	}
	return 0;
}

void predicted_samples_pass(struct predicted_samples *p, uint32_t pattern, uint64_t event, uint64_t t0, uint64_t t1)
{
	uint64_t occurrence;
	uint32_t i;

	if (p->source == PATTERN_NONE || !p->now)
		return;
	occurrence = p->passed[pattern]++;
	for (i = p->first[pattern]; i < p->s.n; i++) {
		uint32_t k = p->order[i];

		if (p->where[k].pattern != pattern || (!p->where[k].placed && p->now[k].event > occurrence))
			break;
		p->where[k].placed = true;
		p->now[k].event = event;
		p->now[k].tick = p->now[k].flags & TSAMPLE_IN_MPI ? t1 : t0 + (t1 - t0) / 2;
	}
	p->first[pattern] = i;
}

static int compare_samples(const void *a, const void *b)
{
	const struct trace_sample *x = a, *y = b;
	int bx = x->flags & TSAMPLE_BORDER, by = y->flags & TSAMPLE_BORDER;

	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (bx != by)
		return (bx != 0) == (x->event == 0) ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static uint64_t times(uint64_t n, double by)
{
	return (uint64_t)fmin((double)n * by, 0x1p63);
}

static void stretch(struct trace_sample *s, double by)
{
	s->cpu_ns = times(s->cpu_ns, by);
	s->delayed_ns = 0; /* who else has the processors there is not predicted */
	s->asleep_ns = times(s->asleep_ns, by);
	for (int i = 0; i < TCOUNTER_N; i++)
		s->counter[i] = times(s->counter[i], by);
}

static double stretch_of(const struct predicted_samples *p, const struct pattern_sum *sum, uint32_t k)
{
	const struct pattern_sum *was = &p->set->rank[p->source].sum[p->where[k].pattern], *is = &sum[p->where[k].pattern];
	bool inside = p->now[k].flags & TSAMPLE_IN_MPI;
	double a = inside ? is->dur_ns : is->gap_ns, b = inside ? was->dur_ns : was->gap_ns;

	return b > 0 ? a / b : 0;
}

static const struct trace_proc *source_proc(const struct predicted_samples *p)
{
	const struct pattern_rank *r = &p->set->rank[p->source];

	return &trace_get_rank(p->set->trace[r->run], r->rank)->defs.proc;
}

int predicted_samples_end(struct predicted_samples *p, const struct pattern_sum *sum, uint64_t n, uint64_t end, struct buf *raw)
{
	struct trace_samples out = p->s;
	uint32_t kept = 0;
	double scale = 0, whole = 0, last;

	if (p->source == PATTERN_NONE || !p->now)
		return 0;
	last = p->s.n ? (double)p->s.sample[p->s.n - 1].tick * source_proc(p)->ns_per_tick : 0;
	for (uint32_t i = 0; i < p->s.n; i++) {
		struct trace_sample s = p->now[i];

		if (s.flags & TSAMPLE_BORDER) {
			bool begin = p->s.sample[i].tick <= p->s.sample[0].tick;

			s.event = begin ? 0 : n;
			s.tick = begin ? 0 : end;
			stretch(&s, last > 0 ? (double)end / last : 0);
		} else if (!p->where[i].placed) {
			continue;
		} else {
			whole += (double)s.cpu_ns;
			stretch(&s, stretch_of(p, sum, i));
			scale += (double)s.cpu_ns;
		}
		p->now[kept++] = s;
	}
	qsort(p->now, kept, sizeof(*p->now), compare_samples);
	for (uint32_t i = 1; i < kept; i++) /* ticks and events go the same way, but for borders at the same tick */
		if (p->now[i].event < p->now[i - 1].event)
			p->now[i].event = p->now[i - 1].event;
	out.sample = p->now;
	out.n = kept;
	out.period_ns = whole > 0 ? times(out.period_ns, scale / whole) : out.period_ns;
	trace_samples_encode(&out, raw);
	return raw->failed ? -1 : 0;
}

void predicted_samples_free(struct predicted_samples *p)
{
	if (p->set)
		drop_source(p);
	forget_rank(p);
}
