/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of a batch script, read as a shell would, without running anything: quoting, comments, continuation
 * lines, redirections, here-documents (skipped), assignments, $NAME if its value is known, `cd DIR`.
 *
 * A word holds the facts that decide whether it names an input: its simple command, the current directory, whether a
 * redirection writes to it, and whether its value is unknown before the job runs. A script for another interpreter
 * also gives words; these are only compared with names of files.
 */
#ifndef PRECEDENT_COMMON_SCRIPT_WORDS_H
#define PRECEDENT_COMMON_SCRIPT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPT_BYTES_MAX (1024 * 1024) /* bytes behind this size are ignored */
#define SCRIPT_WORDS_MAX 8192
#define SCRIPT_DIRS_MAX  256
#define SCRIPT_VARS_MAX  256
#define SCRIPT_WORD_LEN_MAX 4096 /* longer words are opaque */

#define SCRIPT_WORD_OUTPUT 0x01u /* target of a redirection that writes */
#define SCRIPT_WORD_OPAQUE 0x02u /* has a glob, a command substitution or an unknown variable */
#define SCRIPT_WORD_ASSIGN 0x04u /* NAME=value before a command or alone */
#define SCRIPT_WORD_HEAD   0x08u /* name of the command */
#define SCRIPT_WORD_SPLIT  0x10u /* an unquoted value is empty, or has blanks or globs: it is split */
#define SCRIPT_WORD_SLURM  0x20u /* opaque by variables of the layout alone; text has "${SLURM_NTASKS}" */
#define SCRIPT_WORD_MODULE 0x40u /* has a variable that `module` or a login shell may have changed */

/* Its value is not certain, or is more than one word. */
#define SCRIPT_WORD_UNKNOWN (SCRIPT_WORD_OPAQUE | SCRIPT_WORD_SPLIT | SCRIPT_WORD_MODULE)

/* How a command follows the one before. */
#define SCRIPT_JOINT_NEXT 0 /* a line or ';' */
#define SCRIPT_JOINT_AND  1
#define SCRIPT_JOINT_OR	  2
#define SCRIPT_JOINT_PIPE 3

#define SCRIPT_FD_BOTH 255

struct script_word {
	char *text;       /* unquoted and expanded */
	uint32_t command; /* number of the simple command, from 0 */
	uint16_t dir;     /* index into dirs: the base of a relative name */
	uint8_t flags;
	uint8_t joint; /* of its command */
	/* of a word that a redirection writes to */
	uint8_t fd; /* descriptor; SCRIPT_FD_BOTH: standard output and standard error */
	bool append;
};

struct script_words {
	struct script_word *words;
	size_t n, cap;
	/* absolute, lexically normalised; dirs[0] is the work directory */
	char **dirs;
	size_t n_dirs;
	/*
	 * All commands are simple, and run in the order of the text: no loop, function, subshell, background command, redirected
	 * input or here-document. The values of all variables in words that are not opaque are certain. A substitution by
	 * date, hostname, pwd or whoami is allowed.
	 */
	bool plain;
};

struct script_context {
	const char *work_dir;   /* absolute */
	const char *submit_dir; /* SLURM_SUBMIT_DIR; NULL: the same as work_dir */
	char *const *args;      /* $1, $2, ... */
	size_t n_args;
	/* value of an environment variable, or NULL; the pointer may be NULL */
	const char *(*lookup)(const char *name);
	bool modules; /* a module was loaded, or the shell is a login shell: the environment may be another one */
};

/* Read a script. Returns 0, or -1 if memory runs out; call script_words_free in either case. */
int script_words_read(const char *text, size_t len, const struct script_context *ctx, struct script_words *out);
void script_words_free(struct script_words *w); /* legal on a zeroed or freed struct */

/*
 * Normalise dir/name: remove "//", "/./" and "x/..", by text alone, since files that do not exist yet must not
 * change the result. dir is ignored if name is absolute. The caller frees the result. Returns NULL if it is too
 * long or memory runs out.
 */
char *path_normal(const char *dir, const char *name);
/*
 * Is dir/name at the place that path_normal says? Behind a symbolic link to a directory, the kernel takes ".." for the parent
 * of the link's target. dir is normal.
 */
bool path_is_textual(const char *dir, const char *name);
/* The part behind the last slash. */
const char *path_base(const char *path);

/* Is the word in the array of words? */
bool word_listed(const char *word, const char *const *list, size_t n);
#define WORD_LISTED(word, list) word_listed(word, list, sizeof(list) / sizeof((list)[0]))
/* Does a program of this path start the ranks of a job? */
bool is_launcher(const char *path);

#endif
