/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the output of `sacct --parsable2`: a header with the names of the columns, then one record a line. Columns
 * are found by the header, in any order; unknown columns are ignored. Fields are not quoted: a '|' inside a field can
 * only be read in the last column. A text with line breaks is joined again. Everything here is users' data: names,
 * directories and commands.
 */
#ifndef PRECEDENT_PREDICTOR_HISTORY_SACCT_H
#define PRECEDENT_PREDICTOR_HISTORY_SACCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/errbuf.h"

/* The separator that Precedent asks sacct for: no name has it. A file may have it or '|'. */
#define SACCT_SEPARATOR '\x1f'
/* The columns that Precedent asks sacct for. */
#define SACCT_FORMAT                                                                                                 \
	"JobID,JobIDRaw,UID,User,Account,Partition,JobName,Submit,Start,End,Elapsed,Timelimit,NNodes,NCPUS,NTasks,"  \
	"State,ExitCode,"                                                                                            \
	"WorkDir,SubmitLine,AdminComment"
#define SACCT_LINE_MAX (256u << 10) /* a command line of 128 KiB (Linux: MAX_ARG_STRLEN) and a long comment */

enum sacct_column {
	SACCT_JOB_ID,
	SACCT_JOB_ID_RAW,
	SACCT_UID,
	SACCT_USER,
	SACCT_ACCOUNT,
	SACCT_PARTITION,
	SACCT_JOB_NAME,
	SACCT_SUBMIT,
	SACCT_START,
	SACCT_END,
	SACCT_ELAPSED,
	SACCT_TIMELIMIT,
	SACCT_NNODES,
	SACCT_NCPUS,
	SACCT_NTASKS,
	SACCT_STATE,
	SACCT_WORK_DIR,
	SACCT_SUBMIT_LINE,
	SACCT_ADMIN_COMMENT,
	SACCT_COLUMNS
};

/* A job that has run and ended. Texts are never NULL, and live until the next record is read. */
struct sacct_job {
	uint32_t jobid;			/* see sacct_synthetic_id */
	uint32_t array_job, array_task; /* 0: not of an array */
	int64_t uid;			/* -1: the file has no column UID */
	const char *user, *account, *partition, *name, *state, *work_dir, *submit_line, *comment;
	int64_t submit_time, start_time, end_time;
	double elapsed_s;
	uint32_t limit_min;	     /* DURATION_UNSET, DURATION_UNLIMITED */
	uint32_t nodes, cpus, tasks; /* 0: not told */
};

/* An array's task in a file without JobIDRaw. Slurm's own ids are below 2^26, so this id is nobody's. */
uint32_t sacct_synthetic_id(uint32_t array_job, uint32_t array_task);

struct sacct_reader;
/* Reads the header. name: of the file, for messages. in: borrowed. NULL with the reason. */
struct sacct_reader *sacct_reader_create(FILE *in, const char *name, struct errbuf *err);
void sacct_reader_destroy(struct sacct_reader *r); /* NULL is legal */
/*
 * The next record. Returns 1 with *job; 0 at the end; -1 for a record that cannot be read: err has "NAME:LINE: why",
 * and the reader goes on behind it. Steps, and jobs that have not run or not ended, are left out.
 */
int sacct_read(struct sacct_reader *r, struct sacct_job *job, struct errbuf *err);
/* Records that were left out so far. */
uint64_t sacct_left_out(const struct sacct_reader *r);

#endif
