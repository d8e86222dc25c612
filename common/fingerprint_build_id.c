/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build id of an ELF file: see fingerprint.h. */
#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "common/fd.h"
#include "common/fingerprint.h"

#define NOTE_BYTES_MAX	    65536
#define PROGRAM_HEADERS_MAX 128

/* Find the build id among the notes of one segment. */
static size_t notes_build_id(int fd, uint64_t at, uint64_t len, uint8_t *id, size_t cap)
{
	uint64_t stop = at + len;
	if (len > NOTE_BYTES_MAX || stop < at)
		return 0;
	while (at + sizeof(Elf64_Nhdr) <= stop) {
		Elf64_Nhdr note; /* the same layout in both ELF classes */
		char name[4];
		if (!fd_read_at(fd, &note, sizeof(note), at))
			return 0;
		at += sizeof(note);
		uint64_t name_len = ((uint64_t)note.n_namesz + 3) & ~3ULL;
		uint64_t desc_len = ((uint64_t)note.n_descsz + 3) & ~3ULL;
		if (name_len + desc_len > stop - at)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz > 0 && note.n_descsz <= cap &&
		    fd_read_at(fd, name, sizeof(name), at) && memcmp(name, "GNU", 4) == 0)
			return fd_read_at(fd, id, note.n_descsz, at + name_len) ? note.n_descsz : 0;
		at += name_len + desc_len;
	}
	return 0;
}

size_t fingerprint_build_id(int fd, uint8_t *id, size_t cap)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} h;
	const unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	memset(&h, 0, sizeof(h));
	if (!fd_read_at(fd, &h, sizeof(h.e32), 0) || memcmp(h.ident, ELFMAG, SELFMAG) != 0 || h.ident[EI_DATA] != order)
		return 0;
	bool is64 = h.ident[EI_CLASS] == ELFCLASS64;
	if (is64 ? !fd_read_at(fd, &h, sizeof(h.e64), 0) : h.ident[EI_CLASS] != ELFCLASS32)
		return 0;
	uint64_t at = is64 ? h.e64.e_phoff : h.e32.e_phoff;
	unsigned n = is64 ? h.e64.e_phnum : h.e32.e_phnum, size = is64 ? h.e64.e_phentsize : h.e32.e_phentsize;
	if (size != (is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || n > PROGRAM_HEADERS_MAX)
		return 0;
	for (unsigned i = 0; i < n; i++, at += size) {
		union {
			Elf64_Phdr p64;
			Elf32_Phdr p32;
		} p;
		if (!fd_read_at(fd, &p, size, at))
			return 0;
		if ((is64 ? p.p64.p_type : p.p32.p_type) != PT_NOTE)
			continue;
		size_t len = is64 ? notes_build_id(fd, p.p64.p_offset, p.p64.p_filesz, id, cap)
				  : notes_build_id(fd, p.p32.p_offset, p.p32.p_filesz, id, cap);
		if (len)
			return len;
	}
	return 0;
}
