/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between the loader (libprecedent_trace.so, which is preloaded) and the tracers beside it, one per
 * MPI library. A tracer is opened with RTLD_LOCAL. It cannot see the libraries behind the loader in symbol order,
 * so the loader looks up symbols for it.
 */
#ifndef PRECEDENT_SPANK_LOADER_HOST_H
#define PRECEDENT_SPANK_LOADER_HOST_H

#include <stdint.h>

#define LOADER_HOST_VERSION 2
#define LOADER_TRACER_BEGIN "precedent_tracer_begin"

struct loader_host {
	uint32_t version;
	/* The next definition of a function behind the loader's, under its name or with a P before it. NULL if no
	 * library has it. A definition in another preloaded tool comes before the MPI library's. */
	void *(*function)(const char *name);
	/* The address of a data symbol as the program uses it: a copy in the executable comes first. NULL if
	 * there is none. */
	void *(*object)(const char *name);
	/* A replacement for a function that no library has. The replacement returns an error. */
	void *(*missing)(const char *name);
	/* The path of a library whose MPI calls bypass the loader, or NULL. A library that was opened with
	 * RTLD_DEEPBIND searches its own dependencies before preloaded libraries. */
	const char *(*passing)(void);
};

/* Of a tracer: use this host. Returns 0; -1 if the tracer cannot, and then the program runs without a tracer. */
typedef int loader_tracer_begin(const struct loader_host *host);

#endif
