/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a program's instructions a kernel may execute: see own_fit.h. */
#include "skelgen/profile/native_allowed.h"

#include <string.h>

#include "skelgen/profile/loop_disasm.h"
#include "skelgen/runtime/own.h"

static bool has_end(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}

enum own_numbers own_fit_numbers(const ZydisDecodedInstruction *in)
{
	const char *name = ZydisMnemonicGetString(in->mnemonic);

	name += *name == 'v';
	if (!strncmp(name, "cvtsi", 5) || !strncmp(name, "cvtdq", 5))
		return FIT_INTEGERS;
	if (!strncmp(name, "cvtps", 5) || !strncmp(name, "cvtss", 5) || !strncmp(name, "cvttps", 6) || !strncmp(name, "cvttss", 6))
		return FIT_FLOATS;
	if (!strncmp(name, "cvt", 3))
		return FIT_DOUBLES;
	if (!strcmp(name, "movaps") || !strcmp(name, "movups") || !strcmp(name, "xorps") || !strcmp(name, "andps"))
		return FIT_EITHER; /* compilers take the shorter one for doubles too */
	if (has_end(name, "ps") || has_end(name, "ss"))
		return FIT_FLOATS;
	if ((has_end(name, "pd") || has_end(name, "sd")) && strcmp(name, "movsd"))
		return FIT_DOUBLES;
	if (!strcmp(name, "movsd"))
		return in->opcode_map == ZYDIS_OPCODE_MAP_0F || in->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ? FIT_DOUBLES : FIT_INTEGERS;
	return !strncmp(name, "movq", 4) || !strncmp(name, "movl", 4) || !strncmp(name, "movh", 4) || has_end(name, "f128") ? FIT_EITHER :
															      FIT_INTEGERS;
}

int own_fit_needs(const ZydisDecodedInstruction *in)
{
	switch (in->meta.isa_ext) {
	case ZYDIS_ISA_EXT_BASE: case ZYDIS_ISA_EXT_LONGMODE: case ZYDIS_ISA_EXT_SSE: case ZYDIS_ISA_EXT_SSE2: case ZYDIS_ISA_EXT_SSE3:
		return 0;
	case ZYDIS_ISA_EXT_SSSE3: case ZYDIS_ISA_EXT_SSE4:
		return OWN_SSE4;
	case ZYDIS_ISA_EXT_AVX:
		return OWN_AVX;
	case ZYDIS_ISA_EXT_AVX2:
		return OWN_AVX | OWN_AVX2;
	case ZYDIS_ISA_EXT_FMA:
		return OWN_AVX | OWN_FMA;
	case ZYDIS_ISA_EXT_BMI1: case ZYDIS_ISA_EXT_BMI2: case ZYDIS_ISA_EXT_LZCNT:
		return OWN_BMI;
	case ZYDIS_ISA_EXT_F16C:
		return OWN_AVX | OWN_F16C;
	default:
		return -1;
	}
}

bool own_fit_is_harmless(const ZydisDecodedInstruction *in)
{
	if (in->attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return false;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_AVX: case ZYDIS_CATEGORY_AVX2: case ZYDIS_CATEGORY_BINARY: case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_BLEND: case ZYDIS_CATEGORY_BMI1: case ZYDIS_CATEGORY_BMI2: case ZYDIS_CATEGORY_BROADCAST:
	case ZYDIS_CATEGORY_CMOV: case ZYDIS_CATEGORY_CONVERT: case ZYDIS_CATEGORY_DATAXFER: case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_LOGICAL_FP: case ZYDIS_CATEGORY_LZCNT: case ZYDIS_CATEGORY_ROTATE: case ZYDIS_CATEGORY_SETCC:
	case ZYDIS_CATEGORY_SHIFT: case ZYDIS_CATEGORY_SSE: case ZYDIS_CATEGORY_VFMA:
		break;
	case ZYDIS_CATEGORY_MISC:
		return in->mnemonic == ZYDIS_MNEMONIC_LEA;
	default:
		return false;
	}
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_DIV: case ZYDIS_MNEMONIC_IDIV:                                  /* by whatever a register holds */
	case ZYDIS_MNEMONIC_LDMXCSR: case ZYDIS_MNEMONIC_STMXCSR: case ZYDIS_MNEMONIC_VLDMXCSR: case ZYDIS_MNEMONIC_VSTMXCSR:
	case ZYDIS_MNEMONIC_MOVNTDQ: case ZYDIS_MNEMONIC_MOVNTI: case ZYDIS_MNEMONIC_MOVNTPD: case ZYDIS_MNEMONIC_MOVNTPS:
	case ZYDIS_MNEMONIC_VMOVNTDQ: case ZYDIS_MNEMONIC_VMOVNTPD: case ZYDIS_MNEMONIC_VMOVNTPS: case ZYDIS_MNEMONIC_VZEROALL:
		return false;
	default:
		return true;
	}
}

bool own_fit_is_stack(ZydisRegister r)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r) == ZYDIS_REGISTER_RSP;
}

uint8_t own_fit_general(const ZydisDecodedOperand *o)
{
	ZydisRegister r = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) :
								    ZYDIS_REGISTER_NONE;

	return r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15 ? (uint8_t)(r - ZYDIS_REGISTER_RAX) : MIX_NO_REG;
}

static bool is_register_fit(const ZydisDecodedOperand *o)
{
	switch (ZydisRegisterGetClass(o->reg.value)) {
	case ZYDIS_REGCLASS_GPR8: case ZYDIS_REGCLASS_GPR16: case ZYDIS_REGCLASS_GPR32: case ZYDIS_REGCLASS_GPR64:
		return !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) || !own_fit_is_stack(o->reg.value);
	case ZYDIS_REGCLASS_XMM: case ZYDIS_REGCLASS_YMM:
		return ZydisRegisterGetId(o->reg.value) < 16;
	case ZYDIS_REGCLASS_FLAGS:
		return true;
	default:
		return o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		       (o->reg.value == ZYDIS_REGISTER_MXCSR || o->reg.value == ZYDIS_REGISTER_RIP);
	}
}

bool own_fit_operands(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
	int memory = 0;

	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && !is_register_fit(o))
			return false;
		if (o->type == ZYDIS_OPERAND_TYPE_POINTER)
			return false;
		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN || memory++ ||
		    (o->mem.type != ZYDIS_MEMOP_TYPE_MEM && o->mem.type != ZYDIS_MEMOP_TYPE_AGEN) || o->size > 8 * OWN_VECTOR_BYTES)
			return false;
	}
	/* Exchanges with memory lock it; bits of memory may be far away. */
	return !memory || (in->mnemonic != ZYDIS_MNEMONIC_XCHG && in->meta.category != ZYDIS_CATEGORY_BITBYTE);
}

bool own_fit_is_aligned(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOVUPS: case ZYDIS_MNEMONIC_MOVUPD: case ZYDIS_MNEMONIC_MOVDQU: case ZYDIS_MNEMONIC_LDDQU:
		return false;
	case ZYDIS_MNEMONIC_VMOVAPS: case ZYDIS_MNEMONIC_VMOVAPD: case ZYDIS_MNEMONIC_VMOVDQA: case ZYDIS_MNEMONIC_VMOVNTDQA:
		return true;
	default:
		return in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	}
}

bool own_fit_is_by_mask(const ZydisDecodedInstruction *in, bool *sign)
{
	const char *name = ZydisMnemonicGetString(in->mnemonic);

	name += *name == 'v';
	*sign = strncmp(name, "and", 3) != 0 || !strncmp(name, "andn", 4);
	return !strcmp(name, "andps") || !strcmp(name, "andpd") || !strcmp(name, "andnps") || !strcmp(name, "andnpd") || !strcmp(name, "xorps") ||
	       !strcmp(name, "xorpd");
}
