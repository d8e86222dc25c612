/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time of a thread's work without the time in which it was ready and had no processor, because another program or rank ran
 * there. The program's computation is known in the same way (trace/cpu_time/own_iter.h). For the first thread of a rank.
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
/* Time since the start. wall_ns: with delays; may be NULL. Neither contains the cost of the looks. */
double own_clock_ns(const struct own_clock *c, double *wall_ns);
void own_clock_close(void);

#endif
