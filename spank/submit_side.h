/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin in sbatch, salloc and srun, as the user on the login node: --predict is checked, the fingerprint of what the
 * job names goes into the job's control environment, what the job inherits from a traced job around it is taken out.
 */
#ifndef PRECEDENT_SPANK_SUBMIT_SIDE_H
#define PRECEDENT_SPANK_SUBMIT_SIDE_H

#include <slurm/spank.h>

/* The option's callback: 0, or -1 with a message when the value is none of the four. */
int submit_side_option(const char *value);

/* All options are known, the job is not yet submitted. Never fails. */
void submit_side_options_done(spank_t sp);

#endif
