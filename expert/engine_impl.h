/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the engine share: see engine.h. */
#ifndef PRECEDENT_EXPERT_ENGINE_IMPL_H
#define PRECEDENT_EXPERT_ENGINE_IMPL_H

#include "expert/engine.h"
#include "expert/entry.h"

/* A queue: of all that wait in a pattern, or of those with one key. First in, first out. */
struct bucket {
	struct entry *head, *tail;
	uint64_t n;
	struct bucket *chain;        /* of the same hash, or of what is free */
	uint64_t hash;
	uint32_t index;              /* number of the index, and what is left out of the key */
	uint32_t link;               /* of an entry of the type */
	int64_t key[PLAN_MAX_KEYS + PLAN_MAX_WILDS];
};

struct queues {
	struct bucket **slot;
	uint32_t n_slot;
	uint64_t n;
	struct bucket *free;
	struct bucket **slab;
	uint32_t n_slab;
	struct bucket *all;          /* [pattern]: the queue where it is looked through, and their number always */
	uint8_t *asked, *held;       /* [index]: which parts were left out, by those that asked and in what waits */
	bool failed;                 /* no memory */
};

struct type_pool {
	struct entry *free;
	size_t size;                 /* of one */
	uint64_t waiting, dropped;
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
	uint64_t next_id, next_seq;
	uint32_t cycle_firings;
	uint64_t *fired;             /* hashes of combinations of this cycle */
	uint32_t n_fired, cap_fired;
	struct engine_report report;
	struct errbuf *err;          /* of the call */
	struct entry *bound[RULES_MAX_PATTERNS];
	struct entry **group;        /* members of the group that closed */
	uint32_t n_group, cap_group;
	struct code_frame frame;
};

/* ---- entry.c ---- */
/* NULL without memory. One reference. */
struct entry *entry_create(struct engine *e, uint32_t type);
void entry_release(struct engine *e, struct entry *x);
/* Really let go of what was released. */
void entry_bury_all(struct engine *e);
int entry_add_members(struct engine *e, struct entry *x, struct entry *const *member, uint32_t n);
void entry_pools_free(struct engine *e);

/* ---- queues.c ---- */
int queues_init(struct queues *q, const struct plan *p);
void queues_free(struct queues *q);
/* Put x where the pattern looks for it. -1 without memory. */
int queues_insert(struct engine *e, const struct plan_pattern *p, struct entry *x);
/* Take it out of the pattern; nothing when it is not in it. */
void queues_remove(struct engine *e, const struct plan_pattern *p, struct entry *x);
static inline bool queues_has(const struct plan_pattern *p, const struct entry *x)
{
	return p->n_link && x->link[p->first_link].bucket;
}

/* Those of a step's pattern that may fit, oldest first, whatever happens to them in between. */
struct cursor {
	struct entry *next[1 << PLAN_MAX_WILDS];
	uint32_t link[1 << PLAN_MAX_WILDS];
	uint32_t n;
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

/* ---- fire.c ---- */
/* e->bound is a combination (or e->group a group) that fits. */
int engine_fire(struct engine *e, uint32_t rule);
/* x no longer waits for anything. */
void engine_forget(struct engine *e, struct entry *x);
void engine_queue(struct engine *e, struct entry *x);

#endif
