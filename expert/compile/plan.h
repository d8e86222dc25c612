/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan by which the engine runs the rules of a base. A condition is split at its `and`s:
 *
 *   - Conditions on one pattern are its filter.
 *   - Equalities between patterns are keys of indexes.
 *   - `x == y or x == ANY` is a part of a key that may be left out (a wild part).
 *   - The engine evaluates the rest for each combination.
 *
 * Any pattern may be filled last. The other patterns are then looked up, those with the most known parts first. A plan
 * is read-only: engines share it.
 */
#ifndef PRECEDENT_EXPERT_PLAN_H
#define PRECEDENT_EXPERT_PLAN_H

#include "expert/compile/code.h"

#define PLAN_MAX_KEYS  8
#define PLAN_QUICK_KEYS 4 /* that a queue has in itself */
#define PLAN_MAX_WILDS 3 /* 2^3 ways to leave parts of a key out */
#define PLAN_MAX_PARTS (PLAN_MAX_KEYS + PLAN_MAX_WILDS)

/* A comparison of a parameter with a constant: least <= value <= least + width, where the sum wraps around. */
struct plan_range {
	int64_t least;
	uint64_t width;
	uint16_t slot;
};

/* A comparison of two parameters: it holds when the bit of how they stand is in `holds`. */
enum { TEST_LESS = 1, TEST_EQUAL = 2, TEST_MORE = 4 };

struct plan_test {
	uint16_t slot, other;
	uint8_t holds;
};

/* A parameter that a new structure takes over as it is. */
struct plan_copy {
	uint16_t from, to;
};

/* Those of one pattern: first two side by side at a time, then one. */
struct plan_copies {
	uint8_t pattern, n_two, n_one;
};

/* One side of an equality: a parameter, or another expression. */
struct plan_value {
	bool field;
	uint8_t pattern;
	uint16_t slot;
	const struct code *code; /* of another expression */
};

/* A part of a key that need not be equal where one side, here or there, is `any`. */
struct plan_wild {
	int64_t any;
	bool stored;          /* the stored side may be any; else the one that asks */
	struct plan_value here;
};

/* What the hash of a key begins with: `out`: the wild parts that are left out. */
#define PLAN_KEY_BEGIN(seed, out) (((uint64_t)(seed) << PLAN_MAX_WILDS | (out)) * 0xd1342543de82ef95ull)

/* What each event asks for stands in front. */
struct plan_index {
	uint32_t n_key, n_wild;
	uint32_t number;      /* over all */
	uint32_t seed;        /* seed of hashes; patterns with the same key have the same seed */
	uint64_t begin;       /* ... hash at the beginning of a complete key: PLAN_KEY_BEGIN() */
	uint32_t n_link;      /* queues that an entry can be in */
	uint32_t first_link;  /* in values behind the pattern's first */
	bool quick;           /* plain, and one wild part at most */
	bool plain;           /* parts of the key are parameters */
	uint16_t slot[PLAN_MAX_PARTS]; /* ... these */
	struct plan_wild wild[PLAN_MAX_WILDS];
	struct plan_value key[PLAN_MAX_KEYS];
	uint32_t conjuncts[PLAN_MAX_PARTS];
};

/* One more pattern of a combination, looked up. */
struct plan_step {
	uint8_t pattern;
	int index;                       /* of the pattern; -1: all that wait */
	bool quick;                      /* by parameters alone, of which both sides have a few */
	const struct code *rest;         /* what can be asked now; NULL: nothing */
	struct plan_value key[PLAN_MAX_KEYS], wild[PLAN_MAX_WILDS]; /* what is asked for, of patterns that are known */
};

struct plan_pattern {
	const struct plan_rule *owner;
	uint32_t rule, type;
	uint8_t pattern;                 /* of the rule */
	bool waits, shared, is_state, keeps; /* keeps: is put into queues at all */
	bool passes;                     /* an event of one cycle: is put into queues when somebody asks for it */
	bool pair;                       /* one of two patterns that look each other up by one key */
	bool spills;                     /* ... and that no other rule uses: an entry that waits here can wait in a file */
	bool plain_pair;                 /* ... and `filter` and `uses` are NULL */
	const struct plan_pattern *partner; /* ... the other one */
	uint32_t index_number;           /* ... and of its one index */
	uint32_t number;                 /* over all */
	uint32_t of_type;                /* number among the patterns of its type */
	uint32_t use;                    /* of shared(N): place among the values of the number of uses left */
	uint32_t first_link, last_link;  /* as entry_link() has it */
	uint32_t n_link;
	bool alias;                      /* it shares the queues of an earlier pattern of the type that is alike */
	bool scanned;                    /* some rule looks through all that wait: their queue is the last link */
	const struct plan_range *range, *range_end; /* conditions of the filter, ... */
	const struct plan_test *test, *test_end;    /* ... and more; `filter` is the rest */
	const struct code *filter, *uses, *all; /* NULL: none */
	struct plan_index *index;
	uint32_t n_index;
	struct plan_step *step;          /* n_pattern - 1, when this one is filled last */
};

struct plan_action {
	const struct rules_action *src;
	uint8_t kind, pattern;           /* as there */
	struct plan_value *value;        /* of each set */
	struct plan_copies *copies;      /* those of them that are parameters, by pattern, ... */
	struct plan_copy *copy;          /* ... and these one after the other */
	uint32_t *compute;               /* those that are not */
	uint32_t n_copies, n_copy, n_compute; /* n_copy: of parameters */
	uint32_t type, n_param;          /* of the structure, when one is asserted */
	bool tells, ignored;             /* it is an observation; no rule looks at it */
};

struct plan_rule {
	const struct rules_rule *src;
	struct plan_pattern *pattern;
	struct plan_action *action;
	uint32_t n_pattern, n_action;
	uint32_t n_used;                 /* patterns whose members belong to the structure that the rule makes */
	uint8_t used[RULES_MAX_PATTERNS];
	bool group;                      /* its one pattern is a group */
	bool once;                       /* per cycle and combination: a state of it is modified */
};

struct plan_type {
	const struct rules_struct *src;
	uint32_t n_slot, n_link, n_pattern;
	uint32_t n_use;                  /* patterns of it that are shared(N) */
	uint32_t n_line;                 /* of the cache: size of an entry */
	bool is_event;
	struct plan_pattern **pattern;   /* in the order of rules */
	const struct plan_pattern *looks_first; /* the first one that looks for a queue by plain parameters; NULL: none */
};

struct plan {
	const struct rules *rules;
	struct memory mem;
	struct plan_rule *rule;
	struct plan_type *type;
	uint32_t n_index, n_pattern;
};

/* rules must outlive it. NULL with the reason. */
struct plan *plan_create(const struct rules *r, struct errbuf *err);
void plan_destroy(struct plan *p);

#endif
