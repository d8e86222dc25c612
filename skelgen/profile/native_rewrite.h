/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code of a loop of the program, made into a kernel (runtime/own.h): the instructions of some iterations, one after
 * the other as they are executed, each as it is but for its memory operand, which is led to the kernel's own data, or to where the loop is
 * in an area that it goes through, by way of a register of its address; where its address
 * waits for what was computed or loaded before, by way of that register, which becomes the address ahead of it; where the program's is another
 * in each iteration, it is here too: a count by what data say is added to what no iteration shortly before has stored. A branch
 * goes to what follows it in any case. What could leave the kernel is left out: calls, returns, what moves the stack, what waits,
 * what talks to the system or the processor, and what ends a program when it meets other numbers, as divisions of integers.
 * Decoded and encoded by Zydis. Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_NATIVE_REWRITE_H
#define PRECEDENT_SKELGEN_PROFILE_NATIVE_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "skelgen/profile/native_loop.h"
#include "skelgen/runtime/own.h"

#define OWN_FOLLOWS_NONE 0xff

/* One instruction as it lies in memory. */
struct own_instruction {
	const uint8_t *bytes;
	uint32_t len;         /* that may be read */
	uint8_t follows;      /* general register of its address that waits for other data; OWN_FOLLOWS_NONE */
	uint8_t walk;         /* area that its operand in memory goes through; OWN_NO_WALK: it goes through none */
	uint32_t ahead;       /* of where the unit begins there, bytes */
	uint32_t turn;        /* iteration of the unit that it is of, where its operand is elsewhere in each; else 0 */
	bool begins;          /* with it a function is called again: its arguments do not wait for what the last call returned */
};

/* What was made. */
struct own_made {
	uint32_t needs;       /* enum own_needs */
	uint32_t n;           /* instructions of a unit that are the program's */
	uint32_t left_out;
};

/* What a loop goes through: bytes of all of a unit's steps, of each area. */
struct own_steps {
	uint32_t n, step[OWN_WALKS];
};

/*
 * Append the code of n instructions to *out. 0; 1: it cannot be a kernel (more than one instruction in sixteen had to be left
 * out beside calls, or one of the old floating-point unit, which may take long, or the processor would need what few have, or the code is too long); -1: no memory. Nothing is appended
 * unless 0.
 */
int own_code_make(const struct own_instruction *in, uint32_t n, const struct own_steps *steps, struct buf *out, struct own_made *made);

/* The n instructions of a loop as they are, with registers as planned; as above. */
int own_code_loop(const struct own_instruction *in, uint32_t n, const struct own_loop *l, struct buf *out, struct own_made *made);

#endif
