/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between the loader (libprecedent_trace.so, which is preloaded) and the tracers beside it, one per MPI
 * library. A tracer is opened with RTLD_LOCAL: it cannot see what lies behind the loader in the order of symbols, so
 * the loader looks for it.
 */
#ifndef PRECEDENT_SPANK_LOADER_HOST_H
#define PRECEDENT_SPANK_LOADER_HOST_H

#include <stdint.h>

#define LOADER_HOST_VERSION 2
#define LOADER_TRACER_BEGIN "precedent_tracer_begin"

struct loader_host {
	uint32_t version;
	/* The next definition of a function after the loader's, under its name or with a P before it; NULL when no
	 * library has it. Another tool that was preloaded behind the loader is found before the MPI library. */
	void *(*function)(const char *name);
	/* A data symbol wherever it is used from (a copy in the executable first), or NULL. */
	void *(*object)(const char *name);
	/* What to call in place of a function that no library has: it returns an error. */
	void *(*missing)(const char *name);
	/* The path of a library whose calls of MPI lead past the loader into the MPI library, or NULL. A library that was
	 * opened with RTLD_DEEPBIND sees its own dependencies before all that was preloaded. */
	const char *(*passing)(void);
};

/* Of a tracer: use this host. -1 when it cannot; then the program runs without a tracer. */
typedef int loader_tracer_begin(const struct loader_host *host);

#endif
