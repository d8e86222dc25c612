/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shells, and programs that start other programs. The readers of launches and of fingerprints share these lists. */
#ifndef PRECEDENT_COMMON_SHELLS_H
#define PRECEDENT_COMMON_SHELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/script_words.h"

/* How a script is run. */
struct shell_use {
	/* by a shell of the system, with options that change neither a variable nor how its text is read */
	bool understood;
	bool login; /* profiles are read first: they may set any variable */
};

/* Does a program of this path read scripts of a shell? */
bool shell_is(const char *path);
/* Does a program of this path start the program that its words name, as env and nice do? */
bool shell_is_starter(const char *path);

/*
 * words[0..n): a shell and its words. Returns the index of the script; n: there is none (a command, standard input, or an
 * option that is not known).
 */
size_t shell_script(const struct script_word *words, size_t n, struct shell_use *use);

/* head[0..len): the start of a file. Does its first line name a shell? If so, *use says how. */
bool shell_line(const char *head, size_t len, struct shell_use *use);
/* Does a shell run this executable file? A file without "#!" is run by the shell that starts it. */
bool shell_runs(const char *head, size_t len);

#endif
