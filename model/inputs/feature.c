/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Features of a place: see feature.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/inputs/feature.h"
#include "trace/format/event.h"

#define FLIP_MOST 8 /* partners in hypercubes of up to 16 ranks; greater steps are those of a counter */

/* ---- the list ---- */

struct list {
	struct feature *f;
	uint32_t n, cap;
	bool failed;
};

static void add_feature(struct list *l, uint8_t op, uint32_t d, uint32_t i, uint32_t v, uint32_t w, const char *fmt, const char *a,
		const char *b)
{
	struct feature *f;

	if (ARRAY_ROOM(l->f, l->cap, l->n + 1) != 0) {
		l->failed = true;
		l->n = 0;
		return;
	}
	f = &l->f[l->n++];
	*f = (struct feature){.op = op, .d = (uint8_t)d, .i = (uint8_t)i, .v = (uint8_t)v, .w = (uint8_t)w};
	snprintf(f->name, sizeof(f->name), "%.16s%s%.44s%s%.32s", fmt, a ? "(" : "", a ? a : "", b ? "," : "", b ? b : "");
	if (a)
		snprintf(f->name + strlen(f->name), sizeof(f->name) - strlen(f->name), ")");
}

static void add_grid(struct list *l, uint32_t d, const char *const *var, uint32_t n_vars)
{
	static const struct {
		uint8_t op;
		const char *name;
		bool line; /* says nothing new where there is one dimension */
	} rule[] = {{FEATURE_PREV, "prev", false},	{FEATURE_NEXT, "next", false}, {FEATURE_BEFORE, "before", false},
		    {FEATURE_AFTER, "after", false},	{FEATURE_COORD, "coord", true}, {FEATURE_DIMS, "dims", true},
		    {FEATURE_LPREV, "lprev", true},	{FEATURE_LNEXT, "lnext", true}, {FEATURE_LINE, "line", true},
		    {FEATURE_STRIDE, "stride", true}};
	static const struct {
		uint8_t op;
		const char *name;
	} part[] = {{FEATURE_BLOCK, "block"}, {FEATURE_SHARE, "share"}, {FEATURE_PART, "part"}};

	for (uint32_t i = 0; i < d; i++) {
		char at[24];

		snprintf(at, sizeof(at), "%u,%u", d, i);
		for (size_t k = 0; k < sizeof(rule) / sizeof(*rule); k++)
			if (d > 1 || !rule[k].line)
				add_feature(l, rule[k].op, d, i, 0, 0, rule[k].name, at, NULL);
		for (uint32_t v = 0; v < n_vars; v++)
			for (size_t k = 0; k < sizeof(part) / sizeof(*part); k++)
				add_feature(l, part[k].op, d, i, v, 0, part[k].name, var[v], at);
	}
}

/* Adds features of halving: how often a size can be halved, and the rest. */
static void add_levels(struct list *l, uint32_t v, const char *var)
{
	char at[24];

	add_feature(l, FEATURE_LEVELS, 0, 0, v, 0, "levels", var, NULL);
	for (uint32_t d = 1; d <= 3; d++) {
		snprintf(at, sizeof(at), "%u", d);
		add_feature(l, FEATURE_COARSE, d, d, v, 0, "coarse", var, at);
		add_feature(l, FEATURE_COARSE, d, d, v, 1, "finer", var, at);
		for (uint32_t i = 0; i < d; i++) {
			snprintf(at, sizeof(at), "%u,%u", d, i);
			add_feature(l, FEATURE_LEVELS, d, i, v, 0, "levels", var, at);
			add_feature(l, FEATURE_COARSE, d, i, v, 0, "coarse", var, at);
			add_feature(l, FEATURE_COARSE, d, i, v, 1, "finer", var, at);
		}
	}
}

static void add_portions(struct list *l, uint32_t d, uint32_t i, uint32_t v, const char *var)
{
	static const uint8_t portion[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 50, 64, 100, 128};
	char of[64], k[8];

	snprintf(of, sizeof(of), d ? "block(%.31s,%u,%u)" : "%.31s", var, d, i);
	for (size_t p = 0; p < sizeof(portion); p++) {
		snprintf(k, sizeof(k), "%u", portion[p]);
		add_feature(l, FEATURE_CHUNKS, d, i, v, portion[p], "chunks", of, k);
		add_feature(l, FEATURE_TAIL, d, i, v, portion[p], "tail", of, k);
		add_feature(l, FEATURE_WHOLE, d, i, v, portion[p], "whole", of, k);
	}
}

/* A message above a bound may take another way than one below. */
static void add_bounds(struct list *l, uint32_t v, const char *var)
{
	static const uint8_t bound[] = {16, 32, 64, 128};
	char of[64], k[8];

	for (uint32_t d = 0; d <= 3; d++)
		for (uint32_t i = 0; i < d || (!d && !i); i++)
			for (size_t b = 0; b < sizeof(bound); b++) {
				snprintf(of, sizeof(of), d ? "block(%.31s,%u,%u)" : "%.31s", var, d, i);
				snprintf(k, sizeof(k), "%u", bound[b]);
				add_feature(l, FEATURE_ABOVE, d, i, v, bound[b], "above", of, k);
			}
}

struct feature *feature_list(const char *const *var, uint32_t n_vars, uint32_t *n)
{
	struct list l = {0};

	for (uint32_t v = 0; v < n_vars; v++)
		add_feature(&l, FEATURE_VAR, 0, 0, v, 0, var[v], NULL, NULL);
	add_feature(&l, FEATURE_RANK, 0, 0, 0, 0, "rank", NULL, NULL);
	add_feature(&l, FEATURE_RANKS, 0, 0, 0, 0, "ranks", NULL, NULL);
	for (uint32_t v = 0; v < n_vars; v++)
		for (uint32_t w = 0; w < n_vars; w++)
			if (v != w) {
				add_feature(&l, FEATURE_MOD, 0, 0, v, w, "mod", var[v], var[w]);
				add_feature(&l, FEATURE_DIV, 0, 0, v, w, "div", var[v], var[w]);
			}
	for (uint32_t d = 1; d <= 3; d++)
		add_grid(&l, d, var, n_vars);
	add_feature(&l, FEATURE_LOG2, 0, 0, 0, 0, "log2", "ranks", NULL);
	for (uint32_t bit = 1; bit <= FLIP_MOST; bit *= 2) {
		char k[8];

		snprintf(k, sizeof(k), "%u", bit);
		add_feature(&l, FEATURE_FLIP, 0, 0, 0, bit, "flip", "rank", k);
		add_feature(&l, FEATURE_UPPER, 0, 0, 0, bit, "upper", "rank", k);
		add_feature(&l, FEATURE_LOWER, 0, 0, 0, bit, "lower", "rank", k);
	}
	add_feature(&l, FEATURE_CROWDED, 0, 0, 0, 0, "crowded", "ranks", NULL);
	for (uint32_t v = 0; v < n_vars; v++)
		add_levels(&l, v, var[v]);
	for (uint32_t v = 0; v < n_vars; v++)
		add_bounds(&l, v, var[v]);
	for (uint32_t v = 0; v < n_vars; v++)
		for (uint32_t d = 0; d <= 3; d++)
			for (uint32_t i = 0; i < d || (!d && !i); i++)
				add_portions(&l, d, i, v, var[v]);
	*n = l.n;
	if (l.failed) {
		free(l.f);
		return NULL;
	}
	return l.f;
}

/* ---- values ---- */

void feature_dims(uint32_t n, uint32_t d, uint32_t dims[3])
{
	uint32_t best = UINT32_MAX;

	dims[0] = n;
	dims[1] = dims[2] = 1;
	if (d == 1)
		return;
	for (uint32_t c = 1; d == 2 ? c == 1 : (uint64_t)c * c * c <= n; c++) {
		if (n % c)
			continue;
		for (uint32_t b = c, m = n / c; (uint64_t)b * b <= m; b++) {
			uint32_t a = m / b, spread = a - (d == 2 ? b : c);

			if (m % b || spread > best)
				continue;
			best = spread;
			dims[0] = a;
			dims[1] = b;
			dims[2] = c;
		}
	}
}

static int64_t whole(double x)
{
	return x == floor(x) && fabs(x) <= (double)FEATURE_VALUE_MAX ? (int64_t)x : FEATURE_NONE;
}

struct spot {
	int64_t n, c, stride; /* extent, place, distance */
};

static struct spot find_spot(const struct feature *f, const struct feature_place *p)
{
	uint32_t dims[3], stride = 1;

	feature_dims(p->ranks, f->d, dims);
	for (uint32_t i = f->d; i > f->i + 1u; i--)
		stride *= dims[i - 1];
	return (struct spot){dims[f->i], p->rank / stride % dims[f->i], stride};
}

static int64_t part_value(uint8_t op, int64_t v, const struct spot *s)
{
	if (v < 0)
		return FEATURE_NONE;
	switch (op) {
	case FEATURE_BLOCK:
		return v * (s->c + 1) / s->n - v * s->c / s->n;
	case FEATURE_SHARE:
		return v / s->n + (s->c < v % s->n);
	}
	return v / s->n;
}

static int64_t log2_below(int64_t v)
{
	return v < 1 ? FEATURE_NONE : 63 - __builtin_clzll((uint64_t)v);
}

static int64_t coarse_value(const struct feature *f, int64_t v, const struct feature_place *p)
{
	uint32_t dims[3];
	int64_t levels;

	feature_dims(p->ranks, f->d, dims);
	levels = log2_below(v < 0 ? 0 : v / dims[0]);
	if (levels == FEATURE_NONE)
		return FEATURE_NONE;
	return (f->i < f->d ? v / dims[f->i] : v) >> (levels > 1 + f->w ? levels - 1 - f->w : 0);
}

static int64_t portion_value(uint8_t op, int64_t x, int64_t portion)
{
	int64_t chunks = x < 0 ? FEATURE_NONE : (x + portion - 1) / portion;

	if (x < 0)
		return FEATURE_NONE;
	return op == FEATURE_WHOLE ? x / portion : op == FEATURE_CHUNKS ? chunks : x ? x - portion * (chunks - 1) : 0;
}

/* What is made of the value of a variable, and maybe the grid. */
static int64_t made_value(const struct feature *f, const struct feature_place *p)
{
	int64_t v = whole(p->var[f->v]);
	struct spot s = {0};

	if (v == FEATURE_NONE)
		return v;
	if (f->op == FEATURE_COARSE)
		return coarse_value(f, v, p);
	if (f->d)
		s = find_spot(f, p);
	if (f->op == FEATURE_LEVELS)
		return log2_below(f->d && v > 0 ? v / s.n : v);
	v = f->d ? part_value(FEATURE_BLOCK, v, &s) : v;
	return v == FEATURE_NONE ? v : portion_value(f->op, v, f->w);
}

static int64_t grid_value(const struct feature *f, const struct feature_place *p)
{
	struct spot s = find_spot(f, p);
	int64_t line = p->rank - s.c * s.stride, v;

	switch (f->op) {
	case FEATURE_DIMS:
		return s.n;
	case FEATURE_COORD:
		return s.c;
	case FEATURE_PREV:
		return s.c > 0 ? p->rank - s.stride : TRACE_PROC_NULL;
	case FEATURE_NEXT:
		return s.c + 1 < s.n ? p->rank + s.stride : TRACE_PROC_NULL;
	case FEATURE_BEFORE:
		return line + (s.c + s.n - 1) % s.n * s.stride;
	case FEATURE_AFTER:
		return line + (s.c + 1) % s.n * s.stride;
	case FEATURE_LPREV:
		return s.c > 0 ? s.c - 1 : TRACE_PROC_NULL;
	case FEATURE_LNEXT:
		return s.c + 1 < s.n ? s.c + 1 : TRACE_PROC_NULL;
	case FEATURE_LINE:
		return line;
	case FEATURE_STRIDE:
		return s.stride;
	}
	v = whole(p->var[f->v]);
	return v == FEATURE_NONE ? v : part_value(f->op, v, &s);
}

static int64_t above_value(const struct feature *f, const struct feature_place *p)
{
	int64_t v = whole(p->var[f->v]);
	struct spot s;

	if (f->d && v != FEATURE_NONE) {
		s = find_spot(f, p);
		v = part_value(FEATURE_BLOCK, v, &s);
	}
	return v == FEATURE_NONE ? v : v > f->w;
}

int64_t feature_value(const struct feature *f, const struct feature_place *p)
{
	int64_t v, w, k = 0;

	switch (f->op) {
	case FEATURE_VAR:
		return whole(p->var[f->v]);
	case FEATURE_RANK:
		return p->rank;
	case FEATURE_RANKS:
		return p->ranks;
	case FEATURE_LOG2:
		while (INT64_C(1) << k < p->ranks)
			k++;
		return k;
	case FEATURE_FLIP:
	case FEATURE_UPPER:
	case FEATURE_LOWER:
		v = p->rank ^ f->w;
		if (v >= p->ranks || (f->op == FEATURE_UPPER && v < p->rank) || (f->op == FEATURE_LOWER && v > p->rank))
			return TRACE_PROC_NULL;
		return v;
	case FEATURE_CROWDED:
		return p->crowd > 0 ? p->crowd > 1 : FEATURE_NONE;
	case FEATURE_ABOVE:
		return p->crowd > 0 ? above_value(f, p) : FEATURE_NONE;
	case FEATURE_MOD:
	case FEATURE_DIV:
		v = whole(p->var[f->v]);
		w = whole(p->var[f->w]);
		if (v < 0 || w < 1)
			return FEATURE_NONE;
		return f->op == FEATURE_MOD ? v % w : v / w;
	}
	if (f->op >= FEATURE_LEVELS)
		return made_value(f, p);
	return grid_value(f, p);
}
