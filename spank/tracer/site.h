/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call sites. A site is the stack of return addresses of an MPI call, innermost first. It has at most
 * TRACE_SITE_MAX_FRAMES addresses, up to main or the start of the thread.
 *
 * Unwinding costs microseconds. It is done once per pair of return address and stack pointer. The cache then stores
 * the positions of the return addresses on the stack. A later call with the same pair has the same stack if and
 * only if these positions hold the same addresses. So a look-up takes a few loads and is exact. A function that is
 * called from several places at one stack depth has a chain of entries.
 *
 * If the program runs Python, its frames stand in place of the interpreter's, and their hash is part of the pair.
 */
#ifndef PRECEDENT_SPANK_TRACER_SITE_H
#define PRECEDENT_SPANK_TRACER_SITE_H

#include <stdint.h>

#include "spank/tracer/python.h"
#include "trace/format/defs.h"

#define SITE_SLOTS 8192u /* power of two */
#define SITE_MORE  8192u /* additional entries, for chains */
#define SITE_CHAIN 64u   /* longest chain behind a slot */
#define SITE_NONE  UINT32_MAX /* a call of the MPI library itself, which is not recorded */

struct site_cached {
	uintptr_t ra, key;                    /* key: stack pointer and hash of Python's frames */
	uint32_t site;
	uint32_t n;                           /* number of positions to verify, besides the innermost */
	uint32_t next;                        /* next entry of the chain, from 1; 0: none */
	const uintptr_t *place[TRACE_SITE_MAX_FRAMES];
	uintptr_t value[TRACE_SITE_MAX_FRAMES];
	uint32_t last_sym;                    /* last symbol recorded at this site, or UINT32_MAX */
};

extern struct site_cached site_cache[SITE_SLOTS];

/* Does the entry belong to this call? */
static inline int site_is(const struct site_cached *c, uintptr_t ra, uintptr_t key, uintptr_t stack_hi)
{
	uint32_t i = 0;

	if (c->ra != ra || c->key != key)
		return 0;
	while (i < c->n && (uintptr_t)c->place[i] < stack_hi && *c->place[i] == c->value[i])
		i++;
	return i == c->n;
}

/* The matching entry of the chain behind this slot, or NULL. */
struct site_cached *site_behind(struct site_cached *slot, uintptr_t ra, uintptr_t key, uintptr_t stack_hi);
/* Unwind, intern the site and make an entry. */
uint32_t site_find(uintptr_t ra, uintptr_t cfa, uintptr_t key, uintptr_t stack_lo, uintptr_t stack_hi);

static inline struct site_cached *site_slot(uintptr_t ra, uintptr_t key)
{
	uint64_t h = (ra ^ (key << 7)) * 0x9e3779b97f4a7c15ull;

	return &site_cache[(h >> 40) & (SITE_SLOTS - 1)];
}

/* Site of the call that returns to ra, with its CFA and the bounds of the thread's stack. *at: the entry if it
 * was cached; otherwise NULL, and *slow is set. */
static inline uint32_t site_of(uintptr_t ra, uintptr_t cfa, uintptr_t stack_lo, uintptr_t stack_hi,
			       struct site_cached **at, int *slow)
{
	uintptr_t key = __builtin_expect(python_runs, 0) ? cfa ^ python_hash() : cfa;
	struct site_cached *c = site_slot(ra, key);

	if (site_is(c, ra, key, stack_hi) || (c->next != 0 && (c = site_behind(c, ra, key, stack_hi)) != NULL)) {
		*at = c;
		return c->site;
	}
	*at = NULL;
	*slow = 1;
	return site_find(ra, cfa, key, stack_lo, stack_hi);
}

/* Innermost return address of a site in this process. */
uintptr_t site_address(uint32_t site);

/* Is the address in the MPI library, in a part of it or in a binding to it? */
int site_is_library(uintptr_t pc);
/* Address range of the tracer's code; 0: not known. */
int site_tracer(uintptr_t *lo, uintptr_t *hi);

/* Index of the module that contains pc, with its base and its code range from lo to hi. Returns -1 if there is
 * none. */
int site_module(uintptr_t pc, uintptr_t *base, uintptr_t *lo, uintptr_t *hi);

/* Store all modules of the process for readers of the spill file. */
struct spill;
void site_tell_modules(struct spill *s);

/* Put modules and sites into the definitions. They are borrowed until the tracer ends. */
void site_define(struct trace_defs *d);

#endif
