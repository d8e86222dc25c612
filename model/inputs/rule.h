/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact rules for whole numbers and for conditions, from points (ranks of runs). The rule is the simplest function of
 * features that holds on every point. Other rules that hold on every point are kept as well. If a rule that is as simple
 * differs at a new place, the data do not determine the rule. If only less simple rules differ, the simplest is taken.
 *
 * A rule needs points enough, or it is refused:
 *
 *   - a straight line: three different places
 *   - a plane: five points more than terms
 *   - a multiple of a product of three features: three different values
 */
#ifndef PRECEDENT_MODEL_INPUTS_RULE_H
#define PRECEDENT_MODEL_INPUTS_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/inputs/feature.h"

#define RULE_NONE   UINT32_MAX
#define RULE_OTHERS 16

/* (num[0] + sum of num[k + 1] f[k] g[k] h[k]) / den; g and h, or h, may be RULE_NONE. */
struct rule {
	uint32_t n;
	int64_t num[3], den;
	uint32_t f[2], g[2], h[2];
};
/* lo <= f <= hi, or lo <= f - g <= hi with `than`. f is RULE_NONE: always. `both`: and lo2 <= f2 <= hi2. */
struct rule_guard {
	uint32_t f;
	int64_t lo, hi;
	bool than, both;
	uint32_t g, f2;
	int64_t lo2, hi2;
};

struct rule_table {
	uint32_t n_points, n_features;
	const struct feature *feature;
	int64_t **col; /* [feature][point] */
	/* Other places, [probe][feature]: rules that agree at all of them count as one. Without probes, all rules count
	 * as different. */
	uint32_t n_probes;
	int64_t **probe;
};

/* y[i]: the number at point[i], or CALL_MISSING. Returns 1 with the rule and *n_others others. Returns 0 if no rule
 * holds, or if more than RULE_OTHERS others hold. */
int rule_fit(const struct rule_table *t, const uint32_t *point, uint32_t n, const int64_t *y, struct rule *out,
	     struct rule others[RULE_OTHERS], uint32_t *n_others);
/* The same for a condition: y[i] tells whether something happens at point[i]. One condition is tried first, then a
 * comparison of two features. Then two conditions are tried, and each has to exclude points that the other one admits. */
int rule_fit_guard(const struct rule_table *t, const uint32_t *point, uint32_t n, const bool *y, struct rule_guard *out,
		   struct rule_guard others[RULE_OTHERS], uint32_t *n_others);

/* How much there is to a rule: its features, products and numbers. Of rules that fit, the one with least is taken. */
uint32_t rule_cost(const struct rule *r, const struct feature *f);
uint32_t rule_guard_cost(const struct rule_guard *g, const struct feature *f);

/* Value of the rule where the features have value[]. RULE_NO_VALUE if a feature has no value, or if the result is not a
 * whole number. */
#define RULE_NO_VALUE INT64_MIN
int64_t rule_value(const struct rule *r, const int64_t *value);
/* Are the guards two thresholds of one variable, or of ranks? Such guards differ somewhere between the thresholds, even
 * if no probe shows it. */
bool rule_guard_thresholds(const struct rule_guard *a, const struct rule_guard *b, const struct feature *f);
bool rule_guard_same(const struct rule_guard *a, const struct rule_guard *b);
bool rule_guard_holds(const struct rule_guard *g, const int64_t *value);

/* "2*N*prev(2,0) - 1", "next(1,0) >= 0". Returns buf. */
const char *rule_format(const struct rule *r, const struct feature *f, char *buf, size_t size);
const char *rule_guard_format(const struct rule_guard *g, const struct feature *f, char *buf, size_t size);
/* Writes a rule as words for rule_read and rule_guard_read. The readers return -1 if the words are no rule, or name no
 * feature. */
const char *rule_write(const struct rule *r, const struct feature *f, char *buf, size_t size);
int rule_read(const char *s, const struct feature *f, uint32_t n_features, struct rule *out);
const char *rule_guard_write(const struct rule_guard *g, const struct feature *f, char *buf, size_t size);
int rule_guard_read(const char *s, const struct feature *f, uint32_t n_features, struct rule_guard *out);

#endif
