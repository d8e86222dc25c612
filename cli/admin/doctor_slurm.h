/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For precedent doctor: the settings of slurm.conf on which it hangs that runs are seen and limits come back. Pure. */
#ifndef PRECEDENT_CLI_DOCTOR_SLURM_H
#define PRECEDENT_CLI_DOCTOR_SLURM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/conf.h"

enum slurm_verdict { SLURM_FINE, SLURM_DOUBT, SLURM_BROKEN };

/* Values as `scontrol show config` prints them; "" = not known. */
struct slurm_facts {
	const char *min_job_age, *max_job_count, *scheduler, *overtime;
	const char *version, *scheduler_parameters;
	enum limit_guard guard;
	unsigned poll_interval_s;
	long jobs;   /* that slurmctld knows now; below 0: not known */
	bool limits; /* some jobs are given limits, or placed (Mode) */
	bool end_at_asked;
};

/* Writes one line for people to `out`: the finding and the remedy. */
enum slurm_verdict slurm_judge_age(const struct slurm_facts *f, char *out, size_t size);
enum slurm_verdict slurm_judge_count(const struct slurm_facts *f, char *out, size_t size);
/* Does slurm.conf have what LimitGuard needs? Of auto, soft and overtime. */
enum slurm_verdict slurm_judge_guard(const struct slurm_facts *f, char *out, size_t size);
enum slurm_verdict slurm_judge_scheduler(const struct slurm_facts *f, char *out, size_t size);

#endif
