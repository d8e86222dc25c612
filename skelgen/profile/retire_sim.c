/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor that retires in order: see mix_retire.h. */
#include "skelgen/profile/retire_sim.h"

#include <math.h>
#include <string.h>

#include "skelgen/profile/branch_frequency.h"

#define ITERATIONS 200
#define STEPS      10000 /* instructions, at most */
#define ENTER      6     /* instructions that come under way in a cycle, */
#define LEAVE      8     /* that retire, */
#define WINDOW     256   /* and that can be under way */
#define RUN        100   /* executions of a branch in which it goes the one way and then the other, where it is foretold */
#define REFILL     17    /* cycles from when a guess is known to be wrong */

enum unit { UNIT_INTEGER, UNIT_MULTIPLY, UNIT_FLOAT, UNIT_DIVIDE, UNIT_BRANCH, UNITS };

struct core {
	double reg[MIX_REGS], unit[UNITS];   /* when they are there, and free */
	double entered, retired, left[WINDOW];
	double owed[MIX_OPS_MAX];            /* of a branch: how often it should have been taken, or executions */
	uint32_t n;
	uint64_t random;
};

static double draw(struct core *c)
{
	c->random = c->random * 6364136223846793005u + 1442695040888963407u;
	return (double)(c->random >> 11) / 9007199254740992.0;
}

static enum unit unit_of(uint8_t kind)
{
	switch (kind) {
	case MIX_MULTIPLY:
		return UNIT_MULTIPLY;
	case MIX_SCALAR: case MIX_VECTOR:
		return UNIT_FLOAT;
	case MIX_DIVIDE: case MIX_LIBM:
		return UNIT_DIVIDE;
	case MIX_BRANCH:
		return UNIT_BRANCH;
	default:
		return UNIT_INTEGER;
	}
}

/* Comes under way; returns when its result is there. */
static double execute(const struct mix_retire *r, struct core *c, uint32_t i)
{
	const struct mix_op *op = &r->b->op[i];
	double *unit = &c->unit[unit_of(op->kind)], ready, done;

	c->entered = fmax(c->entered + 1.0 / ENTER, c->left[c->n % WINDOW]);
	ready = c->entered + r->load[i];
	for (uint64_t left = op->reads; left; left &= left - 1) {
		uint32_t reg = (uint32_t)__builtin_ctzll(left);

		if (reg < MIX_REGS)
			ready = fmax(ready, c->reg[reg] + (op->bytes && (reg == op->base || reg == op->index) ? r->load[i] : 0));
	}
	done = fmax(ready, *unit) + r->latency[i];
	*unit = fmax(*unit, c->entered) + r->each[i];
	for (uint64_t left = op->writes; left; left &= left - 1)
		if (__builtin_ctzll(left) < MIX_REGS)
			c->reg[__builtin_ctzll(left)] = done;
	return done;
}

static void retire(struct core *c, double done)
{
	c->retired = fmax(c->retired + 1.0 / LEAVE, done);
	c->left[c->n++ % WINDOW] = c->retired;
}

/* A counter of three bits, of ways that go at random. */
static bool guess(struct core *c, double taken)
{
	double yes = pow(taken, 4), no = pow(1 - taken, 4);

	return draw(c) * (yes + no) < yes;
}

static bool is_taken(const struct mix_retire *r, struct core *c, uint32_t i, double known, bool foretold)
{
	bool taken;

	if (!r->by_data[i])
		return mix_flow_is_due(r->taken[i], &c->owed[i]);
	if (r->wild[i] <= 0)
		return fmod(c->owed[i]++, RUN) < r->taken[i] * RUN;
	taken = draw(c) < r->taken[i];
	if (guess(c, r->taken[i]) != taken && draw(c) < r->wild[i] && !foretold)
		c->entered = fmax(c->entered, known + REFILL);
	return taken;
}

/* Where execution goes on; 0: a new iteration. */
static uint32_t next_of(const struct mix_retire *r, struct core *c, uint32_t i, double known, bool foretold)
{
	const struct mix_op *op = &r->b->op[i];
	uint32_t t = mix_flow_leaves(op) ? mix_body_at(r->b, op->target) : UINT32_MAX;

	if (op->kind == MIX_RETURN || (op->kind == MIX_JUMP && t == UINT32_MAX))
		return 0;
	if (op->kind == MIX_JUMP || (op->kind == MIX_BRANCH && t != UINT32_MAX && is_taken(r, c, i, known, foretold)))
		return t;
	return i + 1 < r->b->n ? i + 1 : 0;
}

double mix_retire(const struct mix_retire *r, bool foretold, double *heat, double *often)
{
	struct core c = {.random = 1};
	uint32_t i = 0, iterations = 0;

	for (uint32_t k = 0; k < r->b->n; k++) {
		c.owed[k] = r->by_data[k] ? 0 : r->taken[k] / 2;
		heat[k] = often[k] = 0;
	}
	while (iterations < ITERATIONS && c.n < STEPS) {
		double done = execute(r, &c, i), before = c.retired;

		retire(&c, done);
		often[i]++;
		i = next_of(r, &c, i, done, foretold);
		heat[i] += c.retired - before; /* an interrupt comes when what was waited for is done */
		iterations += i == 0;
	}
	iterations += iterations == 0;
	for (uint32_t k = 0; k < r->b->n; k++) {
		heat[k] /= iterations;
		often[k] /= iterations;
	}
	return c.retired / iterations;
}
