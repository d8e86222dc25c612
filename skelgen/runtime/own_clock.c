/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See own_clock.h: the kernel keeps account of each thread's waiting. */
#include "skelgen/runtime/own_clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "skelgen/runtime/compute.h"

#define NOT_TRIED (-2)

static int fd = NOT_TRIED; /* /proc/thread-self/schedstat of the thread that asked first */

double own_clock_delayed_ns(void)
{
	unsigned long long ran, delayed;
	char text[96];
	ssize_t n;

	if (fd == NOT_TRIED)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%llu %llu", &ran, &delayed) == 2 ? (double)delayed : 0;
}

void own_clock_start(struct own_clock *c)
{
	c->delayed_ns = own_clock_delayed_ns();
	c->begin_ns = compute_clock_ns();
}

double own_clock_ns(const struct own_clock *c, double *wall_ns)
{
	double wall = compute_clock_ns() - c->begin_ns, delayed = own_clock_delayed_ns() - c->delayed_ns;

	if (wall_ns)
		*wall_ns = wall;
	return delayed > 0 && delayed < wall ? wall - delayed : delayed > 0 ? 0 : wall;
}

void own_clock_close(void)
{
	if (fd >= 0)
		close(fd);
	fd = NOT_TRIED;
}
