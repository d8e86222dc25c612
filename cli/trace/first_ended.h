/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rank of a run on this node ended first. A rank keeps its spill file mapped until its process has ended. Then the kernel
 * reports the last close of the file (inotify). So the reports have the order of the ends.
 */
#ifndef PRECEDENT_CLI_FIRST_ENDED_H
#define PRECEDENT_CLI_FIRST_ENDED_H

/* Begin to watch the directory of spill files. Returns a descriptor, or -1 if this cannot be watched. */
int first_ended_watch(const char *dir);
/* All ranks have ended: mark the first one of each run for the salvage (SALVAGE_FIRST). Closes fd; -1 is legal. */
void first_ended_mark(int fd, const char *dir);

#endif
