/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cycle: an event comes in, its consequences are carried out, and entries that are no longer needed are released.
 * See engine.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "expert/engine/spill.h"

#define WAITING_MAX (4ull << 20)
#define SPILLED_MAX (16ull << 20)
#define FIRINGS_MAX (1u << 20)
#define AGE_EVERY   64 /* events between two checks of the ages of waiting entries */

static int copy_strings(struct strings *to, const struct strings *from)
{
	if (strings_init(to, 2 * from->bytes + RULES_MAX_MEMORY) < 0)
		return -1;
	for (uint32_t i = 0; i < from->n; i++)
		if (strings_put(to, from->text[i], from->len[i]) != i)
			return -1;
	return 0;
}

struct engine *engine_create(const struct plan *p, const struct engine_options *o, struct errbuf *err)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (e)
		e->p = p;
	if (!e || copy_strings(&e->text, &p->rules->text) < 0 || queues_init(&e->q, p) < 0 || ages_init(&e->ages) < 0 ||
	    !(e->pool = calloc(p->rules->n_type + 1ull, sizeof(*e->pool)))) {
		err_set(err, "no memory for the rules");
		engine_destroy(e);
		return NULL;
	}
	if (o)
		e->o = *o;
	if (!e->o.waiting_max)
		e->o.waiting_max = WAITING_MAX;
	if (!e->o.spilled_max)
		e->o.spilled_max = SPILLED_MAX;
	if (!e->o.firings_max)
		e->o.firings_max = FIRINGS_MAX;
	if (!e->o.age_max_ns)
		e->o.age_max_ns = ENGINE_AGE_MAX_NS;
	for (uint32_t i = 0; i < p->rules->n_type; i++)
		e->pool[i].wanted = engine_wants(e, i);
	e->next_seq = e->n_cycle = 1;
	e->frame = (struct eval_frame){.text = &e->text, .zero_divisions = &e->report.zero_divisions};
	return e;
}

static void free_members(struct engine *e)
{
	while (e->ages.n)
		engine_forget(e, ages_oldest(&e->ages));
	while (e->ahead.n)
		entry_release(e, ahead_pop(e));
	for (struct entry *x = e->agenda, *next; x; x = next) {
		next = x->also;
		entry_release(e, x);
	}
	for (struct entry *x = e->cycle, *next; x; x = next) {
		next = x->also;
		entry_release(e, x);
	}
	entry_bury_all(e);
}

void engine_destroy(struct engine *e)
{
	if (!e)
		return;
	if (e->pool && e->q.all)
		free_members(e);
	entry_pools_free(e);
	queues_free(&e->q);
	ages_free(&e->ages);
	spill_free(e->spill);
	strings_free(&e->text);
	free(e->fired);
	free(e->group);
	free(e);
}

const struct rules *engine_rules(const struct engine *e)
{
	return e->p->rules;
}

bool engine_wants(const struct engine *e, uint32_t type)
{
	return e->p->type[type].n_pattern;
}

uint32_t engine_string(struct engine *e, const char *text)
{
	return strings_put(&e->text, text, strlen(text));
}

const char *engine_text(const struct engine *e, int64_t string)
{
	return strings_get(&e->text, (uint64_t)string);
}

/* ---- groups ---- */

/* b: of that pattern. */
static int collect_group(struct engine *e, const struct plan_pattern *p, const struct bucket *b)
{
	if (ARRAY_ROOM(e->group, e->cap_group, b->n) != 0)
		return err_set(e->err, "no memory for a group");
	e->n_group = 0;
	for (struct entry *x = b->head; x; x = entry_link(x, p->first_link + p->index->first_link)->next)
		e->group[e->n_group++] = x;
	return 0;
}

/* x joins its group, which is complete perhaps. 1, or -1. */
static int join_group(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	const struct bucket *b;
	int64_t all;

	if (queues_insert(e, p, x) < 0)
		return -1;
	b = queues_group(p, x);
	e->bound[0] = x;
	e->frame.bound = e->bound;
	all = eval(p->all, &e->frame).i;
	if (all < 1 || (uint64_t)all > b->n)
		return 1;
	if (collect_group(e, p, b) < 0)
		return -1;
	if (engine_fire(e, p->owner) < 0)
		return -1;
	e->n_group = 0;
	return 1;
}

/* ---- the cycle ---- */

static inline bool tests_hold(const struct plan_pattern *p, const union rules_value *v)
{
	for (const struct plan_range *t = p->range; t < p->range_end; t++)
		if ((uint64_t)v[t->slot].i - (uint64_t)t->least > t->width)
			return false;
	for (const struct plan_test *t = p->test; t < p->test_end; t++) {
		int64_t a = v[t->slot].i, b = v[t->other].i;

		if (!(t->holds >> ((a > b) - (a < b) + 1) & 1))
			return false;
	}
	return true;
}

/* Presents x, for which the tests hold, to a pattern. Returns 1 if x was put into the pattern's queues, 0 if it does
 * not wait there, -1 on error. */
static inline int present(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	if (p->plain_pair)
		return engine_join_pair(e, p, x);
	e->bound[p->pattern] = x;
	e->frame.bound = e->bound;
	if (p->filter && !eval(p->filter, &e->frame).i)
		return 0;
	if (!p->keeps)
		return engine_fire(e, p->owner) < 0 ? -1 : 0;
	if (!p->step)
		return join_group(e, p, x);
	if (p->uses) {
		int64_t n = eval(p->uses, &e->frame).i;

		*entry_uses(p, x) = n > 0 ? n : 0;
		if (n <= 0)
			return 0;
	}
	if (p->pair)
		return engine_join_pair(e, p, x);
	if (engine_join(e, p, x) < 0)
		return -1;
	if (!engine_goes_on(p, x))
		return 0;
	return p->alias || queues_insert(e, p, x) == 0 ? 1 : -1;
}

/* x is in the working memory from now on. */
static int activate(struct engine *e, struct entry *x)
{
	const struct plan_type *t = &e->p->type[x->type];

	x->queued = false;
	x->seq = e->next_seq++;
	if (x->n_linked) {
		ages_take(&e->ages, x);
		if (ages_add(&e->ages, x) < 0)
			return err_set(e->err, "no memory for what the rules remember");
	}
	for (uint32_t i = 0; i < t->n_pattern; i++) {
		const struct plan_pattern *p = t->pattern[i];
		bool fits = !(x->consumed && p->waits) && tests_hold(p, x->v);
		int rv = fits ? present(e, p, x) : 0;

		if (rv < 0)
			return -1;
		if (rv == 0 && x->n_linked)
			queues_remove(e, p, x); /* as it is now it waits there no longer */
		if (fits && (x->gone || x->queued)) /* by a rule that has fired */
			break;
	}
	return 0;
}

/*
 * Sends entries that have waited too long to the file. States stay, because they cannot wait in the file. Entries that
 * came back from the file stay, too. The loop ends at the first entry that is not too old, because all entries behind
 * it came later.
 */
static void send_old_away(struct engine *e)
{
	struct ages *a = &e->ages;

	while (a->unseen != a->tail && e->report.spilled < e->o.spilled_max) {
		struct entry *x = a->slot[a->unseen & (a->n_slot - 1)];
		uint64_t since = x ? (uint64_t)x->v[RA_START].i : 0;

		if (!x) {
			a->unseen++;
			continue;
		}
		if (e->now_ns < since || e->now_ns - since <= e->o.age_max_ns)
			return;
		a->unseen++;
		e->report.over_age += spill_put(e, x);
	}
}

/* As entry_release() at the end of a cycle, where what was made of nothing needs no grave. */
static inline void let_go(struct engine *e, struct entry *x)
{
	if (x->refs == 1 && !x->n_member && !x->buried)
		entry_free(e, x);
	else
		entry_release(e, x);
}

/* More waits than may. */
static __attribute__((noinline)) void make_room(struct engine *e)
{
	while (e->report.waiting > e->o.waiting_max) {
		struct entry *x = ages_oldest(&e->ages);

		if (e->report.spilled < e->o.spilled_max && spill_put(e, x))
			continue;
		e->pool[x->type].dropped++;
		e->report.dropped++;
		engine_forget(e, x);
	}
}

/* Nobody asks any more for x, which passed. */
static __attribute__((noinline)) void stop_asking(struct engine *e, struct entry *x)
{
	const struct plan_type *t = &e->p->type[x->type];

	for (uint32_t i = 0; i < t->n_pattern && x->n_linked; i++)
		if (t->pattern[i]->passes)
			queues_remove(e, t->pattern[i], x);
}

/* Events are gone at the end of the cycle, but for members that wait. */
static inline __attribute__((always_inline)) void end_cycle(struct engine *e)
{
	for (struct entry *x = e->cycle, *next; x; x = next) {
		next = x->also;
		if (e->q.asked_passing)
			stop_asking(e, x);
		if (x->refs == 1 && x->n_member == 2) {
			struct entry *const *m = x->member.in;

			let_go(e, m[0]);
			let_go(e, m[1]);
			x->n_member = 0;
		}
		let_go(e, x);
	}
	e->cycle = NULL;
	queues_end_cycle(&e->q);
	if (e->n_cycle / AGE_EVERY != e->n_aged) {
		e->n_aged = e->n_cycle / AGE_EVERY;
		send_old_away(e);
	}
	if (e->report.waiting > e->o.waiting_max)
		make_room(e);
	if (e->grave)
		entry_bury_all(e);
	e->n_cycle++;
	e->n_fired = 0;
	e->cycle_firings = 0;
}

/* The first of the agenda, which is not empty. */
static inline struct entry *next_of_agenda(struct engine *e)
{
	struct entry *x = e->agenda;

	e->agenda = x->also;
	if (!e->agenda)
		e->agenda_tail = NULL;
	return x;
}

/* x, which is the next event, and all that follows. */
static __attribute__((noinline)) int run_cycle(struct engine *e, struct entry *x)
{
	int rv;

	for (;; x = next_of_agenda(e)) {
		const struct plan_type *t = &e->p->type[x->type];

		rv = x->gone ? 0 : activate(e, x);
		if (t->is_event) {
			x->also = e->cycle;
			e->cycle = x;
		} else {
			entry_release(e, x); /* its queues keep it */
		}
		if (rv < 0 || !e->agenda)
			break;
	}
	end_cycle(e);
	return rv;
}

/* x is the next event. */
static inline int process_event(struct engine *e, struct entry *x)
{
	e->report.events++;
	if (e->now_ns < (uint64_t)x->v[RA_START].i)
		e->now_ns = (uint64_t)x->v[RA_START].i;
	return run_cycle(e, x);
}

/* Copies n values in blocks of eight; most entries have about sixteen values. The last block may overlap the one
 * before. */
static inline void copy_values(union rules_value *to, const union rules_value *from, uint32_t n)
{
	if (n < 8) {
		for (uint32_t i = 0; i < n; i++)
			to[i] = from[i];
		return;
	}
	for (uint32_t i = 0; i + 8 < n; i += 8)
		memcpy(to + i, from + i, 8 * sizeof(*to));
	memcpy(to + n - 8, from + n - 8, 8 * sizeof(*to));
}

int engine_event(struct engine *e, uint32_t type, const struct engine_simple *s, const union rules_value *param,
		 struct errbuf *err)
{
	struct entry *x;

	if (!e->pool[type].wanted) {
		e->report.events++;
		return 0;
	}
	e->err = err;
	x = entry_create(e, type);
	if (!x)
		return -1;
	x->v[RA_START].i = (int64_t)s->start_ns;
	x->v[RA_FINISH].i = (int64_t)s->finish_ns;
	x->v[RA_RANK].i = s->rank;
	x->v[RA_SITE].i = s->site;
	x->v[RA_FUNCTION].i = s->function;
	x->v[RA_EVENT].i = s->event;
	x->untimed = s->untimed;
	copy_values(x->v + RA_N, param, e->p->type[type].n_slot - RA_N);
	if (e->ahead.n || (e->o.ahead_from && e->report.waiting >= e->o.ahead_from)) {
		ahead_push(e, x);
		if (e->ahead.n < AHEAD)
			return 0;
		x = ahead_pop(e);
	}
	return process_event(e, x);
}

int engine_finish(struct engine *e, struct errbuf *err)
{
	int rv = 0;

	e->err = err;
	while (e->ahead.n && rv == 0)
		rv = process_event(e, ahead_pop(e));
	return rv;
}

void engine_report(const struct engine *e, struct engine_report *out)
{
	*out = e->report;
}

void engine_left(const struct engine *e, uint32_t type, uint64_t *waiting, uint64_t *dropped)
{
	*waiting = e->pool[type].waiting + e->pool[type].spilled;
	*dropped = e->pool[type].dropped;
}

bool engine_dropped(const struct engine *e, char *text, size_t size)
{
	const struct rules_pos *pos;
	const struct plan_type *t;
	uint32_t most = 0;

	for (uint32_t i = 0; i < e->p->rules->n_type; i++)
		if (e->pool[i].dropped > e->pool[most].dropped)
			most = i;
	if (!e->pool[most].dropped)
		return false;
	t = &e->p->type[most];
	for (uint32_t i = 0; i < t->n_pattern; i++) {
		const struct rules_rule *u = e->p->rule[t->pattern[i]->rule].src;

		pos = &u->pos;
		if (!t->pattern[i]->keeps)
			continue;
		snprintf(text, size, "%llu of '%s' had waited longest and were dropped, in '%s' (%s:%u:%u) above all",
			 (unsigned long long)e->pool[most].dropped, t->src->name, u->comment, e->p->rules->file[pos->file], pos->line,
			 pos->col);
		return true;
	}
	return false;
}

/* ---- findings ---- */

bool engine_finding_value(struct engine *e, const struct engine_finding *f, uint32_t set, union rules_value *out)
{
	*out = engine_value(e, &f->action->value[set], e->bound);
	return !e->frame.failed;
}

static int simple_events(struct engine *e, const struct entry *x,
			 int (*fn)(void *arg, uint32_t type, const union rules_value *values), void *arg)
{
	int rv = 0;

	if (!x->n_member)
		return e->p->type[x->type].src->builtin ? fn(arg, x->type, x->v) : 0;
	for (uint32_t i = 0; i < x->n_member && rv == 0; i++)
		rv = simple_events(e, entry_member(x)[i], fn, arg);
	return rv;
}

int engine_finding_events(struct engine *e, const struct engine_finding *f,
			  int (*fn)(void *arg, uint32_t type, const union rules_value *values), void *arg)
{
	bool group = f->rule->group;
	uint32_t n = group ? e->n_group : f->rule->n_pattern;
	int rv = 0;

	for (uint32_t i = 0; i < n && rv == 0; i++)
		rv = simple_events(e, group ? e->group[i] : e->bound[i], fn, arg);
	return rv;
}
