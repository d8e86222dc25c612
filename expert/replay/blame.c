/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ranks did while others waited for them: see replay.h. */
#include <stdlib.h>

#include "expert/replay/replay_impl.h"

#define MAX_DEPTH  64     /* ranks that wait for each other */
#define MAX_STEPS  4096   /* calls looked at for one wait */
#define MAX_CAUSES 65536
#define PER_PROBLEM 256   /* told */

static struct replay_cause *cause_slot(struct replay *p, uint32_t problem, uint32_t rank, uint32_t sym, uint8_t doing)
{
	uint64_t h = (((uint64_t)problem << 32 | rank) * 0x9e3779b97f4a7c15ull ^ ((uint64_t)sym << 1 | doing)) * 0xff51afd7ed558ccdull;

	for (uint32_t i = (uint32_t)(h >> 32);; i++) {
		struct replay_cause *c = &p->cause[i & (p->n_cause_slot - 1)];

		if (!c->ns || (c->problem == problem && c->rank == rank && c->sym == sym && c->doing == doing))
			return c;
	}
}

static int grow_causes(struct replay *p)
{
	uint32_t n = p->n_cause_slot ? 2 * p->n_cause_slot : 256, old_n = p->n_cause_slot;
	struct replay_cause *old = p->cause, *c = calloc(n, sizeof(*c));

	if (!c)
		return -1;
	p->cause = c;
	p->n_cause_slot = n;
	for (uint32_t i = 0; i < old_n; i++)
		if (old[i].ns)
			*cause_slot(p, old[i].problem, old[i].rank, old[i].sym, old[i].doing) = old[i];
	free(old);
	return 0;
}

static int charge(struct replay *p, uint32_t problem, uint32_t rank, uint32_t sym, uint8_t doing, uint64_t ns)
{
	struct replay_cause *c;

	if (!ns)
		return 0;
	if (2 * p->n_cause >= p->n_cause_slot && p->n_cause < MAX_CAUSES && grow_causes(p) < 0)
		return -1;
	c = cause_slot(p, problem, rank, sym, doing);
	if (!c->ns && 2 * p->n_cause >= p->n_cause_slot)
		return 0;
	p->n_cause += !c->ns;
	*c = (struct replay_cause){problem, rank, sym, doing, c->ns + ns};
	return 0;
}

/* Length of the overlap of two intervals. */
static uint64_t shared(uint64_t a, uint64_t b, uint64_t from, uint64_t until)
{
	a = a > from ? a : from;
	b = b < until ? b : until;
	return b > a ? b - a : 0;
}

static int look(struct replay *p, uint32_t problem, uint32_t rank, uint64_t from, uint64_t until, int depth, int *steps)
{
	const struct replay_rank *k = &p->rank[rank];

	if (k->in_call && charge(p, problem, rank, k->sym, RD_COMPUTING, shared(k->from_ns, k->enter_ns, from, until)) < 0)
		return -1;
	if (k->in_call && charge(p, problem, rank, k->sym, RD_CALLING, shared(k->enter_ns, k->leave_ns, from, until)) < 0)
		return -1;
	for (uint64_t i = k->n_past; i > 0 && k->n_past - i < p->past && *steps > 0; i--) {
		const struct replay_past *c = &k->past[(i - 1) & (p->past - 1)];
		uint64_t begin = c->enter_ns > from ? c->enter_ns : from, end = c->until_ns < until ? c->until_ns : until;

		if (c->leave_ns <= from)
			break;
		--*steps;
		if (charge(p, problem, rank, c->sym, RD_CALLING, shared(c->until_ns, c->leave_ns, from, until)) < 0 ||
		    charge(p, problem, rank, c->sym, RD_COMPUTING, shared(c->from_ns, c->enter_ns, from, until)) < 0)
			return -1;
		if (end > begin && depth < MAX_DEPTH && look(p, problem, c->cause, begin, end, depth + 1, steps) < 0)
			return -1;
	}
	return 0;
}

int blame_wait(struct replay *p, uint32_t problem, uint32_t cause, uint64_t from, uint64_t until)
{
	int steps = MAX_STEPS;

	return look(p, problem, cause, from, until, 0, &steps);
}

static int longer(const void *a, const void *b)
{
	const struct replay_cause *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->sym < y->sym ? -1 : x->sym > y->sym;
}

int blame_tell(struct replay *p)
{
	struct report *r = p->report;

	if (p->n_cause)
		qsort(p->cause, p->n_cause_slot, sizeof(*p->cause), longer);
	for (uint32_t i = 0; i < p->n_cause; i++) {
		const struct replay_cause *c = &p->cause[i];
		struct report_problem *q = &r->problem[c->problem];

		q->cause_ns += c->ns;
		if (q->n_cause == PER_PROBLEM)
			continue;
		if (!q->cause && !(q->cause = calloc(PER_PROBLEM, sizeof(*q->cause))))
			return -1;
		q->cause[q->n_cause++] = (struct report_cause){.doing = c->doing, .rank = c->rank, .sym = c->sym, .ns = c->ns};
	}
	return 0;
}
