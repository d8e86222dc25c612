/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin in slurmstepd. It brings the tracer into the MPI processes of jobs that job_submit has marked
 * (INJECT_MARK). For any other job it only reads one variable of the environment.
 */
#ifndef PRECEDENT_SPANK_TASK_SIDE_H
#define PRECEDENT_SPANK_TASK_SIDE_H

#include <slurm/spank.h>

/* The option's callback. The step goes on with any value. */
void task_side_option(const char *value);

/* In slurmd, at its start: write whether this node has the tracer, and make LocalDir/precedent before users can take
 * the name. Arguments as for task_side_step. Never fails; waits BOUNDED_MS at most. */
void task_side_slurmd(int ac, char **av);

/* As root, once per step and node. Arguments of the plugstack line: conf=FILE, spool=DIR, lib=FILE. Never fails;
 * waits BOUNDED_MS at most. */
void task_side_step(spank_t sp, int ac, char **av);

/* As the user, in the process that becomes the task. Never fails; waits BOUNDED_MS at most. */
void task_side_task(spank_t sp);

/* As root, when a task has ended and when the step has ended on this node. Never fail; wait COLLECT_PATIENCE_S at
 * most. */
void task_side_task_ended(spank_t sp);
void task_side_step_ended(void);

#endif
