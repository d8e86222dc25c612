/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code around a sampled program counter: the innermost loop that contains it, or else the straight piece of code
 * that it lies in, or the one instruction that repeats itself, as instructions with what they need, make and touch. Decoded by Zydis.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_LOOP_DISASM_H
#define PRECEDENT_SKELGEN_PROFILE_LOOP_DISASM_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format/samples.h"

#define MIX_OPS_MAX 1000 /* instructions of a body */
#define MIX_BEFORE  16

/* Registers as bits: 16 general ones, 32 of vectors, the flags. */
#define MIX_REG_VECTOR 16
#define MIX_REG_FLAGS  48
#define MIX_REGS       49
#define MIX_NO_REG     0xff

enum mix_op_kind {
	MIX_NOTHING,  /* no-operations, prefetches */
	MIX_MOVE,     /* copies, loads and stores without arithmetic */
	MIX_INTEGER, MIX_MULTIPLY, MIX_SCALAR, MIX_VECTOR, MIX_DIVIDE, MIX_LIBM,
	MIX_BRANCH,   /* conditional */
	MIX_JUMP, MIX_CALL, MIX_RETURN,
	MIX_KINDS
};

/* rep stos, rep movs. */
enum mix_string { MIX_NO_STRING, MIX_FILL, MIX_COPY };

struct mix_op {
	uint64_t offset;       /* in the module */
	uint8_t len, kind;
	uint8_t bytes;         /* of memory that it loads or stores; 0: none */
	uint8_t vector;        /* bytes of its widest vector register; 0: none */
	uint8_t string;        /* enum mix_string: repeated, as often as register 1 says, to the address in 7, from that in 6 */
	bool store, load;
	bool lea;
	uint8_t base, index, scale; /* MIX_NO_REG: none. Also of lea. */
	bool relative;         /* to the program counter, or to a segment: always the same place */
	int64_t disp;
	int64_t add;           /* what it adds to its only destination, when that is all it does */
	uint8_t add_reg;       /* or the register that it adds; MIX_NO_REG */
	bool adds;
	bool sets;             /* its only destination becomes a number, */
	int64_t to;            /* this one */
	uint8_t looks;         /* compares, or counts: bytes of the registers that it looks at; 0: it does not */
	bool against_known;    /* with a number, */
	int64_t against;       /* this one */
	uint8_t copy_of;       /* the general register that its destination is a copy of; MIX_NO_REG */
	uint64_t reads, writes; /* bits of registers; the address's are read too */
	uint64_t target;       /* of branches and jumps, in the module; UINT64_MAX: none, or not known */
};

struct mix_body {
	bool is_loop;
	uint32_t n_before;
	struct mix_op before[MIX_BEFORE]; /* what is executed before a loop is entered, as far as it is known, the last one first */
	uint32_t n;
	struct mix_op op[MIX_OPS_MAX];
};

/* The body around a place. -1: no code there, or none that can be decoded. */
int mix_body_find(const struct trace_samples *s, uint32_t module, uint64_t offset, struct mix_body *out);
/* The instruction at an offset, or UINT32_MAX. */
uint32_t mix_body_at(const struct mix_body *b, uint64_t offset);

#endif
