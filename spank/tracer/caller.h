/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call in the program that led into a library function, found in a signal handler.
 *
 * Programs mostly lack frame pointers, and an unwinder may take a lock that the interrupted code holds. So the stack is
 * searched for return addresses of calls that leave the program. Such a call is by a stub of the procedure linkage
 * table, by a slot of the global offset table, or by a register. The innermost call into the library of the interrupted
 * code is taken. If there is none, the innermost call is taken. Old words in the frames of the library can look like a
 * call: the line that is told is then wrong.
 */
#ifndef PRECEDENT_SPANK_TRACER_CALLER_H
#define PRECEDENT_SPANK_TRACER_CALLER_H

#include <stdint.h>

/* Find the program's code. Call outside of signal handlers. */
void caller_begin(void);
/*
 * The return address of that call. Returns 0 if the interrupted code is the program's own, or if there is no such call.
 * pc, sp: of the interrupted code
 * stack_hi: end of its stack
 *
 * Fit for signal handlers. Reads the stack up to the first page that cannot be read: a fiber's stack has another end.
 */
uint64_t caller_find(uint64_t pc, uint64_t sp, uint64_t stack_hi);

#endif
