/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops that stay as they are: where all instructions of a body are executed in each iteration, in their order, the kernel is the loop
 * itself, to the byte and as far from where a cache line begins as in the program. How fast a processor fetches a loop goes by where it lies,
 * by half as much again, and when a chain of values begins anew by how long its rows are; neither is so where iterations lie one behind the other.
 * Its registers are set such that what goes through memory goes through the kernel's areas, and that its own comparison ends it with the row.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_NATIVE_LOOP_H
#define PRECEDENT_SKELGEN_PROFILE_NATIVE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/profile/loop_disasm.h"
#include "skelgen/profile/stream_areas.h"
#include "skelgen/runtime/own.h"

#define OWN_GENERALS 16

/* How a general register begins with each unit. */
enum own_begin {
	OWN_ANY,    /* as it was left */
	OWN_NUMBER, /* with this number */
	OWN_AREA,   /* so far ahead of where the unit begins in an area */
	OWN_END,    /* so far ahead of the register that counts */
};

struct own_register {
	uint8_t begin; /* enum own_begin */
	uint8_t of;    /* area, or register */
	int64_t at;
};

struct own_loop {
	uint32_t times;   /* iterations of a unit */
	uint64_t lies_at; /* in the program */
	struct own_register reg[OWN_GENERALS];
	uint32_t restart; /* bits of vector registers that begin anew with each unit: of what a row begins with */
	uint32_t n_area, step[OWN_WALKS]; /* bytes of a unit */
	struct own_walk walk[OWN_WALKS];
	uint8_t multiple[MIX_OPS_MAX]; /* of so many bytes, a line at most, is where each instruction's operand in an area lies at any time */
};

/* walk, area: of mix_walk_find, n_area of them. value: of all general registers at a sample in the loop. row: its iterations from entering to
 * leaving; 0: not known. False: it is none that can stay as it is. */
bool own_loop_plan(const struct mix_body *b, const struct mix_walk *walk, const struct mix_area *area, uint32_t n_area, const uint64_t *value,
		   double row, struct own_loop *out);

#endif
