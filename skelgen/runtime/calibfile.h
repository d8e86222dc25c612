/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that carries the source machine's calibration to the other machines: text, one line per rank and kernel.
 *   precedent-calibration 1
 *   ranks N
 *   rank R call NS
 *   rank R block NS1 NS2 NS4 ... (ns of blocks of 64, 128, 256, ... ns of work)
 *   rank R KERNEL NS1 NS2 NS4 ... (ns of 1, 2, 4, ... units)
 *   end
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_CALIBFILE_H
#define PRECEDENT_SKELGEN_RUNTIME_CALIBFILE_H

#include <stddef.h>

#include "skelgen/runtime/compute.h"

/* n_ranks entries of all. 0, or -1 with a line in why. */
int calibfile_write(const char *path, const struct calibration *all, int n_ranks, char *why, size_t why_size);
int calibfile_read(const char *path, struct calibration *all, int n_ranks, char *why, size_t why_size);

#endif
