/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MPI library of this process: see loader.h. Built without tail calls: dlsym(RTLD_NEXT) asks who called it.
 *
 * A library is known by its DT_SONAME, which says what binary interface it has (the file may have any name), and Open MPI
 * by a symbol of its own: Open MPI 1.10 was called libmpi.so.12, as all of MPICH's family are today.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "spank/loader/loader.h"

#define MAX_LIBRARIES 16

struct library {
	char path[512], soname[64];
	uintptr_t base;
};

struct libraries {
	int n;
	struct library of[MAX_LIBRARIES];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* DT_SONAME, or the file's name when it has none. */
static void read_soname(const struct dl_phdr_info *info, char *out, size_t size)
{
	const ElfW(Dyn) *d = NULL;
	uintptr_t strings = 0, at = 0;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			strings = d->d_un.d_ptr;
		else if (d->d_tag == DT_SONAME)
			at = d->d_un.d_val;
	}
	if (strings && strings < info->dlpi_addr) /* some processors leave it as it is in the file */
		strings += info->dlpi_addr;
	snprintf(out, size, "%s", strings && at ? (const char *)(strings + at) : base_name(info->dlpi_name));
}

static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct libraries *l = data;
	struct library *at = &l->of[l->n];

	(void)size;
	if (l->n == MAX_LIBRARIES || !info->dlpi_name || strlen(info->dlpi_name) >= sizeof(at->path) ||
	    !strstr(base_name(info->dlpi_name), "libmpi"))
		return 0;
	strcpy(at->path, info->dlpi_name);
	at->base = info->dlpi_addr;
	read_soname(info, at->soname, sizeof(at->soname));
	l->n++;
	return 0;
}

/* Look into every loaded MPI library: one that was dlopen'ed locally is not in the global scope. The list is taken
 * first, because dlopen may not be called while the dynamic loader's list is locked. */
static void *find_in(const struct library *l, const char *name)
{
	void *h = dlopen(l->path, RTLD_LAZY | RTLD_NOLOAD), *found;

	if (!h)
		return NULL;
	found = dlsym(h, name);
	dlclose(h);
	return found;
}

static void *find_in_libraries(const char *name)
{
	struct libraries l = {0};
	void *found = NULL;

	dl_iterate_phdr(note_library, &l);
	for (int i = 0; i < l.n && !found; i++)
		found = find_in(&l.of[i], name);
	return found;
}

static void *find(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	return p ? p : find_in_libraries(name);
}

void *library_function(const char *name)
{
	char pname[128];
	void *f = find(name);

	if (!f && snprintf(pname, sizeof(pname), "%s%s", name[0] == 'M' ? "P" : "p", name) < (int)sizeof(pname))
		f = find(pname);
	return f;
}

/* Data may have been moved into the executable (copy relocation, Fortran common), which RTLD_NEXT passes by. */
void *library_object(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	return p ? p : find_in_libraries(name);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static enum loader_family family_of(const struct library *l)
{
	if (!strcmp(l->soname, "libmpi.so.40"))
		return LOADER_OPENMPI;
	/* libmpi.so.12 (MPICH, Intel MPI, MVAPICH), libmpich.so.12 (Debian), libmpi_gnu_91.so.12 (Cray) */
	if (ends_with(l->soname, ".so.12") && !strstr(l->soname, "fort") && !strstr(l->soname, "cxx") &&
	    !find_in(l, "ompi_mpi_comm_world"))
		return LOADER_MPICH;
	return LOADER_NO_MPI;
}

enum loader_family library_family(void)
{
	enum loader_family first = LOADER_NO_MPI;
	struct libraries l = {0};
	void *init = dlsym(RTLD_NEXT, "PMPI_Init"); /* with two of them: whose functions are called */
	Dl_info where = {0};

	if (init)
		dladdr(init, &where);
	dl_iterate_phdr(note_library, &l);
	for (int i = 0; i < l.n; i++) {
		enum loader_family f = family_of(&l.of[i]);

		if (f != LOADER_NO_MPI && where.dli_fname && !strcmp(where.dli_fname, l.of[i].path))
			return f;
		if (first == LOADER_NO_MPI)
			first = f;
	}
	return first;
}

static int note_loader(struct dl_phdr_info *info, size_t size, void *data)
{
	const char **first = data;

	(void)size;
	if (info->dlpi_name && !strcmp(base_name(info->dlpi_name), "libprecedent_trace.so")) {
		*first = info->dlpi_name;
		return 1;
	}
	return 0;
}

bool library_second_loader(void)
{
	const char *first = NULL;
	Dl_info me;

	dl_iterate_phdr(note_loader, &first);
	return first && dladdr((void *)library_second_loader, &me) && strcmp(first, me.dli_fname);
}
