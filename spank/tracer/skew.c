/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of several clocks at one time, and a wrong clock for tests: see clock.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/clock.h"

struct clock_skew clock_skew;

uint64_t clock_skewed_ns(clockid_t id)
{
	uint64_t now = clock_true_ns(id), mono = clock_true_ns(CLOCK_MONOTONIC);

	if (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC)
		return now;
	return now + (uint64_t)clock_skew.offset_ns + (uint64_t)(int64_t)(clock_skew.drift * (double)(mono - clock_skew.since_ns));
}

/* The closest of a few readings, since an interruption between two readings would shift them. */
static void read_together(clockid_t id, uint64_t *ns, uint64_t *tick)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t t0 = clock_ticks(), now = clock_ns(id), t1 = clock_ticks();

		if (t1 - t0 < best) {
			best = t1 - t0;
			*ns = now;
			*tick = t0 + best / 2;
		}
	}
}

void clock_moment_read(struct clock_moment *m)
{
	read_together(CLOCK_REALTIME, &m->real_ns, &m->real_tick);
	read_together(CLOCK_MONOTONIC, &m->mono_ns, &m->mono_tick);
}

void clock_skew_read(int rank)
{
	const char *s = getenv("PRECEDENT_TEST_SKEW");
	long long offset_us;
	double ppm;
	int of;

	for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
		if (sscanf(s, "%d:%lld:%lf", &of, &offset_us, &ppm) == 3 && of == rank) {
			clock_skew = (struct clock_skew){.on = true, .offset_ns = offset_us * 1000, .drift = ppm * 1e-6,
							 .since_ns = clock_true_ns(CLOCK_MONOTONIC)};
			return;
		}
}
