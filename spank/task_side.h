/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin in slurmstepd: brings the tracer into the MPI processes of jobs that job_submit has marked
 * (INJECT_MARK), and leaves every other job alone at the cost of one look at its environment.
 */
#ifndef PRECEDENT_SPANK_TASK_SIDE_H
#define PRECEDENT_SPANK_TASK_SIDE_H

#include <slurm/spank.h>

/* The option's callback. Whatever the value, the step goes on. */
void task_side_option(const char *value);

/* In slurmd when it starts, arguments as below: says that this node has the tracer, or has not. Never fails, never waits. */
void task_side_slurmd(int ac, char **av);

/* As root, once per step and node, arguments of the plugstack line: conf=FILE, spool=DIR, lib=FILE. Never fails. */
void task_side_step(spank_t sp, int ac, char **av);

/* As the user, in the process that becomes the task. Never fails. */
void task_side_task(spank_t sp);

/* As root, a task has ended; the step has ended on this node. Never fail, wait COLLECT_PATIENCE_S at most. */
void task_side_task_ended(spank_t sp);
void task_side_step_ended(void);

#endif
