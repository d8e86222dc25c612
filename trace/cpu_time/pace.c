/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The evenness of a run's computation: see pace.h. */
#include <math.h>
#include <stdlib.h>

#include "trace/cpu_time/pace.h"

#define SLICES 16
#define SYMBOLS_MOST 65536 /* 16 MiB. With more, few come again and again. */
#define LEAST  0.1 /* of a slice that is computation: the pace of less is chance */
/* The deviation of slices over that of whole runs. For noise without memory it is the root of SLICES; for noise that
 * lasts it is 1. The same work on two processors of a virtual machine, in slices of 0.1 to 0.2 s and 16 times as long,
 * had 1.5 and 3.2 for a walk through 512 kB, and 2.3 and 3.8 for arithmetic. */
#define SLICE_OVER_RUN 2.0
#define CHANCE 2.0 /* deviations within which 95 % of values are */
/* What varies more is rather the program: PETSc's multigrid, with unlike work before one call, would have 0.47. With
 * this bound 42 of 45 intervals hold in doc/evaluation/accuracy.md. */
#define MOST 0.1

void pace_begin(struct pace *p, const struct trace_rank *rank)
{
	const struct trace_proc *proc = &rank->defs.proc;

	p->n = rank->defs.sigs.n;
	p->slice_ns = (double)proc->end_ticks * proc->ns_per_tick / SLICES;
	p->sum = p->n && p->n <= SYMBOLS_MOST && p->slice_ns > 0 ? calloc((size_t)SLICES * p->n, sizeof(*p->sum)) : NULL;
}

void pace_add(struct pace *p, uint32_t sym, double at_ns, double gap_ns)
{
	double slice = at_ns / p->slice_ns;
	struct pace_sum *s;

	if (!p->sum || sym >= p->n)
		return;
	s = &p->sum[(size_t)(slice < SLICES - 1 ? slice : SLICES - 1) * p->n + sym];
	s->ns += gap_ns;
	s->n++;
}

/* Of each slice, the time of its computations and their usual time, ns. */
static void slices_sum(const struct pace *p, double pace[SLICES], double usual[SLICES])
{
	for (uint32_t c = 0; c < p->n; c++) {
		double ns = 0, n = 0;

		for (size_t s = 0; s < SLICES; s++) {
			ns += p->sum[s * p->n + c].ns;
			n += p->sum[s * p->n + c].n;
		}
		for (size_t s = 0; n > 0 && s < SLICES; s++) {
			pace[s] += p->sum[s * p->n + c].ns;
			usual[s] += p->sum[s * p->n + c].n * ns / n;
		}
	}
}

void pace_end(struct pace *p)
{
	double pace[SLICES] = {0}, usual[SLICES] = {0};

	if (!p->sum)
		return;
	slices_sum(p, pace, usual);
	for (int s = 0; s < SLICES; s++)
		pace[s] = usual[s] > LEAST * p->slice_ns ? pace[s] / usual[s] : NAN;
	for (int s = 1; s + 1 < SLICES; s++) {
		double d = pace[s + 1] - 2 * pace[s] + pace[s - 1];

		if (isnan(d))
			continue;
		p->square += d * d / 6; /* of noise, the variance of d is six times that of a slice */
		p->differences++;
	}
	free(p->sum);
	p->sum = NULL;
}

double pace_half_width(const struct pace *p)
{
	double slice = p->differences > 0 ? sqrt(p->square / p->differences) : 0;

	return fmin(MOST, CHANCE * M_SQRT2 * slice / SLICE_OVER_RUN);
}
