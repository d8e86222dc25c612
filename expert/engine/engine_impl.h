/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the engine share: see engine.h. */
#ifndef PRECEDENT_EXPERT_ENGINE_IMPL_H
#define PRECEDENT_EXPERT_ENGINE_IMPL_H

#include <string.h>

#include "expert/compile/entry.h"
#include "expert/engine/ages.h"
#include "expert/engine/ahead.h"
#include "expert/engine/engine.h"
#include "expert/engine/eval.h"
#include "expert/engine/queues.h"

struct type_pool {
	struct entry *free;
	uint64_t waiting, spilled, dropped;
	bool wanted;                 /* a rule looks at such events */
};

/* A combination that fired a rule that may not fire for it again, by its hash; of other cycles: none. */
struct fired {
	uint64_t hash, cycle;
};

struct engine {
	const struct plan *p;
	struct engine_options o;
	struct strings text;
	struct queues q;
	struct type_pool *pool;      /* [type] */
	void **slab;
	uint32_t n_slab, cap_slab;
	struct entry *agenda, *agenda_tail;
	struct entry *cycle;         /* events of this cycle */
	struct entry *grave;
	struct ages ages;
	uint64_t now_ns;             /* latest start of an event */
	struct spill *spill;         /* NULL: nothing had to be */
	bool no_spill;               /* there can be no file */
	uint64_t next_seq;
	uint32_t cycle_firings;
	uint64_t n_cycle;
	uint64_t n_aged;             /* looks at ages */
	struct fired *fired;         /* combinations of this cycle */
	uint32_t n_fired, cap_fired;
	struct ahead ahead;
	struct key key;              /* the key of the current lookup: a rule that fires makes no key, and its
				      * consequences wait on the agenda */
	struct engine_report report;
	struct errbuf *err;          /* of the call */
	struct entry *bound[RULES_MAX_PATTERNS];
	struct entry **group;        /* members of the group that closed */
	uint32_t n_group, cap_group;
	struct eval_frame frame;
};

/* ---- entry.c ---- */
/* More free ones of that type. */
int entry_pool_refill(struct engine *e, uint32_t type);

/* NULL without memory. One reference; its values are not set. */
static inline struct entry *entry_create(struct engine *e, uint32_t type)
{
	struct type_pool *pool = &e->pool[type];
	struct entry *x;

	if (!pool->free && entry_pool_refill(e, type) < 0)
		return NULL;
	x = pool->free;
	pool->free = x->also;
	if (e->ahead.n && pool->free) /* the one after the next, until it is wanted, where it may be far */
		for (size_t at = 0; at < 5 * ENTRY_LINE; at += ENTRY_LINE)
			__builtin_prefetch((char *)pool->free->also + at, 1);
	*x = (struct entry){.type = (uint16_t)type, .refs = 1};
	return x;
}

/* What is left of a shared(N) member of that pattern. */
static inline int64_t *entry_uses(const struct plan_pattern *p, struct entry *x)
{
	return &x->v[p->use].i;
}

/* [n_member] */
static inline struct entry *const *entry_member(const struct entry *x)
{
	return x->n_member > 2 ? x->member.many : x->member.in;
}

/* x, which was made of nothing yet, is made of these two, which are not too deep. */
static inline void entry_add_two(struct entry *x, struct entry *const *m)
{
	x->depth = (uint8_t)((m[0]->depth > m[1]->depth ? m[0] : m[1])->depth + 1);
	for (int i = 0; i < 2; i++) {
		m[i]->refs++;
		x->member.in[i] = m[i];
	}
	x->n_member = 2;
}

static inline void entry_release(struct engine *e, struct entry *x)
{
	if (--x->refs || x->buried)
		return;
	x->buried = true;
	x->also = e->grave;
	e->grave = x;
}

/* Nobody holds x, which was made of nothing. */
static inline void entry_free(struct engine *e, struct entry *x)
{
	struct type_pool *pool = &e->pool[x->type];

	x->also = pool->free;
	pool->free = x;
}

/* Frees the entries that were released. */
void entry_bury_all(struct engine *e);
int entry_add_members(struct engine *e, struct entry *x, struct entry *const *member, uint32_t n);
void entry_pools_free(struct engine *e);

static inline union rules_value engine_value(struct engine *e, const struct plan_value *v, struct entry *const *bound)
{
	if (v->field)
		return bound[v->pattern]->v[v->slot];
	e->frame.bound = bound;
	return eval(v->code, &e->frame);
}

/* ---- join.c ---- */
/* Fill the other patterns of p's rule around x, and fire. -1 with the reason. */
int engine_join(struct engine *e, const struct plan_pattern *p, struct entry *x);
/* Combinations that may be tried: some in one cycle, and on average of all. */
#define TRIES_FREE  (1ull << 24)
#define TRIES_EVENT 1024ull
/* The error of too many. -1. */
int engine_too_many(struct engine *e, const struct plan_pattern *p);

static inline int engine_count_try(struct engine *e, const struct plan_pattern *p)
{
	return ++e->report.combinations <= TRIES_FREE + TRIES_EVENT * e->report.events ? 0 : engine_too_many(e, p);
}

/* ---- pair.c ---- */
/* The same for a pair; x waits then if it can: 1; 0: it does not, -1 with the reason. */
int engine_join_pair(struct engine *e, const struct plan_pattern *p, struct entry *x);

/* May x still take part as that pattern? */
static inline bool engine_usable(const struct plan_pattern *p, const struct entry *x)
{
	return !x->gone && !x->queued && !(p->waits && x->consumed);
}

/* x has been presented: does it wait for others in p? */
static inline bool engine_goes_on(const struct plan_pattern *p, struct entry *x)
{
	return engine_usable(p, x) && !(p->uses && !*entry_uses(p, x));
}

/* ---- fire.c ---- */
/* e->bound is a combination (or e->group a group) that fits. */
int engine_fire(struct engine *e, const struct plan_rule *u);
/* x no longer waits for anything. */
void engine_forget(struct engine *e, struct entry *x);

#endif
