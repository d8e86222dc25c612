/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Standard Workload Format, version 2: comments and header lines begin with ';', every other line is a job of 18
 * fields, -1 where a value is not known. A damaged line is told in one line of text and left out; a file with more than
 * SWF_BAD_MAX of them, or without any job, is none.
 */
#ifndef PRECEDENT_PREDICTOR_REPLAY_SWF_H
#define PRECEDENT_PREDICTOR_REPLAY_SWF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/errbuf.h"

#define SWF_FIELDS  18
#define SWF_BAD_MAX 100

enum swf_field {
	SWF_NUMBER,
	SWF_SUBMIT_S,
	SWF_WAIT_S,
	SWF_RUN_S,
	SWF_PROCESSORS,
	SWF_CPU_S,
	SWF_MEMORY_KB,
	SWF_ASKED_PROCESSORS,
	SWF_ASKED_S,
	SWF_ASKED_MEMORY_KB,
	SWF_STATUS,
	SWF_USER,
	SWF_GROUP,
	SWF_EXECUTABLE,
	SWF_QUEUE,
	SWF_PARTITION,
	SWF_PRECEDING,
	SWF_THINK_S,
};

/* Times and memory may have a fraction in the file; it is dropped, seconds being what is scheduled in. */
struct swf_job {
	int64_t field[SWF_FIELDS];
};

struct swf {
	struct swf_job *jobs; /* owned, in the order of the file */
	size_t n;
	int64_t max_nodes, max_procs; /* of the header; -1: not told */
	size_t bad;		      /* lines left out */
};

/* Called for each damaged line, with "NAME:LINE: what is wrong". */
typedef void swf_bad(void *arg, const char *text);

/* text need not end in 0; bad may be NULL. -1 with the reason in err; *out is then empty. */
int swf_parse(const char *name, const char *text, size_t len, swf_bad *bad, void *arg, struct swf *out, struct errbuf *err);
/* path: "-" is standard input. */
int swf_read(const char *path, swf_bad *bad, void *arg, struct swf *out, struct errbuf *err);
void swf_free(struct swf *s);
/* One line; -1 when the stream is broken. */
int swf_write_job(FILE *f, const struct swf_job *j);

#endif
