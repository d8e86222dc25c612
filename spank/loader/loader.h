/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libprecedent_trace.so: the loader. It comes before the MPI library, with an entry for every function that a
 * tracer wraps or counts. An entry is one jump through a table, without a stack frame, so the called function sees
 * the program's own return address. At its first call, an entry is bound to the tracer of this process's MPI
 * library. It is bound to the MPI library itself if no trace is wanted or no tracer can be loaded.
 *
 * The loader also has an entry for dlsym. Some programs (Python's ctypes, Julia, Rust) look up functions in the
 * handle of an MPI library, and then get the loader's entries. Any other look-up goes to the C library with one
 * jump.
 *
 * The loader decides at the first call: static constructors may call MPI before its own constructors have run, and
 * MPI may be loaded late. It takes no lock, since a thread inside the dynamic loader may call it. Two threads that
 * decide at the same time get the same result.
 */
#ifndef PRECEDENT_SPANK_LOADER_LOADER_H
#define PRECEDENT_SPANK_LOADER_LOADER_H

#include "spank/loader/libc_free.h"

/* ---- symbols.S, generated: entries, table, names one after the other ---- */
extern void *loader_slot[];
extern const char loader_names[];
extern const uint32_t loader_name_at[], loader_n;

/* The address of entry i. */
void *loader_entry(uint32_t i);

/* The target of entry i; called by the entries of symbols.S until the target is known. Never NULL. */
void *loader_resolve(uint32_t i);
/* Is there an entry with this name? */
bool loader_has(const char *name);
/* The result of dlsym for a name that begins like an MPI function's, in a library's handle. */
void *loader_dlsym(void *handle, const char *name);
/* Called by AddressSanitizer's library if it is loaded. */
const char *__asan_default_options(void);

/* ---- library.c ---- */
/* LOADER_STANDARD: the standard interface of MPI 5. It has no tracer, and its handles are no other family's. */
enum loader_family { LOADER_NO_MPI, LOADER_OPENMPI, LOADER_MPICH, LOADER_STANDARD };
#define LOADER_FAMILIES 4

/* The family of the process's MPI library; LOADER_NO_MPI if there is none or an unknown one. name: its DT_SONAME, or "". */
enum loader_family library_family(char *name, size_t size);
/* The next definition behind the loader's, or else a definition in an MPI library outside of the global scope.
 * NULL if there is none. */
void *library_function(const char *name);
void *library_object(const char *name);
/* The path by which this loader was loaded. */
const char *library_own_path(void);
/* Does a loader from another directory come before this one? Then that one traces. */
bool library_second_loader(void);
/* Is the function in an MPI library? */
bool library_is_mpi(const void *function);
/* See host.h. */
const char *library_passing(void);
/* The C library's dlsym, or the next one behind this loader. NULL if there is none. */
void *loader_real_dlsym(void);
/* Call that dlsym from this loader. */
void *loader_symbol(void *handle, const char *name);

#endif
