/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code around a sampled program counter: the innermost loop, or else the straight piece of code, or the one instruction
 * that repeats itself. Instructions have their operands, results and memory accesses.
 *
 * The code is x86-64, because samples are taken on x86-64 only (common/arch/arch.h). Zydis decodes it on any machine.
 * loop_disasm.c alone knows instructions: another architecture needs a loop_body_find of its own, and its registers.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_LOOP_DISASM_H
#define PRECEDENT_SKELGEN_PROFILE_LOOP_DISASM_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format/samples.h"

#define LOOP_OPS_MAX 1000 /* instructions of a body */
#define LOOP_BEFORE  16

/* Registers as bits: 16 general ones, 32 of vectors, the flags. */
#define LOOP_REG_VECTOR 16
#define LOOP_REG_FLAGS  48
#define LOOP_REGS       49
#define LOOP_NO_REG     0xff

enum loop_op_kind {
	OP_NOTHING,  /* no-operations, prefetches */
	OP_MOVE,     /* copies, loads and stores without arithmetic */
	OP_INTEGER, OP_MULTIPLY, OP_SCALAR, OP_VECTOR, OP_DIVIDE, OP_LIBM,
	OP_BRANCH,   /* conditional */
	OP_JUMP, OP_CALL, OP_RETURN,
	OP_KINDS
};

/* rep stos, rep movs. */
enum loop_string { STRING_NONE, STRING_FILL, STRING_COPY };

struct loop_op {
	uint64_t offset;       /* in the module */
	uint8_t len, kind;
	uint8_t bytes;         /* of memory that it loads or stores; 0: none */
	uint8_t vector;        /* bytes of its widest vector register; 0: none */
	uint8_t string;        /* enum loop_string: repeated, as often as register 1 says, to the address in 7, from that in 6 */
	bool store, load;
	bool lea;
	uint8_t base, index, scale; /* LOOP_NO_REG: none. Also of lea. */
	bool relative;         /* to the program counter, or to a segment: always the same place */
	int64_t disp;
	int64_t add;           /* what it adds to its only destination, when that is all it does */
	uint8_t add_reg;       /* or the register that it adds; LOOP_NO_REG */
	bool adds;
	bool sets;             /* its only destination becomes a number, */
	int64_t to;            /* this one */
	uint8_t looks;         /* compares, or counts: bytes of the registers that it looks at; 0: it does not */
	bool against_known;    /* with a number, */
	int64_t against;       /* this one */
	uint8_t copy_of;       /* the general register that its destination is a copy of; LOOP_NO_REG */
	uint64_t reads, writes; /* bits of registers; the address's are read too */
	uint64_t target;       /* of branches and jumps, in the module; UINT64_MAX: none, or not known */
};

struct loop_body {
	bool is_loop;
	uint32_t n_before;
	struct loop_op before[LOOP_BEFORE]; /* executed before the loop is entered, as far as known; the last instruction first */
	uint32_t n;
	struct loop_op op[LOOP_OPS_MAX];
};

/* A sample in a body: where, and its registers (borrowed). */
struct loop_sample {
	uint64_t offset;
	const uint64_t *reg;
};

/* The body around a place. -1: no code there, or none that can be decoded. */
int loop_body_find(const struct trace_samples *s, uint32_t module, uint64_t offset, struct loop_body *out);
/* The instruction at an offset, or UINT32_MAX. */
uint32_t loop_body_at(const struct loop_body *b, uint64_t offset);

#endif
