/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a batch script launches, as a hash: each mpirun, srun or other program with its arguments, in order.
 * The text around the launches, the name of the script and its directory do not count.
 *
 * What counts:
 * - a program or an input file: its name without folders, and its content (programs by build id, large files
 * by samples, as in common/fingerprint.h). An input below the current or the work directory counts with its
 * folders. For an input elsewhere, the files in its folder count;
 *
 * - other words: their text; a path within the current directory without that directory;
 *
 * - variables that the script gives to the programs;
 *
 * - the current directory, relative to the work directory, if the script has changed it;
 *
 * - the files in the current directory, if no word of a program names an input file. A directory with folders or
 * many files counts by its path.
 *
 * A wrong answer would tell a prediction of another program. So there is no answer if the reader does not
 * understand a part that can change a launch. Such parts are loops, conditions, functions, `eval`, `source`,
 * substitutions, redirected input, here-documents and other shells. A script of simple commands that the job script runs is
 * read, too: its launches count as if they stood in the job script.
 *
 * A program that the job itself may build, as by `make`, is not known before the job runs.
 *
 * Only commands that change no file, and MPI programs that are named by path, may stand before such a script: any other
 * command may write it.
 *
 * `module load` is taken to change only where programs and libraries are found, and variables. Programs that are found in
 * PATH are therefore unknown behind it, and so are variables that were set before. The same holds in a login shell.
 */
#ifndef PRECEDENT_COMMON_LAUNCHES_H
#define PRECEDENT_COMMON_LAUNCHES_H

#include <stddef.h>

#include "common/errbuf.h"
#include "common/fingerprint.h"

#define LAUNCHES_LEN 36 /* "v1:<32 hex>" and NUL */
/* Name of the variable that brings it from sbatch to slurmctld. */
#define LAUNCHES_VAR "PRECEDENT_LAUNCHES"

/* Write the hash to out. Returns 0, or -1 if it is not certain what is launched (why says it). */
int launches_of(const struct fingerprint_job *job, char out[LAUNCHES_LEN], struct errbuf *why);

#endif
