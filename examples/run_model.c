/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a compiled model without libprecedent_model. Each number on the command line is a first input: the program prints how
 * long the run takes, and how often it passes each control point.
 *
 *   precedent model compile loop.model -o loop
 *   gcc -o run_model run_model.c -Iloop loop/model.so -Wl,-rpath,$PWD/loop
 *   ./run_model 100 200
 */
#include <model.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 64

static int pass(void *passages, uint32_t point, double time_s, const double *variable)
{
	(void)time_s;
	(void)variable;
	if (point < POINTS)
		((unsigned long *)passages)[point]++;
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		double input = strtod(argv[i], NULL), time_s;
		unsigned long passages[POINTS] = {0};

		if (precedent_model_run(&input, 1, pass, passages, &time_s) != 0)
			return 1;
		printf("%s = %g: %.3g s\n", precedent_model_name(PRECEDENT_MODEL_INPUT, 0), input, time_s);
		for (uint32_t p = 0; p < POINTS && precedent_model_name(PRECEDENT_MODEL_POINT, p); p++)
			printf("%s: %lu times\n", precedent_model_name(PRECEDENT_MODEL_POINT, p), passages[p]);
	}
	return 0;
}
