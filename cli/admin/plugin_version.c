/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For which Slurm a plugin was built, read from its file: see plugin_version.h. */
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "cli/admin/plugin_version.h"

/* The bytes at an address of the loaded image. */
static int bytes_at(Elf *elf, GElf_Addr addr, void *out, size_t size)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_PROGBITS && addr >= sh.sh_addr && size <= sh.sh_size &&
		    addr - sh.sh_addr <= sh.sh_size - size)
			break;
	data = scn ? elf_rawdata(scn, NULL) : NULL;
	if (!data || !data->d_buf || data->d_size < sh.sh_size)
		return -1;
	memcpy(out, (const char *)data->d_buf + (addr - sh.sh_addr), size);
	return 0;
}

static int find_version(Elf *elf, uint32_t *version)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !(data = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (name && !strcmp(name, "plugin_version") && sym.st_size == sizeof(*version))
				return bytes_at(elf, sym.st_value, version, sizeof(*version));
		}
	}
	return -1;
}

int plugin_version_read(const char *path, uint32_t *version)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rv = -1;
	Elf *elf;

	if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		goto out;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		rv = find_version(elf, version);
	elf_end(elf);
out:
	if (fd >= 0)
		close(fd);
	return rv;
}
