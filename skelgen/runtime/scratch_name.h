/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the names of scratch files begin with, for those who make them and who look for what is left of them. */
#ifndef PRECEDENT_SKELGEN_RUNTIME_SCRATCH_NAME_H
#define PRECEDENT_SKELGEN_RUNTIME_SCRATCH_NAME_H

#define SKEL_SCRATCH_PREFIX "precedent-scratch."

#endif
