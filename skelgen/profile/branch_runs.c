/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branches that go one way for long: see mix_runs.h. */
#include "skelgen/profile/branch_runs.h"

#include <math.h>
#include <stdlib.h>

#define LEAST  16 /* samples that say anything */
#define ROUNDS 6  /* of finding stretches by how often either way is told in them, and that by the stretches */
#define CLEAR  3  /* nats that stretches have to be shorter by */

/* Stretches of both ways. */
struct stretches {
	double said[2]; /* share of the samples in those of a way that tell it; the others do not say */
	double met[2];  /* samples in those of a way */
	double changes;
	double nats;    /* what it takes to write all samples down so */
};

static int by_where(const void *a, const void *b)
{
	const struct mix_turn *x = a, *y = b;

	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	return x->when < y->when ? -1 : x->when > y->when;
}

static double nats_of(double n, double all)
{
	return n > 0 ? -n * log(n / all) : 0;
}

/* What a sample costs in a stretch of that way: 0 falls, 1 taken. */
static double cost(const struct stretches *s, const struct mix_turn *t, int way)
{
	if (t->way == MIX_WAY_ANY)
		return -log(1 - s->said[way]);
	return (t->way == MIX_WAY_TAKEN) == way ? -log(s->said[way]) : INFINITY;
}

/* The best stretches for what is said in them, by dynamic programming over the samples in order; which is counted anew, and what it takes
 * with that. A change costs the choice of its place. */
static void divide(struct mix_turn *turn, uint32_t n, struct stretches *s)
{
	double sum[2] = {cost(s, &turn[0], 0), cost(s, &turn[0], 1)}, said[2] = {0}, change = log(n);
	int way;

	for (uint32_t i = 1; i < n; i++) {
		double before[2] = {sum[0], sum[1]};

		for (way = 0; way < 2; way++) {
			turn[i].changed[way] = before[!way] + change < before[way];
			sum[way] = fmin(before[way], before[!way] + change) + cost(s, &turn[i], way);
		}
	}
	way = sum[1] < sum[0];
	s->met[0] = s->met[1] = s->changes = 0;
	for (uint32_t i = n; i-- > 0;) {
		s->met[way]++;
		said[way] += turn[i].way != MIX_WAY_ANY;
		if (i > 0 && turn[i].changed[way]) {
			way = !way;
			s->changes++;
		}
	}
	s->nats = s->changes * change;
	for (way = 0; way < 2; way++) {
		s->nats += nats_of(said[way], s->met[way]) + nats_of(s->met[way] - said[way], s->met[way]);
		s->said[way] = (said[way] + 0.5) / (s->met[way] + 1);
	}
}

double mix_runs_chance(struct mix_turn *turn, uint32_t n)
{
	double told[3] = {0}, chance = 0, expected;
	struct stretches s;

	if (n < LEAST)
		return 1;
	qsort(turn, n, sizeof(*turn), by_where);
	for (uint32_t i = 0; i < n; i++)
		told[turn[i].way]++;
	for (int way = 0; way < 3; way++)
		chance += nats_of(told[way], n);
	s.said[0] = (told[MIX_WAY_FALLS] + 0.5) / (told[MIX_WAY_FALLS] + told[MIX_WAY_ANY] + 1);
	s.said[1] = (told[MIX_WAY_TAKEN] + 0.5) / (told[MIX_WAY_TAKEN] + told[MIX_WAY_ANY] + 1);
	for (int round = 0; round < ROUNDS; round++)
		divide(turn, n, &s);
	expected = 2 * s.met[0] * s.met[1] / n;
	if (s.nats + CLEAR > chance || expected <= 0)
		return 1;
	return fmin(1, (s.changes + 1) / expected); /* one more may not have been met */
}

/* All in order of time: numbers of samples. */
static void find_turns(const struct mix_body *b, const struct mix_hit *hit, uint32_t n, const uint8_t *way, struct mix_turn *turn)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t at = mix_body_at(b, hit[k].offset);

		turn[k] = (struct mix_turn){.where = k, .when = k, .way = at == UINT32_MAX ? MIX_WAY_ANY : way[at]};
	}
}

int mix_runs(const struct mix_body *b, const struct mix_hit *hit, uint32_t n, const bool *by_data, double *chance)
{
	struct mix_turn *turn = malloc((n + 1u) * sizeof(*turn));
	uint8_t *way = malloc(b->n + 1u), reg;
	int64_t step;
	int rv = turn && way ? 0 : -1;

	reg = mix_even_register(b, n ? hit[0].reg : NULL, &step);
	for (uint32_t i = 0; rv == 0 && i < b->n; i++) {
		chance[i] = 1;
		if (!by_data[i])
			continue;
		rv = mix_flow_ways(b, i, way);
		if (rv != 0)
			break;
		find_turns(b, hit, n, way, turn);
		chance[i] = mix_runs_chance(turn, n);
		if (reg == MIX_NO_REG)
			continue;
		for (uint32_t k = 0; k < n; k++)
			turn[k].where = (int64_t)hit[turn[k].when].reg[reg];
		chance[i] = fmin(chance[i], mix_runs_chance(turn, n));
	}
	free(turn);
	free(way);
	return rv;
}
