/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who needs which library, by the dynamic sections in memory: see device_needed.h. */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "spank/tracer/device_needed.h"
#include "trace/format/device.h"

#define OBJECTS_MAX 1024 /* of a process; programs with more are taken to use what they have */

enum { BY_PROGRAM = 1, BY_MPI = 2 };

struct object {
	const char *base; /* of its file's name; "" for the program */
	const ElfW(Dyn) *dynamic;
	const char *names; /* its string table */
	unsigned by;
};

struct objects {
	size_t n;
	struct object o[OBJECTS_MAX];
};

static int note_object(struct dl_phdr_info *info, size_t size, void *into)
{
	struct objects *all = into;
	struct object *o = &all->o[all->n];
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (all->n == OBJECTS_MAX)
		return 1;
	*o = (struct object){.base = slash ? slash + 1 : info->dlpi_name};
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			o->dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (const ElfW(Dyn) *d = o->dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB && d->d_un.d_ptr >= info->dlpi_addr) /* the kernel's own object has an offset there */
			o->names = (const char *)d->d_un.d_ptr;
	if (!o->names)
		o->dynamic = NULL;
	all->n++;
	return 0;
}

/* libmpi.so, libmpich.so, libmpi_mpifh.so, ... */
static bool is_mpi(const struct object *o)
{
	return strncmp(o->base, "libmpi", 6) == 0;
}

static bool needs(const struct object *o, const char *base)
{
	for (const ElfW(Dyn) *d = o->dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && strcmp(o->names + d->d_un.d_val, base) == 0)
			return true;
	return false;
}

/* Marks what those that are marked so need. The way of the program stops at an MPI library. */
static void spread(struct objects *all, unsigned by)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < all->n; i++) {
			if (!(all->o[i].by & by) || (by == BY_PROGRAM && is_mpi(&all->o[i])))
				continue;
			for (size_t k = 0; k < all->n; k++)
				if (!(all->o[k].by & by) && needs(&all->o[i], all->o[k].base)) {
					all->o[k].by |= by;
					more = true;
				}
		}
	}
}

uint64_t device_needed_by_mpi(void)
{
	static struct objects all; /* static, since the stack may be small */
	uint64_t mpi = 0, others = 0;

	all.n = 0;
	if (dl_iterate_phdr(note_object, &all) != 0)
		return 0;
	for (size_t i = 0; i < all.n; i++)
		all.o[i].by = i == 0 ? BY_PROGRAM : is_mpi(&all.o[i]) ? BY_MPI : 0; /* the program comes first */
	spread(&all, BY_PROGRAM);
	spread(&all, BY_MPI);
	for (size_t i = 0; i < all.n; i++)
		*(all.o[i].by == BY_MPI ? &mpi : &others) |= trace_device_of_library(all.o[i].base);
	return mpi & ~others;
}
