/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the statements of one rank. */
#include "skelgen/replay/replay.h"

const int64_t *replay_values;

static void block_run(const struct replay *r, uint32_t from, uint32_t to);

static void call_run(const struct node *n)
{
	union value result;

	replay_call(n, &result);
}

/* The statement after the condition and its other branch. */
static uint32_t condition_run(const struct replay *r, uint32_t at)
{
	const struct statement *s = &r->statement[at];
	uint32_t end = s->end;
	int other = end < r->n_statement && r->statement[end].op == OPS_ELSE;

	if (replay_eval(s->a).i)
		block_run(r, at + 1, end - 1);
	else if (other)
		block_run(r, end + 1, r->statement[end].end - 1);
	return other ? r->statement[end].end : end;
}

/* The loop that is entered is the one that runs. */
static void loop_run(const struct replay *r, uint32_t at)
{
	const struct statement *s = &r->statement[at];

	call_run(s->a);
	if (s->a->a[0].i != (int64_t)s->arg)
		skel_fail("the operations enter loop %lld and run loop %u", (long long)s->a->a[0].i, s->arg);
	while (skel_next((int)s->arg))
		block_run(r, at + 1, s->end - 1);
}

static void values_run(const struct replay *r, uint32_t at)
{
	const int64_t *before = replay_values;

	replay_values = skel_values((int)r->statement[at].arg);
	block_run(r, at + 1, r->statement[at].end - 1);
	replay_values = before;
}

static void block_run(const struct replay *r, uint32_t from, uint32_t to)
{
	while (from < to) {
		const struct statement *s = &r->statement[from];

		switch (s->op) {
		case OPS_DO:
			call_run(s->a);
			from++;
			continue;
		case OPS_SET_TYPE:
			if (replay_eval(s->a).i < 0 || replay_eval(s->a).i >= replay_table_n[OPS_TYPE])
				skel_fail("the operations name a datatype that there is not");
			type[replay_eval(s->a).i] = replay_eval(s->b).t;
			from++;
			continue;
		case OPS_IF:
			from = condition_run(r, from);
			continue;
		case OPS_FOR:
			for (int64_t n = replay_eval(s->a).i; n > 0; n--)
				block_run(r, from + 1, s->end - 1);
			break;
		case OPS_LOOP:
			loop_run(r, from);
			break;
		default:
			values_run(r, from);
			break;
		}
		from = s->end;
	}
}

void replay_run(struct replay *r)
{
	block_run(r, 0, r->n_statement);
}
