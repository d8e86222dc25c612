/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs compiled expressions: see code.h. */
#ifndef PRECEDENT_EXPERT_CODE_RUN_H
#define PRECEDENT_EXPERT_CODE_RUN_H

#include "expert/compile/code.h"

struct entry;

/* What code sees. */
struct code_frame {
	struct entry *const *bound;     /* [pattern] */
	struct entry *const *member;    /* of the group, of which bound[0] is the last that came */
	uint32_t n_member;
	const union rules_value *inner; /* in a function over the group: values of its members */
	struct strings *text;
	uint64_t *zero_divisions;
	bool failed;                    /* no memory for a string */
	union rules_value stack[CODE_LOW]; /* of code that needs no more */
};

union rules_value code_run(const struct code *c, struct code_frame *f);

#endif
