/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is set or copied in long pieces: by an instruction that repeats itself (rep stos, rep movs), or by the C
 * library's loop over vectors. The library chooses between these by the machine. Another machine may execute the instruction a
 * hundred times slower, or its library may choose another way. So fills and copies have classes of their own, and their kernels
 * call the library of the machine on which the skeleton runs. Shorter pieces are loads and stores like others (cost_model.h).
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_MEMSET_COPY_H
#define PRECEDENT_SKELGEN_PROFILE_MEMSET_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/profile/loop_disasm.h"
#include "skelgen/profile/cost_model.h"

/* cache: bytes of three levels. libc: the code is the C library's. use: all zero before. Returns 1 if the body is a fill or copy:
 * then *use has its class and bytes. Returns 0 if not, with *use unchanged; -1 without memory. */
int memset_copy(const struct loop_body *b, const struct loop_sample *hit, uint32_t n, const uint64_t *cache, bool libc,
	       struct cost_model_result *use);

#endif
