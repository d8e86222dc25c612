/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin in sbatch, salloc and srun, as the user on the login node. It checks --predict and puts the job's
 * fingerprint into the job's control environment. It removes variables that the job inherits from a traced outer
 * job.
 */
#ifndef PRECEDENT_SPANK_SUBMIT_SIDE_H
#define PRECEDENT_SPANK_SUBMIT_SIDE_H

#include <slurm/spank.h>

/* Before options are read: forget the options of an outer job. Never fails. */
void submit_side_begin(void);

/* The option's callback. Returns 0; -1 with a message if the value is none of the four. */
int submit_side_option(const char *value);

/* All options are known, and the job is not submitted yet. Never fails; waits a second at most. */
void submit_side_options_done(spank_t sp);

#endif
