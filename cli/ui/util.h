/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the verbs share: messages, the place of the installed files, progress, small formatting.
 */
#ifndef PRECEDENT_CLI_UTIL_H
#define PRECEDENT_CLI_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

/* "precedent: ..." on stderr; returns 1. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "precedent VERB: ...; try 'precedent VERB --help'" on stderr; returns 2. */
int cli_usage(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text as a clean line (common/clean.h): for paths, which others may have named. One of four buffers, used in turn. */
const char *cli_shown(const char *text);

/* A whole number from least to most and nothing else; -1: it is not one. */
int cli_number(const char *text, long least, long most, long *out);

/* Full path of an installed file ("libprecedent_trace.so", "libprecedent_skel.a"), or of the include directory (NULL).
 * $PRECEDENT_LIBDIR has priority. Otherwise the file is beside the program in a build tree, or in ../lib/precedent. The
 * caller frees the path. NULL with a message if the file does not exist. */
char *cli_installed(const char *name, struct errbuf *err);
char *cli_include_dir(struct errbuf *err);
/* The same for a file that all machines share ("problems.rules"): in ../share/precedent, or conf/ of a source tree. */
char *cli_shared(const char *name, struct errbuf *err);
/* Directory of the message catalogues, or NULL. */
char *cli_locale_dir(void);

/* Written beside and renamed: a file that is there is whole. "-" is standard output. Returns the exit code, with the message
 * written. */
int cli_write_file(const char *path, const void *data, size_t len);
/* dir/heat.ptrace -> heat.html for ".html". The caller frees the name. NULL without memory. */
char *cli_output_name(const char *trace, const char *suffix);

/* One line that is redrawn, on a terminal only; done = total ends it. */
void cli_progress(const char *what, double done, double total);

/* 12345678 -> "12,345,678"; returns buf. */
const char *cli_thousands(char *buf, size_t size, uint64_t v);
/* 1.9 KiB, 12 MiB ... */
const char *cli_bytes(char *buf, size_t size, double v);
/* 1.234 s, 56.7 ms, 8.9 us */
const char *cli_seconds(char *buf, size_t size, double s);
/* A bar of `width` cells, filled to share (0..1) with eighths. */
const char *cli_bar(char *buf, size_t size, double share, int width);

/* An empty private directory below $TMPDIR, to be removed with temp_dir_remove() and freed. */
char *cli_temp_dir(struct errbuf *err);

/* Run argv (argv[0] looked up in PATH), output to `log` (appended; NULL: inherited); at most `limit_s` seconds (0: none),
 * then its process group is killed. Returns the exit status, 128 + signal, or -1 with a message. env: NULL-ended pairs
 * NAME, VALUE to set. */
int cli_run(char *const argv[], const char *const env[], const char *log, double limit_s, struct errbuf *err);
/* The signal that killed argv itself when cli_run ran last, or 0: an exit status of 128 + signal is no signal here. */
int cli_killed_by(void);

/* From now on commands that cli_run runs write to standard error what they write to standard output, which is for JSON. */
void cli_keep_stdout(void);

/* A signal that ends the verb ends the process group of cli_run's child before, and removes temporary directories. */
void cli_end_clean(void);
/* On: from the start of the next command of cli_run, such a signal is passed to the command, and the verb goes on. Off: as
 * before. cli_outlived: the signal that was passed since it is on, or 0. */
void cli_outlive(bool on);
int cli_outlived(void);

double cli_now(void); /* monotonic seconds */

#endif
