/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See program_renew.h. */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "predictor/learn/program_estimate.h"
#include "predictor/learn/program_renew.h"

static void reason_remark(struct store_program *p, const char *remark)
{
	char *old = strstr(p->reason, STORE_REMARK);
	size_t len;

	if (p->state != PROGRAM_FAILED) {
		snprintf(p->reason, sizeof(p->reason), "%.300s", remark);
		return;
	}
	if (old)
		*old = '\0';
	len = strlen(p->reason);
	if (*remark)
		snprintf(p->reason + len, sizeof(p->reason) - len, STORE_REMARK "%.290s", remark);
}

int program_renew(struct ended_run *r, struct errbuf *errp)
{
	const struct daemon_env *env = r->env;
	const struct store_run *run = r->row;
	struct store_program p;
	int rc = store_program_get(env->store, run->key, &p, errp);
	struct program_estimates est;

	if (rc <= 0 || p.uid != run->uid || (p.state != PROGRAM_READY && p.state != PROGRAM_FAILED) ||
	    !ended_run_is_evidence(r))
		return rc < 0 ? -1 : 0;
	if (program_estimate(env, &p, &(struct program_ended){run->candidate, ended_run_past(r), r->members}, r->now, &est, errp) < 0)
		return -1;
	if (est.refused.text[0])
		daemon_say(env, LOG_LEVEL_INFO, "job %u: key %.8s: %s", run->jobid, run->key, est.refused.text);
	reason_remark(&p, est.refused.text); /* later runs may settle it */
	p.updated = r->now;
	return store_program_put(env->store, &p, errp);
}
