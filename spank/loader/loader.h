/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libprecedent_trace.so: the loader. It stands in front of the MPI library with an entry for every function that a
 * tracer wraps or counts: one jump through a table, without a frame, so that what is called sees the program's own
 * return address. On the first call an entry is led to the tracer of the MPI library that this process has, or to the
 * MPI library itself when no trace is wanted, there is no tracer for it, or it cannot be loaded.
 *
 * Nothing is looked for before the first call: static constructors call MPI before any constructor of ours has run,
 * and MPI may be loaded late. No lock is taken: a thread inside the dynamic loader may be the one that calls. Two
 * threads that decide at once come to the same result.
 */
#ifndef PRECEDENT_SPANK_LOADER_LOADER_H
#define PRECEDENT_SPANK_LOADER_LOADER_H

#include <stdbool.h>
#include <stdint.h>

/* ---- symbols.S, generated: entries, table, names one after the other ---- */
extern void *loader_slot[];
extern const char loader_names[];
extern const uint32_t loader_name_at[], loader_n;

/* Where entry i leads; called by the entries of symbols.S until it is known. Never NULL. */
void *loader_resolve(uint32_t i);

/* ---- library.c ---- */
enum loader_family { LOADER_NO_MPI, LOADER_OPENMPI, LOADER_MPICH };
#define LOADER_FAMILIES 3

/* Of the MPI library that this process uses; LOADER_NO_MPI when there is none or a strange one. */
enum loader_family library_family(void);
/* The next definition after ours, or one in an MPI library that is not in the global scope; NULL when there is none. */
void *library_function(const char *name);
void *library_object(const char *name);
/* Is a loader of another place before us? Then that one traces. */
bool library_second_loader(void);

/* ---- container.c ---- */
/* The value of LD_PRELOAD without this library (a path, by its last part), in place. True when something was removed. */
bool container_strip(char *value, const char *name);
/* Does a program of this name start containers? */
bool container_starter(const char *program);

#endif
