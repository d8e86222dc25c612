/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that share a block's work, as an OpenMP region would. They are made when they are first needed and wait as
 * OpenMP's do: a while on the processor, then asleep. They run where the launcher lets the process run.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_THREADS_H
#define PRECEDENT_SKELGEN_RUNTIME_THREADS_H

#define THREADS_MOST 256

/* Have at least n threads, the caller's among them; how many there are. */
int threads_open(int n);
/* Run fn(arg, 0) here and fn(arg, 1) .. fn(arg, n - 1) on the others, and wait for all. threads_open(n) came before. */
void threads_run(int n, void (*fn)(void *arg, int index), void *arg);
void threads_close(void);

#endif
