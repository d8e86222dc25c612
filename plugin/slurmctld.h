/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declares what a plugin uses of slurmctld that public headers do not declare. The functions are in libslurmfull, which every
 * slurmctld loads.
 */
#ifndef PRECEDENT_PLUGIN_SLURMCTLD_H
#define PRECEDENT_PLUGIN_SLURMCTLD_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "common/slurm_compat.h"

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

/*
 * Is this a question when the job would start (--test-only)? The command line does not say: options can be abbreviated or
 * stand in the script. slurm_submit_batch_job and slurm_allocate_resources fill in the session. slurm_job_will_run does not.
 * This holds from 20.11 to 26.05 (src/api).
 */
static inline bool compat_test_only(const job_desc_msg_t *desc)
{
	return desc->alloc_sid == NO_VAL;
}

#define compat_free(p) slurm_xfree((void **)&(p))
#define compat_resize(p, count)                                                                              \
	slurm_xrecalloc((void **)&(p), (count), sizeof(*(p)), true, true, __FILE__, __LINE__, __func__)

#endif
