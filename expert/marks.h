/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which calls belong to which problem: a set of (problem, rank, event) with a time, of bounded size. What does not fit is
 * left out, and said to be.
 */
#ifndef PRECEDENT_EXPERT_MARKS_H
#define PRECEDENT_EXPERT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#define MARKS_PROBLEMS 64 /* numbers below it */
#define MARKS_MAX      (1u << 23)

struct problem_mark {
	uint64_t key; /* 0: none */
	uint64_t ns;
};

struct problem_marks {
	struct problem_mark *slot;
	uint32_t n, n_slot; /* a power of two */
	bool full;          /* something was left out */
};

void marks_free(struct problem_marks *m);
/* Adds ns to what is marked there. */
void marks_add(struct problem_marks *m, uint32_t problem, uint32_t rank, int64_t event, uint64_t ns);
/* NULL: not marked. */
const struct problem_mark *marks_find(const struct problem_marks *m, uint32_t problem, uint32_t rank, uint64_t event);

#endif
