/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See doctor_limits.h. */
#include <stdio.h>
#include <string.h>

#include "cli/admin/doctor_limits.h"
#include "cli/admin/finding.h"
#include "predictor/store/limits.h"

enum limits_verdict limits_report(struct store *s, char *out, size_t size)
{
	struct store_limits_missed m;
	char why[512];
	struct errbuf err;
	int stopped = store_limits_note_get(s, STORE_LIMITS_STOPPED, why, sizeof(why), &err);

	if (stopped < 0 || store_limits_missed(s, 0, &m, &err) < 0) {
		snprintf(out, size, "%s", err.text);
		return LIMITS_DOUBT;
	}
	if (m.cut_short) {
		snprintf(out, size, "%llu ended by a limit below what their user asked for, the last is job %u" TO_DO "precedent show %u, and the "
				    "logs of slurmctld and precedentd, say why",
			 (unsigned long long)m.cut_short, m.last_job, m.last_job);
		return LIMITS_BROKEN;
	}
	if (stopped) {
		snprintf(out, size, "no limit is lowered: %s" TO_DO "set LimitGuard = auto, or let SlurmUser submit jobs and raise limits, and start "
				    "precedentd again", why);
		return LIMITS_BROKEN;
	}
	stopped = store_limits_note_get(s, STORE_LIMITS_REFUSED, why, sizeof(why), &err);
	if (stopped) {
		snprintf(out, size, "slurmctld refused the last limit that precedentd set: %s" TO_DO "let job_submit plugins of the site accept "
				    "changes of SlurmUser; the log of precedentd names the jobs", stopped > 0 ? why : err.text);
		return LIMITS_DOUBT;
	}
	if (m.unseen) {
		snprintf(out, size, "the end of %llu was not seen" TO_DO "raise MinJobAge in slurm.conf, or keep accounts with slurmdbd",
			 (unsigned long long)m.unseen);
		return LIMITS_DOUBT;
	}
	snprintf(out, size, "none was ended by a limit below what its user asked for");
	return LIMITS_FINE;
}

enum limits_verdict limits_report_rules(struct store *s, char *out, size_t size)
{
	char rules[1024];
	struct errbuf err;
	int rc = store_limits_note_get(s, STORE_LIMITS_RULES, rules, sizeof(rules), &err);
	bool all = rc == 1 && !strncmp(rules, STORE_LIMITS_ALL, strlen(STORE_LIMITS_ALL));

	snprintf(out, size, "%s%s", rc < 0 ? err.text : rc ? rules : "",
		 all ? TO_DO "take the limit of minutes out, or use LimitGuard = soft (Slurm 23.11)" : "");
	return all || rc < 0 ? LIMITS_DOUBT : LIMITS_FINE;
}
