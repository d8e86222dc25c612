/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Long computations and delays of which a share runs. The share is measured here and stands for the rest: the virtual
 * clock is put forward by the rest. The spread of its pieces gives the half-width of a 95 % interval (Student's t).
 * The omitted time belongs to one rank. In the program all ranks waited for the last one at collective calls. So the virtual
 * clocks meet there: no rank goes on before the latest clock.
 */
#include <math.h>

#include "skelgen/runtime/blocks.h"
#include "skelgen/runtime/runtime.h"

#define PIECES       8
#define STUDENT95_7  2.365 /* seven degrees of freedom */

static double least_ns = INFINITY, share = 1;
static double start_ns;

void skel_share(double least, double of)
{
	if (!(least > 0) || !(of > 0 && of <= 1))
		skel_fail("a share of %g of what takes more than %g ns makes no sense: generate the skeleton again", of, least);
	least_ns = least;
	share = of;
}

void skel_share_from(double started_ns)
{
	start_ns = started_ns;
}

int skel_shares(void)
{
	return share < 1;
}

/* What of it runs. */
static double part_of(double ns)
{
	return ns > least_ns ? fmax(least_ns, share * ns) : ns;
}

static void compute_part(int mix, double ns, double part)
{
	double left = (ns - part) / part, sum = 0, square = 0, begin = skel_clock_ns(), mean, variance;

	for (int i = 0; i < PIECES; i++) {
		double now, piece;

		skel_blocks_run(mix, part / PIECES);
		now = skel_clock_ns();
		piece = now - begin;
		begin = now;
		sum += piece;
		square += piece * piece;
	}
	mean = sum / PIECES;
	variance = fmax(0, square / PIECES - mean * mean) * PIECES / (PIECES - 1);
	skel_virtual_forward(sum * left, STUDENT95_7 * sqrt(variance * PIECES) * left);
	skel_spent_forward(sum * left, ns - part);
}

void skel_compute(int mix, double ns)
{
	double part = part_of(ns);

	if (part < ns)
		compute_part(mix, ns, part);
	else
		skel_blocks_run(mix, ns);
}

void skel_delay(double ns)
{
	double part = part_of(ns);

	skel_sleep(part);
	if (part < ns)
		skel_virtual_forward(ns - part, 0);
}

void skel_meet(MPI_Comm c)
{
	double now = skel_clock_ns(), real = now - start_ns, virtual = skel_virtual_at(now) - start_ns;
	double mine[2] = {real, virtual}, latest[2];

	PMPI_Allreduce(mine, latest, 2, MPI_DOUBLE, MPI_MAX, c);
	skel_virtual_forward((latest[1] - latest[0]) - (virtual - real), 0);
}
