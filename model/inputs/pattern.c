/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns learnt from traces and proved on them: see pattern.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "model/inputs/pattern.h"
#include "trace/functions.h"

#define ALL_REQUESTS (PREQ_LITERAL | PREQ_BY_AGE | PREQ_BY_SLOT | PREQ_LATEST | PREQ_OLDEST)

/* A rank of a trace. */
struct look {
	struct pattern_set *set;
	const struct trace *trace;
	const struct trace_rank *rank;
	struct pattern_map map;
	uint32_t *pattern_of; /* by symbol */
	struct call_view *view;
	struct pattern_play play;
	int64_t *val, *made; /* PATTERN_VALUES */
	int64_t *slots;
	uint32_t n_slots;
	bool proving;
	struct errbuf *err;
};

uint32_t pattern_find(const struct pattern_set *s, const char *name, size_t len)
{
	uint32_t i = map_get(&s->names, XXH3_64bits(name, len));

	return i == MAP_NONE ? PATTERN_NONE : i;
}

/* ---- a new one ---- */

static uint32_t find_value(const struct call_view *v, const char *name)
{
	for (uint32_t i = 0; i < v->n; i++) {
		size_t n = strcspn(v->value[i].name, ".[");

		if (!strncmp(v->value[i].name, name, n) && (!name[n] || n == 16))
			return i;
	}
	return PATTERN_NONE;
}

static const char *never(uint16_t fn)
{
	const struct trace_fn_info *f = &trace_fn[fn];

	if (f->cls == TC_DYN)
		return "starts processes, which is not predicted";
	if (strcmp(f->name, "MPI_Probe") && (f->cls == TC_PROBE || strstr(f->name, "robe") || strstr(f->name, "Mrecv") ||
					     strstr(f->name, "mrecv")))
		return "looks for messages, and which there are is not predicted";
	for (uint32_t i = 0; i < f->n_param; i++)
		if (f->param[i].kind == TK_TYPES)
			return "has a list of datatypes, which is not predicted";
	return f->n_param > PATTERN_PARAMS ? "has too many parameters" : NULL;
}

static int new_pattern(struct look *l, const struct call_view *v, const struct trace_sig *sig)
{
	struct pattern_set *s = l->set;
	const struct trace_fn_info *fn = &trace_fn[sig->fn];
	struct pattern *p;
	char *name;

	if (ARRAY_ROOM(s->pattern, s->cap, s->n + 1) != 0)
		return -1;
	p = &s->pattern[s->n++];
	*p = (struct pattern){.fn = sig->fn, .n_value = v->n, .why = never(sig->fn)};
	p->site = sig->site < l->rank->defs.n_site ? l->map.site[sig->site] : 0;
	name = arena_alloc(s->arena, strlen(v->name) + 1, 1);
	p->value_name = arena_alloc(s->arena, v->n, sizeof(*p->value_name));
	if (!name || !p->value_name)
		return -1;
	memcpy(name, v->name, strlen(v->name));
	p->name = name;
	for (uint32_t i = 0; i < v->n; i++)
		memcpy(p->value_name[i], v->value[i].name, sizeof(*p->value_name));
	for (uint32_t i = 0; i < fn->n_param && !p->why; i++) {
		p->param[i].kind = fn->param[i].kind;
		p->param[i].at = find_value(v, fn->param[i].name);
		s->makes_comms |= fn->param[i].kind == TK_NEWCOMM;
	}
	return 0;
}

/* Patterns of all symbols of the rank. -1 without memory. */
static int name_symbols(struct look *l)
{
	const struct trace_defs *d = &l->rank->defs;

	for (uint32_t i = 0; i < d->sigs.n; i++) {
		uint32_t before = l->set->names.n;

		call_view(d, i, &l->view[i]);
		l->pattern_of[i] = map_put(&l->set->names, XXH3_64bits(l->view[i].name, strlen(l->view[i].name)));
		if (l->pattern_of[i] == MAP_NONE ||
		    (l->set->names.n > before && new_pattern(l, &l->view[i], &d->sigs.sig[i]) < 0))
			return err_set(l->err, "no memory for the calls of a trace");
	}
	return 0;
}

/* ---- learning ---- */

/* 1, or 0 when the list is of another length. -1 without memory. */
static int take_literal(struct look *l, struct pattern_param *k, const struct pattern_walk *w)
{
	if (!k->seen) {
		k->n = w->n;
		k->literal = arena_alloc(l->set->arena, w->n, sizeof(*k->literal));
		k->made_by = w->kind == TK_REQ || w->kind == TK_REQS ? arena_alloc(l->set->arena, w->n, sizeof(*k->made_by)) : NULL;
		if (!k->literal)
			return -1;
		memcpy(k->literal, w->at, w->n * sizeof(*k->literal));
		for (uint32_t i = 0; k->made_by && i < w->n; i++)
			k->made_by[i] = PATTERN_NONE;
		k->seen = k->same = true;
		k->rules = w->kind == TK_COUNTS ? PCOUNTS_SHARE | PCOUNTS_BLOCK : ALL_REQUESTS;
	}
	return k->n == w->n;
}

static void learn_comm(struct look *l, struct pattern *p, struct pattern_param *k, int64_t comm)
{
	uint32_t made_by = comm > 1 && comm < l->play.n_comm ? l->play.made_by[comm] : PATTERN_NONE;

	if (comm <= 1)
		return;
	if (!k->made_by) {
		k->made_by = arena_alloc(l->set->arena, 1, sizeof(*k->made_by));
		if (k->made_by)
			k->made_by[0] = made_by;
	}
	if (made_by == PATTERN_NONE || !k->made_by || k->made_by[0] != made_by)
		p->why = "uses communicators that are made in different places";
}

static void learn_requests(struct look *l, struct pattern_param *k, const struct pattern_walk *w)
{
	uint32_t n;

	if (k->n != w->n)
		k->rules &= PREQ_BY_AGE | PREQ_BY_SLOT;
	else if (memcmp(k->literal, w->at, w->n * sizeof(*w->at)))
		k->rules &= (uint8_t)~PREQ_LITERAL;
	for (uint8_t rule = PREQ_BY_AGE; rule <= PREQ_BY_SLOT; rule <<= 1) {
		if (!(k->rules & rule))
			continue;
		n = pattern_play_active(&l->play, rule == PREQ_BY_AGE, l->slots);
		if (n != w->n || memcmp(l->slots, w->at, n * sizeof(*w->at)))
			k->rules &= (uint8_t)~rule;
	}
	for (uint32_t i = 0; i < w->n && k->rules & (PREQ_LATEST | PREQ_OLDEST); i++) {
		int64_t slot = w->at[i];
		bool used = slot >= 0 && slot < l->play.n_request && l->play.request[slot].used;

		if (used && k->made_by[i] == PATTERN_NONE)
			k->made_by[i] = l->play.request[slot].made_by;
		for (int oldest = 0; oldest < 2; oldest++)
			if (k->made_by[i] != PATTERN_NONE && pattern_play_request_of(&l->play, k->made_by[i], oldest) != slot)
				k->rules &= (uint8_t)~(oldest ? PREQ_OLDEST : PREQ_LATEST);
	}
}

static void learn_counts(struct pattern_param *k, const struct pattern_walk *w)
{
	int64_t sum = 0;

	k->empty |= !w->n;
	k->full |= w->n;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->at[i] < 0 || __builtin_add_overflow(sum, w->at[i], &sum))
			k->rules = 0;
	for (uint8_t rule = PCOUNTS_SHARE; rule <= PCOUNTS_BLOCK; rule <<= 1)
		for (uint32_t i = 0; i < w->n && k->rules & rule; i++)
			if (pattern_play_count(rule, sum, w->n, i) != w->at[i])
				k->rules &= (uint8_t)~rule;
}

/* Of the datatype, window or file of a call. */
static int learn_object(struct look *l, struct pattern_param *k, enum pattern_object kind, int64_t index)
{
	bool named = kind == POBJ_TYPE && index >= 0 && l->set->defs.type[index].name;

	if (!k->makers) {
		k->makers = arena_alloc(l->set->arena, 1, sizeof(*k->makers));
		k->n_makers = 1;
	}
	return k->makers ? pattern_makers_learn(k->makers, &l->play.objects, kind, named ? TRACE_NULL : index, l->set->arena) : -1;
}

/* Beside the numbers that are values. */
static bool same_contents(const struct pattern_set *s, const struct trace_type *a, const struct trace_type *b)
{
	uint32_t ints = call_type_ints(a), addrs = call_type_addrs(a);

	if (a->combiner != b->combiner || a->n_int != b->n_int || a->n_addr != b->n_addr || a->n_sub != b->n_sub ||
	    memcmp(a->integer + ints, b->integer + ints, (a->n_int - ints) * sizeof(*a->integer)) ||
	    memcmp(a->addr + addrs, b->addr + addrs, (a->n_addr - addrs) * sizeof(*a->addr)))
		return false;
	for (uint32_t i = 0; i < a->n_sub; i++)
		if (a->sub[i] != b->sub[i] && (s->defs.type[a->sub[i]].name || s->defs.type[b->sub[i]].name))
			return false;
	return true;
}

static int learn_new_type(struct look *l, struct pattern_param *k, int64_t index)
{
	const struct trace_type *t, *first;

	if (index < 0 || k->literal[0] < 0) {
		k->other |= index != k->literal[0];
		return 0;
	}
	t = &l->set->defs.type[index];
	first = &l->set->defs.type[k->literal[0]];
	if (t->name || first->name || !same_contents(l->set, first, t)) {
		k->other |= index != k->literal[0];
		return 0;
	}
	if (!k->makers) {
		k->makers = arena_alloc(l->set->arena, t->n_sub, sizeof(*k->makers));
		k->n_makers = t->n_sub;
	}
	for (uint32_t i = 0; k->makers && i < t->n_sub; i++)
		if (!l->set->defs.type[t->sub[i]].name &&
		    pattern_makers_learn(&k->makers[i], &l->play.objects, POBJ_TYPE, t->sub[i], l->set->arena) < 0)
			return -1;
	return k->makers ? 0 : -1;
}

static int learn_made(struct look *l, struct pattern_param *k, const struct pattern_walk *w)
{
	const struct trace_defs *d = &l->rank->defs;
	int64_t v = w->n ? w->at[0] : TRACE_NULL;

	switch (w->kind) {
	case TK_TYPE:
		return learn_object(l, k, POBJ_TYPE, v);
	case TK_WIN:
		return learn_object(l, k, POBJ_WIN, v);
	case TK_FILE:
		return learn_object(l, k, POBJ_FILE, v);
	case TK_NEWTYPE:
		return learn_new_type(l, k, v);
	case TK_NEWFILE:
		return v >= 0 && v < d->n_file ? pattern_name_learn(&k->file, d->file[v].name, l->set->arena) : 0;
	default:
		return 0;
	}
}

static int learn_call(struct look *l, uint32_t pattern, const int64_t *val)
{
	struct pattern *p = &l->set->pattern[pattern];
	struct pattern_walk w = {.pattern = p, .val = val};

	while (!p->why && pattern_walk_next(&w)) {
		struct pattern_param *k = &p->param[w.i - 1];
		int same = take_literal(l, k, &w);

		if (same < 0 || learn_made(l, k, &w) < 0)
			return err_set(l->err, "no memory for the calls of a trace");
		if (w.kind == TK_COMM)
			learn_comm(l, p, k, w.at[0]);
		else if (w.kind == TK_REQ || w.kind == TK_REQS)
			learn_requests(l, k, &w);
		else if (w.kind == TK_COUNTS)
			learn_counts(k, &w);
		else if (w.kind == TK_NEWCOMM)
			*(w.at[0] < 0 ? &k->empty : &k->full) = true;
		if (!same)
			k->same = false;
		for (uint32_t i = 0; i < w.n && k->same; i++)
			k->same = w.at[i] == k->literal[i] || (k->at != PATTERN_NONE && w.kind != TK_TYPE && i < 3);
	}
	return 0;
}

/* ---- proving ---- */

static int64_t comm_that_was(void *arg, uint32_t pattern)
{
	struct look *l = arg;
	struct pattern_walk w = {.pattern = &l->set->pattern[pattern], .val = l->val};

	while (pattern_walk_next(&w))
		if (w.kind == TK_NEWCOMM)
			return w.at[0];
	return TRACE_NULL;
}

/* Windows and files have the numbers of the trace only where they are the same ones. */
static bool same_objects(const struct look *l, const struct pattern *p)
{
	const struct trace_defs *d = &l->rank->defs;
	const struct pattern_objects *o = &l->play.objects;
	struct pattern_walk w = {.pattern = p, .val = l->made};

	while (pattern_walk_next(&w)) {
		int64_t v = w.n ? w.at[0] : TRACE_NULL;

		if (w.kind == TK_NEWWIN && v >= 0 &&
		    (v >= d->n_win || v >= o->n_win || d->win[v].kind != o->win[v].kind || d->win[v].comm != o->win[v].comm ||
		     d->win[v].ordinal != o->win[v].ordinal || d->win[v].size != o->win[v].size ||
		     d->win[v].disp_unit != o->win[v].disp_unit))
			return false;
		if (w.kind == TK_NEWFILE && v >= 0 &&
		    (v >= d->n_file || v >= o->n_file || d->file[v].comm != o->file[v].comm ||
		     d->file[v].ordinal != o->file[v].ordinal || d->file[v].amode != o->file[v].amode ||
		     strcmp(d->file[v].name, o->file[v].name)))
			return false;
	}
	return true;
}

static void prove_call(struct look *l, uint32_t pattern, uint32_t sym, uint32_t n)
{
	struct pattern *p = &l->set->pattern[pattern];
	int64_t value[CALL_VALUES];
	const char *why;
	uint32_t made;

	if (p->why)
		return;
	for (uint32_t i = 0; i < l->view[sym].n; i++)
		value[i] = l->view[sym].value[i].v;
	if (l->view[sym].n != p->n_value) {
		p->why = "has other values from call to call";
		return;
	}
	made = pattern_play_make(&l->play, pattern, value, l->made, &why);
	if (why)
		p->why = why;
	else if (made != n || memcmp(l->made, l->val, n * sizeof(*l->val)) || !same_objects(l, p))
		p->why = strstr(p->name, "ecv") || trace_fn[p->fn].cls == TC_WAIT
			     ? "takes messages or requests in an order that follows no rule in the traces"
			     : "has parameters that do not follow from its values in the traces";
}

static int see_call(struct look *l, uint32_t sym, struct pattern_sum *sum, const struct trace_event *ev, bool timed)
{
	uint32_t pattern = l->pattern_of[sym], n = pattern_values(&l->rank->defs, sym, &l->map, l->val);

	if (!n && trace_fn[l->rank->defs.sigs.sig[sym].fn].n_param) {
		l->set->pattern[pattern].why = "has too many values";
		return 0;
	}
	if (ARRAY_ROOM(l->slots, l->n_slots, l->play.n_request) != 0)
		return err_set(l->err, "no memory for requests");
	if (l->proving)
		prove_call(l, pattern, sym, n);
	else if (learn_call(l, pattern, l->val) < 0)
		return -1;
	if (!l->proving) {
		sum[pattern].n++;
		sum[pattern].gap_ns += timed ? (double)ev->gap_ns : 0;
		sum[pattern].dur_ns += timed ? (double)ev->dur_ns : 0;
	}
	if (pattern_play_made(&l->play, pattern, l->val) < 0)
		return err_set(l->err, "no memory, or more than %u requests at a time", PATTERN_REQUESTS);
	return 0;
}

static int see_rank(struct look *l, uint32_t rank, struct pattern_sum *sum)
{
	struct trace_iter *it = trace_iter_create(l->trace, rank, l->err);
	struct trace_event ev;
	bool timed;
	int rc = it ? 0 : -1;

	while (rc == 0 && trace_iter_next(it, &ev, &timed))
		rc = see_call(l, ev.sym, sum, &ev, timed);
	trace_iter_destroy(it);
	return rc;
}

static int read_rank(struct pattern_set *s, struct pattern_rank *r, bool proving, struct errbuf *err)
{
	struct look l = {.set = s, .trace = s->trace[r->run], .proving = proving, .err = err};
	uint32_t n_sigs;
	int rc = -1;

	l.rank = trace_get_rank(l.trace, r->rank);
	n_sigs = l.rank->defs.sigs.n;
	l.val = malloc(2 * PATTERN_VALUES * sizeof(*l.val));
	l.pattern_of = calloc(n_sigs + 1u, sizeof(*l.pattern_of));
	l.view = malloc((n_sigs + 1u) * sizeof(*l.view));
	if (!l.val || !l.pattern_of || !l.view || pattern_map_make(s, &l.rank->defs, &l.map) < 0) {
		err_set(err, "no memory for the calls of a trace");
		goto out;
	}
	l.made = l.val + PATTERN_VALUES;
	if (name_symbols(&l) < 0)
		goto out;
	if (!proving)
		r->sum = arena_alloc(s->arena, r->n_sum = s->n, sizeof(*r->sum));
	if (!r->sum || pattern_play_begin(&l.play, s, trace_n_ranks(l.trace)) < 0) {
		err_set(err, "no memory for the calls of a trace");
		goto out;
	}
	l.play.make_comm = comm_that_was;
	l.play.arg = &l;
	rc = see_rank(&l, r->rank, r->sum);
	pattern_play_end(&l.play);
out:
	free(l.val);
	free(l.slots);
	free(l.pattern_of);
	free(l.view);
	pattern_map_free(&l.map);
	return rc;
}

/* ---- all of them ---- */

static int list_ranks(struct pattern_set *s, struct errbuf *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_runs; i++) {
		const struct trace *t = s->trace[i];

		for (uint32_t r = 0; r < trace_n_ranks(t); r++, n++) {
			if (!trace_get_rank(t, r)->present)
				return err_set(err, "rank %u is missing or damaged", r);
			s->rank[n] = (struct pattern_rank){.run = i, .rank = r};
		}
		for (uint32_t k = 0; k < trace_n_pages(t); k++) {
			const struct trace_page *page = trace_page_at(t, k);

			if (page->type == TPAGE_SAMPLES && page->rank < trace_n_ranks(t))
				s->rank[n - trace_n_ranks(t) + page->rank].sampled = true;
		}
	}
	return 0;
}

/* Calls that the traces name and never make: nothing is known of their parameters. */
static void doubt_unseen(struct pattern_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->pattern[i].why && trace_fn[s->pattern[i].fn].n_param && !s->pattern[i].param[0].seen)
			s->pattern[i].why = "is never called in the given traces";
}

/* Is it a derived datatype of which not all follows from a call's values? */
static bool is_copied(const struct pattern_set *s, const struct pattern_param *p)
{
	const struct trace_type *t = p->seen && p->literal[0] >= 0 ? &s->defs.type[p->literal[0]] : NULL;

	if (!t || t->name)
		return false;
	if (p->kind == TK_NEWTYPE)
		return call_type_ints(t) < t->n_int || call_type_addrs(t) < t->n_addr;
	return !p->makers || !p->makers->n;
}

/* One run says nothing of how a datatype depends on the arguments, where no values do. */
static void doubt_types(struct pattern_set *s)
{
	for (uint32_t i = 0; s->n_runs < 2 && i < s->n; i++)
		for (uint32_t k = 0; k < trace_fn[s->pattern[i].fn].n_param && !s->pattern[i].why; k++) {
			const struct pattern_param *p = &s->pattern[i].param[k];

			if ((p->kind == TK_TYPE || p->kind == TK_NEWTYPE) && is_copied(s, p))
				s->pattern[i].why = "has a derived datatype, and one run does not say what that depends on";
		}
}

/* Sizes of datatypes that a constructor made are what it made. */
static void find_spare(struct pattern_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < trace_fn[s->pattern[i].fn].n_param && !s->pattern[i].why; k++) {
			const struct pattern_param *p = &s->pattern[i].param[k];

			if (p->kind == TK_TYPE && p->at != PATTERN_NONE && p->makers && p->makers->n)
				s->pattern[i].spare |= 1u << p->at;
		}
}

int patterns_learn(struct pattern_set *s, struct trace *const *trace, uint32_t n, struct errbuf *err)
{
	*s = (struct pattern_set){.n_runs = n, .trace = calloc(n + 1u, sizeof(struct trace *)), .arena = arena_create()};
	if (!s->trace || !s->arena)
		return err_set(err, "no memory for %u traces", n);
	for (uint32_t i = 0; i < n; i++) {
		s->trace[i] = trace[i];
		s->n_ranks += trace_n_ranks(trace[i]);
	}
	s->rank = calloc(s->n_ranks + 1u, sizeof(*s->rank));
	if (!s->rank)
		return err_set(err, "no memory for %u ranks", s->n_ranks);
	if (list_ranks(s, err) < 0)
		return -1;
	for (int proving = 0; proving < 2; proving++) {
		for (uint32_t i = 0; i < s->n_ranks; i++)
			if (read_rank(s, &s->rank[i], proving, err) < 0)
				return -1;
		doubt_unseen(s);
		doubt_types(s);
	}
	find_spare(s);
	return 0;
}

void patterns_free(struct pattern_set *s)
{
	free(s->pattern);
	map_free(&s->names);
	free(s->trace);
	free(s->rank);
	free(s->defs.module);
	free(s->defs.site);
	free(s->defs.type);
	free(s->defs.op);
	arena_destroy(s->arena);
	*s = (struct pattern_set){0};
}
