/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding, and the loop around a place: see loop_disasm.h. */
#include "skelgen/profile/loop_disasm.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#define REACH     4096 /* bytes that a loop's end may be away */
#define STRAIGHT  48   /* instructions at most of code without a loop */
#define ARM_REACH 256  /* bytes from a loop's end to its arms, and of an arm */
#define TEST      48   /* bytes of a loop's step and test ahead of its body: more is a loop around it */
#define GROWS     8
#define SYNC      64   /* bytes before a place where decoding begins */

static const struct trace_code *code_of(const struct trace_samples *s, uint32_t module, uint64_t offset)
{
	uint32_t lo = 0, hi = s->n_code;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const struct trace_code *c = &s->code[mid];

		if (c->module < module || (c->module == module && c->offset + c->len <= offset))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == s->n_code || s->code[lo].module != module || s->code[lo].offset > offset)
		return NULL;
	return &s->code[lo];
}

/* ---- one instruction ---- */

/* The bit number of a register; LOOP_NO_REG: a register that does not matter. */
static uint8_t reg_number(ZydisRegister r)
{
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (full >= ZYDIS_REGISTER_RAX && full <= ZYDIS_REGISTER_R15)
		return (uint8_t)(full - ZYDIS_REGISTER_RAX);
	if (full >= ZYDIS_REGISTER_ZMM0 && full <= ZYDIS_REGISTER_ZMM31)
		return (uint8_t)(LOOP_REG_VECTOR + full - ZYDIS_REGISTER_ZMM0);
	if (r == ZYDIS_REGISTER_RFLAGS || r == ZYDIS_REGISTER_EFLAGS || r == ZYDIS_REGISTER_FLAGS)
		return LOOP_REG_FLAGS;
	return LOOP_NO_REG;
}

static uint64_t reg_bit(uint8_t number)
{
	return number == LOOP_NO_REG ? 0 : 1ull << number;
}

static bool has_end(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}

static bool starts(const char *name, const char *const *list)
{
	name += *name == 'v';
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

/* What the units of vectors do. */
static uint8_t vector_kind(const char *name)
{
	static const char *const move[] = {"mov", "lddqu", "xorp", "pxor", "broadcast", "pbroadcast", "extract", "insert",
					   "pextr", "pinsr", "gather", "zeroupper", "zeroall", NULL};
	static const char *const blend[] = {"shuf", "unpck", "punpck", "pshuf", "perm", "blend", "palign", "andp", "andnp",
					    "orp", NULL};

	if (starts(name, move))
		return OP_MOVE;
	if (strstr(name, "div") || strstr(name, "sqrt"))
		return OP_DIVIDE;
	if (starts(name, blend) || name[name[0] == 'v'] == 'p') /* packed integers too */
		return OP_VECTOR;
	if (has_end(name, "pd") || has_end(name, "ps"))
		return OP_VECTOR;
	if (has_end(name, "sd") || has_end(name, "ss") || strstr(name, "comi") || !strncmp(name, "cvt", 3) ||
	    !strncmp(name, "vcvt", 4))
		return OP_SCALAR;
	return OP_VECTOR;
}

static uint8_t x87_kind(const char *name)
{
	static const char *const move[] = {"fld", "fst", "fxch", "fild", "fist", "ffree", "fincstp", "fnstcw", NULL};
	static const char *const slow[] = {"fsin", "fcos", "fptan", "fpatan", "f2xm1", "fyl2x", "fscale", "fprem", NULL};

	if (starts(name, slow))
		return OP_LIBM;
	if (strstr(name, "div") || strstr(name, "sqrt"))
		return OP_DIVIDE;
	return starts(name, move) ? OP_MOVE : OP_SCALAR;
}

static uint8_t kind_of(const ZydisDecodedInstruction *in, bool vectors)
{
	const char *name = ZydisMnemonicGetString(in->mnemonic);

	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return OP_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return OP_JUMP;
	case ZYDIS_CATEGORY_CALL: case ZYDIS_CATEGORY_SYSCALL:
		return OP_CALL;
	case ZYDIS_CATEGORY_RET:
		return OP_RETURN;
	case ZYDIS_CATEGORY_NOP: case ZYDIS_CATEGORY_WIDENOP: case ZYDIS_CATEGORY_PREFETCH:
		return OP_NOTHING;
	case ZYDIS_CATEGORY_X87_ALU:
		return x87_kind(name);
	default:
		break;
	}
	if (vectors)
		return vector_kind(name);
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV: case ZYDIS_MNEMONIC_MOVSX: case ZYDIS_MNEMONIC_MOVSXD: case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_PUSH: case ZYDIS_MNEMONIC_POP: case ZYDIS_MNEMONIC_MOVSB: case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ: case ZYDIS_MNEMONIC_STOSB: case ZYDIS_MNEMONIC_STOSD: case ZYDIS_MNEMONIC_STOSQ:
		return OP_MOVE;
	case ZYDIS_MNEMONIC_DIV: case ZYDIS_MNEMONIC_IDIV:
		return OP_DIVIDE;
	case ZYDIS_MNEMONIC_IMUL: case ZYDIS_MNEMONIC_MUL: case ZYDIS_MNEMONIC_MULX:
		return OP_MULTIPLY;
	default:
		return OP_INTEGER;
	}
}

/* By category: movsd is a move of a vector's part too. */
static uint8_t string_kind(const ZydisDecodedInstruction *in)
{
	if (in->meta.category != ZYDIS_CATEGORY_STRINGOP || !(in->attributes & ZYDIS_ATTRIB_HAS_REP))
		return STRING_NONE;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_STOSB: case ZYDIS_MNEMONIC_STOSW: case ZYDIS_MNEMONIC_STOSD: case ZYDIS_MNEMONIC_STOSQ:
		return STRING_FILL;
	case ZYDIS_MNEMONIC_MOVSB: case ZYDIS_MNEMONIC_MOVSW: case ZYDIS_MNEMONIC_MOVSD: case ZYDIS_MNEMONIC_MOVSQ:
		return STRING_COPY;
	default:
		return STRING_NONE;
	}
}

static void take_memory(const ZydisDecodedOperand *o, struct loop_op *op)
{
	op->base = reg_number(o->mem.base);
	op->index = reg_number(o->mem.index);
	op->scale = o->mem.scale;
	op->disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
	op->relative = o->mem.base == ZYDIS_REGISTER_RIP || o->mem.segment == ZYDIS_REGISTER_FS ||
		       o->mem.segment == ZYDIS_REGISTER_GS;
	op->reads |= reg_bit(op->base) | reg_bit(op->index);
	if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
		op->lea = true;
		return;
	}
	op->load |= (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
	op->store |= (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	op->bytes = (uint8_t)(o->size / 8 > 64 ? 64 : o->size / 8 ? o->size / 8 : 8);
}

/* Steps such as add r, 8: only these move a register evenly. */
static void take_step(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o, struct loop_op *op)
{
	bool minus = in->mnemonic == ZYDIS_MNEMONIC_SUB;
	uint8_t dest = o[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? reg_number(o[0].reg.value) : LOOP_NO_REG;

	if (dest == LOOP_NO_REG)
		return;
	if (op->kind == OP_MOVE && in->operand_count_visible == 2 && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    dest < LOOP_REG_VECTOR && reg_number(o[1].reg.value) < LOOP_REG_VECTOR)
		op->copy_of = reg_number(o[1].reg.value);
	if (in->mnemonic == ZYDIS_MNEMONIC_MOV && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[0].size >= 32) {
		op->sets = true;
		op->to = o[1].imm.value.s;
	}
	if (in->mnemonic == ZYDIS_MNEMONIC_CDQE && in->operand_count >= 2)
		op->copy_of = dest;
	if (in->mnemonic == ZYDIS_MNEMONIC_INC || in->mnemonic == ZYDIS_MNEMONIC_DEC) {
		op->adds = true;
		op->add = in->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
	} else if ((in->mnemonic == ZYDIS_MNEMONIC_ADD || minus) && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		op->adds = true;
		op->add = minus ? -o[1].imm.value.s : o[1].imm.value.s;
	} else if (in->mnemonic == ZYDIS_MNEMONIC_ADD && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		op->adds = true;
		op->add_reg = reg_number(o[1].reg.value);
	} else if (op->lea && op->base == dest && op->index == LOOP_NO_REG) {
		op->adds = true;
		op->add = op->disp;
	}
}

/* Instructions that may end a loop: registers compared with each other or with a number, or counted to zero. */
static void take_look(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o, struct loop_op *op)
{
	bool two = in->operand_count_visible == 2, number = two && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (o[0].type != ZYDIS_OPERAND_TYPE_REGISTER || o[0].size < 32)
		return;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
		op->against_known = number;
		op->against = number ? o[1].imm.value.s : 0;
		break;
	case ZYDIS_MNEMONIC_TEST:
		if (number || o[0].reg.value != o[1].reg.value)
			return;
		op->against_known = true;
		break;
	case ZYDIS_MNEMONIC_ADD: case ZYDIS_MNEMONIC_SUB: case ZYDIS_MNEMONIC_DEC:
		if (!op->adds || op->add_reg != LOOP_NO_REG)
			return;
		op->against_known = true;
		break;
	default:
		return;
	}
	op->looks = (uint8_t)(o[0].size / 8);
}

static bool decode(const ZydisDecoder *d, const struct trace_code *c, uint64_t offset, struct loop_op *op)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t at = offset - c->offset;
	bool vectors = false;

	if (at >= c->len || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, c->bytes + at, c->len - at, &in, o)))
		return false;
	*op = (struct loop_op){.offset = offset, .len = in.length, .base = LOOP_NO_REG, .index = LOOP_NO_REG,
			      .add_reg = LOOP_NO_REG, .copy_of = LOOP_NO_REG,
			      .target = UINT64_MAX};
	for (int i = 0; i < in.operand_count; i++) {
		if (o[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			uint8_t r = reg_number(o[i].reg.value);

			if (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				op->reads |= reg_bit(r);
			if (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				op->writes |= reg_bit(r);
			if (r == LOOP_NO_REG || r < LOOP_REG_VECTOR || r >= LOOP_REG_FLAGS)
				continue;
			vectors = true;
			if (o[i].size / 8 > op->vector && o[i].size <= 512)
				op->vector = (uint8_t)(o[i].size / 8);
		} else if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			take_memory(&o[i], op);
		} else if (o[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[i].imm.is_relative) {
			op->target = offset + in.length + (uint64_t)o[i].imm.value.s;
		}
	}
	op->kind = kind_of(&in, vectors);
	op->string = string_kind(&in);
	/* Zero by exclusive or: needs nothing. */
	if ((in.mnemonic == ZYDIS_MNEMONIC_XOR || vectors) && strstr(ZydisMnemonicGetString(in.mnemonic), "xor") &&
	    in.operand_count_visible >= 2 && o[in.operand_count_visible - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    o[in.operand_count_visible - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    o[in.operand_count_visible - 1].reg.value == o[in.operand_count_visible - 2].reg.value) {
		op->reads = 0;
		op->sets = o[in.operand_count_visible - 1].size >= 32;
	}
	take_step(&in, o, op);
	take_look(&in, o, op);
	return true;
}

/* ---- bodies ---- */

/* The first branch behind a place that goes back to it or before it: the end of the innermost loop. */
static bool find_loop(const ZydisDecoder *d, const struct trace_code *c, uint64_t place, uint64_t *head, uint64_t *end)
{
	struct loop_op op;

	for (uint64_t at = place; at < place + REACH && decode(d, c, at, &op); at += op.len)
		if ((op.kind == OP_BRANCH || op.kind == OP_JUMP) && op.target <= place &&
		    op.target + REACH >= place && op.target >= c->offset) {
			*head = op.target;
			*end = at;
			return true;
		}
	return false;
}

/* Compilers put unlikely arms behind the loop: a branch leads there, a jump leads back. */
static uint64_t find_arms(const ZydisDecoder *d, const struct trace_code *c, uint64_t head, uint64_t end)
{
	struct loop_op op, arm;
	uint64_t last = end;

	for (uint64_t at = head; at <= end && decode(d, c, at, &op); at += op.len) {
		if (op.kind != OP_BRANCH || op.target <= last || op.target > end + ARM_REACH)
			continue;
		for (uint64_t k = op.target; k < op.target + ARM_REACH && decode(d, c, k, &arm); k += arm.len) {
			if (arm.kind == OP_RETURN || (arm.kind == OP_JUMP && (arm.target < head || arm.target > end)))
				break;
			if ((arm.kind == OP_JUMP || arm.kind == OP_BRANCH) && arm.target >= head && arm.target <= end)
				last = k;
			if (arm.kind == OP_JUMP)
				break;
		}
	}
	return last;
}

/* Is the code from `from` to the loop's head an arm of the loop, placed before it? An arm falls into the head, and no code behind
 * the loop leads to it: else it belongs to the loop around. */
static bool is_arm_ahead(const ZydisDecoder *d, const struct trace_code *c, uint64_t from, uint64_t head, uint64_t end)
{
	uint64_t at = from;
	struct loop_op op;

	for (; at < head && decode(d, c, at, &op); at += op.len)
		if (op.kind == OP_RETURN || op.kind == OP_JUMP)
			return false;
	if (at != head)
		return false;
	for (at = end; at < end + REACH && decode(d, c, at, &op); at += op.len)
		if ((op.kind == OP_BRANCH || op.kind == OP_JUMP) && op.target >= from && op.target < head)
			return false;
	return true;
}

/* Loops that overlap are one: compilers copy a loop's test to the end of each arm, and "continue" leads to the head early. */
static bool grow(const ZydisDecoder *d, const struct trace_code *c, uint64_t *head, uint64_t *end)
{
	struct loop_op op;

	for (uint64_t at = *head; at < *end + ARM_REACH && decode(d, c, at, &op); at += op.len) {
		if (op.kind != OP_BRANCH && op.kind != OP_JUMP)
			continue;
		if (at <= *end && op.target < *head && op.target >= c->offset &&
		    (op.target + TEST >= *head || (op.target + ARM_REACH >= *head && is_arm_ahead(d, c, op.target, *head, *end)))) {
			*head = op.target;
			return true;
		}
		if (at > *end && op.target >= *head && op.target <= *end) {
			*end = at;
			return true;
		}
	}
	return false;
}

/* The earliest point before a place from which decoding meets the place; the place itself if there is none. */
static uint64_t find_begin(const ZydisDecoder *d, const struct trace_code *c, uint64_t place)
{
	uint64_t from = place - c->offset > SYNC ? place - SYNC : c->offset, at;
	struct loop_op op;

	for (; from < place; from++) {
		for (at = from; at < place && decode(d, c, at, &op); at += op.len)
			;
		if (at == place)
			break;
	}
	return from;
}

static void find_before(const ZydisDecoder *d, const struct trace_code *c, uint64_t head, struct loop_body *b)
{
	struct loop_op op[SYNC];
	uint32_t n = 0;

	b->n_before = 0;
	for (uint64_t at = find_begin(d, c, head); at < head && decode(d, c, at, &op[n]); at += op[n++].len)
		;
	for (; n-- > 0 && b->n_before < LOOP_BEFORE && op[n].kind != OP_JUMP && op[n].kind != OP_RETURN; b->n_before++)
		b->before[b->n_before] = op[n];
}

/* The same loop from wherever in it. */
static bool find_whole_loop(const ZydisDecoder *d, const struct trace_code *c, uint64_t place, uint64_t *head,
			    uint64_t *end)
{
	if (!find_loop(d, c, place, head, end))
		return false;
	for (int i = 0; i < GROWS && grow(d, c, head, end); i++)
		;
	*end = find_arms(d, c, *head, *end);
	return true;
}

static bool decode_range(const ZydisDecoder *d, const struct trace_code *c, uint64_t from, uint64_t last, struct loop_body *b)
{
	b->n = 0;
	for (uint64_t at = from; at <= last; at += b->op[b->n++].len)
		if (b->n == LOOP_OPS_MAX || !decode(d, c, at, &b->op[b->n]))
			return false;
	return b->n && b->op[b->n - 1].offset == last;
}

/* Arms lie behind the code that follows the loop. Keeps only instructions that are reached from the head and lead to it again.
 * False: none is; the branch back was an arm of other code. */
static bool keep_loop(struct loop_body *b)
{
	bool from[LOOP_OPS_MAX] = {true}, to[LOOP_OPS_MAX] = {true}, more = true;
	uint32_t n = 0;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < b->n; i++) {
			const struct loop_op *op = &b->op[i];
			uint32_t t = op->kind == OP_BRANCH || op->kind == OP_JUMP ? loop_body_at(b, op->target) : UINT32_MAX,
				 next = op->kind != OP_JUMP && op->kind != OP_RETURN && i + 1 < b->n ? i + 1 : UINT32_MAX;
			bool leads = (t != UINT32_MAX && to[t]) || (next != UINT32_MAX && to[next]);

			if (leads && !to[i])
				more = to[i] = true;
			if (from[i] && t != UINT32_MAX && !from[t])
				more = from[t] = true;
			if (from[i] && next != UINT32_MAX && !from[next])
				more = from[next] = true;
		}
	}
	for (uint32_t i = 0; i < b->n; i++)
		if (from[i] && to[i])
			b->op[n++] = b->op[i];
	b->n = n;
	for (uint32_t i = 0; i < n; i++)
		if ((b->op[i].kind == OP_BRANCH || b->op[i].kind == OP_JUMP) && b->op[i].target == b->op[0].offset)
			return true;
	return false;
}

/* To the next return or jump. */
static bool decode_straight(const ZydisDecoder *d, const struct trace_code *c, uint64_t place, struct loop_body *b)
{
	uint64_t at = place;

	if (!decode_range(d, c, find_begin(d, c, place), place, b))
		return false;
	/* Code before a jump or a return is not on the way here. */
	for (uint32_t i = b->n - 1; i-- > 0;)
		if (b->op[i].kind == OP_JUMP || b->op[i].kind == OP_RETURN) {
			b->n -= i + 1;
			memmove(b->op, b->op + i + 1, b->n * sizeof(*b->op));
			break;
		}
	while (b->n < STRAIGHT && b->op[b->n - 1].kind != OP_RETURN && b->op[b->n - 1].kind != OP_JUMP) {
		at += b->op[b->n - 1].len;
		if (!decode(d, c, at, &b->op[b->n]))
			break;
		b->n++;
	}
	return true;
}

int loop_body_find(const struct trace_samples *s, uint32_t module, uint64_t offset, struct loop_body *out)
{
	const struct trace_code *c = code_of(s, module, offset);
	uint64_t head, end;
	ZydisDecoder d;

	out->n = out->n_before = 0;
	out->is_loop = false;
	if (!c || !ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -1;
	if (decode(&d, c, offset, out->op) && out->op[0].string) {
		out->n = 1;
		return 0;
	}
	if (find_whole_loop(&d, c, offset, &head, &end) && decode_range(&d, c, head, end, out) && keep_loop(out)) {
		out->is_loop = true;
		find_before(&d, c, out->op[0].offset, out);
		return 0;
	}
	return decode_straight(&d, c, offset, out) ? 0 : -1;
}

uint32_t loop_body_at(const struct loop_body *b, uint64_t offset)
{
	uint32_t lo = 0, hi = b->n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (b->op[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->n && b->op[lo].offset == offset ? lo : UINT32_MAX;
}
