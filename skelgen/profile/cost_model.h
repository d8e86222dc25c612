/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the time of a piece of code goes to, by class of work: from its instructions, and from the registers at the
 * samples that lie in it.
 *
 * A processor in rough strokes: the time of an iteration is the longest of what the units need (their throughput), what
 * the longest chain of values from one iteration to the next needs (latencies), and what the memory needs; what the latter two
 * take longer than the units is waiting; mispredicted branches come on top. A loop with branches executes its
 * pieces as often as samples met them (mix_flow.h). Kernels do other things beside what their class says, and while they wait: that much is taken off what the others are
 * given, so that the kernels together execute about as many instructions of each kind as the program does in the same time, which is
 * what a processor that weighs them in another way charges. The level that a load or store reaches follows from the range of
 * addresses that the samples found (of n samples in a range, their span is (n - 1) / (n + 1) of it; where addresses repeat, from how
 * often they do); whether in order, in strides or without order, from how the loop moves the address's registers.
 * The range of addresses is also how much memory a kernel of the skeleton has to work on to meet the same caches.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_COST_MODEL_H
#define PRECEDENT_SKELGEN_PROFILE_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/profile/compute_profile.h"
#include "skelgen/profile/loop_disasm.h"
#include "skelgen/runtime/classes.h"

/* A sample in the body: where, and its registers (borrowed). */
struct mix_hit {
	uint64_t offset;
	const uint64_t *reg;
};

/* What the time goes to, how much memory lies behind it, and how wide the arithmetic is. */
struct mix_use {
	double share[CLASS_N];
	double bytes[MIX_LEVELS]; /* worked on in each level; 0: none there */
	double row;               /* iterations after which scalar chains end; 0: not known */
	double vector;            /* bytes of packed floating point; 0: there is none */
};

/* How a body is gone through. */
struct mix_course {
	bool found;
	double *often; /* room for as many as it has instructions: how often each is executed, of the most frequent one */
	double wrong;  /* cycles of mispredicted branches, an iteration of the most frequent instruction */
};

/* cache: bytes of three levels. blocked: a library that keeps what it works on in the first level. course: by more samples of that body,
 * or, if it is not found yet, out; NULL: not asked for. -1 without memory. */
int mix_model(const struct mix_body *b, const struct mix_hit *hit, uint32_t n, const uint64_t *cache, bool blocked,
	      struct mix_course *course, struct mix_use *use);

/* The level that holds so many bytes: 0 the first, TSAMPLE_LEVELS memory. */
uint8_t mix_level(const uint64_t *cache, double bytes);

/* How a register or an address changes from one iteration to the next. */
enum mix_order { MIX_STILL, MIX_EVEN, MIX_WILD };
struct mix_motion {
	uint8_t order;
	bool chained;  /* wild: found by a load from where the one before led */
	int64_t step;  /* even: bytes an iteration */
};
struct mix_motion mix_motion_of(const struct mix_body *b, const struct mix_op *op, const uint64_t *reg);

/* Bytes that addresses (which are put in order) come from. grain: bytes, a power of two, of the pieces that are met as wholes: a line,
 * or more. in_order: of what goes through memory, not of what jumps about in it. */
double mix_footprint(uint64_t *address, uint32_t n, uint64_t grain, bool in_order);

#endif
