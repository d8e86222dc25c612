/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calibrations as users name them: files that skeletons wrote on the traced machine (skelgen/runtime/calibfile.h). */
#ifndef PRECEDENT_CLI_SKELETON_CALIBRATION_H
#define PRECEDENT_CLI_SKELETON_CALIBRATION_H

#include <stdint.h>

#include "common/errbuf.h"

/* Beside the skeleton. What it would refuse by its head is refused here, before it is
 * compiled and started on all ranks; it reads the rest itself. -1 with the reason. */
int skel_calibration_copy(const char *from, const char *to, uint32_t n_ranks, struct errbuf *err);

#endif
