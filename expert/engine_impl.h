/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the engine share: see engine.h. */
#ifndef PRECEDENT_EXPERT_ENGINE_IMPL_H
#define PRECEDENT_EXPERT_ENGINE_IMPL_H

#include <string.h>

#include "expert/engine.h"
#include "expert/entry.h"

/*
 * A queue: of all that wait in a pattern, or of those with one key. First in, first out. What most keys need lies in one
 * line of the cache.
 */
struct bucket {
	uint32_t number;             /* from 1 on */
	uint32_t hash;               /* of what is free: number of the next one */
	uint32_t index;              /* number of the index, and what is left out of the key */
	uint32_t n;
	struct entry *head, *tail;
	int64_t part[PLAN_MAX_PARTS];
	uint32_t link;               /* of an entry of the type */
};

/* A place in the table of queues: who looks for another hash does not go to the queue. */
struct place {
	uint32_t hash, number;       /* number 0: free */
};

/* What a queue is found by: the parts of a key, of which those left out are 0. */
struct key {
	uint32_t hash, index, n;
	uint32_t any;                /* wild parts that are any, of the side it was made from */
	int64_t part[PLAN_MAX_PARTS];
};

/* An event of one cycle that somebody may ask for before its end. */
struct passing {
	const struct plan_pattern *pattern;
	struct entry *entry;
};

#define BUCKET_SLAB 256

struct queues {
	struct place *slot;          /* open addressing, half of it free */
	uint32_t n_slot, n;
	uint32_t free;               /* number of a queue that is, 0: none */
	struct bucket **slab;        /* of BUCKET_SLAB each */
	uint32_t n_slab;
	struct bucket *all;          /* [pattern]: the queue where it is looked through, and their number always */
	uint8_t *asked, *held;       /* [index]: which parts were left out, by those that asked and in what waits */
	struct passing *passing;
	uint32_t n_passing, cap_passing;
	bool asked_passing;          /* some of this cycle stand in queues */
	bool failed;                 /* no memory */
};

struct type_pool {
	struct entry *free;
	uint64_t waiting, spilled, dropped;
};

/* Events that wait to be looked at, see ahead.c: a ring. */
#define AHEAD 24

struct ahead_event {
	struct entry *entry;
	uint32_t hash;               /* of the key that it will look for */
	bool known;                  /* there is one */
};

struct ahead {
	struct ahead_event event[AHEAD];
	uint32_t first, n;
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
	struct entry *oldest, *youngest;
	struct entry *may_age;       /* of these, the first whose age has not been looked at yet */
	uint64_t now_ns;             /* latest start of an event */
	struct spill *spill;         /* NULL: nothing had to be */
	bool no_spill;               /* there can be no file */
	uint64_t next_id, next_seq;
	uint32_t cycle_firings;
	uint64_t n_cycle;
	struct fired *fired;         /* combinations of this cycle */
	uint32_t n_fired, cap_fired;
	struct ahead ahead;
	struct engine_report report;
	struct errbuf *err;          /* of the call */
	struct entry *bound[RULES_MAX_PATTERNS];
	struct entry **group;        /* members of the group that closed */
	uint32_t n_group, cap_group;
	struct code_frame frame;
};

/* ---- entry.c ---- */
/* Bytes of one of that type. */
static inline size_t entry_size(const struct plan_type *t)
{
	size_t n = sizeof(struct entry) + t->n_slot * sizeof(union rules_value) + t->n_link * sizeof(struct link) +
		   t->n_pattern * sizeof(uint64_t);

	return (n + 15) & ~(size_t)15;
}

/* More free ones of that type. */
int entry_pool_refill(struct engine *e, uint32_t type);

/* NULL without memory. One reference; its values are not set. */
static inline struct entry *entry_create(struct engine *e, uint32_t type)
{
	const struct plan_type *t = &e->p->type[type];
	struct type_pool *pool = &e->pool[type];
	struct entry *x;

	if (!pool->free && entry_pool_refill(e, type) < 0)
		return NULL;
	x = pool->free;
	pool->free = x->also;
	*x = (struct entry){.type = type, .refs = 1, .id = e->next_id++};
	x->link = (struct link *)(x->v + t->n_slot);
	for (uint32_t i = 0; i < t->n_link; i++)
		x->link[i].bucket = NULL;
	return x;
}

/* [pattern of the type]: what is left of a shared(N) member. */
static inline uint64_t *entry_uses(const struct engine *e, struct entry *x)
{
	return (uint64_t *)(x->link + e->p->type[x->type].n_link);
}

static inline void entry_release(struct engine *e, struct entry *x)
{
	if (--x->refs || x->buried)
		return;
	x->buried = true;
	x->also = e->grave;
	e->grave = x;
}

/* Really let go of what was released. */
void entry_bury_all(struct engine *e);
int entry_add_members(struct engine *e, struct entry *x, struct entry *const *member, uint32_t n);
void entry_pools_free(struct engine *e);

/* ---- queues.c ---- */
int queues_init(struct queues *q, const struct plan *p);
void queues_free(struct queues *q);
/* Put x where the pattern looks for it, now or when somebody asks; a state that was modified stays where it is if that
 * is the place. -1 without memory. */
int queues_insert(struct engine *e, const struct plan_pattern *p, struct entry *x);
/* The cycle ends: what nobody has asked for is forgotten. */
void queues_end_cycle(struct queues *q);
/* Take it out of the pattern; nothing when it is not in it. */
void queues_remove(struct engine *e, const struct plan_pattern *p, struct entry *x);
/* x is the youngest of what waits, if it waits. */
void queues_renew(struct engine *e, struct entry *x);
/* x, which waits, is the oldest. */
void queues_age(struct engine *e, struct entry *x);
static inline bool queues_has(const struct plan_pattern *p, const struct entry *x)
{
	return p->n_link && x->link[p->first_link].bucket;
}

#define CURSOR_FEW 8

/* Those of a step's pattern that may fit, oldest first, whatever happens to them in between. */
struct cursor {
	struct entry *next[1 << PLAN_MAX_WILDS];
	uint32_t link[1 << PLAN_MAX_WILDS];
	uint32_t n;
	uint32_t n_few, at;          /* events that pass, and are in no queue */
	struct entry *few[CURSOR_FEW];
};
void cursor_open(struct engine *e, struct cursor *c, const struct plan_pattern *p, const struct plan_step *s);
struct entry *cursor_next(struct cursor *c);

/* The queue of the group that x is in. */
struct bucket *queues_group(const struct plan_pattern *p, const struct entry *x);

static inline union rules_value engine_value(struct engine *e, const struct plan_value *v, struct entry *const *bound)
{
	if (v->field)
		return bound[v->pattern]->v[v->slot];
	e->frame.bound = bound;
	return code_run(&v->code, &e->frame);
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
static inline bool engine_goes_on(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	return engine_usable(p, x) && !(p->uses.ins && !entry_uses(e, x)[p->of_type]);
}

/* ---- ahead.c ---- */
/* x, an event that has just come, is the last of the ring, which is not full. */
void ahead_push(struct engine *e, struct entry *x);
/* The first of it, which is not empty. */
struct entry *ahead_pop(struct engine *e);

/* ---- fire.c ---- */
/* e->bound is a combination (or e->group a group) that fits. */
int engine_fire(struct engine *e, uint32_t rule);
/* x no longer waits for anything. */
void engine_forget(struct engine *e, struct entry *x);
void engine_queue(struct engine *e, struct entry *x);

#endif
