/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's call of a library function: see caller.h. */
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/arch/arch.h"
#include "spank/tracer/caller.h"

#if ARCH_SAMPLES /* machine code of x86-64 */

#define WORDS_MAX 4096u /* of the stack that are searched: 32 KiB, more than a library's frames have as a rule */
#define PARTS_MAX 8u    /* segments of the program; linkers make four or five */
#define LIBRARIES_MAX 256u /* MPI libraries load some 60 */
#define JUMP_BYTES 64u  /* a function that only passes its arguments on is shorter */
#define PAGE_BYTES 4096u /* what is mapped or not as a whole */

struct part {
	uint64_t lo, hi;
};

static struct part code, part[PARTS_MAX], library[LIBRARIES_MAX];
static uint32_t n_part, n_library;

/* The program itself is the first object. */
static int take_object(struct dl_phdr_info *info, size_t size, void *data)
{
	bool *is_program = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		struct part p = {info->dlpi_addr + ph->p_vaddr, info->dlpi_addr + ph->p_vaddr + ph->p_memsz};
		bool runs = ph->p_flags & PF_X;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_R))
			continue;
		if (*is_program && n_part < PARTS_MAX)
			part[n_part++] = p;
		if (*is_program && runs && !code.hi)
			code = p;
		if (!*is_program && runs && n_library < LIBRARIES_MAX)
			library[n_library++] = p;
	}
	*is_program = false;
	return 0;
}

static int find_valgrind(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return info->dlpi_name && strstr(info->dlpi_name, "/vgpreload_") != NULL;
}

void caller_begin(void)
{
	bool is_program = true;

	code = (struct part){0};
	n_part = n_library = 0;
	/* valgrind would report the search: the stack has words that nobody has written */
	if (!dl_iterate_phdr(find_valgrind, NULL))
		dl_iterate_phdr(take_object, &is_program);
}

static bool is_within(struct part p, uint64_t at, uint64_t len)
{
	return at >= p.lo && at < p.hi && len <= p.hi - at;
}

static int64_t displacement(const uint8_t *p)
{
	int32_t d;

	memcpy(&d, p, sizeof(d));
	return d;
}

/* The address outside of the program that this slot of the program holds; 0: there is none. */
static uint64_t read_slot(uint64_t slot)
{
	uint64_t to = 0;

	for (uint32_t i = 0; i < n_part; i++)
		if (is_within(part[i], slot, 8))
			memcpy(&to, (const void *)(uintptr_t)slot, sizeof(to));
	return is_within(code, to, 1) ? 0 : to;
}

/* Where a stub jumps: endbr64, bnd jmp *slot(%rip), where endbr64 and bnd may lack. 0: this is no stub. */
static uint64_t read_stub(uint64_t at)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const uint8_t *p = (const uint8_t *)(uintptr_t)at, *start = p;

	if (!is_within(code, at, 16))
		return 0;
	p += memcmp(p, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
	p += *p == 0xf2;
	if (p[0] != 0xff || p[1] != 0x25)
		return 0;
	return read_slot(at + (uint64_t)(p - start) + 6 + (uint64_t)displacement(p + 2));
}

/* Where a function jumps that has a jump out of the program in place of a last call. 0: it has none. */
static uint64_t read_jump(uint64_t at)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)at;
	uint64_t n = is_within(code, at, JUMP_BYTES + 8) ? JUMP_BYTES : 0, to = 0;

	for (uint64_t i = 0; i < n && !to; i++)
		if (p[i] == 0xe9)
			to = read_stub(at + i + 5 + (uint64_t)displacement(p + i + 1));
		else if (p[i] == 0xff && p[i + 1] == 0x25)
			to = read_slot(at + i + 6 + (uint64_t)displacement(p + i + 2));
	return to;
}

#define NOT_KNOWN 1 /* no address of a function */

/* Where a call out of the program led that returns here. 0: no such call. */
static uint64_t called(uint64_t word)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)word;
	uint64_t to, out;

	if (!is_within(code, word - 6, 6))
		return 0;
	if (p[-6] == 0xff && p[-5] == 0x15)
		return read_slot(word + (uint64_t)displacement(p - 4));
	if (p[-5] == 0xe8) {
		to = word + (uint64_t)displacement(p - 4);
		out = read_stub(to);
		return out ? out : read_jump(to);
	}
	/* call *%reg; call *disp8(%reg); call *disp32(%reg) */
	return (p[-2] == 0xff && (p[-1] & 0xf8) == 0xd0) || (p[-3] == 0xff && (p[-2] & 0xf8) == 0x50) ||
	       (p[-6] == 0xff && (p[-5] & 0xf8) == 0x90) ? NOT_KNOWN : 0;
}

static struct part library_of(uint64_t pc)
{
	for (uint32_t i = 0; i < n_library; i++)
		if (is_within(library[i], pc, 1))
			return library[i];
	return (struct part){0};
}

/*
 * Can the 8 bytes be read? The kernel reads a signal mask there before it rejects -1 (EFAULT, EINVAL). A program's
 * seccomp filter may kill it for process_vm_readv. Filters allow this call: the C library makes it for each new thread.
 */
static bool is_readable(uint64_t at)
{
	return arch_syscall(SYS_rt_sigprocmask, -1, (long)at, 0, 8) == -EINVAL;
}

/* Frames of code with AddressSanitizer have parts that only their owners may read. */
__attribute__((no_sanitize("address"))) uint64_t caller_find(uint64_t pc, uint64_t sp, uint64_t stack_hi)
{
	struct part in = library_of(pc);
	uint64_t first = 0;

	if (!code.hi || is_within(code, pc, 1) || sp % 8)
		return 0;
	for (uint64_t i = 0; i < WORDS_MAX && sp + 8 <= stack_hi; i++, sp += 8) {
		uint64_t word, to;

		if ((!i || sp % PAGE_BYTES == 0) && !is_readable(sp))
			break; /* a fiber's stack ends before that of its thread */
		word = *(const volatile uint64_t *)(uintptr_t)sp;
		to = called(word);
		if (to && is_within(in, to, 1))
			return word;
		if (to && !first)
			first = word;
	}
	return first;
}

#endif
