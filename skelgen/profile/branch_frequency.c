/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often pieces of a loop are executed: see branch_frequency.h. */
#include "skelgen/profile/branch_frequency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE    UINT32_MAX
#define ROUNDS  40   /* until the ways of branches that depend on each other are known, at most, */
#define SETTLED 1e-4 /* or change less than this */
#define SPREAD  1    /* samples more, spread as if all were executed equally often */

/* Instructions that are executed one after the other, and where they lead. */
struct piece {
	uint32_t from, end;
	uint32_t to[2];     /* falling through, and by the branch; NONE: out of the loop */
	uint32_t next[2];   /* the same within an iteration; NONE: also to its head, */
	bool again[2];      /* which this tells */
	double cost, met;
	double often;
	double falls;       /* share of its executions that go on by falling through */
	uint8_t seen;       /* by the search: 1 on the way, 2 done */
};

struct flow {
	const struct loop_body *b;
	struct piece *piece;
	uint32_t n;
	uint32_t head;            /* where an iteration begins */
	uint32_t *order, n_order; /* pieces, each before all that lead to it */
	uint8_t *reach;           /* n x n: from a piece, within an iteration, itself too */
	bool nested;              /* a way back that does not lead to the head: another loop inside */
	bool alone;               /* a loop without */
};

bool branch_frequency_leaves(const struct loop_op *op)
{
	return op->kind == OP_BRANCH || op->kind == OP_JUMP || op->kind == OP_RETURN;
}

/* Does only the branch `from` lead to an instruction? */
static bool is_own(const struct loop_body *b, uint32_t to, uint32_t from)
{
	if (to > 0 && to - 1 != from && b->op[to - 1].kind != OP_JUMP && b->op[to - 1].kind != OP_RETURN)
		return false;
	for (uint32_t k = 0; k < b->n; k++)
		if (k != from && branch_frequency_leaves(&b->op[k]) && b->op[k].target == b->op[to].offset)
			return false;
	return true;
}

double branch_frequency_taken(const struct loop_body *b, const double *often, uint32_t i)
{
	uint32_t t = loop_body_at(b, b->op[i].target);

	if (b->op[i].kind == OP_JUMP)
		return 1;
	if (b->op[i].kind != OP_BRANCH || t == UINT32_MAX)
		return 0; /* the loop is left once */
	if (i + 1 == b->n)
		return 1;
	if (often[i] <= 0)
		return 0;
	if (is_own(b, i + 1, i))
		return 1 - fmin(1, often[i + 1] / often[i]);
	if (is_own(b, t, i))
		return fmin(1, often[t] / often[i]);
	return t == 0 ? 1 : 0.5;
}

/* The first instruction behind the straight piece that begins at `from`. */
static uint32_t piece_end(const struct loop_body *b, uint32_t from)
{
	uint32_t end = from;

	while (end < b->n && !branch_frequency_leaves(&b->op[end])) {
		end++;
		for (uint32_t k = 0; end < b->n && k < b->n; k++)
			if (branch_frequency_leaves(&b->op[k]) && b->op[k].target == b->op[end].offset)
				return end;
	}
	return end < b->n ? end + 1 : end;
}

static uint32_t piece_at(const struct flow *f, uint64_t offset)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->b->op[f->piece[i].from].offset == offset)
			return i;
	return NONE;
}

static void find_pieces(struct flow *f, const double *cost, const uint32_t *heat)
{
	for (uint32_t i = 0; i < f->b->n; i = f->piece[f->n++].end) {
		struct piece p = {.from = i, .end = piece_end(f->b, i), .to = {NONE, NONE}};

		for (uint32_t k = p.from; k < p.end; k++) {
			p.cost += cost ? cost[k] : 0;
			p.met += heat ? heat[k] : 0;
		}
		f->piece[f->n] = p;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		struct piece *p = &f->piece[i];
		const struct loop_op *last = &f->b->op[p->end - 1];

		if (last->kind != OP_JUMP && last->kind != OP_RETURN)
			p->to[0] = piece_at(f, last->offset + last->len);
		if (last->kind == OP_JUMP || last->kind == OP_BRANCH)
			p->to[1] = piece_at(f, last->target);
	}
}

/* Depth first; as deep as there are pieces. */
static void find_order(struct flow *f, uint32_t i)
{
	struct piece *p = &f->piece[i];

	p->seen = 1;
	for (int way = 0; way < 2; way++) {
		uint32_t next = p->next[way];

		if (next == NONE)
			continue;
		if (f->piece[next].seen == 1)
			f->nested = true;
		else if (f->piece[next].seen == 0)
			find_order(f, next);
	}
	p->seen = 2;
	f->order[f->n_order++] = i;
}

/* Is this a loop without another inside, if its iterations begin there? */
static bool is_head(struct flow *f, uint32_t head)
{
	f->head = head;
	f->n_order = 0;
	f->nested = false;
	for (uint32_t i = 0; i < f->n; i++) {
		struct piece *p = &f->piece[i];

		p->seen = 0;
		for (int way = 0; way < 2; way++) {
			p->again[way] = p->to[way] == head;
			p->next[way] = p->again[way] ? NONE : p->to[way];
		}
	}
	find_order(f, head);
	return !f->nested && f->n_order == f->n;
}

/* Mostly the first piece is; where ways back lead behind the step to the next iteration, as they make it themselves, another. */
static bool find_head(struct flow *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (is_head(f, i))
			return true;
	return false;
}

static void find_reach(struct flow *f)
{
	for (uint32_t o = 0; o < f->n_order; o++) {
		uint32_t i = f->order[o];
		uint8_t *mine = f->reach + (size_t)i * f->n;

		mine[i] = 1;
		for (int way = 0; way < 2; way++)
			for (uint32_t k = 0; f->piece[i].next[way] != NONE && k < f->n; k++)
				mine[k] |= f->reach[(size_t)f->piece[i].next[way] * f->n + k];
	}
}

static bool stays(const struct piece *p, int way)
{
	return p->next[way] != NONE || p->again[way];
}

/* Of a piece behind a branch: is it executed only if the branch falls through, or only if the branch is taken? */
enum way { WAY_ANY, WAY_FALLS, WAY_TAKEN };

/* Behind a branch: the pieces that only one way leads to (enum way), and their executions each time that the way is taken. */
struct ways {
	uint8_t *mark; /* of all pieces, twice: the second for always() */
	double *rate;
};

/* Execution enters where rate is above 0 so often, and goes through the rest of the iteration. */
static void pass_on(const struct flow *f, double *rate)
{
	for (uint32_t o = f->n_order; o-- > 0;) {
		const struct piece *p = &f->piece[f->order[o]];
		double share[2] = {p->falls, 1 - p->falls};

		for (int way = 0; way < 2; way++)
			if (p->next[way] != NONE)
				rate[p->next[way]] += share[way] * rate[f->order[o]];
	}
}

/* Samples over cycles of the marked pieces, each executed rate times; -1: none is marked. Pieces that are never executed do
 * not count. */
static double density(const struct flow *f, const struct ways *w, uint8_t which)
{
	double cost = 0, met = 0, all = 0;

	for (uint32_t k = 0; k < f->n; k++) {
		all += f->piece[k].cost;
		if (w->mark[k] == which) {
			cost += w->rate[k] * f->piece[k].cost;
			met += f->piece[k].met;
		}
	}
	return cost > 0 ? met / cost + SPREAD / all : -1;
}

static void mark_ways(const struct flow *f, const struct piece *p, uint8_t *mark)
{
	for (uint32_t k = 0; k < f->n; k++) {
		bool first = p->next[0] != NONE && f->reach[(size_t)p->next[0] * f->n + k],
		     second = p->next[1] != NONE && f->reach[(size_t)p->next[1] * f->n + k];

		mark[k] = first == second ? WAY_ANY : first ? WAY_FALLS : WAY_TAKEN;
	}
}

static void find_ways(const struct flow *f, const struct piece *p, struct ways *w)
{
	mark_ways(f, p, w->mark);
	memset(w->rate, 0, f->n * sizeof(*w->rate));
	for (int way = 0; way < 2; way++)
		if (p->next[way] != NONE && w->mark[p->next[way]])
			w->rate[p->next[way]] = 1;
	pass_on(f, w->rate);
}

/* Samples over cycles of the pieces of every iteration: the head at least. */
static double always(const struct flow *f, struct ways *w, uint8_t *some)
{
	struct ways all = {some, w->rate};

	memset(some, 0, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		all.rate[i] = 1;
		if (!stays(&f->piece[i], 0) || !stays(&f->piece[i], 1))
			continue;
		mark_ways(f, &f->piece[i], w->mark);
		for (uint32_t k = 0; k < f->n; k++)
			some[k] |= w->mark[k] != WAY_ANY;
	}
	return density(f, &all, WAY_ANY);
}

/* Share of a piece's executions that go on by falling through. */
static double falls(const struct flow *f, const struct piece *p, double each, struct ways *w)
{
	double first, second;

	if (!stays(p, 0) || !stays(p, 1))
		return stays(p, 0); /* loops are left once */
	find_ways(f, p, w);
	first = density(f, w, WAY_FALLS);
	second = density(f, w, WAY_TAKEN);
	if (first < 0 && second < 0)
		return 0.5;
	if (first >= 0 && second >= 0)
		return first / (first + second);
	/* One way skips the pieces of the other. */
	each *= p->often;
	return first >= 0 ? fmin(1, first / each) : 1 - fmin(1, second / each);
}

/* How often each piece is executed, an iteration. */
static void find_often(struct flow *f, double *rate)
{
	memset(rate, 0, f->n * sizeof(*rate));
	rate[f->head] = 1;
	pass_on(f, rate);
	for (uint32_t i = 0; i < f->n; i++)
		f->piece[i].often = rate[i];
}

/* The ways of all branches anew, those behind a branch before it. Returns by how much one has changed at most. */
static double find_falls(struct flow *f, double each, struct ways *w)
{
	double most = 0;

	for (uint32_t o = 0; o < f->n_order; o++) {
		struct piece *p = &f->piece[f->order[o]];
		double now = falls(f, p, each, w);

		most = fmax(most, fabs(now - p->falls));
		p->falls = now;
	}
	return most;
}

/* Executions behind a branch depend on the branches there, and the reverse: a fixed point, from even ways. -1: no memory. */
static int flow_through(struct flow *f)
{
	struct ways w = {malloc(2 * (size_t)f->n), malloc(f->n * sizeof(*w.rate))};
	double each, change = 1;

	if (!w.mark || !w.rate) {
		free(w.mark);
		free(w.rate);
		return -1;
	}
	each = always(f, &w, w.mark + f->n);
	for (uint32_t i = 0; i < f->n; i++)
		f->piece[i].falls = stays(&f->piece[i], 0) && stays(&f->piece[i], 1) ? 0.5 : stays(&f->piece[i], 0);
	find_often(f, w.rate);
	for (int round = 0; round < ROUNDS && change > SETTLED; round++) {
		change = find_falls(f, each, &w);
		find_often(f, w.rate);
	}
	free(w.mark);
	free(w.rate);
	return 0;
}

static void as_often_as_met(struct flow *f)
{
	double all = 0;

	for (uint32_t i = 0; i < f->n; i++)
		all += f->piece[i].cost;
	for (uint32_t i = 0; i < f->n; i++)
		f->piece[i].often = f->piece[i].met / f->piece[i].cost + SPREAD / all;
}

static void end(struct flow *f)
{
	free(f->piece);
	free(f->order);
	free(f->reach);
}

/* -1: no memory; to be ended in any case. */
static int begin(struct flow *f, const struct loop_body *b, const double *cost, const uint32_t *heat)
{
	*f = (struct flow){.b = b, .piece = calloc(b->n + 1u, sizeof(*f->piece)), .order = calloc(b->n + 1u, sizeof(*f->order))};
	if (!f->piece || !f->order)
		return -1;
	find_pieces(f, cost, heat);
	f->reach = calloc((size_t)f->n * f->n + 1u, 1);
	if (!f->reach)
		return -1;
	f->alone = b->is_loop && find_head(f);
	if (f->alone)
		find_reach(f);
	return 0;
}

int branch_frequency(const struct loop_body *b, const double *cost, const uint32_t *heat, double *often)
{
	struct flow f;
	double most = 0;
	int rv = begin(&f, b, cost, heat);

	if (rv == 0 && f.alone)
		rv = flow_through(&f);
	else if (rv == 0)
		as_often_as_met(&f);
	for (uint32_t i = 0; rv == 0 && i < f.n; i++)
		most = fmax(most, f.piece[i].often);
	for (uint32_t i = 0; rv == 0 && i < f.n; i++)
		for (uint32_t k = f.piece[i].from; k < f.piece[i].end; k++)
			often[k] = f.piece[i].often / most;
	end(&f);
	return rv;
}
