/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What slurm.conf must say for Precedent to be right: see doctor_slurm.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/admin/doctor_slurm.h"
#include "cli/admin/finding.h"
#include "predictor/cluster/overtime.h"

/* slurmctld saves jobs and triggers apart, and does not start when it finds a trigger whose job is gone (precedentd(8)). */
#define AGE_LEAST_S 60
/* Looks of precedentd while an ended job is still there: one may fail, and one may wait for a busy slurmctld. */
#define AGE_LOOKS 3
/* An update of precedentd, a restart of its host; also Slurm's default. */
#define AGE_GOOD_S 300
/* Of MaxJobCount, from which a burst of submissions may reach it. */
#define COUNT_FULL 0.9

static bool number(const char *text, unsigned long *out)
{
	char *end;

	*out = strtoul(text, &end, 10);
	return end != text;
}

enum slurm_verdict slurm_judge_age(const struct slurm_facts *f, char *out, size_t size)
{
	unsigned long age, least = (unsigned long)AGE_LOOKS * f->poll_interval_s;

	least = least > AGE_LEAST_S ? least : AGE_LEAST_S;
	if (!number(f->min_job_age, &age)) {
		snprintf(out, size, "MinJobAge is not known" TO_DO "set %lu or more, %d is good", least, AGE_GOOD_S);
		return SLURM_DOUBT;
	}
	if (!age) {
		snprintf(out, size, "MinJobAge=0: jobs that have ended are never dropped, and MaxJobCount is reached" TO_DO "set %d", AGE_GOOD_S);
		return SLURM_DOUBT;
	}
	if (age < least) {
		snprintf(out, size, "MinJobAge=%lu, PollInterval %u s: jobs are gone before precedentd has seen their end, and learns nothing "
				    "of them" TO_DO "set MinJobAge=%d, at least %lu", age, f->poll_interval_s, AGE_GOOD_S, least);
		return SLURM_BROKEN;
	}
	if (age < AGE_GOOD_S) {
		snprintf(out, size, "MinJobAge=%lu: jobs that end while precedentd is restarted for longer are not learned from" TO_DO "set %d", age,
			 AGE_GOOD_S);
		return SLURM_DOUBT;
	}
	snprintf(out, size, "MinJobAge=%lu, PollInterval %u s: every job's end is seen", age, f->poll_interval_s);
	return SLURM_FINE;
}

enum slurm_verdict slurm_judge_count(const struct slurm_facts *f, char *out, size_t size)
{
	unsigned long most;

	if (!number(f->max_job_count, &most) || !most) {
		snprintf(out, size, "MaxJobCount is not known" TO_DO "look at slurm.conf");
		return SLURM_DOUBT;
	}
	if (f->jobs < 0) {
		snprintf(out, size, "MaxJobCount=%lu, and how many jobs there are is not known" TO_DO "see whether squeue works", most);
		return SLURM_DOUBT;
	}
	if ((double)f->jobs < COUNT_FULL * (double)most) {
		snprintf(out, size, "%ld jobs, MaxJobCount=%lu", f->jobs, most);
		return SLURM_FINE;
	}
	snprintf(out, size, "%ld jobs, MaxJobCount=%lu: beyond it probes are refused as any job is, and triggers, without which no limit is "
			    "set" TO_DO "raise it (and restart slurmctld)", f->jobs, most);
	return SLURM_DOUBT;
}

enum slurm_verdict slurm_judge_scheduler(const struct slurm_facts *f, char *out, size_t size)
{
	if (!strstr(f->scheduler, "builtin")) {
		snprintf(out, size, "SchedulerType=%s", *f->scheduler ? f->scheduler : "(not known)");
		return SLURM_FINE;
	}
	snprintf(out, size, "SchedulerType=%s starts jobs in their order: shorter limits start nothing earlier%s", f->scheduler,
		 f->limits ? TO_DO "set sched/backfill" : "");
	return f->limits ? SLURM_DOUBT : SLURM_FINE;
}

/* Partitions may have an OverTimeLimit of their own. `scontrol show config` does not print these. */
static enum slurm_verdict judge_overtime(const struct slurm_facts *f, char *out, size_t size)
{
	unsigned long minutes;

	if (!strncmp(f->overtime, "UNLIMITED", 9) || (number(f->overtime, &minutes) && minutes)) {
		snprintf(out, size, "OverTimeLimit=%s: a limit is shortened by no more than that; jobs that are not shortened %s", f->overtime,
			 f->end_at_asked ? "are cancelled a minute after their limit"
					 : "may run on for as long after their limit (EndAtAsked = yes ends them)");
		return SLURM_FINE;
	}
	snprintf(out, size, "%s: no limit is shortened, but on partitions with an OverTimeLimit of their own" TO_DO "set OverTimeLimit=60 in "
			    "slurm.conf, and run scontrol reconfigure",
		 *f->overtime ? "OverTimeLimit=0" : "OverTimeLimit is not known");
	return SLURM_DOUBT;
}

enum slurm_verdict slurm_judge_guard(const struct slurm_facts *f, char *out, size_t size)
{
	unsigned major = 0, minor = 0;
	bool soft_exists = sscanf(f->version, "%u.%u", &major, &minor) == 2 && (major > 23 || (major == 23 && minor >= 11));

	if (f->guard == GUARD_OVERTIME || (f->guard == GUARD_AUTO && !soft_exists))
		return judge_overtime(f, out, size);
	if (soft_limit_works(major, minor, f->scheduler, f->scheduler_parameters)) {
		snprintf(out, size, "time_min_as_soft_limit: Slurm plans with predicted times, and limits stay");
		return SLURM_FINE;
	}
	if (f->guard == GUARD_AUTO && judge_overtime(f, out, size) == SLURM_FINE)
		return SLURM_FINE;
	if (!soft_exists)
		snprintf(out, size, "LimitGuard=soft needs Slurm 23.11 or later" TO_DO "set LimitGuard = overtime");
	else
		snprintf(out, size, "Slurm does not plan with predicted times" TO_DO "%s time_min_as_soft_limit to SchedulerParameters in slurm.conf, "
				    "and run scontrol reconfigure",
			 !strcmp(f->scheduler, "sched/backfill") ? "add" : "set SchedulerType=sched/backfill, add");
	return SLURM_DOUBT;
}
