/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that carries the source machine's calibration to the other machines: text. The common lines come first, then the
 * lines of each rank. There are curves only of the classes of the program's mixes.
 *
 *   precedent-calibration 7
 *   ranks N
 *   mixes N NUMBER (a number that stands for the mixes: other mixes need another calibration)
 *   data L2 L3 MEMORY (bytes that the classes of these levels touch)
 *   vector BITS
 *   lacked SHARE (of a rank's time in which other programs had its processors, or of the rounds that were left out; 0 to 1)
 *   rank R call NS GAP
 *   rank R mix M NS1 NS2 NS4 ... (ns of blocks of 64, 128, 256, ... ns of work of mix M)
 *   rank R among M F1 F2 ... (what each class takes among the others of mix M, over what it takes by its curve)
 *   rank R CLASS NS1 NS2 NS4 ... (ns of 1, 2, 4, ... units)
 *   end
 *
 * If the work of a kernel's unit changes, the number in the first line must change too.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_CALIBFILE_H
#define PRECEDENT_SKELGEN_RUNTIME_CALIBFILE_H

#include <stddef.h>

#include "skelgen/runtime/compute.h"

#define CALIBFILE_HEAD "precedent-calibration 7\n"

/* n_ranks entries of all. 0, or -1 with a line in why. */
int calibfile_write(const char *path, const struct calibration *all, int n_ranks, char *why, size_t why_size);
/* The program's mixes and classes are in all[0] beforehand; the file must have been made with the same. */
int calibfile_read(const char *path, struct calibration *all, int n_ranks, char *why, size_t why_size);

#endif
