/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on files of a server that may not answer, with a deadline. slurmd, slurmstepd and sbatch let another process do
 * it. That process is no child of theirs, so that nothing of Slurm waits for it. Its own timer ends it.
 */
#ifndef PRECEDENT_SPANK_BOUNDED_H
#define PRECEDENT_SPANK_BOUNDED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/errbuf.h"

/* longest wait for the spool */
#define BOUNDED_MS 3000

/* Returns 0, or -1 on error (err says why). */
typedef int bounded_work(void *arg, struct errbuf *err);

/*
 * Run work(arg) in another process. When the work ends in time, the `size` bytes of arg are as the work left them, and
 * its result is returned. Otherwise returns -1 and *late is true (late may be NULL). ms 0: do not wait, return 0.
 * what: the object of the work, for err.
 */
struct bounded {
	bounded_work *work;
	void *arg;
	size_t size;
	unsigned ms;
	const char *what;
};
int bounded_run(const struct bounded *b, bool *late, struct errbuf *err);

/* Close all descriptors from 3 on except these two; -1: none. */
void bounded_close(int keep, int also);

/* Wait until fd can be read, or its other end is closed. Returns false after `ms`. */
bool bounded_poll(int fd, unsigned ms);

#endif
