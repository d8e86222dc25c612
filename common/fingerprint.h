/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fingerprint of a job: a hash of the files that its script and arguments name, as they are at submission. Programs
 * count by their build id, other files by size and content; names, times and owners do not count, so a copy of the same
 * job elsewhere is the same job. What the job itself writes is left out where the script shows it: targets of
 * redirections and of -o/--output/-log, of cp, mv, tee, rm and the like, #SBATCH --output, everything named only behind
 * the last mpirun or srun, everything below /tmp, /dev, /proc, /sys and /run. Where no data file is named, the work
 * directory joins in: the input then lies there under names that only the program knows.
 * Files above twice FINGERPRINT_SAMPLE count by their size, first and last bytes. Common tools (ls, grep, mpirun, ...)
 * do not count: an update of the system would make every job a new one.
 */
#ifndef PRECEDENT_COMMON_FINGERPRINT_H
#define PRECEDENT_COMMON_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define FINGERPRINT_SAMPLE    (1024 * 1024)      /* bytes of a file read at its start, and at its end */
#define FINGERPRINT_TOTAL_MAX (64 * 1024 * 1024) /* beyond, files count by size alone */
#define FINGERPRINT_TIME_NS   200000000          /* beyond, there is no fingerprint */
#define FINGERPRINT_FILES_MAX 1024
#define FINGERPRINT_BULK      (64 * 1024)        /* data files from here on are bulk: how much there is may say how long it takes */
#define FINGERPRINT_LEN       112                /* with the NUL */

struct fingerprint_job {
	const char *script; /* text; NULL where there is none (srun, salloc): then the arguments are the command */
	size_t script_len;
	char *const *args;
	size_t n_args;
	const char *work_dir;   /* absolute */
	const char *submit_dir; /* absolute; NULL: as work_dir */
	const char *input;      /* sbatch --input, or NULL */
	const char *output, *error; /* sbatch --output and --error, or NULL */
	const char *(*lookup)(const char *name); /* environment of the submission; NULL: none (then PATH is empty) */
};

/*
 * Write the fingerprint to out: "v1:<32 hex>:<files>", and where there are bulk data files ":<32 hex>:<bytes>" behind it: a hash
 * of everything else and of how many they are, and how many bytes they have together. Returns the number of files in it; -1 with err filled when it took too long or there was
 * no memory: a fingerprint is whole or absent, never of a part of the files that chance chose.
 */
int fingerprint_job(const struct fingerprint_job *job, char out[FINGERPRINT_LEN], struct errbuf *err);

/*
 * Build id of an ELF file open at fd: its length (at most cap), 0 when there is none or the file is not ELF of this
 * machine's byte order. Reads a bounded number of bytes.
 */
size_t fingerprint_build_id(int fd, uint8_t *id, size_t cap);

#endif
