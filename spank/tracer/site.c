/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call sites: see site.h. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "common/arch/arch.h"
#include "spank/tracer/hmap.h"
#include "spank/tracer/site.h"
#include "spank/tracer/spill.h"
#include "trace/format/python.h"

/* Frames behind main are removed: the C library's start and _start. */
#define UNWIND_FRAMES (TRACE_SITE_MAX_FRAMES + 4)
#define NATIVE_FRAMES 3u    /* of a library that Python calls: the call of MPI and its callers */
#define PYTHON_INSTALLED 2u /* innermost frames of Python that are kept wherever their files are */

struct site_cached site_cache[SITE_SLOTS];

/* All statics of this file are guarded by the recorder's lock. */
static struct site_cached more[SITE_MORE];
static uint32_t n_more;
static struct trace_site *site;
static uintptr_t (*site_ra)[TRACE_SITE_MAX_FRAMES]; /* addresses of the same stacks */
static uint8_t *site_hidden;                        /* the site is in the MPI library itself */
static uint32_t n_site, cap_site;
static struct hmap by_stack;

struct module {
	uintptr_t lo, hi, base;
	uint64_t hash;     /* hash of build id or name */
	uint8_t libc, mpi; /* C library or dynamic loader; MPI library or a part of it */
	uint8_t binding;   /* a binding that passes on the program's calls: Fortran, C++ */
	uint8_t exe;
};
static struct module *module;
static struct trace_module *module_def;
static uint32_t n_module;

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ull;
	return h ^ (h >> 29);
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3ull;
	return h;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- modules ---- */

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) *ph, char *hex, size_t size)
{
	const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr), *end = p + ph->p_memsz;

	while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)p;
		const char *name = p + sizeof(*n);
		const unsigned char *desc = (const unsigned char *)name + ((n->n_namesz + 3u) & ~3u);

		if (n->n_namesz > ph->p_memsz || n->n_descsz > ph->p_memsz ||
		    (const char *)desc + n->n_descsz > end)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
			for (unsigned i = 0; i < n->n_descsz && 2 * i + 2 < size; i++)
				snprintf(hex + 2 * i, 3, "%02x", desc[i]);
			return;
		}
		p = (const char *)desc + ((n->n_descsz + 3u) & ~3u);
	}
}

struct seek {
	uintptr_t pc;
	struct module m;
	char path[512], build_id[130];
	int found;
};

static int seek_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct seek *s = data;
	uintptr_t lo = UINTPTR_MAX, hi = 0;
	int hit = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t a = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (s->pc >= a && s->pc < a + ph->p_memsz) {
			hit = 1;
			lo = a;
			hi = a + ph->p_memsz;
		}
	}
	if (!hit)
		return 0;
	s->m = (struct module){.lo = lo, .hi = hi, .base = info->dlpi_addr};
	snprintf(s->path, sizeof(s->path), "%s", info->dlpi_name ? info->dlpi_name : "");
	s->m.exe = !s->path[0];
	for (int i = 0; i < info->dlpi_phnum && !s->build_id[0]; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			read_build_id(info, &info->dlpi_phdr[i], s->build_id, sizeof(s->build_id));
	s->found = 1;
	return 1;
}

/* Are calls from this library internal to MPI? (libmpi_cxx passes on the program's calls.) */
static int is_mpi_library(const char *base)
{
	static const char *const prefix[] = {"libmpi.so", "libmpi_mpifh", "libmpi_usempi", "libmpich.so",
					     "mca_"};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (!strncmp(base, prefix[i], strlen(prefix[i])))
			return 1;
	return 0;
}

static int add_module(struct seek *s)
{
	struct module *m = realloc(module, (n_module + 1u) * sizeof(*m));
	struct trace_module *d;
	const char *base;

	if (!m)
		return -1;
	module = m;
	d = realloc(module_def, (n_module + 1u) * sizeof(*d));
	if (!d)
		return -1;
	module_def = d;
	if (s->m.exe) {
		ssize_t n = readlink("/proc/self/exe", s->path, sizeof(s->path) - 1);

		s->path[n > 0 ? n : 0] = '\0';
	}
	base = base_name(s->path);
	s->m.libc = !strncmp(base, "libc.", 5) || !strncmp(base, "libc-", 5) || !strncmp(base, "libpthread", 10) ||
		    !strncmp(base, "ld-linux", 8);
	s->m.mpi = is_mpi_library(base);
	s->m.binding = !strncmp(base, "libmpi", 6);
	s->m.hash = hash_text(s->build_id[0] ? s->build_id : base);
	if (trace_python_name(s->build_id))
		s->m.hash = mix_hash(s->m.hash, hash_text(s->path));
	d[n_module].path = strdup(s->path);
	d[n_module].build_id = strdup(s->build_id);
	if (!d[n_module].path || !d[n_module].build_id)
		return -1;
	m[n_module] = s->m;
	return (int)n_module++;
}

/* Index of the module that contains pc, or -1. */
static int find_module(uintptr_t pc)
{
	struct seek s = {.pc = pc};

	for (uint32_t i = 0; i < n_module; i++)
		if (pc >= module[i].lo && pc < module[i].hi)
			return (int)i;
	dl_iterate_phdr(seek_module, &s);
	if (!s.found) { /* generated code: a module of its own, whose offsets have no meaning */
		s.m = (struct module){.lo = pc, .hi = pc + 1, .base = pc};
		snprintf(s.path, sizeof(s.path), "[anonymous]");
	}
	return add_module(&s);
}

int site_module(uintptr_t pc, uintptr_t *base, uintptr_t *lo, uintptr_t *hi)
{
	struct seek s = {.pc = pc};
	int i;

	dl_iterate_phdr(seek_module, &s);
	if (!s.found || (i = find_module(pc)) < 0)
		return -1;
	*base = module[i].base;
	*lo = module[i].lo;
	*hi = module[i].hi;
	return i;
}

static int tell_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct spill_module m = {.base = info->dlpi_addr, .lo = UINT64_MAX}, *to;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		m.lo = at < m.lo ? at : m.lo;
		m.hi = at + ph->p_memsz > m.hi ? at + ph->p_memsz : m.hi;
	}
	if (m.hi <= m.lo || !info->dlpi_name || strlen(info->dlpi_name) >= sizeof(m.path))
		return 0;
	if (info->dlpi_name[0]) {
		strcpy(m.path, info->dlpi_name);
	} else {
		ssize_t n = readlink("/proc/self/exe", m.path, sizeof(m.path) - 1);

		m.path[n > 0 ? n : 0] = '\0';
	}
	to = spill_module_new(data);
	if (to)
		*to = m;
	return to == NULL;
}

void site_tell_modules(struct spill *s)
{
	dl_iterate_phdr(tell_module, s);
}

int site_is_library(uintptr_t pc)
{
	int i = find_module(pc);

	return i >= 0 && (module[i].mpi || module[i].binding);
}

int site_tracer(uintptr_t *lo, uintptr_t *hi)
{
	struct seek s = {.pc = (uintptr_t)site_tracer};

	dl_iterate_phdr(seek_module, &s);
	*lo = s.m.lo;
	*hi = s.m.hi;
	return s.found;
}

/* ---- stacks ---- */

struct walk {
	uintptr_t ra, lo, hi;    /* first return address; stack bounds */
	uintptr_t inner;         /* ARCH_FRAME of the last frame */
	uint32_t n, n_python;    /* frames; lines of Python behind them */
	int started;
	uintptr_t pc[UNWIND_FRAMES];
	const uintptr_t *place[UNWIND_FRAMES]; /* address of each return address on the stack; NULL: not known */
	uint32_t python_module[UNWIND_FRAMES], line[UNWIND_FRAMES];
};

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *ctx, void *data)
{
	struct walk *w = data;
	uintptr_t pc = _Unwind_GetIP(ctx);
	const uintptr_t *place = ARCH_RETURN_PLACE(ctx, w->inner);

	w->inner = ARCH_FRAME(ctx);
	if (!w->started && pc != w->ra)
		return _URC_NO_REASON;
	w->started = 1;
	if (!pc)
		return _URC_NORMAL_STOP;
	w->pc[w->n] = pc;
	w->place[w->n] = NULL;
	if ((uintptr_t)place >= w->lo && (uintptr_t)place < w->hi && !((uintptr_t)place & 7) && arch_return_address(*place) == pc)
		w->place[w->n] = place;
	return ++w->n == UNWIND_FRAMES ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

static int frame_is(const struct walk *w, uint32_t i, int libc)
{
	int m = find_module(w->pc[i]);

	return m >= 0 && (libc ? module[m].libc : module[m].exe);
}

/* Remove the frames below main (the C library's start and the executable's _start), or below a thread's first
 * function. */
static void strip_start(struct walk *w)
{
	uint32_t n = w->n;

	if (n == UNWIND_FRAMES)
		return; /* the walk did not reach the end */
	if (n > 2 && frame_is(w, n - 1, 0) && frame_is(w, n - 2, 1))
		n--;
	while (n > 1 && frame_is(w, n - 1, 1))
		n--;
	w->n = n;
}

/* Module of a Python function, which has lines in place of addresses. */
static int python_module(const struct python_line *p)
{
	struct seek s = {0};

	snprintf(s.path, sizeof(s.path), "%s", p->file);
	snprintf(s.build_id, sizeof(s.build_id), TRACE_PYTHON "%s", p->function);
	for (uint32_t i = 0; i < n_module; i++)
		if (!strcmp(module_def[i].build_id, s.build_id) && !strcmp(module_def[i].path, s.path))
			return (int)i;
	return add_module(&s);
}

/*
 * Put the lines of Python in place of the interpreter's frames. Of the modules that were installed, the two innermost
 * are kept: the function that calls MPI and its caller. The user's line that called them comes next, with its callers.
 */
static void add_python(struct walk *w)
{
	struct python_line line[PYTHON_FRAMES];
	uint32_t n = python_runs ? python_lines(line) : 0;
	int interpreter = n ? find_module(python_code()) : -1;
	bool own = false;

	for (uint32_t i = 1; n && i < w->n; i++)
		if (i == NATIVE_FRAMES || find_module(w->pc[i]) == interpreter)
			w->n = i;
	for (uint32_t i = 0; i < n && w->n + w->n_python < TRACE_SITE_MAX_FRAMES; i++) {
		int m = python_module(&line[i]);

		own |= !trace_python_is_installed(line[i].file);
		if (m < 0 || (i >= PYTHON_INSTALLED && !own))
			continue;
		w->python_module[w->n_python] = (uint32_t)m;
		w->line[w->n_python] = line[i].line;
		w->pc[w->n + w->n_python++] = module[m].hash ^ line[i].line;
	}
}

static uint64_t stack_hash(const struct walk *w)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < w->n + w->n_python; i++)
		h = mix_hash(h, w->pc[i]);
	return h | 1;
}

static int grow_sites(void)
{
	uint32_t cap = cap_site ? cap_site * 2 : 64;
	void *p;

	if (n_site < cap_site)
		return 0;
	if (!(p = realloc(site, cap * sizeof(*site))))
		return -1;
	site = p;
	if (!(p = realloc(site_ra, cap * sizeof(*site_ra))))
		return -1;
	site_ra = p;
	if (!(p = realloc(site_hidden, cap)))
		return -1;
	site_hidden = p;
	cap_site = cap;
	return 0;
}

static uint32_t intern_stack(const struct walk *w)
{
	uint64_t key = stack_hash(w);
	int32_t known = hmap_get(&by_stack, key);
	uint32_t n = w->n + w->n_python;
	struct trace_site *s;

	if (known != HMAP_NONE && site[known].n_frame == n && !memcmp(site_ra[known], w->pc, n * sizeof(w->pc[0])))
		return (uint32_t)known;
	if (grow_sites() < 0)
		return n_site ? 0 : SITE_NONE;
	s = &site[n_site];
	*s = (struct trace_site){.n_frame = (uint8_t)n};
	for (uint32_t i = 0; i < n; i++) {
		bool python = i >= w->n;
		int m = python ? (int)w->python_module[i - w->n] : find_module(w->pc[i]);

		if (m < 0)
			return n_site ? 0 : SITE_NONE;
		site_ra[n_site][i] = w->pc[i];
		s->module[i] = (uint32_t)m;
		s->offset[i] = python ? w->line[i - w->n] : w->pc[i] - module[m].base;
		s->hash = mix_hash(mix_hash(s->hash, module[m].hash), s->offset[i]);
	}
	site_hidden[n_site] = module[s->module[0]].mpi;
	hmap_put(&by_stack, key, (int32_t)n_site);
	return n_site++;
}

/* Find the entry, and move it to the front: calls from one place come in a row. */
struct site_cached *site_behind(struct site_cached *slot, uintptr_t ra, uintptr_t key, uintptr_t stack_hi)
{
	for (uint32_t *link = &slot->next; *link != 0; link = &more[*link - 1].next) {
		struct site_cached *c = &more[*link - 1];
		uint32_t found = *link;

		if (!site_is(c, ra, key, stack_hi))
			continue;
		*link = c->next;
		c->next = slot->next;
		slot->next = found;
		return c;
	}
	return NULL;
}

/* A free entry in the chain behind a slot. Returns the slot itself if there is none or the chain is long. */
static struct site_cached *entry_for(struct site_cached *slot)
{
	struct site_cached *c = &more[n_more];
	uint32_t length = 0;

	if (slot->ra == 0)
		return slot;
	for (uint32_t i = slot->next; i != 0; i = more[i - 1].next)
		length++;
	if (n_more == SITE_MORE || length >= SITE_CHAIN)
		return slot;
	c->next = slot->next;
	slot->next = ++n_more;
	return c;
}

uint32_t site_find(uintptr_t ra, uintptr_t cfa, uintptr_t key, uintptr_t stack_lo, uintptr_t stack_hi)
{
	struct site_cached *c = NULL;
	struct walk w = {.ra = ra, .lo = stack_lo, .hi = stack_hi};
	uint32_t s;

	if (cfa > stack_lo && cfa <= stack_hi)
		_Unwind_Backtrace(walk_frame, &w);
	if (!w.n) { /* no unwind information, or the stack is not the thread's own */
		w.pc[0] = ra;
		w.n = 1;
	}
	strip_start(&w);
	if (w.n > TRACE_SITE_MAX_FRAMES)
		w.n = TRACE_SITE_MAX_FRAMES;
	add_python(&w);
	s = intern_stack(&w);
	if (s == SITE_NONE)
		return s;
	for (uint32_t i = 1; i < w.n; i++)
		if (!w.place[i])
			return site_hidden[s] ? SITE_NONE : s; /* not cached, since it cannot be verified later */
	c = entry_for(site_slot(ra, key));
	c->n = 0;
	c->last_sym = UINT32_MAX;
	for (uint32_t i = 1; i < w.n; i++) {
		c->place[c->n] = w.place[i];
		c->value[c->n++] = *w.place[i]; /* as it was saved */
	}
	c->ra = ra;
	c->key = key;
	c->site = site_hidden[s] ? SITE_NONE : s;
	return c->site;
}

uintptr_t site_address(uint32_t i)
{
	return site_ra[i][0];
}

void site_define(struct trace_defs *d)
{
	d->module = module_def;
	d->n_module = n_module;
	d->site = site;
	d->n_site = n_site;
}
