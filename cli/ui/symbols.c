/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols sorted by address: see symbols.h. */
#include <stdbool.h>
#include <stdlib.h>

#include "cli/ui/symbols.h"

struct symbol {
	Dwarf_Addr begin, end;
	Dwarf_Addr last_end; /* the greatest end of the symbols up to this one: symbols may lie within others */
	const char *name;
	int binding, index;
};

struct symbols {
	bool sizeless; /* some have no size: libdw chooses among them */
	int n;
	struct symbol at[];
};

/* Of symbols with the same beginning, the one to tell comes last: a global one, the shorter one, the first of the table. */
static int by_address(const void *va, const void *vb)
{
	const struct symbol *a = va, *b = vb;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->binding != b->binding)
		return a->binding - b->binding;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return b->index - a->index;
}

static int binding_of(const GElf_Sym *s)
{
	unsigned char binding = GELF_ST_BIND(s->st_info);

	return binding == STB_GLOBAL ? 2 : binding == STB_WEAK;
}

struct symbols *symbols_read(Dwfl_Module *mod)
{
	int n = dwfl_module_getsymtab(mod);
	struct symbols *s = n > 0 ? malloc(sizeof(*s) + (size_t)n * sizeof(s->at[0])) : NULL;

	if (!s)
		return NULL;
	*s = (struct symbols){0};
	for (int i = 0; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr begin;
		GElf_Word section;
		const char *name = dwfl_module_getsym_info(mod, i, &sym, &begin, &section, NULL, NULL);
		unsigned char type = name ? GELF_ST_TYPE(sym.st_info) : STT_FILE;

		if (!name || !*name || section == SHN_UNDEF || type == STT_SECTION || type == STT_FILE || type == STT_TLS)
			continue;
		if (sym.st_size == 0)
			s->sizeless = true;
		else
			s->at[s->n++] = (struct symbol){begin, begin + sym.st_size, 0, name, binding_of(&sym), i};
	}
	qsort(s->at, (size_t)s->n, sizeof(s->at[0]), by_address);
	for (int i = 0; i < s->n; i++)
		s->at[i].last_end = i > 0 && s->at[i - 1].last_end > s->at[i].end ? s->at[i - 1].last_end : s->at[i].end;
	return s;
}

void symbols_free(struct symbols *s)
{
	free(s);
}

const char *symbols_name(const struct symbols *s, Dwfl_Module *mod, Dwarf_Addr at)
{
	const char *local = NULL;
	int low = 0, high = s ? s->n : 0;

	while (low < high) { /* the first that begins behind the address */
		int middle = low + (high - low) / 2;

		if (s->at[middle].begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	for (int i = low - 1; i >= 0 && s->at[i].last_end > at; i--) {
		if (s->at[i].end <= at)
			continue;
		if (s->at[i].binding != 0)
			return s->at[i].name;
		local = local ? local : s->at[i].name;
	}
	if (local)
		return local;
	return s && !s->sizeless ? NULL : dwfl_module_addrname(mod, at);
}
