/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills and copies: see memset_copy.h. */
#include "skelgen/profile/memset_copy.h"

#include <math.h>
#include <stdlib.h>

#include "skelgen/profile/address_stride.h"
#include "skelgen/runtime/kernel.h"

#define REG_COUNT 1     /* of the repeated instructions: cx, */
#define REG_FROM  6     /* si */
#define REG_TO    7     /* and di */
#define VECTOR    16    /* bytes of the least vector */
#define LONG      8192  /* bytes of a piece that a library may do by a repeated instruction: from 2 to 8 KiB on */
#define PAGE      4096  /* grain of the footprint: processors mostly interrupt the instruction between pages */
#define TOO_LONG  (1ull << 40)

/* Fill or copy, and the registers of its place and of the bytes that are left. */
struct string {
	uint8_t kind;
	uint8_t to, from; /* LOOP_NO_REG: none */
	uint8_t count, width; /* bytes left: the value of a register times this; width 0: */
	uint8_t end, at;  /* the difference of these two */
};

static bool is_general(uint8_t r)
{
	return r < TSAMPLE_REGS;
}

/* A comparison of two general registers. */
static bool take_comparison(const struct loop_op *op, struct string *s)
{
	uint64_t both = op->reads;

	if (op->kind != OP_INTEGER || op->bytes || op->writes != 1ull << LOOP_REG_FLAGS || both >> TSAMPLE_REGS ||
	    __builtin_popcountll(both) != 2)
		return false;
	s->at = (uint8_t)__builtin_ctzll(both);
	s->end = (uint8_t)__builtin_ctzll(both & (both - 1));
	return true;
}

/* A loop of moves of vectors, steps of registers, and their comparison. */
static bool is_vector_loop(const struct loop_body *b, struct string *s)
{
	bool compared = false;

	*s = (struct string){.kind = STRING_FILL, .to = LOOP_NO_REG, .from = LOOP_NO_REG};
	for (uint32_t i = 0; i < b->n; i++) {
		const struct loop_op *op = &b->op[i];

		switch (op->kind) {
		case OP_MOVE:
			if (op->bytes < VECTOR || op->vector < VECTOR || !is_general(op->base) || op->index != LOOP_NO_REG)
				return false;
			*(op->store ? &s->to : &s->from) = op->base;
			break;
		case OP_INTEGER:
			if (take_comparison(op, s))
				compared = true;
			else if (!op->adds || op->load || op->store)
				return false;
			break;
		case OP_BRANCH: case OP_NOTHING:
			break;
		default:
			return false;
		}
	}
	s->kind = s->from == LOOP_NO_REG ? STRING_FILL : STRING_COPY;
	return b->is_loop && compared && s->to != LOOP_NO_REG;
}

static bool is_repeated(const struct loop_body *b, struct string *s)
{
	const struct loop_op *op = &b->op[0];

	if (b->n != 1 || !op->string)
		return false;
	*s = (struct string){.kind = op->string, .to = REG_TO, .from = op->string == STRING_COPY ? REG_FROM : LOOP_NO_REG,
			     .count = REG_COUNT, .width = op->bytes};
	return true;
}

static double bytes_left(const struct string *s, const uint64_t *reg)
{
	if (s->width)
		return (double)reg[s->count] * s->width;
	return fabs((double)(int64_t)(reg[s->end] - reg[s->at]));
}

/* Pieces are met anywhere in them: half of one is left on average. */
static double length_of(const struct string *s, const struct loop_sample *hit, uint32_t n, double *most)
{
	double sum = 0;

	*most = 0;
	for (uint32_t i = 0; i < n; i++) {
		double left = bytes_left(s, hit[i].reg);

		sum += left;
		*most = fmax(*most, left);
	}
	return n ? 2 * sum / n : 0;
}

/* Bytes that are written and read; -1 without memory. Two successive samples at one address show that the thread lost its
 * processor, not that the area is met again. */
static double footprint(const struct string *s, const struct loop_sample *hit, uint32_t n)
{
	uint64_t *address = malloc((2 * (size_t)n + 1) * sizeof(*address));
	uint32_t k = 0;
	double bytes;

	if (!address)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		if (i && hit[i].reg[s->to] == hit[i - 1].reg[s->to])
			continue;
		address[k++] = hit[i].reg[s->to];
		if (s->from != LOOP_NO_REG)
			address[k++] = hit[i].reg[s->from];
	}
	bytes = address_footprint(address, k, PAGE, true);
	free(address);
	return bytes;
}

int memset_copy(const struct loop_body *b, const struct loop_sample *hit, uint32_t n, const uint64_t *cache, bool libc,
	       struct cost_model_result *use)
{
	static const uint8_t cls[][TSAMPLE_LEVELS] = {[STRING_FILL] = {CLASS_FILL_L2, CLASS_FILL_L3, CLASS_FILL_MEM},
						      [STRING_COPY] = {CLASS_COPY_L2, CLASS_COPY_L3, CLASS_COPY_MEM}};
	struct string s;
	double bytes, length, most;
	uint8_t level;

	if (!is_repeated(b, &s) && !(libc && is_vector_loop(b, &s)))
		return 0;
	length = length_of(&s, hit, n, &most);
	if (most > TOO_LONG || (length < LONG && !s.width))
		return 0;
	bytes = footprint(&s, hit, n);
	if (bytes < 0)
		return -1;
	/* Each sample tells the bytes that are left. The largest of n is expected to be n / (n + 1) of the piece. */
	most *= n ? 1 + 1.0 / n : 0;
	bytes = fmax(bytes, s.kind == STRING_COPY ? 2 * most : most);
	level = cost_model_level(cache, bytes * KERNEL_STRING_ROOM);
	/* The first level is treated as the second. */
	use->share[cls[s.kind][level ? level - 1 : 0]] = 1;
	/* In memory the array also stands for the memory that the program touches in between. */
	if (level)
		use->bytes[level - 1] = level == TSAMPLE_LEVELS ? bytes * KERNEL_STRING_ROOM : bytes;
	return 1;
}
