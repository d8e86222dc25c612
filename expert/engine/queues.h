/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queues of waiting entries, by pattern and by key: see queues.c. */
#ifndef PRECEDENT_EXPERT_QUEUES_H
#define PRECEDENT_EXPERT_QUEUES_H

#include "expert/compile/plan.h"

struct engine;

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

/* k: without the parts that are any. -1 without memory. */
int queues_insert_index(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, struct entry *y,
			const struct key *k);
/* x waits in the pattern, of a pair, by the key k. -1 without memory. */
int queues_insert_pair(struct engine *e, const struct plan_pattern *p, struct entry *x, const struct key *k);
/* x waits in one more pattern. -1 without memory. */
int queues_enlist(struct engine *e, struct entry *x);
/* x is there until the end of the cycle, for those who ask. */
int queues_let_pass(struct engine *e, const struct plan_pattern *p, struct entry *x);
/* Of the pattern's index, by the parts in k, of which those in `out` are left out by the one that asks. */
void cursor_ask(struct engine *e, struct cursor *c, const struct plan_pattern *p, const struct plan_index *x, const struct key *k,
		uint32_t out);

#endif
