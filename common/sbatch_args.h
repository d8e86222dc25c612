/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an sbatch command line (or the #SBATCH lines of a script) says about files: the script and its arguments, --wrap,
 * the work directory, the files for input and output. It follows getopt_long: options with their value behind '=' or in
 * the next word, abbreviated names, bundled short options, "--", components of a heterogeneous job separated by ':'.
 * Options of foreign SPANK plugins are not known here; see is_script.
 */
#ifndef PRECEDENT_COMMON_SBATCH_ARGS_H
#define PRECEDENT_COMMON_SBATCH_ARGS_H

#include <stdbool.h>
#include <stddef.h>

/* All pointers are borrowed from argv; NULL where nothing was said. */
struct sbatch_args {
	const char *script; /* as written; NULL: standard input or --wrap */
	char *const *args;  /* the words behind the script */
	size_t n_args;
	const char *wrap;
	const char *chdir;
	const char *input;
	const char *output;
	const char *error;
};

/*
 * Read argv[0..n), without the program's name. Values that are said again replace those in *args, so that a script's own
 * lines can be read first. is_script decides whether the word behind an unknown long option without '=' is the script
 * already (true) or the option's value; NULL: the value.
 */
void sbatch_args_read(char *const *argv, size_t n, bool (*is_script)(const char *word), struct sbatch_args *args);

/*
 * The #SBATCH lines at the head of a script, as the words of a command line: NULL-terminated, one block to be freed with
 * free(). NULL when there is no memory.
 */
char **sbatch_directives(const char *text, size_t len, size_t *n_words);

#endif
