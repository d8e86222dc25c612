/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time that a thread's work takes, without what it was ready and others had its processor: another program, or other ranks
 * where there are more of them than processors. What the program computed is known without that as well, see
 * trace/cpu_time/own_iter.h. For the first thread of a rank.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_OWN_CLOCK_H
#define PRECEDENT_SKELGEN_RUNTIME_OWN_CLOCK_H

struct own_clock {
	double begin_ns, delayed_ns;
};

/* How long the calling thread has been ready without a processor, in all; 0 where the kernel does not say. It costs a
 * system call, a microsecond or more. */
double own_clock_delayed_ns(void);
void own_clock_start(struct own_clock *c);
/* Since then; wall_ns: delays included, or NULL. What the looks themselves cost is in neither. */
double own_clock_ns(const struct own_clock *c, double *wall_ns);
void own_clock_close(void);

#endif
