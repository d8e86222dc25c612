/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that the loader takes from a C library, and functions of its own.
 *
 * The loader is preloaded into every process of a traced step: also into shells, programs of another C library
 * (musl), and programs of an older GNU C library in a container. So it is linked with no library and needs no
 * symbol versions. Every C library function that it uses is weak and may be missing.
 */
#ifndef PRECEDENT_SPANK_LOADER_LIBC_FREE_H
#define PRECEDENT_SPANK_LOADER_LIBC_FREE_H

#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "common/arch/arch.h"

#pragma weak dlopen
#pragma weak dlclose
#pragma weak dlerror
#pragma weak dlvsym
#pragma weak dl_iterate_phdr
#pragma weak getenv
#pragma weak realpath
#pragma weak __errno_location
#pragma weak gnu_get_libc_version
#pragma weak environ
extern char **environ;
char *getenv(const char *name);
char *realpath(const char *path, char *out);
int *__errno_location(void);
const char *gnu_get_libc_version(void);

/* memcpy, memmove and memset under the names that the compiler calls; hidden from other libraries. */
size_t free_length(const char *s);
bool free_equal(const char *a, const char *b);
bool free_begins(const char *s, const char *begin);
bool free_ends(const char *s, const char *end);
const char *free_find(const char *s, const char *what); /* NULL if not found */
const char *free_base_name(const char *path);
/* Join a and b in one buffer with a NUL. Returns false if they do not fit. */
bool free_join(char *out, size_t size, const char *a, size_t len, const char *b);
/* Write the texts to standard error. */
void free_say(const char *a, const char *b, const char *c);

#endif
