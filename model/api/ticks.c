/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which clock, and how long its ticks are: see ticks.h. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "model/api/ticks.h"

#define SOURCE	    "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define BASELINE_NS 1000000u

bool ticks_are_tsc;
static uint64_t start_ticks, start_ns;

/* The kernel has looked whether the counters of all processors agree. */
static bool kernel_trusts_tsc(void)
{
	char text[8] = "";
	int fd = open(SOURCE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n == 4 && !memcmp(text, "tsc\n", 4);
}

void ticks_start(void)
{
	ticks_are_tsc = arch_has_counter() && kernel_trusts_tsc();
	start_ticks = ticks_now();
	start_ns = ticks_mono_ns();
}

double ticks_second(void)
{
	uint64_t ns = ticks_mono_ns() - start_ns;

	if (!ticks_are_tsc)
		return 1e-9;
	while (ns < BASELINE_NS) {
		nanosleep(&(struct timespec){0, BASELINE_NS}, NULL);
		ns = ticks_mono_ns() - start_ns;
	}
	return 1e-9 * (double)ns / (double)(ticks_now() - start_ticks);
}
