/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compute blocks of a run: the calibration of all ranks together, and its lines in the result. */
#ifndef PRECEDENT_SKELGEN_RUNTIME_BLOCKS_H
#define PRECEDENT_SKELGEN_RUNTIME_BLOCKS_H

#include <stdio.h>

/* Before skel_blocks_open: all blocks are an empty loop. */
void skel_blocks_be_empty(void);
int skel_blocks_are_empty(void);
/* calibrate: file to write; this machine is the traced one, and learning goes on while the skeleton runs. calibration: file
 * of the traced machine to read. Either may be NULL. All ranks call, after skel_data_open. */
void skel_blocks_open(const char *calibrate, const char *calibration);
/* The work of a mix that took ns on the traced machine, whole. */
void skel_blocks_run(int mix, double ns);
/* All ranks call. -1: the calibration could not be written, which has been said. */
int skel_blocks_close(void);
/* Lines "kernel CLASS NS", "calibrated_s S" and "digest N". */
void skel_blocks_print(FILE *f);

#endif
