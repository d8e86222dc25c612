/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What launches.c (commands and words) and launches_files.c (files and directories) share. */
#ifndef PRECEDENT_COMMON_LAUNCHES_INTERNAL_H
#define PRECEDENT_COMMON_LAUNCHES_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#define XXH_INLINE_ALL /* sbatch then loads no further library */
#include <xxhash.h>

#include "common/launches.h"
#include "common/script_words.h"

#define LAUNCH_ENV_MAX	   128
#define LAUNCH_DIRS_MAX	   16
#define LAUNCH_OUTPUTS_MAX 64
#define LAUNCH_INNER_MAX   8
#define LAUNCH_NAMED_MAX   128
#define LAUNCH_INNER_BYTES (64 * 1024)
#define LAUNCH_LISTING_MAX                                                                                   \
	64 /* files of a directory that count by content; scripts of directories with more are rare */

/* One reading of a script. */
struct launches {
	const struct fingerprint_job *job;
	struct errbuf *why;
	struct script_words w;
	struct timespec start;
	XXH3_state_t *hash;
	uint8_t *buffer; /* FINGERPRINT_SAMPLE bytes */
	uint64_t bytes_read;
	/* "NAME=value" that the programs see, in order of their first setting; into w */
	const char *env[LAUNCH_ENV_MAX];
	bool exported[LAUNCH_ENV_MAX]; /* for certain */
	size_t n_env;
	uint16_t dirs[LAUNCH_DIRS_MAX]; /* directories of launches: indexes into w.dirs */
	size_t n_dirs;
	char listed[PATH_MAX]; /* the last folder of an input elsewhere */
	/* files that the script writes: word and its directory, into w; which launch writes it, and how */
	struct launch_output {
		const char *dir, *name;
		size_t launch;
		uint8_t fd; /* as in struct script_word; 0: by tee */
		bool append, there;
		dev_t dev; /* there: of the file before the job */
		ino_t ino;
	} outputs[LAUNCH_OUTPUTS_MAX];
	size_t n_outputs;
	/* files and directories that words of launches name */
	struct launch_place {
		dev_t dev;
		ino_t ino;
	} named[LAUNCH_NAMED_MAX];
	size_t n_named;
	size_t n_launches, n_programs, n_data, n_folders;
	size_t n_before;    /* n_programs before the current launch */
	bool modules;	    /* modules were loaded, or the shell is a login shell: PATH is not known */
	bool built;	    /* the current launch starts nothing but programs that the user named by path, and no interpreter */
	bool uncertain;	    /* a later launch may not be what it looks like */
	bool last_prefixed; /* NAME=value stood before a command, and does not hold for the next one */
	bool in_launch;	    /* the last command was a launch */
	bool conditional;   /* the command runs only if a launch before it ended well */
	bool ended;	    /* by `exit` */
	bool moved;	    /* a command may have put a script in place */
	/* Scripts that the script runs. `w` is the one being read; `env` and `outputs` hold words of all. */
	struct script_words inner[LAUNCH_INNER_MAX];
	size_t n_inner;
	bool limited;	 /* the script in `w` has set limits for the commands behind */
	bool login;	 /* the last inner script has a login shell */
	bool within;	 /* an inner script is being read */
	bool after_inner; /* the last command ran one */
};

/* Functions that return int return 0, or -1 with l->why filled. */

void launches_piece(struct launches *l, char kind, const void *data, size_t len);
int launches_word(struct launches *l, const char *dir, const char *word);
/* The part of an absolute path below dir; NULL: it is elsewhere. */
const char *launches_below(const char *dir, const char *path);
/* Note what a word of a launch names. */
void launches_name(struct launches *l, const struct stat *st);
/* Did a word name it? */
bool launches_is_named(const struct launches *l, const struct stat *st);
/* Is it a program that may be one of MPI: neither of the system nor an interpreter? */
bool launches_is_built(const char *path);
/* Does the script write this file? *st is the answer of stat for it. */
bool launches_is_output(const struct launches *l, const char *path, const struct stat *st);
/*
 * words[0..n): a command that runs a script, as `bash step.sh` or `./step.sh`. Reads the script into l->inner. Returns 1,
 * 0 if the command runs no script, or -1.
 */
int launches_inner(struct launches *l, const struct script_word *words, size_t n);

struct launch_file {
	bool program, data, shell_script, elf;
};
/* Hash a regular file: its name without folders and its content. */
int launches_file(struct launches *l, const char *path, struct launch_file *out);
/* A target of a redirection of a launch. */
int launches_output(struct launches *l, const struct script_word *w);
/* A later launch may read what an earlier one has written: all outputs, if there are two launches.
 */
int launches_outputs(struct launches *l);
/* `| tee FILE...` behind a launch. */
int launches_tee(struct launches *l, const struct script_word *words, size_t n);
/* The programs and arguments in the file of srun --multi-prog. */
int launches_multi_prog(struct launches *l, const char *dir, const char *name);
/* The files in the folder of this path. */
int launches_folder(struct launches *l, const char *path);
/* The files in the directories of all launches. */
int launches_dirs(struct launches *l);
/* Is there time left? Called for each word, file and entry of a directory: sbatch waits. */
int launches_in_time(struct launches *l);

#endif
