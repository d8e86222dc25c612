/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the experiments with models share: clocks, medians, numbers drawn from a seed, a directory for compiled models. */
#ifndef PRECEDENT_TESTS_BENCH_MODEL_LAB_H
#define PRECEDENT_TESTS_BENCH_MODEL_LAB_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

double lab_now_s(void);
double lab_cpu_s(void); /* of this thread */
/* Of n >= 1 values, which are sorted by it. */
double lab_median(double *x, size_t n);
/* Uniform in [0, 1); the same for the same seed everywhere. */
double lab_random(uint64_t *seed);
/* A new directory of ours alone, and it with the files of a compiled model taken away. */
int lab_directory(char *dir, size_t size, struct errbuf *err);
void lab_directory_remove(const char *dir);

#endif
