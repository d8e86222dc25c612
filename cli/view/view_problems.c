/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Problems for the page: see view_problems.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/view/view_problems.h"
#include "common/array.h"
#include "expert/events/input.h"
#include "expert/report/report.h"

#define MARKS_KEPT  2000u /* of a problem: the longest */
#define SHOWN_SHARE 0.001

struct marks {
	uint32_t n;
	struct view_problem_mark mark[2 * MARKS_KEPT];
};

struct gathering {
	struct report report;      /* first, so that a pointer to the report is a pointer to this struct */
	struct marks **marks;      /* of the report's problems */
	uint32_t n_marks;
	const struct rules *rules;
	uint16_t wait[RULES_MAX_STRUCTS]; /* slot of wait_start_time, before that of wait_finish_time; 0: none */
};

static int longer(const void *a, const void *b)
{
	const struct view_problem_mark *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int earlier(const void *a, const void *b)
{
	const struct view_problem_mark *x = a, *y = b;

	return (x->t0_ns > y->t0_ns) - (x->t0_ns < y->t0_ns);
}

/* ---- where a finding lies ---- */

static void find_waits(struct gathering *g)
{
	for (uint32_t i = 0; i < g->rules->n_type; i++)
		for (uint32_t k = 0; k + 1 < g->rules->type[i]->n_param; k++)
			if (!strcmp(g->rules->type[i]->param[k].name, "wait_start_time"))
				g->wait[i] = (uint16_t)(RA_N + k);
}

struct place {
	const struct gathering *g;
	struct view_problem_mark mark;
	uint32_t n;
};

/* The rank that stands longest is where it is shown. */
static int see_longest(void *arg, uint32_t type, const union rules_value *v)
{
	struct place *p = arg;
	uint16_t wait = p->g->wait[type];
	int64_t t0 = v[wait ? wait : RA_START].i, t1 = v[wait ? wait + 1 : RA_FINISH].i;
	uint32_t rank = (uint32_t)v[RA_RANK].i;

	if (rank >= trace_n_ranks(p->g->report.t))
		return 0;
	p->mark.first = !p->n || rank < p->mark.first ? rank : p->mark.first;
	p->mark.last = !p->n || rank > p->mark.last ? rank : p->mark.last;
	if (!p->n++ || (t1 > t0 && (uint64_t)(t1 - t0) > p->mark.t1_ns - p->mark.t0_ns)) {
		p->mark.rank = rank;
		p->mark.t0_ns = t0 > 0 ? (uint64_t)t0 : 0;
		p->mark.t1_ns = t1 > t0 && t1 > 0 ? (uint64_t)t1 : p->mark.t0_ns;
	}
	return 0;
}

static struct marks *marks_of(struct gathering *g, uint32_t problem)
{
	if (ARRAY_ROOM_ZEROED(g->marks, g->n_marks, (size_t)problem + 1) < 0)
		return NULL;
	if (!g->marks[problem])
		g->marks[problem] = calloc(1, sizeof(**g->marks));
	return g->marks[problem];
}

static int found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err)
{
	struct gathering *g = arg;
	struct place p = {.g = g};
	struct marks *m;

	g->report.last = UINT32_MAX;
	if (report_found(&g->report, e, f, err) < 0)
		return -1;
	if (g->report.last == UINT32_MAX || !g->report.last_ns)
		return 0;
	m = marks_of(g, g->report.last);
	if (!m)
		return err_set(err, "no memory for what the rules found");
	engine_finding_events(e, f, see_longest, &p);
	if (!p.n)
		return 0;
	p.mark.ns = g->report.last_ns;
	if (m->n == 2 * MARKS_KEPT) {
		qsort(m->mark, m->n, sizeof(*m->mark), longer);
		m->n = MARKS_KEPT;
	}
	m->mark[m->n++] = p.mark;
	return 0;
}

/* ---- for the page ---- */

static void add_problem(struct engine *e, const struct report_problem *p, const struct trace *t, struct marks *m, double all_s,
			double outside_s, struct symbolizer *sym, struct view_problems *out)
{
	struct view_problem *q = &out->problem[out->n];
	char site[256] = "";

	if (p->n_place) {
		const struct report_place *w = &p->place[0];
		const struct trace_defs *d = &trace_get_rank(t, w->rank)->defs;

		symbolizer_site(sym, d, &d->site[w->call.site], site, sizeof(site));
	}
	*q = (struct view_problem){.title = strdup(engine_text(e, p->name)), .text = strdup(p->description),
				   .advice = strdup(p->advice), .site = strdup(site), .ns = p->duration_ns, .times = p->n,
				   .share = report_share(p, all_s, outside_s), .rank = UINT32_MAX};
	if (m && m->n) {
		qsort(m->mark, m->n, sizeof(*m->mark), longer);
		q->n_mark = m->n < MARKS_KEPT ? m->n : MARKS_KEPT;
		q->rank = m->mark[0].rank;
		q->t0_ns = m->mark[0].t0_ns;
		q->t1_ns = m->mark[0].t1_ns;
		q->mark = malloc(q->n_mark * sizeof(*q->mark));
		if (q->mark)
			memcpy(q->mark, m->mark, q->n_mark * sizeof(*q->mark));
		else
			q->n_mark = 0;
		if (q->n_mark)
			qsort(q->mark, q->n_mark, sizeof(*q->mark), earlier);
	}
	out->n++;
}

/* Whether it says where time was lost, not why or how. */
static bool is_wait(struct engine *e, const struct report_problem *p)
{
	return !p->kind || !*engine_text(e, p->kind) || !strcmp(engine_text(e, p->kind), "wait");
}

/* Why the run ended comes first, then waits, then what explains them. */
static int place_of(struct engine *e, const struct report_problem *p)
{
	return p->is_end ? 0 : is_wait(e, p) ? 1 : 2;
}

/* The next one for the page, the longest first. */
static struct report_problem *next_problem(struct report *r, struct engine *e, double least_ns)
{
	struct report_problem *best = NULL;

	for (uint32_t i = 0; i < r->n_problem; i++) {
		struct report_problem *p = &r->problem[i];

		if (!p->n || (double)p->duration_ns < least_ns)
			continue;
		if (!best || place_of(e, p) < place_of(e, best) ||
		    (place_of(e, p) == place_of(e, best) && p->duration_ns > best->duration_ns))
			best = p;
	}
	return best;
}

static int put_page_problems(struct gathering *g, struct engine *e, const struct trace *t, double all_s, double outside_s,
	       struct symbolizer *sym, struct view_problems *out, struct errbuf *err)
{
	struct report *r = &g->report;
	struct report_problem *p;

	out->problem = calloc(r->n_problem + 1ull, sizeof(*out->problem));
	if (!out->problem)
		return err_set(err, "no memory");
	while (all_s > 0 && (p = next_problem(r, e, SHOWN_SHARE * 1e9 * all_s))) {
		uint32_t i = (uint32_t)(p - r->problem);

		report_sort_places(p);
		add_problem(e, p, t, i < g->n_marks && place_of(e, p) < 2 ? g->marks[i] : NULL, all_s, outside_s, sym, out);
		p->n = 0;
	}
	for (uint32_t i = 0; i < out->n; i++)
		if (!out->problem[i].title || !out->problem[i].text || !out->problem[i].advice || !out->problem[i].site)
			return err_set(err, "no memory");
	return 0;
}

int view_problems_build(const struct trace *t, const char *rules_path, struct symbolizer *sym,
			void (*progress)(double share), struct view_problems *out, struct errbuf *err)
{
	struct gathering g = {.report.t = t};
	struct engine_options o = {.found = found, .arg = &g, .ahead_from = ENGINE_AHEAD};
	struct input_report in;
	struct rules *rules;
	struct plan *plan;
	struct engine *e;
	int rv = -1;

	*out = (struct view_problems){0};
	if (trace_is_imported(t))
		return 0;
	rules = rules_load(rules_path, err);
	plan = rules ? plan_create(rules, err) : NULL;
	e = plan ? engine_create(plan, &o, err) : NULL;
	g.rules = rules;
	if (e) {
		find_waits(&g);
		rv = input_run(t, NULL, e, progress, &in, err);
	}
	if (rv == 0)
		rv = put_page_problems(&g, e, t, in.rank_seconds, in.outside_seconds, sym, out, err);
	if (rv < 0)
		view_problems_free(out);
	for (uint32_t i = 0; i < g.n_marks; i++)
		free(g.marks[i]);
	free(g.marks);
	report_free(&g.report);
	engine_destroy(e);
	plan_destroy(plan);
	rules_free(rules);
	return rv;
}

void view_problems_free(struct view_problems *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		free((char *)p->problem[i].title);
		free((char *)p->problem[i].text);
		free((char *)p->problem[i].advice);
		free((char *)p->problem[i].site);
		free(p->problem[i].mark);
	}
	free(p->problem);
	*p = (struct view_problems){0};
}
