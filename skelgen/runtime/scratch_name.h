/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prefix of the names of scratch files, for the runtime and for the search for leftovers. */
#ifndef PRECEDENT_SKELGEN_RUNTIME_SCRATCH_NAME_H
#define PRECEDENT_SKELGEN_RUNTIME_SCRATCH_NAME_H

#define SKEL_SCRATCH_PREFIX "precedent-scratch."

#endif
