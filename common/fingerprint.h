/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fingerprint of a job: a hash of the files that its script and arguments name, at submission. Programs count
 * by build id, other files by size and content. Names, times and owners do not count, so a copy of a job elsewhere
 * has the same fingerprint.
 *
 * A script that is handed to a shell (`bash step.sh`, `srun -n 1 bash step.sh`) counts with the files that it names. So
 * does a script below the work directory that the job script runs by its path or sources, and so do scripts within them.
 * If the path of such a script has a name that a workflow tool made up (common/made_up.h), the made-up names within the
 * script do not count.
 *
 * A job of submitit counts with the functions that its folder has for it. If the folder has more than
 * FINGERPRINT_FILES_MAX, there is no fingerprint.
 *
 * The words in the file of srun --multi-prog count as words of the script, within the bound of multi_prog.h.
 *
 * If a command such as `make` builds programs, the sources of its directory count, and of src/ and include/ below
 * (common/build_sources.h).
 *
 * Files that the job writes are left out, as far as the script shows them:
 * - targets of redirections, of -o/--output/-log, and of #SBATCH --output;
 *
 * - targets of cp, mv, tee, rm and similar commands;
 *
 * - files that are named only behind the last mpirun or srun;
 *
 * - files below /tmp, /dev, /proc, /sys and /run.
 *
 * If no data file is named, the work directory counts: the program may find its input there by itself.
 *
 * Files above twice FINGERPRINT_SAMPLE count by size, first and last bytes. Common tools (ls, grep, mpirun, ...) do
 * not count, since otherwise an update of the system would make every job a new one.
 */
#ifndef PRECEDENT_COMMON_FINGERPRINT_H
#define PRECEDENT_COMMON_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define FINGERPRINT_SAMPLE    (1024 * 1024)      /* bytes that are read at the start and at the end of a file */
#define FINGERPRINT_TOTAL_MAX (64 * 1024 * 1024) /* beyond this total, files count by size alone */
#define FINGERPRINT_TIME_NS   200000000          /* beyond this time, there is no fingerprint */
#define FINGERPRINT_FILES_MAX 1024
/* data files from this size on are bulk data, whose total size may predict run time */
#define FINGERPRINT_BULK      (64 * 1024)
#define FINGERPRINT_LEN       112                /* including the NUL */

struct fingerprint_job {
	/* text; NULL: no script (srun, salloc), and the arguments are the command */
	const char *script;
	size_t script_len;
	char *const *args;
	size_t n_args;
	const char *work_dir;   /* absolute */
	const char *submit_dir; /* absolute; NULL: the same as work_dir */
	const char *input;      /* sbatch --input, or NULL */
	const char *output, *error; /* sbatch --output and --error, or NULL */
	/* environment of the submission; NULL: none, and PATH is empty */
	const char *(*lookup)(const char *name);
};

/*
 * Write the fingerprint to out: "v1:<32 hex>:<files>". With bulk data files ":<32 hex>:<bytes>" follows: a hash of
 * all other files and of the number of bulk files, and the bulk files' total size. Returns the number of files.
 * Returns -1 if time or memory ran out, or if submitit has too many functions (err says why): a fingerprint covers all
 * files or is absent.
 */
int fingerprint_job(const struct fingerprint_job *job, char out[FINGERPRINT_LEN], struct errbuf *err);

/* Is word[0..len) an option whose value names an output, as "--output" is? */
bool fingerprint_is_output_option(const char *word, size_t len);

/*
 * Write the build id of an ELF file, open at fd, to id. Reads a bounded number of bytes. Returns its length (at
 * most cap), or 0 if there is none or the file is no ELF file of this byte order.
 */
size_t fingerprint_build_id(int fd, uint8_t *id, size_t cap);

#endif
