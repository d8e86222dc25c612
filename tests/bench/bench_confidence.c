/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is the confidence of predicted times right? Programs are generated: loops over their inputs, with times of random laws and with
 * noise. Each is run some times at random inputs, a model is learnt, and other runs are predicted. Of the times inside of the
 * runs, nine in ten are to be within the error that the answer gives. Times are simulated: no clock is read.
 *
 *   bench_confidence [PROGRAMS [SEED]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/api/confidence.h"
#include "model/induce/interpret.h"
#include "model/induce/journal.h"
#include "model/induce/learn.h"
#include "model/induce/value.h"

#define ASKED	   6	/* of each program: half of them inside of the runs */
#define LEAST	   10.0 /* inputs of the runs */
#define MOST	   80.0
#define OUTSIDE	   3.0	/* asked for up to so many times the largest */
#define CALIBRATED 0.85 /* an answer with more is one with 0.9 */

static const double noises[] = {0, 0.02, 0.05, 0.15};
#define NOISES (sizeof(noises) / sizeof(*noises))

/* Steps of a us each, and b us times a power of a cell; a check of c us at the end. */
struct program {
	double a, b, power, c, noise;
	uint32_t runs;
	uint64_t random;
};
struct tally {
	uint32_t asked, refused, calibrated, within, all_within;
	double confidence;
};

static double uniform(struct program *p, double lo, double hi)
{
	return lo + (hi - lo) * model_random(&p->random);
}

/* exp of a normal deviate, by Box and Muller (1958). */
static double factor(struct program *p)
{
	double u = model_random(&p->random), v = model_random(&p->random);

	return exp(p->noise * sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v));
}

static struct program generate(uint64_t seed)
{
	static const double powers[] = {0.5, 1, 1.5, 2, 3};
	struct program p = {.random = seed * 7919 + 1};

	p.a = uniform(&p, 0, 20);
	p.b = uniform(&p, 0.1, 2);
	p.power = powers[(int)uniform(&p, 0, 5)];
	p.c = uniform(&p, 0, 1000);
	p.noise = noises[seed % NOISES];
	p.runs = (uint32_t)uniform(&p, 5, 11);
	return p;
}

/* in: steps, cells. Half of the noise is of the run, the other half of each step. j NULL: the time alone. */
static double run(struct program *p, const double *in, struct journal *j, struct errbuf *err)
{
	double t = 0, whole = factor(p);
	int rc = j ? journal_begin(j, in, err) : 0;

	for (int i = 0; rc == 0 && i < (int)in[0]; i++) {
		t += 1e-6 * (p->a + p->b * pow(in[1], p->power)) * sqrt(whole * factor(p));
		rc = j ? journal_add(j, 0, t, NULL, err) : 0;
	}
	t += 1e-6 * p->c * whole;
	if (rc == 0 && j)
		rc = journal_add(j, 1, t, NULL, err);
	return rc < 0 ? -1 : t;
}

static void ask(struct program *p, const struct model *m, bool outside, struct tally *sum)
{
	double in[2], error, confidence, actual;
	struct model_result r = {0};
	struct errbuf err;

	for (int i = 0; i < 2; i++)
		in[i] = floor(uniform(p, outside ? m->input[i].hi : m->input[i].lo, outside ? OUTSIDE * m->input[i].hi : m->input[i].hi));
	actual = run(p, in, NULL, &err);
	sum->asked++;
	if (model_interpret(m, in, 1, NULL, NULL, &r, &err) < 0 || confidence_of_time(m, in, &error, &confidence, &err) < 0) {
		sum->refused++;
		return;
	}
	sum->confidence += confidence;
	sum->all_within += fabs(r.time_s / actual - 1) <= error;
	if (confidence >= CALIBRATED) {
		sum->calibrated++;
		sum->within += fabs(r.time_s / actual - 1) <= error;
	}
}

static int program(uint64_t seed, struct tally *inside, struct tally *outside, struct errbuf *err)
{
	static const char *const inputs[] = {"steps", "cells"};
	const struct model_learn_options o = {.cross_validate = true};
	struct program p = generate(seed);
	struct journal *j = journal_create(inputs, 2, NULL, 0, err);
	struct model *m;
	double in[2];

	if (!j || journal_point(j, "step", err) < 0 || journal_point(j, "check", err) < 0)
		return -1;
	for (uint32_t i = 0; i < p.runs; i++) {
		in[0] = floor(uniform(&p, LEAST, MOST));
		in[1] = floor(uniform(&p, LEAST, MOST));
		if (run(&p, in, j, err) < 0)
			return -1;
	}
	m = model_learn(j, &o, err);
	for (uint32_t i = 0; m && i < ASKED; i++)
		ask(&p, m, i % 2, i % 2 ? outside : inside);
	journal_destroy(j);
	if (m)
		model_destroy(m);
	return m ? 0 : -1;
}

static void print(const char *where, double noise, const struct tally *t)
{
	uint32_t known = t->asked - t->refused;

	printf("| %s | %g %% | %u | %u | %.2f | %.1f %% | %u | %.1f %% |\n", where, 100 * noise, t->asked, t->refused, known ? t->confidence / known : 0,
	       known ? 100.0 * t->all_within / known : 0, t->calibrated, t->calibrated ? 100.0 * t->within / t->calibrated : 0);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 400, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct tally inside[NOISES] = {{0}}, outside[NOISES] = {{0}};
	struct errbuf err;

	for (uint64_t i = first; i < first + n; i++)
		if (program(i, &inside[i % NOISES], &outside[i % NOISES], &err) < 0) {
			fprintf(stderr, "bench_confidence: program %llu: %s\n", (unsigned long long)i, err.text);
			return 1;
		}
	printf("| inputs | noise | asked | refused | confidence, mean | within the error | with 0.9 | of these within |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t k = 0; k < NOISES; k++)
		print("inside", noises[k], &inside[k]);
	for (size_t k = 0; k < NOISES; k++)
		print("outside", noises[k], &outside[k]);
	return 0;
}
