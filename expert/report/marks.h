/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which calls belong to which problem: a set of (problem, rank, event) with a time, of bounded size. Marks that do not
 * fit are left out, and `full` is set. Consecutive events of a rank lie in the same place. Marks of about the same time
 * lie together, so that a pass in order of time stays within a processor's caches.
 */
#ifndef PRECEDENT_EXPERT_MARKS_H
#define PRECEDENT_EXPERT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#define MARKS_PROBLEMS 64 /* numbers below it */
#define MARKS_MAX      (1u << 23)

struct problem_mark {
	uint64_t ns;
	uint32_t next;          /* of the same block: its number + 1, 0: none */
	uint8_t problem, event; /* the event's place in the block */
};

/* Some events of a rank, one after the other. */
struct marks_block {
	uint64_t key;   /* 0: none */
	uint32_t first; /* mark: its number + 1 */
};

struct problem_marks {
	struct marks_block *slot;
	uint32_t n_block, n_slot; /* a power of two */
	struct problem_mark *mark;
	uint32_t n, cap;
	bool full;          /* a mark was left out */
};

void marks_free(struct problem_marks *m);
/* Adds ns to the mark of the event. */
void marks_add(struct problem_marks *m, uint32_t problem, uint32_t rank, int64_t event, uint64_t ns);
/* The mark of the event, or NULL. The pointer is valid until the next marks_add. */
const struct problem_mark *marks_find(const struct problem_marks *m, uint32_t problem, uint32_t rank, uint64_t event);
/* All problems of the event: a bit for each. */
uint64_t marks_problems(const struct problem_marks *m, uint32_t rank, uint64_t event);

#endif
