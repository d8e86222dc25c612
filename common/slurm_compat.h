/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that depends on Slurm's version. No other file has an #if about Slurm. `make check-headers` compiles what includes
 * Slurm's headers against those of other versions.
 */
#ifndef PRECEDENT_COMMON_SLURM_COMPAT_H
#define PRECEDENT_COMMON_SLURM_COMPAT_H

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* COMPAT_JOB_ID: the job's id in a job_desc_msg_t or a submit_response_msg_t. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define COMPAT_JOB_ID(msg) ((msg)->step_id.job_id)
#else
#define COMPAT_JOB_ID(msg) ((msg)->job_id)
#endif

/* COMPAT_JOB: a job as an argument of slurm_load_job and slurm_kill_job. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define COMPAT_JOB(id)         ((slurm_step_id_t){.job_id = (id), .step_het_comp = NO_VAL, .step_id = NO_VAL})
#define compat_free_conf(conf) slurm_free_conf(conf)
#else
#define COMPAT_JOB(id)         (id)
#define compat_free_conf(conf) slurm_free_ctl_conf(conf)
#endif

/* The head of job_modify of a job_submit plugin. */
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
