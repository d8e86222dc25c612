/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a program's instructions a kernel may execute, and what kind of numbers they take: of instructions as Zydis decodes them.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_NATIVE_ALLOWED_H
#define PRECEDENT_SKELGEN_PROFILE_NATIVE_ALLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

enum own_numbers { FIT_DOUBLES, FIT_FLOATS, FIT_INTEGERS, FIT_EITHER };

enum own_numbers own_fit_numbers(const ZydisDecodedInstruction *in);
/* Bits of what it needs (enum own_needs), or -1: few processors have it. */
int own_fit_needs(const ZydisDecodedInstruction *in);
/* Does it do nothing but compute, whatever numbers it meets? */
bool own_fit_is_harmless(const ZydisDecodedInstruction *in);
/* Has it one operand in memory at most, an explicit one that a place can hold, and no register that is not its own? */
bool own_fit_operands(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op);
/* Does it end the program where its operand is not at a multiple of its size? */
bool own_fit_is_aligned(const ZydisDecodedInstruction *in);
/* Does it take signs away, or turn them? Its constants are no numbers then. */
bool own_fit_is_by_mask(const ZydisDecodedInstruction *in, bool *sign);
bool own_fit_is_stack(ZydisRegister r);
/* The number of the general register that it is, whole or in part; MIX_NO_REG: it is none. */
uint8_t own_fit_general(const ZydisDecodedOperand *o);

#endif
