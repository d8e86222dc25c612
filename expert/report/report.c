/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See report.h. */
#include "expert/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define MAX_PLACES 4096 /* of a problem */
#define MAX_AT_ONCE 8   /* different ones of one finding */

/* What a rank does in a finding whose rule names who waits, or who is waited for. */
enum role { ROLE_UNTOLD, ROLE_WAITS, ROLE_AWAITED, ROLE_NONE };

struct seen {
	struct report *r;
	struct report_problem *p;
	uint64_t ns;
	bool marked;
	const struct rules *rules;
	struct report_place place[MAX_AT_ONCE]; /* its waits_ns: how long the longest of its calls stands here */
	uint32_t at[MAX_AT_ONCE];               /* which of the problem's places it is */
	int64_t from_ns[MAX_AT_ONCE];           /* when the first of them begins to */
	int64_t first_ns, last_ns;              /* of all */
	uint32_t n;
	int64_t waiting, awaited;               /* the ranks that the rule names; -1: none */
	int64_t awaited_ns;                     /* when that one comes */
};

/* Which given parameter has that name; -1: none. */
static int set_named(const struct engine_finding *f, const char *name)
{
	for (uint32_t i = 0; i < f->action->src->n_set; i++)
		if (!strcmp(f->action->src->set[i].name, name))
			return (int)i;
	return -1;
}

static uint8_t set_type(const struct engine_finding *f, int set)
{
	return f->type->param[f->action->src->set[set].slot - RA_N].type;
}

static struct report_problem *problem_of(struct report *r, uint32_t name)
{
	for (uint32_t i = 0; i < r->n_problem; i++)
		if (r->problem[i].name == name)
			return &r->problem[i];
	if (ARRAY_ROOM(r->problem, r->cap_problem, r->n_problem + 1) != 0)
		return NULL;
	r->problem[r->n_problem] = (struct report_problem){.name = name};
	return &r->problem[r->n_problem++];
}

static char *text_of(struct engine *e, const struct engine_finding *f, const char *name)
{
	int set = set_named(f, name);
	union rules_value v;

	if (set < 0 || set_type(f, set) != RT_STRING || !engine_finding_value(e, f, (uint32_t)set, &v))
		return strdup("");
	return strdup(engine_text(e, v.i));
}

/* The number of a string that may be given; 0: it is not. */
static uint32_t string_of(struct engine *e, const struct engine_finding *f, const char *name)
{
	int set = set_named(f, name);
	union rules_value v;

	return set >= 0 && set_type(f, set) == RT_STRING && engine_finding_value(e, f, (uint32_t)set, &v) ? (uint32_t)v.i : 0;
}

/* The rank that may be given; -1: it is not. */
static int64_t rank_of(struct engine *e, const struct engine_finding *f, const char *name)
{
	int set = set_named(f, name);
	union rules_value v;

	return set >= 0 && set_type(f, set) == RT_INT && engine_finding_value(e, f, (uint32_t)set, &v) ? v.i : -1;
}

static uint8_t remedy_of(const char *text, bool is_wait)
{
	static const char *const name[] = {[RR_EARLIER] = "earlier", [RR_BALANCE] = "balance", [RR_LEVEL] = "level",
					   [RR_REMOVE] = "remove", [RR_PROGRESS] = "progress"};

	for (uint8_t i = RR_EARLIER; i <= RR_PROGRESS; i++)
		if (!strcmp(name[i], text))
			return i;
	return is_wait ? RR_EARLIER : RR_NONE;
}

/* ---- places ---- */

/* Slots of a structure type. wait: slot of the beginning of the wait, or of the call. done_by: slot of the function of
 * the waiting call. */
static const struct report_slots *slots_of(struct seen *s, uint32_t type)
{
	struct report_slots *at = &s->r->slots[type];

	if (!at->wait) {
		int wait = rules_slot(s->rules->type[type], "wait_start_time"), by = rules_slot(s->rules->type[type], "wait_function");

		at->wait = (uint16_t)(wait < 0 ? RA_START : wait) + 1;
		at->done_by = (uint16_t)(by < 0 ? 0 : by);
	}
	return at;
}

static bool set_call(struct report_call *c, const struct trace_rank *k, int64_t function, int64_t site)
{
	if (site < 0 || site >= (int64_t)k->defs.n_site)
		return false;
	*c = (struct report_call){.function = (uint32_t)function, .site = (uint32_t)site, .site_hash = k->defs.site[site].hash};
	return true;
}

static bool same_call(const struct report_call *a, const struct report_call *b)
{
	return a->function == b->function && a->site_hash == b->site_hash;
}

static bool same_place(const struct report_place *a, const struct report_place *b)
{
	return a->role == b->role && same_call(&a->call, &b->call) && same_call(&a->begun, &b->begun);
}

/* Where no rank is said to wait, all do that come before the one waited for. */
static uint8_t role_of(const struct seen *s, uint32_t rank, int64_t from)
{
	if (s->waiting < 0 && s->awaited < 0)
		return ROLE_UNTOLD;
	if (rank == s->awaited)
		return ROLE_AWAITED;
	return rank == s->waiting || (s->waiting < 0 && from < s->awaited_ns) ? ROLE_WAITS : ROLE_NONE;
}

/* Where a simple event waits; false: it has no place. */
static bool waiting_place(struct seen *s, uint32_t type, const union rules_value *v, struct report_place *p)
{
	const struct report_slots *at = slots_of(s, type);
	const struct trace_rank *k;
	struct report_call done;

	*p = (struct report_place){.rank = (uint32_t)v[RA_RANK].i};
	p->role = role_of(s, p->rank, v[at->wait - 1].i);
	if (p->rank >= trace_n_ranks(s->r->t))
		return false;
	k = trace_get_rank(s->r->t, p->rank);
	if (!set_call(&p->call, k, v[RA_FUNCTION].i, v[RA_SITE].i))
		return false;
	if (!at->done_by || !v[at->done_by].i || !set_call(&done, k, v[at->done_by].i, v[at->done_by + 1].i) || same_call(&done, &p->call))
		return true;
	p->begun = p->call;
	p->call = done;
	return true;
}

static uint32_t find_seen(const struct seen *s, const struct report_place *p)
{
	uint32_t i = 0;

	while (i < s->n && !same_place(&s->place[i], p))
		i++;
	return i;
}

static int see_awaited(void *arg, uint32_t type, const union rules_value *v)
{
	struct seen *s = arg;

	if (v[RA_RANK].i == s->awaited)
		s->awaited_ns = v[slots_of(s, type)->wait - 1].i;
	return 0;
}

static int see_event(void *arg, uint32_t type, const union rules_value *v)
{
	struct seen *s = arg;
	uint16_t at = slots_of(s, type)->wait - 1;
	int64_t from = v[at].i;
	uint64_t ns = v[at + 1].i > from ? (uint64_t)(v[at + 1].i - from) : 0;
	struct report_place p;
	uint32_t i;

	if (!waiting_place(s, type, v, &p) || p.role == ROLE_NONE)
		return 0;
	s->first_ns = from < s->first_ns ? from : s->first_ns;
	s->last_ns = from > s->last_ns ? from : s->last_ns;
	i = find_seen(s, &p);
	if (i < s->n) {
		s->place[i].waits_ns = ns > s->place[i].waits_ns ? ns : s->place[i].waits_ns;
		s->from_ns[i] = from < s->from_ns[i] ? from : s->from_ns[i];
		return 0;
	}
	p.waits_ns = ns;
	s->from_ns[s->n] = from;
	s->place[s->n++] = p;
	return s->n == MAX_AT_ONCE;
}

/* All calls of a finding, and all ranks of its places. The time goes to the first of the calls. */
static int mark_call(void *arg, uint32_t type, const union rules_value *v)
{
	struct seen *s = arg;
	struct report_place p;
	uint32_t i;

	if (!waiting_place(s, type, v, &p))
		return 0;
	if (s->p->remedy != RR_NONE)
		marks_add(&s->r->marks, (uint32_t)(s->p - s->r->problem), p.rank, v[RA_EVENT].i, s->marked ? 0 : s->ns);
	s->marked = true;
	i = find_seen(s, &p);
	if (i < s->n && s->at[i] < s->p->n_place)
		s->p->place[s->at[i]].ranks[p.rank / 8] |= (uint8_t)(1u << p.rank % 8);
	return 0;
}

/* Who is waited for does not wait in the call that completes its own one. */
static struct report_place as_told(const struct seen *s, uint32_t i, bool waits)
{
	struct report_place p = s->place[i];

	if (!waits && p.begun.function)
		p.call = p.begun;
	if (!waits)
		p.begun = (struct report_call){0};
	p.waits_ns = 0;
	return p;
}

/* *at: which of the problem's places it is, MAX_PLACES: none. */
static int find_place(struct report *r, struct report_problem *p, const struct report_place *place, uint32_t *at)
{
	uint32_t i = 0;

	while (i < p->n_place && !same_place(&p->place[i], place))
		i++;
	*at = i;
	if (i < p->n_place || i == MAX_PLACES)
		return 0;
	if (ARRAY_ROOM(p->place, p->cap_place, i + 1) != 0)
		return -1;
	p->place[i] = *place;
	p->place[i].ranks = calloc(trace_n_ranks(r->t) / 8 + 1, 1);
	if (!p->place[i].ranks)
		return -1;
	p->n_place++;
	return 0;
}

/* Some call of this place begins to wait before the last one of all does. */
static bool is_early(const struct seen *s, uint32_t i)
{
	return s->from_ns[i] < s->last_ns || s->first_ns == s->last_ns;
}

/* Adds the finding's time to all of its places. A place of a rank that comes early counts as waiting if its wait is at
 * least half of the longest. */
static int add_places(struct seen *s, uint64_t ns)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (is_early(s, i) && s->place[i].waits_ns > longest)
			longest = s->place[i].waits_ns;
	for (uint32_t i = 0; i < s->n; i++) {
		bool early = is_early(s, i) && 2 * s->place[i].waits_ns >= longest, told = false;
		bool waits = s->place[i].role == ROLE_UNTOLD ? early : s->place[i].role == ROLE_WAITS;
		struct report_place place = as_told(s, i, waits);

		if (find_place(s->r, s->p, &place, &s->at[i]) < 0)
			return -1;
		for (uint32_t k = 0; k < i; k++)
			told |= s->at[k] == s->at[i];
		if (told || s->at[i] == MAX_PLACES)
			continue;
		s->p->place[s->at[i]].n++;
		s->p->place[s->at[i]].duration_ns += ns;
		s->p->place[s->at[i]].waits_ns += waits ? ns : 0;
	}
	return 0;
}

/* ---- all ---- */

static int add_finding(struct report *r, struct engine *e, const struct engine_finding *f, struct report_problem *p,
		       int64_t ns)
{
	struct seen s = {.r = r, .p = p, .rules = engine_rules(e), .first_ns = INT64_MAX, .last_ns = INT64_MIN,
			 .waiting = rank_of(e, f, "waiting"), .awaited = rank_of(e, f, "awaited"), .awaited_ns = INT64_MAX};

	p->n++;
	p->untimed += f->untimed;
	ns = f->untimed || ns < 0 ? 0 : ns;
	r->last = (uint32_t)(p - r->problem);
	r->last_ns = (uint64_t)ns;
	p->duration_ns += (uint64_t)ns;
	if (!p->description || (uint64_t)ns > p->longest_ns) {
		free(p->description);
		free(p->advice);
		p->description = text_of(e, f, "description");
		p->advice = text_of(e, f, "advice");
		p->longest_ns = (uint64_t)ns;
		if (!p->description || !p->advice)
			return -1;
	}
	if (!r->t)
		return 0;
	if (s.awaited >= 0)
		engine_finding_events(e, f, see_awaited, &s);
	engine_finding_events(e, f, see_event, &s);
	if (add_places(&s, (uint64_t)ns) < 0)
		return -1;
	s.ns = (uint64_t)ns;
	engine_finding_events(e, f, mark_call, &s);
	return 0;
}

int report_found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err)
{
	struct report *r = arg;
	int name = set_named(f, "name"), duration = set_named(f, "duration");
	union rules_value text, ns;
	struct report_problem *p;

	if (duration < 0)
		duration = set_named(f, "impact_time");
	if (name < 0 || duration < 0 || set_type(f, name) != RT_STRING ||
	    (set_type(f, duration) != RT_INT && set_type(f, duration) != RT_TIME)) {
		r->other++;
		return 0;
	}
	if (!engine_finding_value(e, f, (uint32_t)name, &text) || !engine_finding_value(e, f, (uint32_t)duration, &ns))
		return err_set(err, "the rules make too many different names of problems");
	p = problem_of(r, (uint32_t)text.i);
	if (p && !p->n) {
		p->id = string_of(e, f, "id");
		p->kind = string_of(e, f, "kind");
		p->is_wait = !p->kind || !strcmp(engine_text(e, p->kind), "wait");
		p->is_end = p->kind && !strcmp(engine_text(e, p->kind), "end");
		p->is_outside = p->kind && !strcmp(engine_text(e, p->kind), "outside");
		p->remedy = remedy_of(engine_text(e, string_of(e, f, "remedy")), p->is_wait);
	}
	if (!p || add_finding(r, e, f, p, ns.i) < 0)
		return err_set(err, "no memory for what the rules found");
	return 0;
}

static int longer_problem(const void *a, const void *b)
{
	const struct report_problem *x = a, *y = b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int longer_place(const void *a, const void *b)
{
	const struct report_place *x = a, *y = b;

	if (x->waits_ns != y->waits_ns)
		return x->waits_ns < y->waits_ns ? 1 : -1;
	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? 1 : -1;
	if (x->call.site_hash != y->call.site_hash)
		return x->call.site_hash < y->call.site_hash ? -1 : 1;
	return x->begun.site_hash < y->begun.site_hash ? -1 : x->begun.site_hash > y->begun.site_hash;
}

void report_sort_places(struct report_problem *p)
{
	if (p->n_place)
		qsort(p->place, p->n_place, sizeof(*p->place), longer_place);
}

double report_share(const struct report_problem *p, double rank_seconds, double outside_seconds)
{
	double all_s = rank_seconds + (p->is_outside ? outside_seconds : 0);

	return all_s > 0 ? (double)p->duration_ns * 1e-9 / all_s : 0;
}

void report_sort(struct report *r)
{
	if (r->n_problem)
		qsort(r->problem, r->n_problem, sizeof(*r->problem), longer_problem);
	for (uint32_t i = 0; i < r->n_problem; i++)
		report_sort_places(&r->problem[i]);
}

void report_free(struct report *r)
{
	for (uint32_t i = 0; i < r->n_problem; i++) {
		free(r->problem[i].description);
		free(r->problem[i].advice);
		for (uint32_t k = 0; k < r->problem[i].n_place; k++)
			free(r->problem[i].place[k].ranks);
		free(r->problem[i].place);
		free(r->problem[i].cause);
	}
	free(r->problem);
	marks_free(&r->marks);
	*r = (struct report){0};
}
