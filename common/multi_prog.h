/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of srun --multi-prog: on each line ranks, a program and its arguments. */
#ifndef PRECEDENT_COMMON_MULTI_PROG_H
#define PRECEDENT_COMMON_MULTI_PROG_H

/*
 * Call `word` with each word of the file in order, until it returns a value other than 0. Comments are
 * skipped. Returns that value, 0 at the end, or -1 if the file cannot be read, is too long, or has quotes or
 * backslashes.
 */
int multi_prog_each(const char *path, int (*word)(const char *text, void *arg), void *arg);

#endif
