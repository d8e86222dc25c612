/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that depends on Slurm's version. Also declares the functions of slurmctld that public headers do not
 * declare; they are in libslurmfull, which every slurmctld loads. No other file has an #if about Slurm.
 */
#ifndef PRECEDENT_PLUGIN_SLURM_COMPAT_H
#define PRECEDENT_PLUGIN_SLURM_COMPAT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* slurmctld's record of a job; only passed on. */
typedef struct job_record job_record_t;

/* Slurm's allocator, required for strings in a descriptor or an err_msg. */
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);
extern void *slurm_xrecalloc(void **item, size_t count, size_t size, bool clear, bool may_fail,
			     const char *file, int line, const char *func);
/* Slurm's log. */
extern void slurm_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern int slurm_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Time of slurmctld's last change of a partition in whole seconds: state, access lists, limits, nodes. slurmctld
 * holds the partitions' lock while it calls job_submit. NULL if this slurmctld lacks the variable.
 */
extern time_t last_part_update __attribute__((weak));

/* slurmctld's configuration. slurmctld holds its lock while it calls job_submit. */
extern slurm_conf_t slurm_conf __attribute__((weak));

#define compat_free(p) slurm_xfree((void **)&(p))
#define compat_resize(p, count)                                                                              \
	slurm_xrecalloc((void **)&(p), (count), sizeof(*(p)), true, true, __FILE__, __LINE__, __func__)

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#define COMPAT_JOB_MODIFY(desc, job, uid)                                                                    \
	int job_modify(job_desc_msg_t *desc, job_record_t *job, uint32_t uid, char **err_msg)
#define COMPAT_JOB_MODIFY_UNUSED (void)err_msg
#else
#define COMPAT_JOB_MODIFY(desc, job, uid)                                                                    \
	int job_modify(job_desc_msg_t *desc, job_record_t *job, uint32_t uid)
#define COMPAT_JOB_MODIFY_UNUSED (void)0
#endif

#endif
