/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rank of a run on this node ended first, and how far apart the ends were. A rank keeps its spill file mapped until its
 * process has ended. Then the kernel reports the last close of the file (inotify). So the reports have the order of the ends;
 * a thread notes their times.
 */
#ifndef PRECEDENT_CLI_FIRST_ENDED_H
#define PRECEDENT_CLI_FIRST_ENDED_H

struct first_ended;

/* Begin to watch the directory of spill files. Returns NULL if this cannot be watched. */
struct first_ended *first_ended_watch(const char *dir);
/*
 * Call after the command has ended. Writes the mark of the first rank of each run for the salvage (SALVAGE_FIRST).
 * launcher_signal: the signal that killed the command itself, or 0.
 * Waits some seconds for ranks that outlive a killed launcher. Frees w; NULL is legal.
 */
void first_ended_mark(struct first_ended *w, const char *dir, int launcher_signal);

#endif
