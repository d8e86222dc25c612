/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The meaning of rules, as precedent-rules(5) says it, by the shortest way: every combination of what waits is tried, each
 * condition is looked at as a whole and as it was written. No indexes, no filters, no code, nothing is ever freed. What
 * the engine finds must be this, in this order.
 */
#ifndef PRECEDENT_TESTS_UNIT_RULES_NAIVE_H
#define PRECEDENT_TESTS_UNIT_RULES_NAIVE_H

#include "expert/engine/engine.h"

struct naive;

/* Only the order in which the patterns of a rule are filled is taken from the plan. */
struct naive *naive_create(const struct plan *p);
void naive_destroy(struct naive *n);
void naive_event(struct naive *n, uint32_t type, const struct engine_simple *s, const union rules_value *param);
/* What was found: for each finding its rule, whether it is untimed, its values that are no strings, and its simple events,
 * as numbers. */
const int64_t *naive_found(const struct naive *n, uint64_t *count);

#endif
