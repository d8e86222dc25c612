/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is set or copied in long pieces: by an instruction that repeats itself (rep stos, rep movs), or by the C
 * library's loop over vectors, which of the two being the library's choice on the machine that it is on. Processors that
 * weigh instructions in another way execute it a hundred times slower or not, and their library may choose another way: so
 * these have classes of their own, whose kernels call the library of the machine that they run on.
 * Pieces that are too short for the former are loads and stores like others (mix_model.h).
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_MEMSET_COPY_H
#define PRECEDENT_SKELGEN_PROFILE_MEMSET_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/profile/loop_disasm.h"
#include "skelgen/profile/cost_model.h"

/* 1: the body is that, and *use (all zero before) says which class and how many bytes. 0: it is not, *use is as it was. -1
 * without memory. cache: bytes of three levels. libc: the code is the C library's. */
int mix_string(const struct mix_body *b, const struct mix_hit *hit, uint32_t n, const uint64_t *cache, bool libc,
	       struct mix_use *use);

#endif
