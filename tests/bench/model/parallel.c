/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Brusselator on several threads, compiled with OpenMP: see brusselator.h. */
#include <omp.h>

#include "tests/bench/model/brusselator.h"

double brusselator_solve_parallel(size_t k, int threads)
{
	double sum = 0;

#pragma omp parallel for schedule(guided) num_threads(threads) reduction(+ : sum)
	for (size_t row = 0; row < k; row++)
		sum += brusselator_row(k, row);
	return sum;
}

double brusselator_start_parallel(int threads)
{
	double sum = 0;

#pragma omp parallel for schedule(guided) num_threads(threads) reduction(+ : sum)
	for (int i = 0; i < threads; i++)
		sum += i;
	return sum;
}
