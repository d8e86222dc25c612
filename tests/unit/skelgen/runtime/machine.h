/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine of test_runtime_compute.c: the runtime's clock and its kernels, real or simulated. */
#pragma once

#include <math.h>

#include "skelgen/runtime/kernel.h"
#include "skelgen/runtime/own_clock.h"

/* The machine that is calibrated: this one, or a simulated one. There a unit of class c takes c + 2 ns, and a look at the clock
 * 25 ns. One such look (stalls_at) lasts stall_ns longer, as that rank has to wait for its core. After each stop_ns others have the
 * core for stop_ns, and for `others` more times as long, which the kernel counts. */
static struct {
	int simulated;
	unsigned reads, stalls_at;
	double now_ns, stall_ns, stop_ns, others;
} machine;

static double machine_delayed(void)
{
	return machine.stop_ns > 0 ? (1 + machine.others) * machine.stop_ns * floor(machine.now_ns / machine.stop_ns) : 0;
}

static double machine_clock(void)
{
	if (!machine.simulated)
		return compute_clock_ns();
	machine.now_ns += 25 + (machine.reads++ == machine.stalls_at ? machine.stall_ns : 0);
	return machine.now_ns + machine_delayed();
}

/* What the kernel says of this machine is in tests/cli/skeleton-preempted.t. */
double own_clock_delayed_ns(void)
{
	return machine_delayed();
}

void own_clock_start(struct own_clock *c)
{
	c->delayed_ns = own_clock_delayed_ns();
	c->begin_ns = machine_clock();
}

double own_clock_ns(const struct own_clock *c, double *wall_ns)
{
	double wall = machine_clock() - c->begin_ns;

	if (wall_ns)
		*wall_ns = wall;
	return wall - (own_clock_delayed_ns() - c->delayed_ns);
}

void own_clock_close(void)
{
}

static void machine_run(struct kernel *k, int c, uint64_t units)
{
	if (!machine.simulated)
		kernel_run(k, c, units);
	machine.now_ns += (double)units * (c + 2);
}
