/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See relay.h. */
#include "expert/relay.h"

#include <stdlib.h>
#include <string.h>

#include "expert/channel.h"
#include "expert/engine_impl.h"

/* What the second half gets of a cycle of the first one: this, and structures. */
struct cycle {
	size_t size;            /* with them, bytes */
	uint64_t number, now_ns, events;
	uint64_t firings;       /* of this cycle so far */
	uint64_t waiting, waiting_most; /* in the first half: now, since the last one of these */
};

/* A structure: its values, and what it was made of. */
struct item {
	uint32_t type, n_member;
	uint64_t untimed;
	union rules_value v[];
};

/* A simple event that others were made of: findings tell its attributes and, as where ranks wait, its parameters. */
struct member {
	uint64_t type;
	union rules_value v[];
};

struct relay {
	struct engine *first, *second;
	struct channel *channel;
	uint64_t waiting_most;  /* of both together; the second thread's */
};

/* ---- the first half ---- */

static size_t member_size(const struct engine *e, uint32_t type)
{
	return sizeof(struct member) + e->p->type[type].n_slot * sizeof(union rules_value);
}

/* Room for an item of this cycle, made of n_member structures that take so many bytes. NULL without memory. */
static struct item *add_item(struct engine *e, uint32_t type, uint32_t n_member, size_t members, bool untimed)
{
	struct channel *c = e->out;
	size_t size = sizeof(struct item) + e->p->type[type].n_slot * sizeof(union rules_value) + members;
	struct item *x;

	if (!e->out_cycle) {
		e->out_at = c->now->used;
		e->out_cycle = channel_room(c, sizeof(struct cycle)) != NULL;
	}
	x = e->out_cycle ? channel_room(c, size) : NULL;
	if (!x) {
		err_set(e->err, "no memory for what the rules remember");
		return NULL;
	}
	x->type = type;
	x->n_member = n_member;
	x->untimed = untimed;
	return x;
}

int relay_assert(struct engine *e, const struct plan_action *a, struct entry *const *m, uint32_t n)
{
	size_t size = 0;
	struct item *x;
	char *at;

	for (uint32_t i = 0; i < n; i++)
		size += member_size(e, m[i]->type);
	x = add_item(e, a->type, n, size, false);
	if (!x)
		return -1;
	x->untimed = engine_fill(e, a, m, n, x->v);
	at = (char *)(x->v + e->p->type[a->type].n_slot);
	for (uint32_t i = 0; i < n; i++) {
		struct member *to = (struct member *)at;

		to->type = m[i]->type;
		size = member_size(e, m[i]->type);
		memcpy(to->v, m[i]->v, size - sizeof(*to));
		at += size;
	}
	return 0;
}

int relay_event(struct engine *e, const struct entry *y)
{
	struct item *x = add_item(e, y->type, 0, 0, y->untimed);

	if (!x)
		return -1;
	memcpy(x->v, y->v, e->p->type[y->type].n_slot * sizeof(*y->v));
	return 0;
}

void relay_cycle(struct engine *e, bool failed)
{
	struct batch *b = e->out->now;
	struct cycle *c = (struct cycle *)(b->data + e->out_at);

	e->out_cycle = false;
	if (failed) { /* nothing follows from it */
		b->used = e->out_at;
		return;
	}
	*c = (struct cycle){.size = b->used - e->out_at, .number = e->n_cycle, .now_ns = e->now_ns, .events = e->report.events,
			    .firings = e->cycle_firings, .waiting = e->report.waiting, .waiting_most = e->report.waiting_most};
	e->report.waiting_most = e->report.waiting;
}

/* ---- the second half ---- */

/* x, of the first half, is in this one, and on its agenda. Returns its size, 0 without memory. */
static size_t take_item(struct engine *e, const struct item *x)
{
	const struct plan_type *t = &e->p->type[x->type];
	const char *at = (const char *)(x->v + t->n_slot);
	struct entry *y = entry_create(e, x->type), *few[4], **in = few;
	int rv = 0;

	if (!y)
		return 0;
	memcpy(y->v, x->v, t->n_slot * sizeof(*y->v));
	y->untimed = x->untimed;
	engine_queue(e, y);
	if (x->n_member > sizeof(few) / sizeof(*few))
		in = malloc(x->n_member * sizeof(*in));
	if (!in) {
		err_set(e->err, "no memory for what the rules remember");
		return 0;
	}
	for (uint32_t i = 0; i < x->n_member; i++) {
		const struct member *m = (const struct member *)at;
		size_t size = member_size(e, (uint32_t)m->type);

		in[i] = rv == 0 ? entry_create(e, (uint32_t)m->type) : NULL;
		rv = in[i] ? 0 : -1;
		if (in[i])
			memcpy(in[i]->v, m->v, size - sizeof(*m));
		at += size;
	}
	if (rv == 0 && x->n_member)
		rv = entry_add_members(e, y, in, x->n_member);
	for (uint32_t i = 0; i < x->n_member; i++)
		if (in[i])
			entry_release(e, in[i]);
	if (in != few)
		free(in);
	return rv == 0 ? (size_t)(at - (const char *)x) : 0;
}

static int take_cycle(struct relay *r, const struct cycle *c)
{
	struct engine *e = r->second;
	const char *at = (const char *)(c + 1), *end = (const char *)c + c->size;
	size_t size = 0;

	if (r->waiting_most < c->waiting_most + e->report.waiting)
		r->waiting_most = c->waiting_most + e->report.waiting;
	e->report.waiting_most = e->report.waiting;
	e->report.events = c->events;
	e->n_cycle = c->number;
	e->now_ns = c->now_ns;
	e->cycle_firings = (uint32_t)c->firings;
	for (; at < end; at += size) {
		size = take_item(e, (const struct item *)at);
		if (!size)
			return -1;
	}
	if (engine_cycle(e) < 0)
		return -1;
	if (r->waiting_most < c->waiting + e->report.waiting_most)
		r->waiting_most = c->waiting + e->report.waiting_most;
	return 0;
}

static int eat(void *arg, const char *data, size_t used, struct errbuf *err)
{
	struct relay *r = arg;

	r->second->err = err;
	for (size_t at = 0; at < used; at += ((const struct cycle *)(data + at))->size)
		if (take_cycle(r, (const struct cycle *)(data + at)) < 0)
			return -1;
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
	r->channel = r->first ? channel_create(eat, r) : NULL;
	if (r->channel) {
		r->first->out = r->channel;
		return r;
	}
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
	engine_destroy(r->first);
	free(r);
	return rv;
}
