/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libprecedent_trace.so: the loader. It stands in front of the MPI library with an entry for every function that a
 * tracer wraps or counts: one jump through a table, without a frame, so that what is called sees the program's own
 * return address. On the first call an entry is led to the tracer of the MPI library that this process has, or to the
 * MPI library itself when no trace is wanted, there is no tracer for it, or it cannot be loaded.
 *
 * It stands in front of dlsym as well, as programs (Python's ctypes, Julia, Rust) ask the handle of an MPI library for its
 * functions: they get the entries. Every other question goes on to the C library with one jump.
 *
 * Nothing is looked for before the first call: static constructors call MPI before any constructor of ours has run,
 * and MPI may be loaded late. No lock is taken: a thread inside the dynamic loader may be the one that calls. Two
 * threads that decide at once come to the same result.
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

/* Where entry i leads; called by the entries of symbols.S until it is known. Never NULL. */
void *loader_resolve(uint32_t i);
/* Is there an entry of this name? */
bool loader_has(const char *name);
/* The answer to dlsym for a name that begins like one of MPI's, of a library's handle. */
void *loader_dlsym(void *handle, const char *name);
/* Called by AddressSanitizer's library where there is one. */
const char *__asan_default_options(void);

/* ---- library.c ---- */
enum loader_family { LOADER_NO_MPI, LOADER_OPENMPI, LOADER_MPICH };
#define LOADER_FAMILIES 3

/* Of the MPI library that this process uses; LOADER_NO_MPI when there is none or a strange one. */
enum loader_family library_family(void);
/* The next definition after ours, or one in an MPI library that is not in the global scope; NULL when there is none. */
void *library_function(const char *name);
void *library_object(const char *name);
/* The path that this loader was loaded by. */
const char *library_own_path(void);
/* Is a loader of another place before us? Then that one traces. */
bool library_second_loader(void);
/* Does a function lie in an MPI library? */
bool library_is_mpi(const void *function);
/* See host.h. */
const char *library_passing(void);
/* The C library's dlsym, or the next one behind this loader; NULL: there is none. */
void *loader_real_dlsym(void);
/* What it says of a name; asked in the name of this loader. */
void *loader_symbol(void *handle, const char *name);

#endif
