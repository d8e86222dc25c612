/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the engine share: see engine.h. */
#ifndef PRECEDENT_EXPERT_ENGINE_IMPL_H
#define PRECEDENT_EXPERT_ENGINE_IMPL_H

#include <string.h>

#include "expert/compile/entry.h"
#include "expert/engine/eval.h"
#include "expert/engine/engine.h"

#define BUCKET_SLAB  256
#define BUCKET_PARTS PLAN_QUICK_KEYS /* of a key that lie in the queue itself: most have no more */

/*
 * A queue: of all that wait in a pattern, or of those with one key. First in, first out. One line of the cache.
 */
struct bucket {
	_Alignas(64) uint32_t number; /* from 1 on */
	uint32_t hash;               /* hash of the key; in a free bucket: number of the next free one */
	uint32_t index;              /* number of the index, and the parts left out of the key */
	uint32_t n;
	struct entry *head, *tail;
	int64_t part[BUCKET_PARTS];
};

struct bucket_slab {
	struct bucket bucket[BUCKET_SLAB];
	int64_t more[BUCKET_SLAB][PLAN_MAX_PARTS - BUCKET_PARTS]; /* parts of keys */
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

struct queues {
	struct place *slot;          /* open addressing, half of it free */
	uint32_t n_slot, n;
	uint32_t free;               /* number of a queue that is, 0: none */
	struct bucket_slab **slab;
	uint32_t n_slab;
	struct bucket *all;          /* [pattern]: the queue where it is looked through */
	uint32_t *n_waiting;         /* [pattern] */
	uint8_t *asked, *held;       /* sets of parts left out: by lookups (asked), and by waiting entries (held) */
	struct passing *passing;
	uint32_t n_passing, cap_passing;
	bool asked_passing;          /* some of this cycle stand in queues */
	bool failed;                 /* no memory */
};

struct type_pool {
	struct entry *free;
	uint64_t waiting, spilled, dropped;
	bool wanted;                 /* a rule looks at such events */
};

/* All waiting entries, oldest first: a ring with gaps, see ages.c. Places only count up; the place of an entry is its
 * `age`. */
struct ages {
	struct entry **slot;         /* NULL: a gap */
	uint64_t n_slot, n;          /* n_slot: a power of two; n: of entries */
	uint64_t head, tail;         /* head: place of the oldest entry; tail: place of the next entry to come */
	uint64_t unseen;             /* place of the first entry whose age has not been checked */
};

/* Events that wait to be looked at, see ahead.c: a ring. */
#define AHEAD 32 /* a power of two */

struct ahead_event {
	struct entry *entry;
	const struct bucket *bucket; /* the queue, as it was then; NULL: none */
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

/* ---- ages.c ---- */
int ages_init(struct ages *a);
void ages_free(struct ages *a);
/* Room for one more in a ring that is full. -1 without memory. */
int ages_room(struct ages *a);
/* x, which is in it, is the oldest. -1 without memory: it is in it no longer. */
int ages_put_oldest(struct ages *a, struct entry *x);

/* x, which is not in it, is the youngest. -1 without memory. */
static inline int ages_add(struct ages *a, struct entry *x)
{
	if (a->tail - a->head == a->n_slot && ages_room(a) < 0)
		return -1;
	x->age = a->tail++;
	a->slot[x->age & (a->n_slot - 1)] = x;
	a->n++;
	return 0;
}

static inline void ages_take(struct ages *a, const struct entry *x)
{
	a->slot[x->age & (a->n_slot - 1)] = NULL;
	a->n--;
	while (a->head != a->tail && !a->slot[a->head & (a->n_slot - 1)])
		a->head++;
	if (a->unseen < a->head)
		a->unseen = a->head;
}

/* NULL: nothing waits. */
static inline struct entry *ages_oldest(const struct ages *a)
{
	return a->n ? a->slot[a->head & (a->n_slot - 1)] : NULL;
}

/* ---- queues.c ---- */
int queues_init(struct queues *q, const struct plan *p);
void queues_free(struct queues *q);
/* Puts x where the pattern looks it up, now or on the first lookup. A modified state stays in its place if the place is
 * still right. Returns -1 without memory. */
int queues_insert(struct engine *e, const struct plan_pattern *p, struct entry *x);
/* The cycle ends: forgets passing events that were not looked up. */
static inline void queues_end_cycle(struct queues *q)
{
	q->n_passing = 0;
	q->asked_passing = false;
}

/* Removes x from the pattern's queues; does nothing if x is not in them. */
void queues_remove(struct engine *e, const struct plan_pattern *p, struct entry *x);
static inline bool queues_has(const struct plan_pattern *p, const struct entry *x)
{
	return p->n_link && entry_link(x, p->first_link)->bucket;
}

#define CURSOR_FEW 8

/* Iterates over the entries that may fit a step's pattern, oldest first. The iteration stays valid if entries change
 * meanwhile. */
struct cursor {
	struct entry *next[1 << PLAN_MAX_WILDS];
	uint32_t link[1 << PLAN_MAX_WILDS]; /* as entry_link() has it */
	uint32_t n;
	uint32_t n_few, at;          /* passing events, which are in no queue */
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

/* ---- ahead.c ---- */
/* x, an event that has just come, is the last of the ring, which is not full. */
void ahead_push(struct engine *e, struct entry *x);
/* The first of it, which is not empty. */
struct entry *ahead_pop(struct engine *e);

/* ---- fire.c ---- */
/* e->bound is a combination (or e->group a group) that fits. */
int engine_fire(struct engine *e, const struct plan_rule *u);
/* x no longer waits for anything. */
void engine_forget(struct engine *e, struct entry *x);

#endif
