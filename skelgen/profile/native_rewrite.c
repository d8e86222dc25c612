/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From instructions of the program to a kernel: see own_code.h. */
#include "skelgen/profile/native_rewrite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "skelgen/profile/native_allowed.h"
#include "skelgen/runtime/own.h"

#define PLACES_MAX  512   /* operands in memory that are told apart */
#define SLOT        16u   /* bytes of the least place */
#define LOADS_END   2560u /* of a page: loads lie before it, */
#define STACK_END   3072u /* what the program keeps on its stack up to here, stores behind it */
#define STACK       4     /* number of that register */
#define LINE        64
#define VECTORS     16
#define ALL         0xffffu /* vector registers, as bits */
#define ARGUMENTS   3u      /* those that functions of numbers get them in */
#define MOVED_MOST  (1 << 24)
#define LEFT_OUT    16    /* one instruction in so many may be */

/* An operand in memory and where it is led to: relative to the data. */
struct place {
	ZydisRegister base, index;
	uint8_t scale, part, size;
	int64_t disp;
	uint32_t at;
};

struct making {
	ZydisDecoder decoder;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct place place[PLACES_MAX];
	uint32_t n_place, next[OWN_PARTS];
	bool floats;        /* most arithmetic is of single precision */
	uint32_t masks[2];  /* vector registers that stay what signs are taken away by, and turned by */
	bool wide;          /* there are vectors of 256 bits */
	uint32_t address;   /* general registers that hold the address of the data */
	uint8_t walks[16];  /* areas in which general registers are, or OWN_NO_WALK: where the unit begins, */
	int32_t moved[16];  /* and so far ahead of that */
	const struct own_steps *steps;
	bool failed;
	uint8_t code[OWN_DATA];
	uint32_t len;
	struct own_made made;
};

/* ---- places ---- */

/* Where those of a part are in its page; none are in the state's. */
static const struct {
	uint32_t begin, end;
} room[OWN_PARTS] = {[OWN_DOUBLES] = {0, LOADS_END}, [OWN_FLOATS] = {0, LOADS_END}, [OWN_INTEGERS] = {0, LOADS_END},
		     [OWN_STACK] = {LOADS_END, STACK_END}, [OWN_STORES] = {STACK_END, OWN_PAGE}};

static bool is_kept(const struct place *p)
{
	return own_fit_is_stack(p->base) || (p->base == ZYDIS_REGISTER_RBP && p->index == ZYDIS_REGISTER_NONE && p->disp < 0);
}

/* Loads and stores have their own places but for what is kept on the stack, which is stored to be loaded. */
static uint8_t part_of(const struct making *m, const ZydisDecodedOperand *o, const struct place *p)
{
	static const uint8_t part[] = {[FIT_DOUBLES] = OWN_DOUBLES, [FIT_FLOATS] = OWN_FLOATS, [FIT_INTEGERS] = OWN_INTEGERS};
	enum own_numbers n = own_fit_numbers(&m->in);

	if (is_kept(p))
		return OWN_STACK;
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		return OWN_STORES;
	return part[n == FIT_EITHER ? (m->floats ? FIT_FLOATS : FIT_DOUBLES) : n];
}

static uint32_t new_place(struct making *m, const struct place *p)
{
	uint32_t size = p->size < SLOT ? SLOT : p->size, *next = &m->next[p->part], at;

	if (p->part == OWN_STACK) {
		at = (uint32_t)((uint64_t)p->disp % (STACK_END - LOADS_END - OWN_VECTOR_BYTES));
		return OWN_STACK * OWN_PAGE + LOADS_END + (p->size >= SLOT ? at & ~(size - 1) : at);
	}
	at = (*next + size - 1) & ~(size - 1);
	if (room[p->part].begin + at + size > room[p->part].end)
		at = 0; /* round again: several have one place */
	*next = at + size;
	return p->part * OWN_PAGE + room[p->part].begin + at;
}

static uint32_t place_at(struct making *m, const ZydisDecodedOperand *o)
{
	bool sign;

	if (own_fit_is_by_mask(&m->in, &sign) && !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return OWN_MASK(m->floats, sign);
	struct place p = {.base = o->mem.base, .index = o->mem.index, .scale = o->mem.scale,
			  .disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0,
			  .size = (uint8_t)(o->size / 8 > 16 ? 32 : o->size / 8 > 8 ? 16 : 8)};

	p.part = part_of(m, o, &p);
	for (uint32_t i = 0; i < m->n_place; i++) {
		const struct place *k = &m->place[i];

		if (k->base == p.base && k->index == p.index && k->scale == p.scale && k->disp == p.disp && k->part == p.part &&
		    k->size >= p.size)
			return k->at;
	}
	p.at = new_place(m, &p);
	if (m->n_place < PLACES_MAX)
		m->place[m->n_place++] = p;
	return p.at;
}

/* So many lines behind a place, round again at the end of its part: what has a place elsewhere in each turn. Signs are taken by what they are. */
static uint32_t turned(uint32_t at, uint32_t turn)
{
	uint32_t part = at / OWN_PAGE, begin = part * OWN_PAGE + room[part].begin, bytes = room[part].end - room[part].begin;

	return bytes ? begin + (at - begin + turn % bytes * LINE) % bytes : at;
}

/* ---- code ---- */

static void put(struct making *m, const void *bytes, uint32_t n)
{
	if (m->len + n > sizeof(m->code)) {
		m->failed = true;
		return;
	}
	memcpy(m->code + m->len, bytes, n);
	m->len += n;
}

/* Bytes that end in an address in the data, relative to what follows. */
static void put_at(struct making *m, const void *bytes, uint32_t n, uint32_t at)
{
	int32_t relative = (int32_t)(OWN_DATA + at) - (int32_t)(m->len + n + 4);

	put(m, bytes, n);
	put(m, &relative, 4);
}

/* False: it is left out. */
static bool put_request(struct making *m, ZydisEncoderRequest *r)
{
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize n = sizeof(bytes);

	if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstructionAbsolute(r, bytes, &n, m->len))) {
		m->made.left_out++;
		return false;
	}
	put(m, bytes, (uint32_t)n);
	m->made.n++;
	return true;
}

static void lead(ZydisEncoderOperand *o, uint32_t at, uint16_t size)
{
	*o = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_MEMORY,
				   .mem = {.base = ZYDIS_REGISTER_RIP, .displacement = OWN_DATA + at, .size = size}};
}

/* General registers that the instruction writes. */
static uint32_t written(const struct making *m)
{
	uint32_t bits = 0;

	for (int i = 0; i < m->in.operand_count; i++)
		if (m->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && own_fit_general(&m->op[i]) != MIX_NO_REG)
			bits |= 1u << own_fit_general(&m->op[i]);
	return bits;
}

/* What the instruction adds to all of a general register, which is all that it does; 0: that is not so. */
static int64_t adds(const struct making *m)
{
	const ZydisDecodedOperand *o = m->op;

	if (o[0].type != ZYDIS_OPERAND_TYPE_REGISTER || ZydisRegisterGetClass(o[0].reg.value) != ZYDIS_REGCLASS_GPR64)
		return 0;
	switch (m->in.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		return o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? o[1].imm.value.s : 0;
	case ZYDIS_MNEMONIC_SUB:
		return o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? -o[1].imm.value.s : 0;
	default:
		return 0;
	}
}

/* What the instruction has written is no address any more, but for one that it has moved on. */
static void forget_written(struct making *m)
{
	uint32_t bits = written(m);
	int64_t by = adds(m);

	m->address &= ~bits;
	for (int r = 0; r < 16; r++) {
		if (!(bits >> r & 1) || m->walks[r] == OWN_NO_WALK)
			continue;
		if (by == 0 || llabs(by) >= MOVED_MOST || llabs(m->moved[r] + by) >= MOVED_MOST)
			m->walks[r] = OWN_NO_WALK;
		else
			m->moved[r] += (int32_t)by;
	}
}

/* As a move, which leaves the stack where it is. */
static void put_push_or_pop(struct making *m)
{
	bool push = m->in.mnemonic == ZYDIS_MNEMONIC_PUSH;
	const ZydisDecodedOperand *o = &m->op[0];
	ZydisEncoderRequest r = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64, .mnemonic = ZYDIS_MNEMONIC_MOV, .operand_count = 2};
	ZydisEncoderOperand reg = {.type = ZYDIS_OPERAND_TYPE_REGISTER, .reg.value = o->reg.value};
	uint32_t at = OWN_STACK * OWN_PAGE + LOADS_END + SLOT * (uint32_t)(ZydisRegisterGetId(o->reg.value) & 15);

	if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || ZydisRegisterGetClass(o->reg.value) != ZYDIS_REGCLASS_GPR64 || own_fit_is_stack(o->reg.value)) {
		m->made.left_out++;
		return;
	}
	r.operands[push ? 1 : 0] = reg;
	lead(&r.operands[push ? 0 : 1], at, 8);
	put_request(m, &r);
	forget_written(m);
}

/* Address of a place by way of a register that waits for other data: it becomes nothing, and then the address of the data. */
static void lead_by(struct making *m, ZydisEncoderOperand *o, uint8_t reg, uint32_t at, uint16_t size)
{
	uint8_t high = reg >= 8, low = reg & 7;
	uint8_t nothing[] = {0x48 | high, 0x83, 0xe0 | low, 0}, plus[] = {(uint8_t)(0x48 | high << 2), 0x03, (uint8_t)(low << 3 | 5)};

	if (!(m->address >> reg & 1)) {
		put(m, nothing, sizeof(nothing));
		put_at(m, plus, sizeof(plus), OWN_ADDRESS);
		m->address |= 1u << reg;
		m->walks[reg] = OWN_NO_WALK;
	}
	*o = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_MEMORY,
				   .mem = {.base = ZYDIS_REGISTER_RAX + reg, .displacement = at, .size = size}};
}

/* A register of the operand's address that may become another; 16: there is none. */
static uint8_t register_of(const ZydisDecodedOperand *o)
{
	const ZydisRegister r[] = {o->mem.base, o->mem.index};

	for (int i = 0; i < 2; i++)
		if (r[i] >= ZYDIS_REGISTER_RAX && r[i] <= ZYDIS_REGISTER_R15 && !own_fit_is_stack(r[i]))
			return (uint8_t)(r[i] - ZYDIS_REGISTER_RAX);
	return 16;
}

/* Where the loop is in an area; false: the operand cannot be led there. */
static bool lead_along(struct making *m, ZydisEncoderOperand *o, const ZydisDecodedOperand *from, const struct own_instruction *in)
{
	uint8_t reg = register_of(from);
	uint32_t ahead = in->ahead, size = from->size / 8;
	uint8_t at[] = {(uint8_t)(reg >= 8 ? 0x4c : 0x48), 0x8b, (uint8_t)((reg & 7) << 3 | 5)};

	if (in->walk >= m->steps->n || reg == 16 || size == 0)
		return false;
	if (size >= 16 && own_fit_is_aligned(&m->in)) {
		if (m->steps->step[in->walk] % size)
			return false;
		ahead -= ahead % size;
	}
	if (m->walks[reg] != in->walk) {
		put_at(m, at, sizeof(at), OWN_WALK(in->walk));
		m->walks[reg] = in->walk;
		m->moved[reg] = 0;
		m->address &= ~(1u << reg);
	}
	*o = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_MEMORY,
				   .mem = {.base = ZYDIS_REGISTER_RAX + reg, .displacement = (int64_t)ahead - m->moved[reg], .size = (uint16_t)size}};
	return true;
}

static void put_operation(struct making *m, const struct own_instruction *in)
{
	ZydisEncoderRequest r;

	if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(&m->in, m->op, m->in.operand_count_visible, &r))) {
		m->made.left_out++;
		return;
	}
	r.prefixes = 0;
	for (int i = 0; i < m->in.operand_count_visible; i++) {
		const ZydisDecodedOperand *o = &m->op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (o->mem.type == ZYDIS_MEMOP_TYPE_MEM && lead_along(m, &r.operands[i], o, in))
			continue;
		if (o->mem.type == ZYDIS_MEMOP_TYPE_MEM && in->follows < 16 && in->follows != STACK)
			lead_by(m, &r.operands[i], in->follows, turned(place_at(m, o), in->turn), (uint16_t)(o->size / 8));
		else if (o->mem.type == ZYDIS_MEMOP_TYPE_MEM || o->mem.base == ZYDIS_REGISTER_RIP)
			lead(&r.operands[i], turned(place_at(m, o), in->turn), (uint16_t)(o->size / 8));
	}
	if (put_request(m, &r))
		forget_written(m);
}

/* A branch of the same condition to what follows. */
static void put_branch(struct making *m)
{
	uint8_t opcode = m->in.opcode, short_one[2] = {0xeb, 0};

	if (m->in.meta.category == ZYDIS_CATEGORY_COND_BR)
		short_one[0] = opcode >= 0xe0 && opcode <= 0xe3 && m->in.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT ? 0xe3 : 0x70 | (opcode & 15);
	put(m, short_one, 2);
	m->made.n++;
}

static void put_instruction(struct making *m, const struct own_instruction *in)
{
	int needs = own_fit_needs(&m->in);

	switch (m->in.meta.category) {
	case ZYDIS_CATEGORY_COND_BR: case ZYDIS_CATEGORY_UNCOND_BR:
		put_branch(m);
		return;
	case ZYDIS_CATEGORY_PUSH: case ZYDIS_CATEGORY_POP:
		if (m->in.mnemonic == ZYDIS_MNEMONIC_PUSH || m->in.mnemonic == ZYDIS_MNEMONIC_POP)
			put_push_or_pop(m);
		else
			m->made.left_out++;
		return;
	case ZYDIS_CATEGORY_NOP: case ZYDIS_CATEGORY_WIDENOP: case ZYDIS_CATEGORY_PREFETCH: case ZYDIS_CATEGORY_CET:
	case ZYDIS_CATEGORY_CALL: case ZYDIS_CATEGORY_RET:
		return; /* not missed */
	default:
		break;
	}
	m->failed |= m->in.meta.isa_ext == ZYDIS_ISA_EXT_X87;
	if (needs < 0 || !own_fit_is_harmless(&m->in) || !own_fit_operands(&m->in, m->op)) {
		m->made.left_out++;
		return;
	}
	m->made.needs |= (uint32_t)needs;
	put_operation(m, in);
}

/* ---- around it ---- */

static void put_registers(struct making *m, uint32_t bits)
{
	uint32_t from = m->floats ? OWN_VECTOR_FLOATS : OWN_VECTOR_DOUBLES;

	for (uint8_t r = 0; r < VECTORS; r++) {
		uint32_t at = m->masks[0] >> r & 1 ? OWN_MASK(m->floats, 0) : m->masks[1] >> r & 1 ? OWN_MASK(m->floats, 1) : from + r * OWN_VECTOR_BYTES;
		uint8_t high = r >= 8, modrm = (uint8_t)((r & 7) << 3 | 5);
		/* Where upper halves are not nothing, older instructions wait for what they leave of their destination. */
		uint8_t sse[] = {0x44, 0x0f, 0x10, modrm}, avx[] = {0xc5, (uint8_t)((high ? 0x78 : 0xf8) | m->wide << 2), 0x10, modrm};

		if (!(bits >> r & 1))
			continue;
		if (m->made.needs & OWN_AVX)
			put_at(m, avx, sizeof(avx), at);
		else
			put_at(m, sse + !high, sizeof(sse) - !high, at);
	}
}

static void put_begin(struct making *m)
{
	static const uint8_t save[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57}, left[] = {0x48, 0x89, 0x3d};

	put(m, save, sizeof(save));
	put_at(m, left, sizeof(left), OWN_LEFT);
	for (uint8_t r = 0; r < 16; r++) {
		uint8_t load[] = {r >= 8 ? 0x4c : 0x48, 0x8b, (uint8_t)((r & 7) << 3 | 5)};

		if (r != STACK)
			put_at(m, load, sizeof(load), OWN_GENERAL + 8u * r);
	}
}

/* Where the next unit begins in each area. rax begins as with the first. */
static void put_steps(struct making *m)
{
	static const uint8_t load[] = {0x48, 0x8b, 0x05}, add[] = {0x48, 0x05}, compare[] = {0x48, 0x3b, 0x05},
			     begin[] = {0x48, 0x0f, 0x43, 0x05}, store[] = {0x48, 0x89, 0x05};

	for (uint32_t k = 0; k < m->steps->n; k++) {
		if (m->steps->step[k] == 0)
			continue;
		put_at(m, load, sizeof(load), OWN_WALK(k));
		put(m, add, sizeof(add));
		put(m, &m->steps->step[k], 4);
		put_at(m, compare, sizeof(compare), OWN_WALK(k) + OWN_WALK_END);
		put_at(m, begin, sizeof(begin), OWN_WALK(k) + OWN_WALK_BEGIN);
		put_at(m, store, sizeof(store), OWN_WALK(k));
	}
	if (m->steps->n)
		put_at(m, load, sizeof(load), OWN_GENERAL);
}

static void put_end(struct making *m, uint32_t head)
{
	static const uint8_t count[] = {0x48, 0xff, 0x0d}, again[] = {0x0f, 0x85}, clear[] = {0xc5, 0xf8, 0x77},
			     restore[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3};
	int32_t back;

	put_steps(m);
	put_at(m, count, sizeof(count), OWN_LEFT);
	put(m, again, sizeof(again));
	back = (int32_t)head - (int32_t)(m->len + 4);
	put(m, &back, 4);
	if (m->made.needs & OWN_AVX)
		put(m, clear, sizeof(clear));
	put(m, restore, sizeof(restore));
}

static bool decode(struct making *m, const struct own_instruction *i)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&m->decoder, i->bytes, i->len, &m->in, m->op));
}

/* Vector registers, as bits: those that the instruction writes are no masks, others that it takes for one are. */
static void look_at_masks(struct making *m, uint32_t *written)
{
	bool sign, by_mask = own_fit_is_by_mask(&m->in, &sign);

	for (int k = 0; k < m->in.operand_count; k++) {
		const ZydisDecodedOperand *o = &m->op[k];
		ZydisRegisterClass is = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? ZydisRegisterGetClass(o->reg.value) : ZYDIS_REGCLASS_INVALID;
		uint32_t bit;

		if ((is != ZYDIS_REGCLASS_XMM && is != ZYDIS_REGCLASS_YMM) || ZydisRegisterGetId(o->reg.value) >= VECTORS)
			continue;
		bit = 1u << ZydisRegisterGetId(o->reg.value);
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			*written |= bit;
		else if (by_mask)
			m->masks[sign] |= bit;
	}
}

/* What all of it needs, and of which numbers most is: the registers begin accordingly. */
static bool look(struct making *m, const struct own_instruction *in, uint32_t n)
{
	uint32_t count[FIT_EITHER + 1] = {0}, written = 0;

	for (uint32_t i = 0; i < n; i++) {
		int needs;

		if (!decode(m, &in[i]))
			return false;
		needs = own_fit_needs(&m->in);
		m->made.needs |= needs > 0 ? (uint32_t)needs : 0;
		count[own_fit_numbers(&m->in)]++;
		for (int k = 0; k < m->in.operand_count; k++)
			m->wide |= m->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(m->op[k].reg.value) == ZYDIS_REGCLASS_YMM;
		look_at_masks(m, &written);
	}
	m->masks[0] &= ~written;
	m->masks[1] &= ~written;
	m->floats = count[FIT_FLOATS] > count[FIT_DOUBLES];
	return true;
}

/* False: the instructions cannot be read. */
static bool begin(struct making *m, const struct own_instruction *in, uint32_t n, const struct own_steps *steps)
{
	m->steps = steps;
	memset(m->walks, OWN_NO_WALK, sizeof(m->walks));
	return ZYAN_SUCCESS(ZydisDecoderInit(&m->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) && look(m, in, n);
}

int own_code_make(const struct own_instruction *in, uint32_t n, const struct own_steps *steps, struct buf *out, struct own_made *made)
{
	struct making *m = calloc(1, sizeof(*m));
	uint32_t head;
	int rv = 1;

	if (!m)
		return -1;
	if (!begin(m, in, n, steps))
		goto out;
	put_begin(m);
	head = m->len;
	put_registers(m, ALL);
	for (uint32_t i = 0; i < n && decode(m, &in[i]); i++) {
		if (in[i].begins)
			put_registers(m, ARGUMENTS);
		put_instruction(m, &in[i]);
	}
	put_end(m, head);
	if (m->failed || !m->made.n || m->made.left_out * LEFT_OUT > n)
		goto out;
	buf_put(out, m->code, m->len);
	*made = m->made;
	rv = out->failed ? -1 : 0;
out:
	free(m);
	return rv;
}

/* ---- loops that stay as they are ---- */

/* A number that takes 32 bits, or more. */
static void put_number(struct making *m, uint8_t r, int64_t v)
{
	uint8_t small[] = {0x48 | r >> 3, 0xc7, 0xc0 | (r & 7)}, large[] = {0x48 | r >> 3, 0xb8 | (r & 7)};

	if (v == (int32_t)v) {
		put(m, small, sizeof(small));
		put(m, &(int32_t){(int32_t)v}, 4);
	} else {
		put(m, large, sizeof(large));
		put(m, &v, 8);
	}
}

/* lea to, [from + ahead] */
static void put_ahead(struct making *m, uint8_t to, uint8_t from, int64_t ahead)
{
	uint8_t lea[] = {0x48 | to >> 3 << 2 | from >> 3, 0x8d, 0x80 | (to & 7) << 3 | (from & 7), 0x24};

	m->failed |= ahead != (int32_t)ahead;
	put(m, lea, sizeof(lea) - ((from & 7) != STACK)); /* r12's needs one byte more */
	put(m, &(int32_t){(int32_t)ahead}, 4);
}

/* General registers as a unit begins with them; what counts is there before what it is compared with. */
static void put_loop_registers(struct making *m, const struct own_loop *l)
{
	for (uint8_t r = 0; r < OWN_GENERALS; r++) {
		uint8_t load[] = {r >= 8 ? 0x4c : 0x48, 0x8b, (uint8_t)((r & 7) << 3 | 5)};

		if (l->reg[r].begin == OWN_NUMBER)
			put_number(m, r, l->reg[r].at);
		if (l->reg[r].begin != OWN_AREA)
			continue;
		put_at(m, load, sizeof(load), OWN_WALK(l->reg[r].of));
		put_ahead(m, r, r, l->reg[r].at);
	}
	for (uint8_t r = 0; r < OWN_GENERALS; r++)
		if (l->reg[r].begin == OWN_END)
			put_ahead(m, r, l->reg[r].of, l->reg[r].at);
}

/* It may be executed with whatever numbers, and nothing that it does is out of the areas. */
static bool may_stay(struct making *m)
{
	switch (m->in.meta.category) {
	case ZYDIS_CATEGORY_COND_BR: case ZYDIS_CATEGORY_NOP: case ZYDIS_CATEGORY_WIDENOP: case ZYDIS_CATEGORY_PREFETCH: case ZYDIS_CATEGORY_CET:
		return true;
	default:
		break;
	}
	for (int i = 0; i < m->in.operand_count_visible; i++) {
		const ZydisDecodedOperand *o = &m->op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		    (m->in.address_width != 64 || o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS ||
		     o->mem.base == ZYDIS_REGISTER_NONE || own_fit_is_stack(o->mem.base)))
			return false;
	}
	return m->in.meta.isa_ext != ZYDIS_ISA_EXT_X87 && own_fit_needs(&m->in) >= 0 && own_fit_is_harmless(&m->in) && own_fit_operands(&m->in, m->op);
}

/* What wants its operand at a multiple of its size would end the program where it is at none. */
static bool stays_aligned(const struct making *m, const struct own_loop *l, uint32_t n)
{
	for (int i = 0; i < m->in.operand_count_visible; i++) {
		const ZydisDecodedOperand *o = &m->op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM || o->mem.base == ZYDIS_REGISTER_RIP || o->size < 128 ||
		    !own_fit_is_aligned(&m->in))
			continue;
		if (l->multiple[n] % (o->size / 8u))
			return false;
		for (uint32_t k = 0; k < l->n_area; k++)
			if (l->step[k] % (o->size / 8u))
				return false;
	}
	return true;
}

/* As it is; a constant is one of the kernel's, and a branch that is not taken leads to what follows. */
static void put_as_it_is(struct making *m, const struct own_instruction *in, bool closes)
{
	uint32_t at = m->len;

	put(m, in->bytes, m->in.length);
	m->made.n++;
	if (m->failed)
		return;
	if (m->in.meta.category == ZYDIS_CATEGORY_COND_BR) {
		if (!closes)
			memset(m->code + at + m->in.raw.imm[0].offset, 0, m->in.raw.imm[0].size / 8);
		return;
	}
	for (int i = 0; i < m->in.operand_count_visible; i++) {
		const ZydisDecodedOperand *o = &m->op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_MEM && o->mem.base == ZYDIS_REGISTER_RIP) {
			int32_t relative = (int32_t)(OWN_DATA + place_at(m, o)) - (int32_t)m->len;

			memcpy(m->code + at + m->in.raw.disp.offset, &relative, 4);
		}
	}
}

/* Nothing, in few instructions. */
static void put_padding(struct making *m, uint32_t n)
{
	static const uint8_t nothing[] = {0x66, 0x66, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, one = 0x90;

	for (; n >= sizeof(nothing); n -= sizeof(nothing))
		put(m, nothing, sizeof(nothing));
	for (; n > 0; n--)
		put(m, &one, 1);
}

/* Of a line, bytes that are missing to where the loop lies in the program. */
static uint32_t put_loop(struct making *m, const struct own_instruction *in, uint32_t n, const struct own_loop *l, uint32_t padding)
{
	uint32_t head, at;

	m->len = m->made.n = m->n_place = 0;
	memset(m->next, 0, sizeof(m->next));
	put_begin(m);
	put_registers(m, ALL);
	put_padding(m, padding);
	head = m->len;
	put_registers(m, l->restart);
	put_loop_registers(m, l);
	at = m->len;
	for (uint32_t i = 0; i < n; i++) {
		m->failed |= !decode(m, &in[i]) || !may_stay(m) || !stays_aligned(m, l, i);
		put_as_it_is(m, &in[i], i == n - 1);
	}
	put_end(m, head);
	return (uint32_t)(l->lies_at - at) % LINE;
}

int own_code_loop(const struct own_instruction *in, uint32_t n, const struct own_loop *l, struct buf *out, struct own_made *made)
{
	struct making *m = calloc(1, sizeof(*m));
	struct own_steps steps = {.n = l->n_area};
	int rv = 1;

	if (!m)
		return -1;
	memcpy(steps.step, l->step, sizeof(steps.step));
	if (begin(m, in, n, &steps)) {
		put_loop(m, in, n, l, put_loop(m, in, n, l, 0));
		m->made.n *= l->times;
		if (!m->failed) {
			buf_put(out, m->code, m->len);
			*made = m->made;
			rv = out->failed ? -1 : 0;
		}
	}
	free(m);
	return rv;
}
