/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the files that talk to Slurm alone. */
#ifndef PRECEDENT_PREDICTOR_PRECEDENTD_SLURM_CLOCK_H
#define PRECEDENT_PREDICTOR_PRECEDENTD_SLURM_CLOCK_H

#include <slurm/slurm.h>

/* slurmctld's configuration, as of the last slurm_side_clock (daemon.h). */
const slurm_conf_t *slurm_side_conf(void);

#endif
