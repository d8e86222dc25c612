/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the MPI library of this process: see loader.h. Built without tail calls, since dlsym(RTLD_NEXT) depends on
 * its caller's address.
 *
 * A library is recognised by its DT_SONAME, which tells its binary interface; its file may have any name. Open MPI
 * is recognised by a symbol of its own: Open MPI 1.10 was called libmpi.so.12, as MPICH's family is today.
 */
#include "spank/loader/loader.h"

#define MAX_LIBRARIES 16

struct library {
	const char *path, *soname; /* owned by the dynamic loader */
};

struct libraries {
	int n;
	struct library of[MAX_LIBRARIES];
};

/* ---- dlsym itself ---- */

typedef void *dlsym_function(void *handle, const char *name);

static dlsym_function *real_dlsym;

struct dynamic {
	uintptr_t strings, symbols, gnu_hash, soname;
	struct relocations {
		const ElfW(Rela) *of;
		size_t bytes;
	} functions, data;
};

/* The GNU C library stores addresses in the table; musl leaves the file's offsets. */
static uintptr_t address_of(const struct dl_phdr_info *info, uintptr_t value)
{
	return value && value < info->dlpi_addr ? value + info->dlpi_addr : value;
}

static struct dynamic read_dynamic(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;
	struct dynamic out = {0};

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			out.strings = address_of(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_SYMTAB)
			out.symbols = address_of(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			out.gnu_hash = address_of(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_SONAME)
			out.soname = d->d_un.d_val;
		else if (d->d_tag == DT_JMPREL)
			out.functions.of = (const void *)address_of(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			out.functions.bytes = d->d_un.d_val;
		else if (d->d_tag == DT_RELA)
			out.data.of = (const void *)address_of(info, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			out.data.bytes = d->d_un.d_val;
	}
	return out;
}

/* Find a function in an object's hash table. Returns NULL if it is not defined or there is no such table. */
static void *defined_in(const struct dl_phdr_info *info, const char *name)
{
	const struct dynamic d = read_dynamic(info);
	const uint32_t *table = (const uint32_t *)d.gnu_hash, *bucket, *chain;
	const ElfW(Sym) *symbol = (const void *)d.symbols;
	uint32_t hash = 5381;

	if (!table || !symbol || !d.strings || !table[0])
		return NULL;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	bucket = table + 4 + table[2] * (sizeof(uintptr_t) / sizeof(*table)); /* behind the Bloom filter */
	chain = bucket + table[0];
	for (uint32_t i = bucket[hash % table[0]]; i >= table[1]; i++) {
		uint32_t h = chain[i - table[1]];

		if ((h | 1) == (hash | 1) && symbol[i].st_shndx != SHN_UNDEF &&
		    free_equal((const char *)d.strings + symbol[i].st_name, name))
			return (void *)(info->dlpi_addr + symbol[i].st_value);
		if (h & 1)
			break;
	}
	return NULL;
}

struct seek {
	uintptr_t address;
	const char *path; /* path of the object that holds the address */
	dlsym_function *dlsym; /* the next dlsym behind that object */
};

static bool holds_address(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

static int seek_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct seek *s = data;

	(void)size;
	if (s->path)
		s->dlsym = (dlsym_function *)defined_in(info, "dlsym");
	else if (holds_address(info, s->address))
		s->path = info->dlpi_name ? info->dlpi_name : "";
	return s->dlsym != NULL;
}

/* The path of the object that holds an address; "" if there is none. */
static const char *object_path(const void *address)
{
	struct seek s = {.address = (uintptr_t)address};

	if (dl_iterate_phdr)
		dl_iterate_phdr(seek_object, &s);
	return s.path ? s.path : "";
}

/*
 * dlvsym comes first: a sanitizer may be starting, and dl_iterate_phdr does not work then. The versions are the
 * oldest of dlsym. musl has neither versions nor dlvsym.
 */
void *loader_real_dlsym(void)
{
	static const char version[][16] = {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"};
	struct seek s = {.address = (uintptr_t)loader_real_dlsym};

	if (real_dlsym)
		return (void *)real_dlsym;
	for (size_t i = 0; dlvsym && !s.dlsym && i < sizeof(version) / sizeof(*version); i++)
		s.dlsym = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", version[i]);
	if (!s.dlsym && dl_iterate_phdr)
		dl_iterate_phdr(seek_object, &s);
	real_dlsym = s.dlsym;
	return (void *)s.dlsym;
}

void *loader_symbol(void *handle, const char *name)
{
	dlsym_function *f = (dlsym_function *)loader_real_dlsym();

	return f ? f(handle, name) : NULL;
}

/* ---- MPI libraries ---- */

static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct libraries *l = data;
	struct dynamic d;

	(void)size;
	if (l->n == MAX_LIBRARIES || !info->dlpi_name || !free_find(free_base_name(info->dlpi_name), "libmpi"))
		return 0;
	d = read_dynamic(info);
	l->of[l->n++] = (struct library){info->dlpi_name, d.strings && d.soname ? (const char *)(d.strings + d.soname) :
									       free_base_name(info->dlpi_name)};
	return 0;
}

static void find_libraries(struct libraries *l)
{
	l->n = 0;
	if (dl_iterate_phdr)
		dl_iterate_phdr(note_library, l);
}

/* Search every loaded MPI library, since a library opened with RTLD_LOCAL is not in the global scope. The list is
 * copied first: dlopen must not be called while the dynamic loader's list is locked. */
static void *find_in(const struct library *l, const char *name)
{
	void *h = dlopen && dlclose ? dlopen(l->path, RTLD_LAZY | RTLD_NOLOAD) : NULL, *found;

	if (!h)
		return NULL;
	found = loader_symbol(h, name);
	dlclose(h);
	return found;
}

static void *find_in_libraries(const char *name)
{
	struct libraries l;
	void *found = NULL;

	find_libraries(&l);
	for (int i = 0; i < l.n && !found; i++)
		found = find_in(&l.of[i], name);
	return found;
}

static void *find_function(const char *name)
{
	void *p = loader_symbol(RTLD_NEXT, name);

	return p ? p : find_in_libraries(name);
}

void *library_function(const char *name)
{
	char pname[128];
	void *f = find_function(name);

	if (!f && free_join(pname, sizeof(pname), name[0] == 'M' ? "P" : "p", 1, name))
		f = find_function(pname);
	return f;
}

/* Data may have been moved into the executable (copy relocation, Fortran common), which RTLD_NEXT skips. */
void *library_object(const char *name)
{
	void *p = loader_symbol(RTLD_DEFAULT, name);

	return p ? p : find_in_libraries(name);
}

static enum loader_family family_of(const struct library *l)
{
	if (free_equal(l->soname, "libmpi.so.40"))
		return LOADER_OPENMPI;
	if (free_begins(l->soname, "libmpi_abi"))
		return LOADER_STANDARD;
	/* Names: libmpi.so.12 (MPICH, Intel MPI, MVAPICH), libmpich.so.12 (Debian), libmpi_gnu_91.so.12 (Cray). */
	if (free_ends(l->soname, ".so.12") && !free_find(l->soname, "fort") && !free_find(l->soname, "cxx") &&
	    !find_in(l, "ompi_mpi_comm_world"))
		return LOADER_MPICH;
	return LOADER_NO_MPI;
}

enum loader_family library_family(char *name, size_t size)
{
	/* if two are loaded: the one whose functions are called */
	void *init = loader_symbol(RTLD_NEXT, "PMPI_Init");
	const char *path = init ? object_path(init) : "";
	enum loader_family family = LOADER_NO_MPI;
	bool is_called = false;
	struct libraries l;

	find_libraries(&l);
	name[0] = '\0';
	for (int i = 0; i < l.n && !is_called; i++) {
		enum loader_family f = family_of(&l.of[i]);

		is_called = f != LOADER_NO_MPI && free_equal(path, l.of[i].path);
		if (is_called || family == LOADER_NO_MPI)
			family = f;
		if (is_called || i == 0)
			free_join(name, size, "", 0, l.of[i].soname);
	}
	return family;
}

/* ---- this loader ---- */

const char *library_own_path(void)
{
	return object_path((void *)library_own_path);
}

static int note_loader(struct dl_phdr_info *info, size_t size, void *data)
{
	const char **first = data;

	(void)size;
	if (!info->dlpi_name || !free_equal(free_base_name(info->dlpi_name), "libprecedent_trace.so"))
		return 0;
	*first = info->dlpi_name;
	return 1;
}

bool library_second_loader(void)
{
	const char *first = NULL;

	if (dl_iterate_phdr)
		dl_iterate_phdr(note_loader, &first);
	return first && !free_equal(first, library_own_path());
}

bool library_is_mpi(const void *function)
{
	return free_find(free_base_name(object_path(function)), "libmpi") != NULL;
}

/* ---- calls that do not come to this loader ---- */

/* Does a relocation bind an MPI function that the loader has an entry for to the MPI library itself? */
static bool any_passes(const struct dl_phdr_info *info, const struct dynamic *d, const struct relocations *r)
{
	const ElfW(Sym) *symbol = (const void *)d->symbols;

	for (size_t i = 0; r->of && i < r->bytes / sizeof(*r->of); i++) {
		const ElfW(Sym) *s = &symbol[ELF64_R_SYM(r->of[i].r_info)];
		const char *name = (const char *)d->strings + s->st_name;
		void *const *slot = (void *const *)(info->dlpi_addr + r->of[i].r_offset);

		if (ARCH_IS_CALL(ELF64_R_TYPE(r->of[i].r_info)) && s->st_shndx == SHN_UNDEF && loader_has(name) && library_is_mpi(*slot))
			return true;
	}
	return false;
}

static int note_passing(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct dynamic d = read_dynamic(info);
	const char **path = data;

	(void)size;
	if (!info->dlpi_name || free_find(free_base_name(info->dlpi_name), "libmpi") || !d.strings || !d.symbols ||
	    (!any_passes(info, &d, &d.functions) && !any_passes(info, &d, &d.data)))
		return 0;
	*path = info->dlpi_name;
	return 1;
}

const char *library_passing(void)
{
	const char *path = NULL;

	if (dl_iterate_phdr)
		dl_iterate_phdr(note_passing, &path);
	return path;
}
