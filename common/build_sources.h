/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of a script that build programs, such as `make`, and their sources. At submission a program that the job builds
 * is the one of the build before, or none. The sources tell whether it will be another one.
 */
#ifndef PRECEDENT_COMMON_BUILD_SOURCES_H
#define PRECEDENT_COMMON_BUILD_SOURCES_H

#include <stddef.h>

#include "common/script_words.h"

/* A directory with more sources, or a hundred times as many entries, does not count: sbatch waits for the reading. */
/* Of a directory with more sources, none counts: sbatch waits for the reading. */
#define BUILD_SOURCES_MAX 64

/* words[0..n): a simple command. The word that names what builds, also behind a launcher or `nice`; NULL: none. */
const struct script_word *build_word(const struct script_word *words, size_t n);
/*
 * Call f with the path of each source of one simple command, w->words[from..to). A command builds in the directory of its
 * option -C, else where it runs. The sources there, and in src/ and include/ below, count in the order of their names.
 */
void build_sources_each(const struct script_words *w, size_t from, size_t to, void (*f)(const char *path, void *arg),
			void *arg);

#endif
