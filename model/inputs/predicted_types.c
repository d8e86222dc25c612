/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datatypes of a predicted rank: see predicted_types.h. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/inputs/predicted_types.h"

static int know(struct predicted_types *t, uint32_t n)
{
	uint32_t *of;

	if (n <= t->n_of)
		return 0;
	of = realloc(t->of, n * sizeof(*of));
	if (!of)
		return -1;
	for (uint32_t i = t->n_of; i < n; i++)
		of[i] = PATTERN_NONE;
	t->of = of;
	t->n_of = n;
	return 0;
}

static int name_one(struct predicted_types *t, const struct pattern_set *set, uint32_t index)
{
	const struct trace_type *was = &set->defs.type[index];
	uint32_t *sub;

	if (t->of[index] != PATTERN_NONE)
		return 0;
	for (uint32_t i = 0; i < was->n_sub; i++)
		if (name_one(t, set, was->sub[i]) < 0)
			return -1;
	if (ARRAY_ROOM(t->type, t->cap, t->n + 1) != 0)
		return -1;
	sub = malloc((was->n_sub + 1u) * sizeof(*sub));
	if (!sub)
		return -1;
	for (uint32_t i = 0; i < was->n_sub; i++)
		sub[i] = t->of[was->sub[i]];
	t->type[t->n] = *was;
	t->type[t->n].sub = sub;
	t->of[index] = t->n++;
	return 0;
}

int predicted_types_name(struct predicted_types *t, const struct pattern_set *set, uint32_t pattern, int64_t *val)
{
	struct pattern_walk w = {.pattern = &set->pattern[pattern], .val = val};

	if (know(t, set->defs.n_type) < 0)
		return -1;
	while (pattern_walk_next(&w)) {
		int64_t *v = val + (w.at - val);

		if (w.kind != TK_TYPE && w.kind != TK_NEWTYPE)
			continue;
		if (*v < 0)
			continue;
		if (*v >= t->n_of || name_one(t, set, (uint32_t)*v) < 0)
			return -1;
		*v = t->of[*v];
	}
	return 0;
}

void predicted_types_free(struct predicted_types *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->type[i].sub);
	free(t->type);
	free(t->of);
	*t = (struct predicted_types){0};
}
