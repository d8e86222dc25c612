/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the registers of a loop begin that stays as it is: see own_loop.h. */
#include "skelgen/profile/native_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "skelgen/profile/cost_model.h"
#include "skelgen/profile/trip_count.h"
#include "skelgen/profile/native_allowed.h"

#define UNIT_MOST   4096u /* instructions: a longer row is several units, */
#define UNIT        1000u /* as is one that nobody knows */
#define UNIT_LEAST  48u   /* less is no more than what surrounds it */
#define TIMES_LEAST 4
#define STACK_REG   4
#define LINE        64
#define NUMBER_MOST (INT64_C(1) << 30)
#define STRIDE_MOST (INT64_C(1) << 17)
#define ADDRESS     (INT64_C(1) << 40) /* some address, for trying */

/* A general register in an iteration. */
struct moving {
	bool written;
	bool wild;     /* in another way than by adding what stays the same */
	bool narrow;   /* 32 bits of it are added to */
	int64_t delta; /* by all of an iteration */
};

/* What ends the loop: the counter against another value, as operands x and y of a comparison. */
struct ending {
	uint32_t at;        /* instruction that sets the flags */
	uint8_t condition;  /* under which it goes on, as in the instruction */
	uint8_t width;      /* bytes */
	uint8_t counter, end; /* registers; end MIX_NO_REG: a number */
	int64_t number;
	bool counter_first; /* x */
	bool carries;       /* its carry is that of a comparison */
};

struct planning {
	const struct mix_body *b;
	const struct mix_walk *walk;
	const struct mix_area *area;
	const uint64_t *value;
	struct moving moving[OWN_GENERALS];
	struct ending ending;
	int64_t low[OWN_WALKS], high[OWN_WALKS]; /* of what is touched, from where a unit begins */
	bool touched[OWN_WALKS];
	struct own_loop *l;
};

static bool is_general(uint8_t r)
{
	return r < OWN_GENERALS && r != STACK_REG;
}

static bool is_within(int64_t v, int64_t most)
{
	return v > -most && v < most;
}

static bool is_memory(const struct mix_op *op)
{
	return op->bytes && !op->lea && op->kind != MIX_NOTHING;
}

/* ---- the shape of the loop ---- */

/* One behind the other, the last one leads back to the first. */
static bool is_plain(const struct mix_body *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct mix_op *op = &b->op[i];

		if (op->kind == MIX_JUMP || op->kind == MIX_CALL || op->kind == MIX_RETURN || op->string != MIX_NO_STRING)
			return false;
		if (i + 1 < b->n && op->offset + op->len != b->op[i + 1].offset)
			return false;
	}
	return b->is_loop && b->n >= 2 && b->op[b->n - 1].kind == MIX_BRANCH && b->op[b->n - 1].target == b->op[0].offset;
}

/* What an instruction adds to its register. */
static int64_t added(const struct planning *p, const struct mix_op *op)
{
	return op->add_reg == MIX_NO_REG ? op->add : op->add_reg < OWN_GENERALS ? (int64_t)p->value[op->add_reg] : 0;
}

/* By the instructions before i. */
static int64_t moved_before(const struct planning *p, uint32_t i, uint8_t reg)
{
	int64_t sum = 0;

	for (uint32_t k = 0; k < i; k++)
		if (p->b->op[k].writes >> reg & 1)
			sum += added(p, &p->b->op[k]);
	return sum;
}

static bool decode(const struct mix_op *op, ZydisDecodedInstruction *in, ZydisDecodedOperand *o)
{
	ZydisDecoder d;

	return ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, op->raw, op->len, in, o));
}

static void look_at_registers(struct planning *p)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;

	for (uint32_t i = 0; i < p->b->n; i++) {
		const struct mix_op *op = &p->b->op[i];
		bool adds = op->adds && !op->load && !op->store && decode(op, &in, o) && o[0].size >= 32;

		for (uint8_t r = 0; r < OWN_GENERALS; r++) {
			struct moving *m = &p->moving[r];

			if (!(op->writes >> r & 1))
				continue;
			m->written = true;
			m->narrow |= adds && o[0].size < 64;
			if (adds && is_within(added(p, op), NUMBER_MOST))
				m->delta += added(p, op);
			else
				m->wild = true;
		}
	}
}

/* The numbers that are added stay what they were at the sample. */
static void take_strides(struct planning *p)
{
	for (uint32_t i = 0; i < p->b->n; i++) {
		const struct mix_op *op = &p->b->op[i];
		uint8_t r = op->add_reg;

		if (!op->adds || r == MIX_NO_REG)
			continue;
		if (is_general(r) && !p->moving[r].written && is_within((int64_t)p->value[r], NUMBER_MOST))
			p->l->reg[r] = (struct own_register){OWN_NUMBER, 0, (int64_t)p->value[r]};
		else
			for (uint8_t k = 0; k < OWN_GENERALS; k++)
				p->moving[k].wild |= op->writes >> k & 1;
	}
}

/* ---- what ends it ---- */

static bool find_condition(const struct mix_op *op, uint8_t *condition)
{
	bool near_one = op->raw[0] == 0x0f && (op->raw[1] & 0xf0) == 0x80;

	*condition = op->raw[near_one] & 15;
	return near_one || (op->raw[0] & 0xf0) == 0x70;
}

/* Which of the two registers counts. */
static bool find_sides(const struct planning *p, struct ending *e, uint8_t x, uint8_t y)
{
	if (!is_general(x) || p->moving[x].wild || (y != MIX_NO_REG && (!is_general(y) || p->moving[y].wild)))
		return false;
	e->counter_first = p->moving[x].delta != 0;
	e->counter = e->counter_first ? x : y;
	e->end = e->counter_first ? y : x;
	return is_general(e->counter) && p->moving[e->counter].delta && (e->end == MIX_NO_REG || !p->moving[e->end].written);
}

static bool find_ending(struct planning *p)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	struct ending *e = &p->ending;
	const struct mix_op *op = mix_row_closing(p->b);

	if (!op || !op->looks || op->load || !find_condition(&p->b->op[p->b->n - 1], &e->condition) || !decode(op, &in, o))
		return false;
	e->at = (uint32_t)(op - p->b->op);
	e->width = op->looks;
	e->number = op->against;
	e->carries = in.mnemonic == ZYDIS_MNEMONIC_CMP;
	return find_sides(p, e, own_fit_general(&o[0]), op->against_known ? MIX_NO_REG : own_fit_general(&o[1]));
}

/* Does it go on, where these are compared? */
static bool goes_on(const struct ending *e, int64_t counter, int64_t end)
{
	uint64_t top = e->width == 4 ? UINT64_C(1) << 31 : UINT64_C(1) << 63, mask = top | (top - 1);
	uint64_t x = (uint64_t)(e->counter_first ? counter : end) & mask, y = (uint64_t)(e->counter_first ? end : counter) & mask, d = (x - y) & mask;
	bool carry = x < y, zero = d == 0, sign = d & top, over = (x ^ y) & (x ^ d) & top, is;

	switch (e->condition >> 1) {
	case 0: is = over; break;
	case 1: is = carry; break;
	case 2: is = zero; break;
	case 3: is = carry || zero; break;
	case 4: is = sign; break;
	case 6: is = sign != over; break;
	case 7: is = sign != over || zero; break;
	default: return false; /* parity */
	}
	return is != (e->condition & 1);
}

/* Where the counter begins with `from`, is it ended by `end` after all iterations and no sooner? */
static bool ends(const struct planning *p, int64_t from, int64_t end)
{
	const struct ending *e = &p->ending;
	int64_t delta = p->moving[e->counter].delta, first = from + moved_before(p, e->at + 1, e->counter), n = p->l->times;
	bool carry = e->condition >> 1 == 1 || e->condition >> 1 == 3;

	return (e->carries || !carry) && goes_on(e, first, end) && goes_on(e, first + (n - 2) * delta, end) && !goes_on(e, first + (n - 1) * delta, end);
}

/* The counter's and the end's beginnings. */
static bool take_ending(struct planning *p)
{
	struct ending *e = &p->ending;
	struct own_register *counter = &p->l->reg[e->counter], *end = e->end == MIX_NO_REG ? NULL : &p->l->reg[e->end];
	int64_t delta = p->moving[e->counter].delta, n = p->l->times, before = moved_before(p, e->at + 1, e->counter);
	bool address = counter->begin == OWN_AREA;

	if ((end && end->begin != OWN_ANY) || (!end && address) || (address && e->width < 8) || (!address && !is_within(delta * n, NUMBER_MOST)))
		return false;
	for (int64_t last = n - 1; last >= n - 2; last--) {
		int64_t from = address ? ADDRESS : end ? (delta > 0 ? 0 : -delta * n) : e->number - before - last * delta, by = before + last * delta;

		if (!is_within(by, NUMBER_MOST) || (!address && !is_within(from, NUMBER_MOST)) || !ends(p, from, end ? from + by : e->number))
			continue;
		if (!address)
			*counter = (struct own_register){OWN_NUMBER, 0, from};
		if (end)
			*end = (struct own_register){OWN_END, e->counter, by};
		return true;
	}
	return false;
}

/* ---- what goes through memory ---- */

/* Which register of an operand leads, and which is added to it, or MIX_NO_REG. */
static void find_roles(const struct planning *p, const struct mix_op *op, uint8_t *leads, uint8_t *index)
{
	bool swap = op->scale == 1 && op->base != MIX_NO_REG && op->index != MIX_NO_REG && p->l->reg[op->index].begin == OWN_AREA;

	*leads = swap ? op->index : op->base;
	*index = swap ? op->base : op->index;
}

/* Bytes by which an operand goes on with its index. */
static int64_t scale_of(const struct mix_op *op, uint8_t index)
{
	return op->index == index && op->scale ? op->scale : 1;
}

/* Registers that are multiplied are numbers; then those that lead are addresses. */
static bool take_roles(struct planning *p)
{
	uint8_t leads, index;

	for (uint32_t i = 0; i < p->b->n; i++) {
		const struct mix_op *op = &p->b->op[i];

		if (!is_memory(op) || op->relative)
			continue;
		if (!is_general(op->base) || (op->index != MIX_NO_REG && !is_general(op->index)))
			return false;
		if (op->index != MIX_NO_REG && op->scale > 1 && p->l->reg[op->index].begin == OWN_ANY)
			p->l->reg[op->index].begin = OWN_NUMBER;
	}
	for (uint32_t i = 0; i < p->b->n; i++) {
		const struct mix_op *op = &p->b->op[i];

		if (!is_memory(op) || op->relative)
			continue;
		find_roles(p, op, &leads, &index);
		if (p->moving[leads].wild || p->moving[leads].narrow || p->l->reg[leads].begin == OWN_NUMBER)
			return false;
		p->l->reg[leads] = (struct own_register){OWN_AREA, OWN_NO_WALK, 0};
		if (index == MIX_NO_REG)
			continue;
		if (p->moving[index].wild || p->l->reg[index].begin == OWN_AREA)
			return false;
		p->l->reg[index].begin = OWN_NUMBER;
	}
	return true;
}

/* How far below where an iteration begins with it a register gets in it; 0 or less. */
static int64_t lowest(const struct planning *p, uint8_t reg)
{
	int64_t least = 0;

	for (uint32_t i = 1; i <= p->b->n; i++) {
		int64_t at = moved_before(p, i, reg);

		least = at < least ? at : least;
	}
	return least;
}

/* Numbers that nothing else is known of: what moves stays above nothing, what stays is a distance as in the program. */
static bool take_numbers(struct planning *p)
{
	for (uint8_t r = 0; r < OWN_GENERALS; r++) {
		struct own_register *reg = &p->l->reg[r];
		int64_t by = p->moving[r].delta * p->l->times;

		if (reg->begin != OWN_NUMBER || p->moving[r].wild)
			continue;
		if (!is_within(by, NUMBER_MOST))
			return false;
		if (reg->at == 0 && r != p->ending.counter)
			reg->at = by < 0 ? -by : by == 0 && is_within((int64_t)p->value[r], STRIDE_MOST) ? (int64_t)p->value[r] : 0;
		/* Of 32 bits the upper half is nothing, whatever is below nothing. */
		if (p->moving[r].narrow && reg->at + (by < 0 ? by - p->moving[r].delta : 0) + lowest(p, r) < 0)
			return false;
	}
	return true;
}

/* Of an operand's address, from what the leading register begins with: in the first iteration, and by how much it goes on. */
static int64_t reach_of(const struct planning *p, uint32_t i, int64_t *step)
{
	const struct mix_op *op = &p->b->op[i];
	uint8_t leads, index;
	int64_t at;

	find_roles(p, op, &leads, &index);
	at = op->disp + moved_before(p, i, leads);
	*step = p->moving[leads].delta;
	if (index != MIX_NO_REG) {
		at += scale_of(op, index) * (p->l->reg[index].at + moved_before(p, i, index));
		*step += scale_of(op, index) * p->moving[index].delta;
	}
	return at;
}

static bool leads_along(const struct planning *p, uint32_t i, uint8_t reg)
{
	uint8_t leads, index;

	if (!is_memory(&p->b->op[i]) || p->b->op[i].relative)
		return false;
	find_roles(p, &p->b->op[i], &leads, &index);
	return leads == reg;
}

/* Where that operand is in its area with the first iteration; what goes down begins above. */
static int64_t area_at(const struct planning *p, uint32_t i, int64_t step)
{
	const struct mix_area *a = &p->area[p->walk[i].area];

	return step < 0 ? (int64_t)a->span + (int64_t)(p->l->times - 1) * a->step - p->walk[i].at : p->walk[i].at;
}

/* An area for what goes through none: what lies in the first level, or stays where it is. It begins in a line where it did. */
static bool private_area(struct planning *p, uint8_t reg, uint32_t i)
{
	const struct mix_op *op = &p->b->op[i];
	struct own_register *r = &p->l->reg[reg];
	uint64_t is = p->value[op->base] + (uint64_t)op->disp + (op->index == MIX_NO_REG ? 0 : op->scale * p->value[op->index]);
	int64_t step, at;

	if (p->l->n_area == OWN_WALKS)
		return false;
	at = reach_of(p, i, &step);
	r->of = (uint8_t)p->l->n_area++;
	r->at = (int64_t)(is % LINE) - at;
	return true;
}

/* By the first operand that is known to go through an area, or by the first one. */
static bool place_register(struct planning *p, uint8_t reg, uint32_t n_area)
{
	uint32_t first = UINT32_MAX;
	int64_t step, at;

	for (uint32_t i = 0; i < p->b->n; i++) {
		if (!leads_along(p, i, reg))
			continue;
		first = first == UINT32_MAX ? i : first;
		if (p->walk[i].area >= n_area)
			continue;
		at = reach_of(p, i, &step);
		if (llabs(step) != p->area[p->walk[i].area].step)
			return false;
		p->l->reg[reg].of = p->walk[i].area;
		p->l->reg[reg].at = area_at(p, i, step) - at;
		return true;
	}
	return first == UINT32_MAX || private_area(p, reg, first);
}

static void touch(struct planning *p, uint8_t area, int64_t from, int64_t end)
{
	p->low[area] = p->touched[area] && p->low[area] < from ? p->low[area] : from;
	p->high[area] = p->touched[area] && p->high[area] > end ? p->high[area] : end;
	p->touched[area] = true;
}

/* All operands that a register leads: what of its area they touch, and whether that is too far. */
static bool touch_all(struct planning *p, uint8_t r)
{
	const struct own_loop *l = p->l;
	int64_t most = OWN_WALKS_MOST / OWN_WALKS, step, at;

	for (uint32_t i = 0; i < p->b->n; i++) {
		if (!leads_along(p, i, r))
			continue;
		at = l->reg[r].at + reach_of(p, i, &step);
		if (!is_within(at, most) || !is_within(step * l->times, most))
			return false;
		p->l->multiple[i] = (uint8_t)((at | step | LINE) & -(at | step | LINE));
		step *= l->times - 1;
		touch(p, l->reg[r].of, step < 0 ? at + step : at, (step > 0 ? at + step : at) + p->b->op[i].bytes);
	}
	return true;
}

static bool place_areas(struct planning *p, uint32_t n_area)
{
	struct own_loop *l = p->l;

	l->n_area = n_area;
	for (uint8_t r = 0; r < OWN_GENERALS; r++)
		if (l->reg[r].begin == OWN_AREA && !place_register(p, r, n_area))
			return false;
	for (uint8_t r = 0; r < OWN_GENERALS; r++)
		if (l->reg[r].begin == OWN_AREA && !touch_all(p, r))
			return false;
	for (uint32_t k = 0; k < l->n_area; k++) {
		int64_t up = p->low[k] < 0 ? (LINE - 1 - p->low[k]) / LINE * LINE : 0;

		for (uint8_t r = 0; r < OWN_GENERALS; r++)
			l->reg[r].at += l->reg[r].begin == OWN_AREA && l->reg[r].of == k ? up : 0;
		l->step[k] = k < n_area ? p->area[k].step * l->times : 0;
		l->walk[k] = (struct own_walk){k < n_area ? (uint64_t)fmin(p->area[k].bytes, 0x1p50) : 0, (uint64_t)(p->high[k] + up) + LINE};
	}
	return true;
}

/* Vector registers that an iteration takes from the one before, and the first one from what a row begins with: all, where that is not known. */
static uint32_t restarted(const struct mix_body *b)
{
	uint64_t in = 0, out = 0, before = b->n_before ? 0 : ~UINT64_C(0);

	for (uint32_t i = 0; i < b->n_before; i++)
		before |= b->before[i].writes;
	for (uint32_t i = 0; i < b->n; i++) {
		in |= b->op[i].reads & ~out;
		out |= b->op[i].writes;
	}
	return (uint32_t)((in & out & before) >> MIX_REG_VECTOR & 0xffff);
}

/* Iterations of a unit: a row, or as even a part of it as can be. 0: too few. */
static uint32_t times_of(double row, uint32_t n)
{
	double times = row > 0 ? row / ceil(row * n / UNIT_MOST) : (double)(UNIT / n);

	return times < TIMES_LEAST || times * n < UNIT_LEAST ? 0 : (uint32_t)lround(times);
}

bool own_loop_plan(const struct mix_body *b, const struct mix_walk *walk, const struct mix_area *area, uint32_t n_area, const uint64_t *value,
		   double row, struct own_loop *out)
{
	struct planning p = {.b = b, .walk = walk, .area = area, .value = value, .l = out};

	*out = (struct own_loop){0};
	if (!is_plain(b))
		return false;
	out->times = times_of(row, b->n);
	out->lies_at = b->op[0].offset;
	out->restart = restarted(b);
	look_at_registers(&p);
	take_strides(&p);
	return out->times && find_ending(&p) && take_roles(&p) && take_ending(&p) && take_numbers(&p) && place_areas(&p, n_area);
}
