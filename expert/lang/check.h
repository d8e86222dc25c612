/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks names and types of a parsed rule base. Every name is resolved. Every expression gets its type, and every
 * composite event gets the types of its parameters. Conversions become explicit. Afterwards the engine may rely on
 * three invariants: slots and patterns are in range, conditions are boolean, and values have the types of their
 * parameters.
 */
#ifndef PRECEDENT_EXPERT_CHECK_H
#define PRECEDENT_EXPERT_CHECK_H

#include "expert/lang/rules.h"

int rules_check(struct rules *r, struct errbuf *err);

/* ---- shared by check*.c ---- */

/* Where an expression stands. */
struct check_scope {
	struct rules *r;
	struct errbuf *err;
	const struct rules_rule *rule;
	int only;           /* the only pattern that may be named; -1: all */
	bool group;         /* functions over a group may be called */
	unsigned *nested;   /* ... this is their argument, with so many others in it; or NULL */
};

/* -1 with the reason. */
int check_expr(struct check_scope *s, struct expr *e);
/* The same, and e must have that type; may replace *e by a conversion of it. what: "a condition". */
int check_expr_as(struct check_scope *s, struct expr **e, uint8_t type, const char *what);
/* ", did you mean 'x'?" or "", of n names. */
const char *check_suggest(char *buf, size_t size, const char *name, const char *(*nth)(const void *arg, uint32_t i), uint32_t n,
			  const void *arg);

#endif
