/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of expressions. A value has eight bytes: an integer (int, time in ns, boolean, number of a string) or a double. The
 * types were checked before. A division of integers by zero gives 0 and is counted; other overflow wraps.
 */
#ifndef PRECEDENT_EXPERT_EVAL_H
#define PRECEDENT_EXPERT_EVAL_H

#include "expert/compile/code.h"

struct eval_frame {
	struct entry *const *bound;     /* [pattern] */
	struct entry *const *member;    /* of the group; bound[0] came last */
	uint32_t n_member;
	const union rules_value *inner; /* in a function over the group: values of the functions inside of it */
	struct strings *text;
	uint64_t *zero_divisions;
	bool failed;                    /* no memory for a string */
};

union rules_value eval(const struct code *c, struct eval_frame *f);

#endif
