/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals of runs that lacked their processors: see lacked.h. */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/skeleton/lacked.h"

#define LEAST    0.05 /* of the time was their own at least: an interval has an end */
#define SERVICES 0.02 /* of the processors: less is what any system's own services take, and ticks of /proc/stat are 10 ms */

static double traced(const struct skeleton_facts *f)
{
	return f->mpi_s > 0 ? fmin(1, f->others_s / f->mpi_s) : 0;
}

void skeleton_widen(const struct skeleton_facts *f, struct skeleton_result *r)
{
	r->lo_s *= fmax(LEAST, r->together) * fmax(LEAST, 1 - traced(f)) / (1 + f->overlap);
	r->hi_s /= fmax(LEAST, 1 - r->lacked_calibrating);
}

void processors_look(struct processors *out)
{
	const double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
	double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
	FILE *f = fopen("/proc/stat", "re");
	struct rusage u = {0};
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	getrusage(RUSAGE_CHILDREN, &u);
	if (f && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
		user = nice = system = idle = iowait = irq = softirq = steal = 0;
	if (f)
		fclose(f);
	out->wall_ns = 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
	out->own_ns = 1e9 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	out->busy_ns = tick_ns * (user + nice + system + irq + softirq + steal);
	out->idle_ns = tick_ns * (idle + iowait);
}

double processors_share(const struct processors *passed, double count, uint32_t n)
{
	double wanted = fmin(n, count) * passed->wall_ns, others = fmax(0, passed->busy_ns - passed->own_ns);
	/* Nobody lacks a processor while one is idle. */
	double lost = fmin(others, fmax(0, wanted - passed->own_ns - passed->idle_ns));

	return wanted > 0 && lost >= SERVICES * wanted ? fmin(1, lost / wanted) : 0;
}

double processors_lacked(const struct processors *before, uint32_t n)
{
	struct processors now;

	processors_look(&now);
	return processors_share(&(struct processors){now.wall_ns - before->wall_ns, now.own_ns - before->own_ns, now.busy_ns - before->busy_ns,
						     now.idle_ns - before->idle_ns},
				(double)sysconf(_SC_NPROCESSORS_ONLN), n);
}

void partial_widen(struct partial_estimate *e, uint32_t n)
{
	e->lo_s *= fmax(LEAST, pow(1 - e->lacked, n));
}

const char *skeleton_lacked(const struct skeleton_facts *f, const struct skeleton_result *r, char *text, size_t size)
{
	const double share[] = {traced(f), r->lacked_calibrating, r->lacked};
	static const char *const of[] = {"the traced run", "the calibration", "the skeleton's run"};
	size_t n = 0;

	text[0] = '\0';
	for (int i = 0; i < 3 && n < size; i++)
		if (share[i] > 0)
			n += (size_t)snprintf(text + n, size - n, "%s%.0f %% of %s", n ? ", " : "", 100 * share[i], of[i]);
	return text;
}
