/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of srun --multi-prog: on each line ranks, a program and its arguments. */
#ifndef PRECEDENT_COMMON_MULTI_PROG_H
#define PRECEDENT_COMMON_MULTI_PROG_H

/* Each word costs a stat or more, so as many words take tens of milliseconds on a shared file system: sbatch waits. */
#define MULTI_PROG_WORDS_MAX 256
#define MULTI_PROG_MORE	     (-2)

/*
 * Call `word` once for each word of the file, until it returns a value other than 0: for the programs of all lines
 * first, then for their arguments. Ranks and comments are skipped, and words behind MULTI_PROG_WORDS_MAX different
 * ones. Returns that value; 0 at the end; MULTI_PROG_MORE at the end if words were skipped for their number; -1 if
 * the file cannot be read, is too long, or has quotes or backslashes.
 */
int multi_prog_each(const char *path, int (*word)(const char *text, void *arg), void *arg);

#endif
