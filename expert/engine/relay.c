/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See relay.h. */
#include "expert/engine/relay.h"

#include <stdlib.h>
#include <string.h>

#include "expert/engine/channel.h"
#include "expert/engine/engine_impl.h"

#define CYCLES_BYTES (4u << 10) /* of a batch: the events of 16 of them fit into the cache of a processor */
#define FETCH_LINES  5          /* most of what most events have */
#define FAR          8          /* cycles: how long before its turn what it is made of is fetched */

/* What the second half gets of a cycle of the first one: this, and parts. */
struct cycle {
	size_t size;            /* with them, bytes */
	uint64_t number, now_ns, events;
	uint64_t firings;       /* of this cycle so far */
	uint64_t waiting, waiting_most; /* in the first half: now, since the last one of these */
};

/* A structure that is to be made of events, or an event. With each goes a reference, the only one. */
struct part {
	const struct plan_rule *rule; /* of the first half; NULL: an event */
	const struct plan_action *action;
	uint64_t n;
	struct entry *event[];
};

struct relay {
	struct engine *first, *second;
	struct channel *channel;
	uint64_t waiting_most;  /* of both together; the second thread's */
};

static size_t part_size(const struct part *x)
{
	return sizeof(*x) + x->n * sizeof(*x->event);
}

/* ---- the first half ---- */

int relay_members(struct engine *e, const struct plan_rule *u, const struct plan_action *a, struct entry *const *m, uint32_t n)
{
	struct channel *c = e->out;
	struct part *x;

	if (!e->out_cycle) {
		e->out_at = c->now->used;
		e->out_cycle = channel_room(c, sizeof(struct cycle)) != NULL;
	}
	x = e->out_cycle ? channel_room(c, sizeof(*x) + n * sizeof(*m)) : NULL;
	if (!x)
		return err_set(e->err, "no memory for what the rules remember");
	x->rule = u;
	x->action = a;
	x->n = n;
	for (uint32_t i = 0; i < n; i++) {
		m[i]->refs++;
		x->event[i] = m[i];
	}
	return 0;
}

int relay_event(struct engine *e, struct entry *x)
{
	return relay_members(e, NULL, NULL, &x, 1);
}

/* Nothing follows from this cycle: its events are let go. */
static void drop_cycle(struct engine *e, const struct cycle *c)
{
	const char *at = (const char *)(c + 1), *end = (const char *)c + c->size;

	for (; at < end; at += part_size((const struct part *)at)) {
		const struct part *x = (const struct part *)at;

		for (uint64_t i = 0; i < x->n; i++)
			entry_release(e, x->event[i]);
	}
}

void relay_cycle(struct engine *e, bool failed)
{
	struct batch *b = e->out->now;
	struct cycle *c = (struct cycle *)(b->data + e->out_at);

	e->out_cycle = false;
	*c = (struct cycle){.size = b->used - e->out_at, .number = e->n_cycle, .now_ns = e->now_ns, .events = e->report.events,
			    .firings = e->cycle_firings, .waiting = e->report.waiting, .waiting_most = e->report.waiting_most};
	e->report.waiting_most = e->report.waiting;
	if (failed) {
		drop_cycle(e, c);
		b->used = e->out_at;
	}
}

/* ---- the second half ---- */

/* The structure, or the event, is in this half, and on its agenda. */
static int take_part(struct engine *e, const struct part *x)
{
	uint32_t n = (uint32_t)x->n;
	int rv;

	if (!x->rule) {
		engine_queue(e, x->event[0]);
		return 0;
	}
	if (x->rule->group)
		e->bound[0] = x->event[n - 1]; /* that came last */
	else
		memcpy(e->bound, x->event, n * sizeof(*x->event));
	e->frame.member = x->event;
	e->frame.n_member = n;
	rv = engine_assert(e, x->rule, x->action, x->event, n);
	for (uint32_t i = 0; i < n; i++)
		entry_release(e, x->event[i]); /* what was made of it has it */
	return rv;
}

static int take_cycle(struct relay *r, const struct cycle *c)
{
	struct engine *e = r->second;
	const char *at = (const char *)(c + 1), *end = (const char *)c + c->size;
	int rv = 0;

	if (r->waiting_most < c->waiting_most + e->report.waiting)
		r->waiting_most = c->waiting_most + e->report.waiting;
	e->report.waiting_most = e->report.waiting;
	e->report.events = c->events;
	e->n_cycle = c->number;
	e->now_ns = c->now_ns;
	e->cycle_firings = (uint32_t)c->firings;
	for (; at < end; at += part_size((const struct part *)at))
		if (take_part(e, (const struct part *)at) < 0)
			rv = -1;
	if (rv < 0 || engine_cycle(e) < 0)
		return -1;
	if (r->waiting_most < c->waiting + e->report.waiting_most)
		r->waiting_most = c->waiting + e->report.waiting_most;
	return 0;
}

/* Nothing follows from these. */
static void drop(void *arg, const char *data, size_t used)
{
	struct relay *r = arg;

	for (size_t at = 0; at < used; at += ((const struct cycle *)(data + at))->size)
		drop_cycle(r->second, (const struct cycle *)(data + at));
	entry_bury_all(r->second);
}

/* What the first part is made of is on its way into the cache: it lies in that of the other processor. */
static inline void fetch(const struct cycle *c)
{
	const struct part *x = (const struct part *)(c + 1);

	for (uint64_t i = 0; i < x->n && i < 2; i++) {
		__builtin_prefetch(x->event[i], 1);
		for (size_t at = ENTRY_LINE; at < FETCH_LINES * ENTRY_LINE; at += ENTRY_LINE)
			__builtin_prefetch((const char *)x->event[i] + at);
	}
}

static int eat(void *arg, const char *data, size_t used, struct errbuf *err)
{
	struct relay *r = arg;
	size_t ahead = 0;
	uint64_t n = 0;

	r->second->err = err;
	for (size_t at = 0, size; at < used; at += size, n--) {
		for (; ahead < used && n < FAR; ahead += ((const struct cycle *)(data + ahead))->size, n++)
			fetch((const struct cycle *)(data + ahead));
		size = ((const struct cycle *)(data + at))->size;
		if (take_cycle(r, (const struct cycle *)(data + at)) < 0) {
			drop(r, data + at + size, used - at - size);
			return -1;
		}
	}
	entry_give_back(r->second);
	return 0;
}

/* ---- both ---- */

struct relay *relay_create(struct engine *e)
{
	const struct plan *whole = e->p;
	struct engine_options o = e->o;
	struct errbuf err;
	struct relay *r;

	if (!whole->first || e->report.events || e->ahead.n || !(r = calloc(1, sizeof(*r))))
		return NULL;
	o.found = NULL;
	r->second = e;
	r->first = engine_create(whole->first, &o, &err);
	e->p = whole->second;
	e->back = calloc(whole->rules->n_type + 1ull, sizeof(*e->back));
	if (r->first && e->back)
		r->channel = channel_create(&(struct channel_use){.full = CYCLES_BYTES, .threads = o.threads, .eat = eat, .drop = drop,
								  .arg = r});
	if (r->channel) {
		r->first->out = r->channel;
		r->first->back = e->back;
		return r;
	}
	free(e->back);
	e->back = NULL;
	e->p = whole;
	engine_destroy(r->first);
	free(r);
	return NULL;
}

struct engine *relay_first(struct relay *r)
{
	return r->first;
}

/* What both did, in the second one. */
static void sum_up(struct relay *r)
{
	struct engine_report *a = &r->first->report, *b = &r->second->report;

	if (r->waiting_most < a->waiting_most + b->waiting)
		r->waiting_most = a->waiting_most + b->waiting;
	b->waiting_most = r->waiting_most;
	b->events = a->events;
	b->firings += a->firings;
	b->combinations += a->combinations;
	b->waiting += a->waiting;
	b->spilled += a->spilled;
	b->spilled_most += a->spilled_most;
	b->over_age += a->over_age;
	b->dropped += a->dropped;
	b->zero_divisions += a->zero_divisions;
	for (uint32_t i = 0; i < r->first->p->rules->n_type; i++) {
		struct type_pool *from = &r->first->pool[i], *to = &r->second->pool[i];

		to->waiting += from->waiting;
		to->spilled += from->spilled;
		to->dropped += from->dropped;
	}
}

int relay_close(struct relay *r, struct errbuf *err)
{
	int rv;

	if (!r)
		return 0;
	rv = channel_close(r->channel, err);
	sum_up(r);
	r->first->out = NULL;
	r->first->back = NULL;
	r->second->before = r->first; /* either has structures in the other's memory */
	free(r);
	return rv;
}
