/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call sites. A site is the stack of return addresses of an MPI call, innermost first, at most
 * TRACE_SITE_MAX_FRAMES of them, up to main (or the start of the thread).
 *
 * Unwinding costs microseconds. It is done at the first sight of (return address, stack pointer); with the result
 * the places on the stack are kept where these return addresses lie. The next call with the same two values has
 * the same stack iff these places still hold the same addresses: a few loads, and the site is exact. A function called
 * from several places at one depth has one such entry for each, in a chain.
 */
#ifndef PRECEDENT_SPANK_TRACER_SITE_H
#define PRECEDENT_SPANK_TRACER_SITE_H

#include <stdint.h>

#include "trace/format/defs.h"

#define SITE_SLOTS 8192u /* power of two */
#define SITE_MORE  8192u /* entries of chains */
#define SITE_CHAIN 64u   /* entries at most behind a slot */
#define SITE_NONE  UINT32_MAX /* a call of the MPI library itself: not to be recorded */

struct site_cached {
	uintptr_t ra, cfa;
	uint32_t site;
	uint32_t n;                           /* places to verify, beside the innermost */
	uint32_t next;                        /* of the chain, its number from 1; 0: none */
	const uintptr_t *place[TRACE_SITE_MAX_FRAMES];
	uintptr_t value[TRACE_SITE_MAX_FRAMES];
	uint32_t last_sym;                    /* the call recorded here last, or UINT32_MAX */
};

extern struct site_cached site_cache[SITE_SLOTS];

/* Is this the entry of the call? */
static inline int site_is(const struct site_cached *c, uintptr_t ra, uintptr_t cfa, uintptr_t stack_hi)
{
	uint32_t i = 0;

	if (c->ra != ra || c->cfa != cfa)
		return 0;
	while (i < c->n && (uintptr_t)c->place[i] < stack_hi && *c->place[i] == c->value[i])
		i++;
	return i == c->n;
}

/* The entry in the chain behind this slot, or NULL. */
struct site_cached *site_behind(struct site_cached *slot, uintptr_t ra, uintptr_t cfa, uintptr_t stack_hi);
/* Unwind, intern and make an entry. */
uint32_t site_find(uintptr_t ra, uintptr_t cfa, uintptr_t stack_lo, uintptr_t stack_hi);

/* Site of the call that returns to ra, made where the stack's CFA was cfa; bounds of the thread's stack.
 * *at is the cache's entry when it was found there, else NULL and *slow is set. */
static inline uint32_t site_of(uintptr_t ra, uintptr_t cfa, uintptr_t stack_lo, uintptr_t stack_hi,
			       struct site_cached **at, int *slow)
{
	uint64_t h = (ra ^ (cfa << 7)) * 0x9e3779b97f4a7c15ull;
	struct site_cached *c = &site_cache[(h >> 40) & (SITE_SLOTS - 1)];

	if (site_is(c, ra, cfa, stack_hi) || (c->next != 0 && (c = site_behind(c, ra, cfa, stack_hi)) != NULL)) {
		*at = c;
		return c->site;
	}
	*at = NULL;
	*slow = 1;
	return site_find(ra, cfa, stack_lo, stack_hi);
}

/* The innermost return address of a site, in this process. */
uintptr_t site_address(uint32_t site);

/* Does the MPI library, a part of it or a binding to it hold this address? */
int site_is_library(uintptr_t pc);
/* Where the tracer's own code lies; 0: that is not known. */
int site_tracer(uintptr_t *lo, uintptr_t *hi);

/* Index of the loaded module that holds pc, and where that lies: its base, and its code from lo to hi. -1: none does. */
int site_module(uintptr_t pc, uintptr_t *base, uintptr_t *lo, uintptr_t *hi);

/* All modules of the process, for whoever reads the spill file. */
struct spill;
void site_tell_modules(struct spill *s);

/* Put modules and sites into the definitions (borrowed until the tracer ends). */
void site_define(struct trace_defs *d);

#endif
