/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stride of an address: how a loop changes a register or an address from one iteration to the next. The footprint: how much
 * memory the addresses of samples cover.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_ADDRESS_STRIDE_H
#define PRECEDENT_SKELGEN_PROFILE_ADDRESS_STRIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/profile/loop_disasm.h"

enum stride_order { STRIDE_NONE, STRIDE_EVEN, STRIDE_IRREGULAR };
struct address_stride {
	uint8_t order; /* enum stride_order */
	bool chained;  /* irregular: each address is loaded from the one before, as in a linked list */
	int64_t step;  /* even: bytes an iteration */
};

/* The stride of an instruction's address. value: registers of a sample, or NULL. */
struct address_stride address_stride_of(const struct loop_body *b, const struct loop_op *op, const uint64_t *value);

/* Bytes of the memory that n addresses come from. Sorts and rounds the addresses. grain: bytes, a power of two, of the units
 * that are always touched whole: a line, or more. in_order: the loop goes through the memory in order. */
double address_footprint(uint64_t *address, uint32_t n, uint64_t grain, bool in_order);

#endif
