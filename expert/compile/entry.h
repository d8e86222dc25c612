/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structures in the working memory: their values, their members, and their places in the queues of the patterns in
 * which they wait. Memory is reused by type. A released entry stays valid until the end of the cycle, so that a loop
 * over a queue can go on from it.
 */
#ifndef PRECEDENT_EXPERT_ENTRY_H
#define PRECEDENT_EXPERT_ENTRY_H

#include "expert/lang/rules.h"

/* An integer (int, time in ns, boolean, number of a string) or a double. */
union rules_value {
	int64_t i;
	double d;
};

struct bucket;

/* A place in a queue. An entry that was removed from the queue keeps `next`. */
struct link {
	struct entry *next, *prev;
	struct bucket *bucket; /* NULL: in none */
};

#define LINK_VALUES (sizeof(struct link) / sizeof(union rules_value)) /* as long as so many values */

#define ENTRY_DEPTH 8 /* greatest depth of members that is kept */

#define ENTRY_LINE 64  /* bytes of a cache line; each entry begins with a line */

/* One line: of thousands of ranks there are many. After the values: the links of the type, and its uses. */
struct entry {
	uint16_t type;
	uint16_t n_linked;       /* patterns that it waits in */
	uint32_t refs;
	uint64_t seq;            /* of its queues */
	uint64_t age;            /* its place among all that wait, if it does */
	struct entry *also;      /* next entry in one list: of the cycle, the agenda, entries to be buried, or free entries */
	uint32_t n_member;       /* that it was made of */
	uint8_t depth;           /* of members */
	bool untimed;            /* the times of an event it was made of are not known */
	bool consumed;           /* belongs to a composite event: no longer a member of others */
	bool gone;               /* retracted, or dropped */
	bool queued;             /* on the agenda */
	bool buried;
	union {                  /* what it was made of, which only what rules make has: two or fewer, or where they are */
		struct entry *in[2];
		struct entry **many;
	} member;
	union rules_value v[];
};

/* The link that stands that many values behind the first. */
static inline struct link *entry_link(const struct entry *x, uint32_t at)
{
	return (struct link *)(x->v + at);
}

#endif
