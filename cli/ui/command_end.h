/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A traced command: which of its words is the program, and how it ended. */
#ifndef PRECEDENT_CLI_COMMAND_END_H
#define PRECEDENT_CLI_COMMAND_END_H

#include <stddef.h>

/* The first word behind the launcher that names an executable file or a program in PATH: mpirun -n 2 ./app -x 3 -> ./app. Without
 * one, the launcher, and without that, cmd[0]. */
const char *command_program(char *const cmd[]);

/* The trace that the command left. At once: it is partial, and its ranks ended together, as if they were killed. */
enum command_left { LEFT_NOTHING, LEFT_PARTIAL, LEFT_AT_ONCE, LEFT_WHOLE };
struct trace;
/* t: NULL if there is none. */
enum command_left command_left(const struct trace *t);

/* Does the exit status stand for a signal, as shells and Open MPI's launcher give it: 128 and its number? */
int command_is_signal(int rc);

/* The signal that the exit status of this command stands for or may stand for, or 0: MPICH's launcher gives the bare number.
 * SIGTERM for timeout(1) whose time was over. */
int command_signal(char *const cmd[], int rc);

/* The program's end as text. Example: "./app ended by itself with exit status 1 before MPI_Finalize". rc: exit status
 * of the command, or 128 and the number of the signal that killed it. */
void command_how_ended(char *const cmd[], int rc, enum command_left left, char *text, size_t size);

#endif
