/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact rules for whole numbers and for yes or no, from points (ranks of runs): the simplest function of features that
 * holds on every point, and others as simple that hold on them too. Where these differ at what is asked, the data do not
 * determine the rule. A straight line needs three different places, a plane five points more than terms, a multiple of a
 * product of three features three different values, or they are none.
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
/* lo <= f <= hi, or f - g where there is `than`; f is RULE_NONE: always. `both`: and lo2 <= f2 <= hi2. */
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
	/* Other places, [probe][feature]: rules that are the same there are one. Without any, each is another. */
	uint32_t n_probes;
	int64_t **probe;
};

/* y[i] at point[i], CALL_MISSING where there is none. 1 with the rule and *n_others others, 0 when none holds, or more than
 * that many others do. */
int rule_fit(const struct rule_table *t, const uint32_t *point, uint32_t n, const int64_t *y, struct rule *out,
	     struct rule others[RULE_OTHERS], uint32_t *n_others);
/* The same for whether something happens at a point: by one condition; else by one of two features beside each other; else by
 * two conditions, of which each has to exclude points that the other does not. */
int rule_fit_guard(const struct rule_table *t, const uint32_t *point, uint32_t n, const bool *y, struct rule_guard *out,
		   struct rule_guard others[RULE_OTHERS], uint32_t *n_others);

/* Values where the features have value[]; RULE_NO_VALUE when one has none, or the rule gives no whole number. */
#define RULE_NO_VALUE INT64_MIN
int64_t rule_value(const struct rule *r, const int64_t *value);
/* Two thresholds of one variable, or of ranks: they differ somewhere between, wherever they are compared. */
bool rule_guard_thresholds(const struct rule_guard *a, const struct rule_guard *b, const struct feature *f);
bool rule_guard_same(const struct rule_guard *a, const struct rule_guard *b);
bool rule_guard_holds(const struct rule_guard *g, const int64_t *value);

/* "2*N*prev(2,0) - 1", "next(1,0) >= 0". Returns buf. */
const char *rule_format(const struct rule *r, const struct feature *f, char *buf, size_t size);
const char *rule_guard_format(const struct rule_guard *g, const struct feature *f, char *buf, size_t size);
/* Words that rule_read and rule_guard_read take back: -1 when they are none, or name no feature. */
const char *rule_write(const struct rule *r, const struct feature *f, char *buf, size_t size);
int rule_read(const char *s, const struct feature *f, uint32_t n_features, struct rule *out);
const char *rule_guard_write(const struct rule_guard *g, const struct feature *f, char *buf, size_t size);
int rule_guard_read(const char *s, const struct feature *f, uint32_t n_features, struct rule_guard *out);

#endif
