/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the steps of one rank. */
#include <string.h>

#include "skelgen/replay/replay.h"

const int64_t *replay_values;

/* Entry of a table, by the bytes before it. */
static inline char *entry(const struct step *s)
{
	char *base;

	memcpy(&base, s->table, sizeof base);
	return base + s->arg;
}

/* The loop that is entered is the one that runs. */
static void entered_check(const struct step *s)
{
	if (s->a[0].i != (int64_t)s->arg)
		skel_fail("the operations enter loop %lld and run loop %u", (long long)s->a[0].i, s->arg);
}

static void type_set(const struct step *s)
{
	int64_t k = replay_eval(s->node).i;

	if (k < 0 || k >= replay_table_n[OPS_TYPE])
		skel_fail("the operations name a datatype that there is not");
	type[k] = replay_eval(s->other).t;
}

void replay_run(struct replay *r)
{
	const int64_t *before[OPS_MAX_DEPTH];
	int64_t left[OPS_MAX_DEPTH];

	for (const struct step *s = r->step;; s++)
		switch (s->op) {
		case STEP_CALL:
			s->call(s->a, s->result);
			break;
		case STEP_VALUE:
			s->result->i = replay_values[s->arg];
			break;
		case STEP_PLACE:
			s->result->p = entry(s);
			break;
		case STEP_INT:
			memcpy(s->result, entry(s), sizeof(int));
			break;
		case STEP_POINTER:
			memcpy(s->result, entry(s), sizeof(void *));
			break;
		case STEP_EVAL:
			*s->result = replay_eval(s->node);
			break;
		case STEP_SET_TYPE:
			type_set(s);
			break;
		case STEP_UNLESS:
			if (!replay_eval(s->node).i)
				s = s->to - 1;
			break;
		case STEP_GO:
			s = s->to - 1;
			break;
		case STEP_FOR:
			left[s->arg] = replay_eval(s->node).i;
			break;
		case STEP_AGAIN:
			if (left[s->arg]-- > 0)
				s = s->to - 1;
			break;
		case STEP_ENTER:
			entered_check(s);
			break;
		case STEP_LOOP:
			if (skel_next((int)s->arg))
				s = s->to - 1;
			break;
		case STEP_VALUES:
			before[s->depth] = replay_values;
			replay_values = skel_values((int)s->arg);
			break;
		case STEP_VALUES_END:
			replay_values = before[s->depth];
			break;
		case STEP_END:
			return;
		default:
			__builtin_unreachable(); /* steps.c makes no others */
		}
}
