/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compute blocks of a run: calibration of all ranks together, and what of it the result says. */
#ifndef PRECEDENT_SKELGEN_RUNTIME_BLOCKS_H
#define PRECEDENT_SKELGEN_RUNTIME_BLOCKS_H

#include <stdio.h>

/* Before skel_blocks_open: all blocks are an empty loop. */
void skel_blocks_be_empty(void);
/* Calibrate this machine, go on learning while the skeleton runs and write that to `calibrate` in the end, or take the
 * traced machine's from `calibration`; either may be NULL. All ranks call; skel_data_open came before. */
void skel_blocks_open(const char *calibrate, const char *calibration);
/* The work of a mix that took ns on the traced machine, whole. */
void skel_blocks_run(int mix, double ns);
/* All ranks call. -1: the calibration could not be written, which has been said. */
int skel_blocks_close(void);
/* Lines "kernel CLASS NS", "calibrated_s S" and "digest N". */
void skel_blocks_print(FILE *f);

#endif
