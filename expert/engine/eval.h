/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of expressions. A value has eight bytes: an integer (int, time in ns, boolean, number of a string) or a double. The
 * types were checked before. A division of integers by zero gives 0 and is counted; other overflow wraps.
 */
#ifndef PRECEDENT_EXPERT_EVAL_H
#define PRECEDENT_EXPERT_EVAL_H

#include "expert/compile/entry.h"

/* The value of a function over the group inside of another one: it is the same for all members. */
struct eval_inner {
	const struct expr *e;
	union rules_value v;
};

struct eval_frame {
	struct entry *const *bound;     /* [pattern] */
	struct entry *const *member;    /* of the group; bound[0] came last */
	uint32_t n_member, n_inner;
	const struct eval_inner *inner; /* NULL: not in a function over the group */
	struct strings *text;
	uint64_t *zero_divisions;
	bool failed;                    /* no memory for a string */
};

union rules_value eval(const struct expr *e, struct eval_frame *f);

#endif
