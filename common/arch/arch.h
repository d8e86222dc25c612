/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The architecture of the processor: everything in C that depends on it. Other sources have no such conditions.
 * Entries of MPI functions are assembly, for x86-64 and arm64: spank/loader/generate and spank/tracer/Generate/.
 *
 * Architectures other than x86-64 lack three things:
 * - Samples. Registers and machine code are read for x86-64 alone (skelgen/profile/loop_disasm.h). Without samples, a
 *   skeleton computes with the default mix of kernels.
 * - A counter as the clock. Ticks are then CLOCK_MONOTONIC: the kernel works around counters that err, and a reading
 *   takes no system call either.
 * - Kernels with vector registers wider than 128 bits.
 *
 * A header alone, because the loader and the runtime of skeletons are linked with nothing else of ours.
 */
#ifndef PRECEDENT_COMMON_ARCH_ARCH_H
#define PRECEDENT_COMMON_ARCH_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_NO_SAMPLES "samples are taken on x86-64 only, and this machine is " ARCH_NAME

#if defined(__x86_64__)

#include <cpuid.h>

#define ARCH_NAME    "x86-64"
#define ARCH_SAMPLES 1

/* The general registers of a sample, in the processor's encoding order: as ucontext_t numbers them, */
#define ARCH_UCONTEXT_REGS                                                                                     \
	{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, \
	 REG_R12, REG_R13, REG_R14, REG_R15}
#define ARCH_UCONTEXT_PC REG_RIP
#define ARCH_UCONTEXT_SP REG_RSP
/* and positions in a record of perf_event_open, ordered by the bits of the mask. */
#define ARCH_PERF_MASK 0xff00ffull
#define ARCH_PERF_REGS                                                                                         \
	{PERF_REG_X86_AX, PERF_REG_X86_CX, PERF_REG_X86_DX, PERF_REG_X86_BX, PERF_REG_X86_SP, PERF_REG_X86_BP, \
	 PERF_REG_X86_SI, PERF_REG_X86_DI, 8, 9, 10, 11, 12, 13, 14, 15}
/* Define the function `name` as the return from a signal handler: rt_sigreturn. */
#define ARCH_SIGRETURN(name)                                                                           \
	__asm__(".text\n\t.globl " name "\n\t.hidden " name "\n\t.type " name ", @function\n" name ":\n" \
		"\tmov $15, %rax\n\tsyscall\n")

/* In an unwinding (unwind.h), where the return address into the frame `ctx` is saved: the call pushed it. `inner` is
 * ARCH_FRAME of the frame that it called. */
#define ARCH_FRAME(ctx)               ((uintptr_t)0)
#define ARCH_RETURN_PLACE(ctx, inner) ((void)(inner), (const uintptr_t *)_Unwind_GetCFA(ctx) - 1)

/* The return address that was saved as this word. */
static inline uintptr_t arch_return_address(uintptr_t saved)
{
	return saved;
}

/* seccomp */
#define ARCH_AUDIT     AUDIT_ARCH_X86_64
#define ARCH_AUDIT_X32 0x40000000u /* numbers of system calls from here on belong to another interface */

/* relocations that bind a call */
#define ARCH_IS_CALL(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)

/* the constraint of a floating point register in inline assembly */
#define ARCH_DOUBLE "+x"

/* attributes of functions with vector registers of 256 and 512 bits; undefined: there are none */
#define ARCH_VECTOR_256 __attribute__((target("avx2,fma")))
#define ARCH_VECTOR_512 __attribute__((target("avx512f,avx512vl,avx512dq")))

/* Does the processor have vector registers of so many bits? */
static inline bool arch_has_vectors(int bits)
{
	if (bits > 256)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512dq");
	return bits <= 128 || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
}

static inline bool arch_is_amd(void)
{
	return __builtin_cpu_is("amd");
}

/* A counter that is constant and never stops: the time-stamp counter if CPUID 0x80000007 has bit 8 of EDX. */
static inline bool arch_has_counter(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
}

/* Only if arch_has_counter. */
static inline uint64_t arch_counter(void)
{
	return __builtin_ia32_rdtsc();
}

/* A hardware counter that the kernel lets programs read. */
static inline uint64_t arch_event_counter(uint32_t i)
{
	return __builtin_ia32_rdpmc((int)i);
}

static inline double arch_square_root(double x)
{
	__asm__ volatile("sqrtsd %0, %0" : "+x"(x));
	return x;
}

/* In a loop that waits for another thread. */
static inline void arch_relax(void)
{
	__builtin_ia32_pause();
}

/* A system call of up to four arguments. Returns the result, or the negative error number. */
static inline long arch_syscall(long number, long a, long b, long c, long d)
{
	long r;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
}

#else

#define ARCH_SAMPLES 0

#if defined(__aarch64__)

#define ARCH_NAME   "arm64"
/* Frame records: register 29 points to the saved register 29, and behind it is the return address. */
#define ARCH_FRAME(ctx)               ((uintptr_t)_Unwind_GetGR(ctx, 29))
#define ARCH_RETURN_PLACE(ctx, inner) ((const uintptr_t *)(inner) + 1)

/* Without its signature (pointer authentication): xpaclri, which older processors pass over. */
static inline uintptr_t arch_return_address(uintptr_t saved)
{
	register uintptr_t x30 __asm__("x30") = saved;

	__asm__("hint #7" : "+r"(x30));
	return x30;
}
#define ARCH_AUDIT  AUDIT_ARCH_AARCH64
#define ARCH_DOUBLE "+w"
#define ARCH_IS_CALL(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)

static inline long arch_syscall(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}

static inline void arch_relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}

#else /* without a tracer, which needs the entries in assembly, ARCH_IS_CALL and arch_syscall */

#define ARCH_NAME "another"
#if defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCH_AUDIT AUDIT_ARCH_PPC64LE
#elif defined(__riscv)
#define ARCH_AUDIT AUDIT_ARCH_RISCV64
#endif
#define ARCH_DOUBLE "+m"

static inline void arch_relax(void)
{
	__asm__ volatile("" ::: "memory");
}

#endif

static inline bool arch_has_vectors(int bits)
{
	return bits <= 128;
}

static inline bool arch_is_amd(void)
{
	return false;
}

static inline bool arch_has_counter(void)
{
	return false;
}

static inline uint64_t arch_counter(void)
{
	return 0;
}

static inline uint64_t arch_event_counter(uint32_t i)
{
	(void)i;
	return 0;
}

static inline double arch_square_root(double x)
{
	return __builtin_sqrt(x);
}

#endif

#endif
