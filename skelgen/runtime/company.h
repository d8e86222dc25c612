/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Did this rank have its processors to itself? Other programs of the node take them, and so does the host of a virtual machine.
 * Time that ranks of this job take from each other does not count: the program's ranks do the same.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_COMPANY_H
#define PRECEDENT_SKELGEN_RUNTIME_COMPANY_H

#include <stdint.h>

#define COMPANY_LEAST 0.01 /* of a rank's time: less is what any system's own services take */

/* Of one rank in a stretch of time; ns. */
struct company {
	uint64_t place;    /* the node and its processors that the rank may use */
	double wall_ns;
	double own_ns;     /* on a processor */
	double delayed_ns; /* ready, without a processor */
	double busy_ns;    /* of all these processors, by any process */
	double stolen_ns;  /* of all these processors, by the host */
};

/* The counters now; or those since `begin`. Unknown counters are 0. */
void company_look(struct company *out);
void company_since(const struct company *begin, struct company *out);

/* The share of its time that rank r lost to others. all: of the n ranks. */
double company_lost(const struct company *all, int n, int r);
/* most: the largest share of a rank. together: the share of the time in which all ranks had processors at once, if ranks lose
 * their time independently. */
void company_sum(const struct company *all, int n, double *most, double *together);

/* "cpu3 user nice system idle iowait irq softirq steal": adds to busy and stolen, in clock ticks, if the line is of a
 * processor of the mask (bit n: processor n). */
void company_stat_line(const char *line, const uint64_t *mask, int words, double *busy, double *stolen);

#endif
