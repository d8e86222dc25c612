/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See company.h: /proc/stat says how busy processors were, and the kernel's account of a thread how long it waited. */
#include "skelgen/runtime/company.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/own_clock.h"

#define MASK_WORDS 128 /* 8,192 processors: the most that Linux can have */

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++) /* FNV-1a */
		h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
	return h;
}

static uint64_t place_of(const uint64_t *mask)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	return hash(hash(0xcbf29ce484222325ull, host, strlen(host)), mask, MASK_WORDS * sizeof *mask);
}

void company_stat_line(const char *line, const uint64_t *mask, int words, double *busy, double *stolen)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	unsigned cpu;

	if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9') /* the first line is the sum of all */
		return;
	if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &idle, &iowait, &irq, &softirq,
		   &steal) != 9 || cpu / 64 >= (unsigned)words || !(mask[cpu / 64] >> cpu % 64 & 1))
		return;
	*busy += (double)user + (double)nice + (double)system + (double)irq + (double)softirq;
	*stolen += (double)steal;
}

void company_look(struct company *out)
{
	uint64_t mask[MASK_WORDS] = {0};
	double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");
	char line[512];
	struct timespec t;

	*out = (struct company){.wall_ns = compute_clock_ns(), .delayed_ns = own_clock_delayed_ns()};
	if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)(void *)mask) != 0)
		memset(mask, 0xff, sizeof mask);
	out->place = place_of(mask);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	out->own_ns = (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		company_stat_line(line, mask, MASK_WORDS, &out->busy_ns, &out->stolen_ns);
	if (f != NULL)
		fclose(f);
	out->busy_ns *= tick_ns;
	out->stolen_ns *= tick_ns;
}

void company_since(const struct company *begin, struct company *out)
{
	company_look(out);
	out->wall_ns -= begin->wall_ns;
	out->own_ns -= begin->own_ns;
	out->delayed_ns = fmax(0, out->delayed_ns - begin->delayed_ns);
	out->busy_ns = fmax(0, out->busy_ns - begin->busy_ns);
	out->stolen_ns = fmax(0, out->stolen_ns - begin->stolen_ns);
}

/* A rank also waits for ranks of its own job. All ranks of a place lose at most the time that others had its processors. A rank's
 * part of that time is its part of all waiting there. */
double company_lost(const struct company *all, int n, int r)
{
	const struct company *c = &all[r];
	double own = 0, delayed = 0, others, lost;

	for (int i = 0; i < n; i++)
		if (all[i].place == c->place) {
			own += all[i].own_ns;
			delayed += all[i].delayed_ns;
		}
	others = fmax(0, c->busy_ns - own);
	lost = delayed > 0 ? fmin(c->delayed_ns, others * c->delayed_ns / delayed) : 0;
	if (own > 0) /* the host takes from all that run, not from the ranks alone */
		lost += c->stolen_ns * c->own_ns / fmax(own, c->busy_ns);
	lost = c->wall_ns > 0 ? fmin(1, lost / c->wall_ns) : 0;
	return lost >= COMPANY_LEAST ? lost : 0;
}

void company_sum(const struct company *all, int n, double *most, double *together)
{
	*most = 0;
	*together = 1;
	for (int r = 0; r < n; r++) {
		double lost = company_lost(all, n, r);

		*most = fmax(*most, lost);
		*together *= 1 - lost;
	}
}
