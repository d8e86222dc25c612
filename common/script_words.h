/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of a batch script, read the way a shell would, without running anything: quoting, comments, continuation
 * lines, redirections, here-documents (skipped), assignments, $NAME where the value can be known, `cd DIR`.
 * Each word carries what is needed to decide whether it names an input: the simple command it belongs to, the directory
 * that holds at that point, whether a redirection writes to it, whether its value cannot be known before the job runs.
 * A script that is not for a shell yields words too; they are only ever compared with the names of files.
 */
#ifndef PRECEDENT_COMMON_SCRIPT_WORDS_H
#define PRECEDENT_COMMON_SCRIPT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define SCRIPT_BYTES_MAX (1024 * 1024) /* what follows is not looked at */
#define SCRIPT_WORDS_MAX 8192
#define SCRIPT_DIRS_MAX  256
#define SCRIPT_VARS_MAX  256
#define SCRIPT_WORD_LEN_MAX 4096 /* longer words are opaque */

#define SCRIPT_WORD_OUTPUT 0x01u /* target of a redirection that writes */
#define SCRIPT_WORD_OPAQUE 0x02u /* holds a glob, a command substitution or a variable of unknown value */
#define SCRIPT_WORD_ASSIGN 0x04u /* NAME=value in front of a command or alone */
#define SCRIPT_WORD_HEAD   0x08u /* the command's name */

struct script_word {
	char *text;       /* unquoted and expanded */
	uint32_t command; /* number of the simple command, from 0 */
	uint16_t dir;     /* index into dirs: where a relative name starts */
	uint8_t flags;
};

struct script_words {
	struct script_word *words;
	size_t n, cap;
	char **dirs; /* absolute, lexically normal; dirs[0] is the work directory */
	size_t n_dirs;
};

struct script_context {
	const char *work_dir;   /* absolute */
	const char *submit_dir; /* SLURM_SUBMIT_DIR; NULL: as work_dir */
	char *const *args;      /* $1, $2, ... */
	size_t n_args;
	const char *(*lookup)(const char *name); /* an environment variable, or NULL; the pointer may be NULL */
};

/* Read a script. -1 only when there is no memory; call script_words_free in either case. */
int script_words_read(const char *text, size_t len, const struct script_context *ctx, struct script_words *out);
void script_words_free(struct script_words *w); /* legal on a zeroed or freed struct */

/*
 * dir/name without "//", "/./" and "x/..", by text alone: what does not exist yet must not change the answer.
 * name absolute: dir is not used. NULL when it is too long or there is no memory; to be freed by the caller.
 */
char *path_normal(const char *dir, const char *name);

#endif
