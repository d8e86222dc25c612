/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what an sbatch command line or the #SBATCH lines of a script say about files: script and arguments, --wrap,
 * work directory, input and output files. The syntax is that of getopt_long: values behind '=' or in the next word,
 * abbreviated names, bundled short options, "--". Components of a heterogeneous job are separated by ':'. Options
 * of other SPANK plugins are not known: see is_script.
 */
#ifndef PRECEDENT_COMMON_SBATCH_ARGS_H
#define PRECEDENT_COMMON_SBATCH_ARGS_H

#include <stdbool.h>
#include <stddef.h>

/* Pointers are borrowed from argv; NULL: not given. */
struct sbatch_args {
	const char *script; /* as written; NULL: from standard input or --wrap */
	char *const *args;  /* words behind the script */
	size_t n_args;
	const char *wrap;
	const char *chdir;
	const char *input;
	const char *output;
	const char *error;
};

/*
 * Read argv[0..n), without the program's name. Later values replace those in *args, so that a script's own lines
 * can be read first. is_script decides about the word behind an unknown long option without '='. If it returns
 * true, the word is the script; otherwise it is the option's value. NULL: always the value.
 */
void sbatch_args_read(char *const *argv, size_t n, bool (*is_script)(const char *word), struct sbatch_args *args);

/*
 * The #SBATCH lines at the head of a script, as words of a command line. The list is NULL-terminated, in one block;
 * the caller frees it. Returns NULL if memory runs out.
 */
char **sbatch_directives(const char *text, size_t len, size_t *n_words);

#endif
