/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on the trace's directory with a deadline. A file server that stops answering must keep no program in MPI_Init,
 * MPI_Finalize or exit. The work runs in a thread. The kernel ends a thread that waits for NFS or FUSE together with
 * its process.
 */
#ifndef PRECEDENT_SPANK_TRACER_PATIENCE_H
#define PRECEDENT_SPANK_TRACER_PATIENCE_H

#include <stdbool.h>

#define SERVER_S      10 /* seconds */
#define SERVER_SYNC_S 60 /* for a whole trace to be on the disk of the server */

/*
 * Run work(arg). Returns false if the work has not ended after `seconds`, or if earlier work has not. Late work may go on, and
 * nobody may touch what it uses. So arg and all that the work uses are static, or are leaked after false.
 */
bool patience_run(void (*work)(void *), void *arg, unsigned seconds);

/* Has the file server not answered? */
bool patience_lost(void);

#endif
