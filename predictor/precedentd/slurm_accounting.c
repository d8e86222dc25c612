/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of minutes of associations and QOS, such as GrpTRESRunMins. slurmctld compares them with the time limits of running
 * jobs. With shorter limits, more jobs would start than the site's rule allows.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <string.h>
#include <time.h>

#include "predictor/precedentd/daemon.h"

#define ASK_AGAIN_S 60 /* the answer has a record for each user */

/* "TRES=MINUTES,..."; slurmctld may leave an empty text. */
static bool limits_minutes(const char *text)
{
	return text && strchr(text, '=');
}

static bool associations_limit(const assoc_mgr_info_msg_t *info)
{
	__auto_type i = info->assoc_list ? slurm_list_iterator_create(info->assoc_list) : NULL;
	const slurmdb_assoc_rec_t *a;
	bool found = false;

	while (i && !found && (a = slurm_list_next(i)))
		found = limits_minutes(a->grp_tres_run_mins) || limits_minutes(a->max_tres_run_mins);
	if (i)
		slurm_list_iterator_destroy(i);
	return found;
}

static bool qos_limits(const assoc_mgr_info_msg_t *info)
{
	__auto_type i = info->qos_list ? slurm_list_iterator_create(info->qos_list) : NULL;
	const slurmdb_qos_rec_t *q;
	bool found = false;

	while (i && !found && (q = slurm_list_next(i)))
		found = limits_minutes(q->grp_tres_run_mins) || limits_minutes(q->max_tres_run_mins_pa) ||
			limits_minutes(q->max_tres_run_mins_pu);
	if (i)
		slurm_list_iterator_destroy(i);
	return found;
}

int slurm_side_run_minutes(const char *storage, bool *limited, struct errbuf *errp)
{
	static time_t asked;
	static bool known;
	assoc_mgr_info_request_msg_t request = {.flags = ASSOC_MGR_INFO_FLAG_ASSOC | ASSOC_MGR_INFO_FLAG_QOS};
	assoc_mgr_info_msg_t *info = NULL;
	time_t now = time(NULL);

	if (!storage || !strstr(storage, "slurmdbd"))
		known = false;
	else if (now < asked || now - asked >= ASK_AGAIN_S) {
		if (slurm_load_assoc_mgr_info(&request, &info) != SLURM_SUCCESS)
			return err_set(errp, "slurmctld gives no associations: %s", slurm_strerror(errno));
		known = associations_limit(info) || qos_limits(info);
		slurm_free_assoc_mgr_info_msg(info);
		asked = now;
	}
	*limited = known;
	return 0;
}
