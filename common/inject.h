/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Brings the tracer into the MPI processes of a marked job, and names the directory of its trace. Independent of
 * Slurm: the SPANK plugin passes uid, job id and configuration, and applies the result.
 *
 * RATIONALE for mpirun. mpirun and orted start the processes, not Slurm, and the batch shell must stay unchanged.
 * Open MPI has two parameters that pass variables to processes. With mca_base_env_list, every `mpirun -x VAR` aborts.
 * With mca_base_env_list_internal, `-x` works, and `-x LD_PRELOAD` overrides the parameter. It also receives the -x
 * lines of a parameter file. So the internal parameter is used. If the user's environment has the public parameter,
 * the public one is extended.
 *
 * From version 5 on, mpirun is PRRTE, which does not know the internal parameter. PRRTE has a parameter of its own, an exec
 * agent: a command that starts each process. Other launchers do not read this parameter.
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
#define INJECT_AGENT             "PRTE_MCA_odls_base_exec_agent"
#define INJECT_AGENT_OMPI        "OMPI_MCA_odls_base_exec_agent" /* mpirun takes it if there is none of PRRTE */
#define INJECT_AGENT_NAME        "precedent-agent"
/* Marks a job: "1" is traced, "0" is not traced any more. Variables that begin with SLURM_ reach steps with any
 * --export. */
#define INJECT_MARK              "SLURM_PRECEDENT_TRACE"
/* The user's limit and the limit that Precedent sets, in minutes: "30:4". Only for jobs whose limit it lowers. */
#define INJECT_LIMITS            "SLURM_PRECEDENT_LIMITS"
#define INJECT_LIBRARY_NAME      "libprecedent_trace.so"
#define INJECT_VALUE_MAX         8192 /* longest environment value */

/* Write "lib" or "lib:user"; lib is removed from user's list. user may be NULL. Returns 0, or -1 if it does not
 * fit. */
int inject_preload(const char *user, const char *lib, char *out, size_t cap);

/*
 * The end by the user's own limit, for SLURM_JOB_END_TIME. The texts are the values of INJECT_LIMITS, SLURM_JOB_START_TIME
 * and SLURM_JOB_END_TIME; NULL: missing. Returns 0 if the end is that of Precedent's limit; otherwise -1: somebody
 * else has set the limit.
 */
int inject_end_time(const char *limits, const char *start, const char *end, char *out, size_t cap);

/*
 * Write a list of VAR=VALUE entries, separated by ';', with LD_PRELOAD, PRECEDENT_TRACE_DIR and
 * PRECEDENT_TRACE_LOCAL (unless `local` is NULL) for the tracer. Entries of these names in `list` are replaced. The
 * user's preload from `list` is kept behind the tracer. If `list` has none, `preload` is kept, the LD_PRELOAD of
 * the environment. list and preload may be NULL. Returns 0, or -1 if it does not fit.
 */
int inject_env_list(const char *list, const char *preload, const char *lib, const char *dir, const char *local, char *out,
		    size_t cap);

/*
 * Remove the tracer from such values. A job that is submitted from within a traced job inherits its environment,
 * and must not write into that job's directory. The result is "" if nothing else was there. Returns 0, or -1 if it
 * does not fit.
 */
int inject_preload_strip(const char *value, char *out, size_t cap);
int inject_env_list_strip(const char *list, char *out, size_t cap);

/*
 * Write the exec agent for PRRTE, a command line: the agent beside lib, lib, dir, and local or "-". Returns 0, or -1 if it does
 * not fit or has a character at which PRRTE splits or cuts parameters.
 */
int inject_agent(const char *lib, const char *dir, const char *local, char *out, size_t cap);

/* Is this exec agent ours, of any job? */
bool inject_is_agent(const char *value);

/* Is this command (argv[0] of a step) a daemon that starts MPI processes for mpirun? */
bool inject_is_launch_daemon(const char *argv0);

/*
 * Does a batch script set LD_PRELOAD, mca_base_env_list or an exec agent itself? Then its processes must get the script's
 * values, and the job is not traced. Returns false if the script cannot be read.
 */
bool inject_script_objects(const char *path);

/*
 * Can this library be preloaded on this node? It must be a readable regular file that belongs to root or to the
 * caller and that no other user can write. Its path must fit into LD_PRELOAD and the list. The same holds for the
 * tracers beside it, which it loads. The exec agent must be there. Returns 0, or -1 on error (err says why).
 */
int inject_check_library(const char *lib, struct errbuf *err);

/* The tracers that the preloaded library loads: one per MPI library, beside it. inject_tracer_path writes the path of
 * the i-th. Returns 0, or -1 if it does not fit. */
#define INJECT_TRACERS      2
#define INJECT_TRACER_NAMES {"libprecedent_trace_openmpi.so", "libprecedent_trace_mpich.so"}
#define INJECT_TRACER_MPIS  {"Open MPI", "MPICH and its descendants"}
int inject_tracer_path(const char *lib, size_t i, char *out, size_t cap);

/*
 * As root: make sure that spool/<uid> exists, with owner uid, the group of spool and mode 2770. Works on descriptors,
 * follows no link below spool and changes no foreign files. The directory `spool` must belong to root or to the caller,
 * and only its owner may write. Returns 0 on success, -1 on error (err says why).
 */
int inject_spool_user(const char *spool, uid_t uid, struct errbuf *err);

/* By errno: why root may not be able to write on a file server, or "". */
const char *inject_squash_hint(void);

/*
 * As the user: make sure that spool/<uid>/<job_id> exists with mode 2770 and belongs to the user. Its path goes to
 * dir. Returns 0 on success, -1 on error (err says why).
 */
int inject_spool_job(const char *spool, uid_t uid, uint32_t job_id, char *dir, size_t cap, struct errbuf *err);

/* As the user: write the reason why a marked job is not traced into its directory, for readers. A reason that is
 * there already stays. */
void inject_spool_note(const char *dir, const char *reason);
#define INJECT_NOTE_NAME "untraced.txt"

#endif
