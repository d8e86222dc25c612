/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the tracer gets into the MPI processes of a marked job, and where its trace goes. Free of Slurm: the SPANK plugin
 * passes what it knows (uid, job id, configuration) and applies what comes back.
 *
 * RATIONALE for mpirun. Its processes are started by mpirun and orted, not by Slurm, and the batch shell is to stay
 * untouched. Open MPI takes extra variables for them from two parameters. mca_base_env_list makes every `mpirun -x VAR`
 * abort; mca_base_env_list_internal (what -x lines of a parameter file end up in) does not, and `-x LD_PRELOAD` wins over
 * it. So the internal one is used, except where the user's environment has the public one already: then that is extended.
 */
#ifndef PRECEDENT_COMMON_INJECT_H
#define PRECEDENT_COMMON_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"

#define INJECT_ENV_LIST          "OMPI_MCA_mca_base_env_list"
#define INJECT_ENV_LIST_INTERNAL "OMPI_MCA_mca_base_env_list_internal"
/* Marks a job: "1" traced, "0" not after all. Steps get variables that begin with SLURM_ under any --export. */
#define INJECT_MARK              "SLURM_PRECEDENT_TRACE"
#define INJECT_LIBRARY_NAME      "libprecedent_trace.so"
#define INJECT_VALUE_MAX         8192 /* longest environment value that is handled */

/* "lib" or "lib:user", without lib in user's list. user may be NULL. -1: does not fit. */
int inject_preload(const char *user, const char *lib, char *out, size_t cap);

/*
 * A list of VAR=VALUE entries separated by ';' with LD_PRELOAD, PRECEDENT_TRACE_DIR and PRECEDENT_TRACE_LOCAL (unless
 * `local` is NULL) set for the tracer: entries of these names in `list` are replaced, the user's preload among them is
 * kept behind ours, as is `preload` (the LD_PRELOAD of the environment) when the list has none. list and preload may be
 * NULL. -1: does not fit.
 */
int inject_env_list(const char *list, const char *preload, const char *lib, const char *dir, const char *local, char *out,
		    size_t cap);

/*
 * The same values without the tracer: a job that is submitted from within a traced job inherits its environment, and must
 * not write into that job's directory. "" when nothing else was there. -1: does not fit.
 */
int inject_preload_strip(const char *value, char *out, size_t cap);
int inject_env_list_strip(const char *list, char *out, size_t cap);

/* Is this command (argv[0] of a step) a daemon that starts MPI processes on behalf of mpirun? */
bool inject_is_launch_daemon(const char *argv0);

/*
 * Does a batch script handle itself what the mpirun route would set (LD_PRELOAD, mca_base_env_list)? Then the processes
 * must get what the script says, and the job is not traced. A script that cannot be read: false.
 */
bool inject_script_objects(const char *path);

/*
 * Can this library be preloaded on this node? A readable regular file that belongs to root or to us, that nobody else may
 * write, below a name that LD_PRELOAD and the list can hold; the same holds for the tracers beside it, which it loads.
 * -1 with err filled.
 */
int inject_check_library(const char *lib, struct errbuf *err);

/* What the preloaded library loads: a tracer per MPI library, beside it. Path of the i-th; -1: does not fit. */
#define INJECT_TRACERS      2
#define INJECT_TRACER_NAMES {"libprecedent_trace_openmpi.so", "libprecedent_trace_mpich.so"}
#define INJECT_TRACER_MPIS  {"Open MPI", "MPICH and its descendants"}
int inject_tracer_path(const char *lib, size_t i, char *out, size_t cap);

/*
 * As root: make sure that spool/<uid> exists: owner uid, group of spool, mode 2750. Works on descriptors, follows no link
 * below spool, changes nothing that belongs to somebody else. spool itself must belong to root or to us and be writable by
 * its owner alone. -1 with err filled.
 */
int inject_spool_user(const char *spool, uid_t uid, struct errbuf *err);

/*
 * As the user: make sure that spool/<uid>/<job_id> exists and is ours, mode 2770; its name goes to dir. -1 with err filled.
 */
int inject_spool_job(const char *spool, uid_t uid, uint32_t job_id, char *dir, size_t cap, struct errbuf *err);

/* As the user: leave the reason why a marked job is not traced in its directory, for people; the first one stays. */
void inject_spool_note(const char *dir, const char *reason);
#define INJECT_NOTE_NAME "untraced.txt"

#endif
