/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calibrations as users name them: files that skeletons wrote on the traced machine (skelgen/runtime/calibfile.h). */
#ifndef PRECEDENT_CLI_SKELETON_CALIBRATION_H
#define PRECEDENT_CLI_SKELETON_CALIBRATION_H

#include <stdint.h>

#include "common/errbuf.h"

/* Copies the calibration beside the skeleton. A calibration whose head the skeleton would refuse is refused here,
 * before the skeleton is compiled and started on all ranks. The skeleton checks the rest itself. Returns -1 with the
 * reason. */
int skel_calibration_copy(const char *from, const char *to, uint32_t n_ranks, struct errbuf *err);

#endif
