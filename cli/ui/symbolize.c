/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call sites to function and line through libdwfl: see symbolize.h. */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/symbolize.h"
#include "cli/ui/symbols.h"
#include "common/clean.h"
#include "trace/format/python.h"

#define MAX_MODULES 64
#define NAMES 1024 /* power of two */
#define NAME_SIZE 512

struct module {
	char *path;
	Dwfl_Module *mod; /* NULL: cannot be asked */
	Dwarf_Addr bias;
	struct symbols *symbols; /* NULL: it has none, or cannot be asked */
};

/* The same frames are asked for by each rank and for each line of a skeleton. */
struct named {
	const struct module *module;
	Dwarf_Addr at;
	char *text; /* NULL: nothing here */
	bool telling; /* the name of the function is known, and neither main nor one of the Python interpreter */
	bool lined;   /* a line outside of the system's headers is known */
};

struct symbolizer {
	Dwfl *dwfl;
	struct module module[MAX_MODULES];
	int n;
	struct named named[NAMES]; /* by hash of the address; the newest stays */
};

static char *debuginfo_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

struct symbolizer *symbolizer_create(void)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	/* Never ask a debuginfod server: a look at a trace must not wait for the network. */
	unsetenv("DEBUGINFOD_URLS");
	if (s && !(s->dwfl = dwfl_begin(&callbacks))) {
		free(s);
		s = NULL;
	}
	return s;
}

void symbolizer_destroy(struct symbolizer *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->n; i++) {
		free(s->module[i].path);
		symbols_free(s->module[i].symbols);
	}
	for (int i = 0; i < NAMES; i++)
		free(s->named[i].text);
	dwfl_end(s->dwfl);
	free(s);
}

static int same_build(Dwfl_Module *mod, const char *hex)
{
	const unsigned char *bits;
	GElf_Addr vaddr;
	int n = dwfl_module_build_id(mod, &bits, &vaddr);

	if (!hex || !*hex || n <= 0)
		return 1;
	if (strlen(hex) != (size_t)n * 2)
		return 0;
	for (int i = 0; i < n; i++) {
		char t[3];

		snprintf(t, sizeof(t), "%02x", bits[i]);
		if (strncmp(t, hex + 2 * i, 2))
			return 0;
	}
	return 1;
}

static struct module *find_module(struct symbolizer *s, const struct trace_module *m)
{
	struct module *k;
	struct stat st;

	for (int i = 0; i < s->n; i++)
		if (!strcmp(s->module[i].path, m->path))
			return &s->module[i];
	if (s->n == MAX_MODULES || !m->path)
		return NULL;
	k = &s->module[s->n];
	*k = (struct module){.path = strdup(m->path)};
	if (!k->path)
		return NULL;
	s->n++;
	/* The trace says what is opened: a pipe or a device would hang or act. */
	if (stat(m->path, &st) < 0 || !S_ISREG(st.st_mode) || access(m->path, R_OK) < 0)
		return k;
	dwfl_report_begin_add(s->dwfl);
	k->mod = dwfl_report_offline(s->dwfl, m->path, m->path, -1);
	dwfl_report_end(s->dwfl, NULL, NULL);
	/* Offsets of the trace are addresses in the file. A program without PIE begins at another one than 0. */
	if (k->mod && (!same_build(k->mod, m->build_id) || !dwfl_module_getelf(k->mod, &k->bias)))
		k->mod = NULL;
	if (k->mod)
		k->symbols = symbols_read(k->mod);
	return k;
}

static const char *basename_of(const char *path)
{
	return path ? basename(path) : "?";
}

/* The length of the name that the function has in the source: gcc appends a suffix to the names of its copies, a linker
 * a version. */
static int length_in_source(const char *name)
{
	static const char *const copy[] = {".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."};
	size_t n = strcspn(name, "@");

	for (size_t i = 0; i < sizeof(copy) / sizeof(copy[0]); i++) {
		const char *at = strstr(name, copy[i]);

		if (at && (size_t)(at - name) < n)
			n = (size_t)(at - name);
	}
	return (int)n;
}

/* Returns the end of a name with its length in front, or NULL. */
static const char *name_end(const char *p)
{
	char *end;
	unsigned long n = strtoul(p, &end, 10);

	return end == p || n == 0 || n > strlen(end) ? NULL : end + n;
}

/* Returns the end of the argument of a template, or of the part of one that begins at p; NULL if it has an expression. *depth: of
 * I, N, J and F, which end with E. */
static const char *argument_end(const char *p, int *depth)
{
	if (*p >= '0' && *p <= '9')
		return name_end(p);
	if (*p == 'S' && p[1] >= 'a' && p[1] <= 'z') /* St, Sa: std::, std::allocator */
		return p + 2;
	if (*p == 'S' || *p == 'T' || *p == 'A') { /* S_, T0_: as before; A3_: array */
		p += 1 + strspn(p + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		return *p == '_' ? p + 1 : NULL;
	}
	if (*p == 'L') { /* Li3E: 3 */
		if (p[1] < 'a' || p[1] > 'z')
			return NULL;
		p += 2 + strspn(p + 2, "n0123456789");
		return *p == 'E' ? p + 1 : NULL;
	}
	*depth += (*p && strchr("INJF", *p)) - (*p == 'E');
	return (*p >= 'a' && *p <= 'z') || (*p && strchr("INJFEKRPVOM", *p)) ? p + 1 : NULL;
}

static const char *template_end(const char *p)
{
	int depth = 0;

	do
		p = argument_end(p, &depth);
	while (p && depth > 0);
	return p;
}

/* Demangles simple names, without their arguments: _ZN9LAMMPS_NS9CommBrick12forward_commEi becomes
 * LAMMPS_NS::CommBrick::forward_comm. Constructors (C1), destructors (D1) and templates are included. Other names (operators,
 * functions within functions) stay as they are. */
static const char *readable(const char *name, char *buf, size_t size)
{
	const char *p = name, *last = NULL;
	bool nested;
	int last_n = 0;
	size_t k = 0;

	if (!name)
		return name;
	if (strncmp(name, "_Z", 2)) {
		snprintf(buf, size, "%.*s", length_in_source(name), name);
		return buf;
	}
	p += 2;
	nested = *p == 'N';
	p += nested || *p == 'L'; /* L: of this file alone */
	p += nested && *p == 'K'; /* const */
	if (!strncmp(p, "St", 2) && size > 4) {
		k = (size_t)snprintf(buf, size, "std");
		p += 2;
	}
	do {
		const char *end = name_end(p);

		last = p + strspn(p, "0123456789");
		last_n = (int)(end ? end - last : 0);
		if (!end || k + (size_t)last_n + 3 > size)
			return name;
		k += (size_t)snprintf(buf + k, size - k, "%s%.*s", k ? "::" : "", last_n, last);
		p = nested && *end == 'I' ? template_end(end) : end;
		if (!p)
			return name;
	} while (nested && *p >= '0' && *p <= '9');
	if (nested && (*p == 'C' || *p == 'D') && p[1] >= '0' && p[1] <= '3' && p[2] == 'E') {
		if (k + (size_t)last_n + 4 > size)
			return name;
		snprintf(buf + k, size - k, "::%s%.*s", *p == 'D' ? "~" : "", last_n, last);
		p += 2;
	}
	return nested && *p != 'E' ? name : buf;
}

/* Module of the frame, asked where it is; *at: the call in it. NULL: not known. */
static struct module *module_at(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site, uint32_t frame,
				Dwarf_Addr *at)
{
	struct module *k = s ? find_module(s, &d->module[site->module[frame]]) : NULL;

	if (!k || !k->mod)
		return NULL;
	*at = k->bias + site->offset[frame] - 1; /* the call, not what it returns to */
	return k;
}

static bool is_system_file(const char *src)
{
	return src && (!strncmp(src, "/usr/include/", 13) || !strncmp(src, "/usr/lib/", 9));
}

/* Where code of the system's headers was compiled into a function, the line that calls it from outside of them. */
static void leave_headers(const struct module *k, Dwarf_Addr at, const char **src, int *lineno)
{
	Dwarf_Die *unit = NULL, *inner = NULL, *scope = NULL;
	Dwarf_Addr bias = 0;
	Dwarf_Files *files;
	size_t n_files;
	int n = 0;

	if (is_system_file(*src))
		unit = dwfl_module_addrdie(k->mod, at, &bias);
	if (unit && dwarf_getscopes(unit, at - bias, &inner) > 0)
		n = dwarf_getscopes_die(inner, &scope);
	if (n > 0 && dwarf_getsrcfiles(unit, &files, &n_files))
		n = 0;
	for (int i = 0; i < n; i++) {
		Dwarf_Attribute a;
		Dwarf_Word file = 0, line = 0;
		const char *caller;

		if (dwarf_tag(&scope[i]) != DW_TAG_inlined_subroutine ||
		    dwarf_formudata(dwarf_attr(&scope[i], DW_AT_call_file, &a), &file) ||
		    dwarf_formudata(dwarf_attr(&scope[i], DW_AT_call_line, &a), &line))
			continue;
		caller = dwarf_filesrc(files, file, NULL, NULL);
		if (caller && !is_system_file(caller)) {
			*src = caller;
			*lineno = (int)line;
			break;
		}
	}
	free(scope);
	free(inner);
}

/* Source file and line of the address; NULL: not known. */
static const char *find_line(const struct module *k, Dwarf_Addr at, int *lineno)
{
	Dwfl_Line *line = dwfl_module_getsrc(k->mod, at);
	const char *src = line ? dwfl_lineinfo(line, NULL, lineno, NULL, NULL, NULL) : NULL;

	if (src)
		leave_headers(k, at, &src, lineno);
	return src;
}

/* Did the user build the module: is it the program itself, or does it lie outside of the system's directories? */
static bool is_own(const struct trace_defs *d, uint32_t module, bool program)
{
	const char *path = d->module[module].path;

	if (program)
		return d->proc.program && path && !strcmp(path, d->proc.program);
	return path && strncmp(path, "/lib", 4) && strncmp(path, "/usr/lib", 8);
}

/* The innermost frame of Python, in a file of the user's own if `own`. n_frame: there is none. */
static uint32_t python_frame(const struct trace_defs *d, const struct trace_site *site, bool own)
{
	uint32_t i;

	for (i = 0; i < site->n_frame; i++) {
		const struct trace_module *m = &d->module[site->module[i]];

		if (trace_python_name(m->build_id) && !(own && trace_python_is_installed(m->path)))
			break;
	}
	return i;
}

/* Functions that say nothing of where the program is: main, and the interpreter's own. */
static bool is_telling(const char *name)
{
	return name && strcmp(name, "main") && strcmp(name, "MAIN__") && strncmp(name, "Py", 2) &&
	       strncmp(name, "_Py", 3);
}

/* Function and line of the address. Where neither is known, the offset is told. */
static struct named name_find(const struct module *k, Dwarf_Addr at, uint64_t offset)
{
	int lineno = 0;
	char buf[NAME_SIZE];
	const char *src = find_line(k, at, &lineno);
	char plain[256];
	const char *symbol = symbols_name(k->symbols, k->mod, at), *name = readable(symbol, plain, sizeof(plain));

	if (src) {
		snprintf(buf, sizeof(buf), "%s (%s:%d)", name ? name : "?", basename_of(src), lineno);
	} else if (name) {
		snprintf(buf, sizeof(buf), "%s (%s)", name, basename_of(k->path));
	} else {
		snprintf(buf, sizeof(buf), "%s+0x%llx", basename_of(k->path), (unsigned long long)offset);
	}
	return (struct named){k, at, strdup(buf), is_telling(symbol), src && !is_system_file(src)};
}

/* Its text is NULL without memory. */
static const struct named *named_at(struct symbolizer *s, const struct module *k, Dwarf_Addr at, uint64_t offset)
{
	struct named *n = &s->named[(at ^ at >> 10) % NAMES];

	if (!n->text || n->module != k || n->at != at) {
		free(n->text);
		*n = name_find(k, at, offset);
	}
	return n;
}

/* The innermost frame with a known line, of the program or of all own modules. n_frame: there is none. */
static uint32_t line_frame(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site,
			   bool program)
{
	uint32_t i;

	for (i = 0; i < site->n_frame; i++) {
		Dwarf_Addr at;
		struct module *k = is_own(d, site->module[i], program) ? module_at(s, d, site, i, &at) : NULL;

		if (k && named_at(s, k, at, site->offset[i])->lined)
			break;
	}
	return i;
}

/* The function that called the library of frame 0 from outside, if its name is known; else n_frame. */
static uint32_t entry_frame(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site)
{
	uint32_t i = site->n_frame;

	if (is_own(d, site->module[0], true))
		return i;
	while (site->module[i - 1] != site->module[0]) /* a library that it calls may call it back */
		i--;
	for (; i < site->n_frame; i++) {
		Dwarf_Addr at;
		struct module *k = module_at(s, d, site, i, &at);

		if (k && named_at(s, k, at, site->offset[i])->telling)
			break;
	}
	return i;
}

/* The frame that tells the user where the program is. */
static uint32_t user_frame(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site)
{
	uint32_t n = site->n_frame, i;

	for (i = 0; i < n; i++)
		if (site->module[i] >= d->n_module)
			return 0;
	if (n == 0)
		return 0;
	if ((i = python_frame(d, site, true)) < n || (i = python_frame(d, site, false)) < n)
		return i;
	if ((i = line_frame(s, d, site, true)) < n || (i = line_frame(s, d, site, false)) < n)
		return i;
	i = entry_frame(s, d, site);
	return i < n ? i : 0;
}

const char *symbolizer_site(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site, char *buf,
			    size_t size)
{
	uint32_t user = user_frame(s, d, site), via = user ? python_frame(d, site, false) : 0;
	size_t n;

	symbolizer_frame(s, d, site, user, buf, size);
	n = strlen(buf);
	if (user && n + sizeof(" via ") < size) {
		n += (size_t)snprintf(buf + n, size - n, " via ");
		symbolizer_frame(s, d, site, via < user ? via : 0, buf + n, size - n);
		if (strstr(buf + n, "+0x")) /* the library's name says more than an address in it */
			*strstr(buf + n, "+0x") = '\0';
	}
	return buf;
}

const char *symbolizer_frame(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site,
			     uint32_t frame, char *buf, size_t size)
{
	const struct trace_module *m;
	struct module *k;
	const char *text;
	Dwarf_Addr at;

	if (frame >= site->n_frame || site->module[frame] >= d->n_module) {
		snprintf(buf, size, "?");
		return buf;
	}
	m = &d->module[site->module[frame]];
	if (trace_python_name(m->build_id)) {
		snprintf(buf, size, "%s (%s:%llu)", trace_python_name(m->build_id), basename_of(m->path),
			 (unsigned long long)site->offset[frame]);
		return clean_line(buf);
	}
	k = module_at(s, d, site, frame, &at);
	if (!k) {
		snprintf(buf, size, "%s+0x%llx", basename_of(m->path), (unsigned long long)site->offset[frame]);
		return clean_line(buf);
	}
	text = named_at(s, k, at, site->offset[frame])->text;
	snprintf(buf, size, "%s", text ? text : "?");
	return clean_line(buf);
}
