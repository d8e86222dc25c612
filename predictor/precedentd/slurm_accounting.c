/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Default accounts of users, and limits of associations and QOS that slurmctld compares with time limits. The latter are
 * minutes, such as GrpTRESRunMins, and the longest limit of a job, such as MaxWall. With shorter limits, jobs would start that
 * the site's rule forbids.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/array.h"
#include "predictor/precedentd/daemon.h"

#define ASK_AGAIN_S 60 /* the answer has a record for each user */

#define ENFORCE_SAFE (1 << 4) /* AccountingStorageEnforce=safe: a job starts only if it can end within GrpTRESMins */

/* The longest limit of a job, by account or QOS. */
struct longest {
	char name[CONF_NAME_MAX];
	bool is_qos;
	uint32_t min;
};
static struct longest *longest_list; /* sorted; the least of each name is its first */
static size_t longest_n, longest_room;

static void longest_add(const char *name, bool is_qos, uint32_t a_min, uint32_t b_min)
{
	uint32_t min = a_min < b_min ? a_min : b_min; /* INFINITE and NO_VAL are larger than all others */

	if (!name || min >= NO_VAL || ARRAY_ROOM(longest_list, longest_room, longest_n + 1) < 0)
		return;
	snprintf(longest_list[longest_n].name, sizeof(longest_list->name), "%s", name);
	longest_list[longest_n].is_qos = is_qos;
	longest_list[longest_n++].min = min;
}

static int longest_order(const void *a, const void *b)
{
	const struct longest *x = a, *y = b;
	int by_name = x->is_qos != y->is_qos ? x->is_qos - y->is_qos : strcmp(x->name, y->name);

	return by_name ? by_name : (x->min > y->min) - (x->min < y->min);
}

/* Is sought by binary search, as there may be a record for each user. Returns 0 if there is none. */
static uint32_t longest_find(const char *name, bool is_qos)
{
	struct longest key = {.is_qos = is_qos};
	size_t lo = 0, hi = longest_n;

	snprintf(key.name, sizeof(key.name), "%s", name ? name : "");
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (longest_order(&longest_list[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < longest_n && longest_list[lo].is_qos == is_qos && !strcmp(longest_list[lo].name, key.name) ? longest_list[lo].min : 0;
}

uint32_t slurm_side_longest_min(const char *account, const char *qos)
{
	uint32_t a = longest_find(account, false), q = longest_find(qos, true);

	return a && (!q || a < q) ? a : q;
}

/* Does the limit `text`, "TRES=MINUTES,...", hold minutes? Then notes its name. slurmctld may leave an empty text. */
static bool limits_minutes(const char *text, const char *limit, const char *kind, const char *name)
{
	bool found = text && strchr(text, '=');

	if (found)
		slurm_side_rule(RULE_ALL, "%s %s has %s", kind, name ? name : "", limit);
	return found;
}

static bool associations_limit(const assoc_mgr_info_msg_t *info, bool safe)
{
	__auto_type i = info->assoc_list ? slurm_list_iterator_create(info->assoc_list) : NULL;
	const slurmdb_assoc_rec_t *a;
	bool found = false;

	while (i && (a = slurm_list_next(i))) {
		found |= limits_minutes(a->grp_tres_run_mins, "GrpTRESRunMins", "account", a->acct) |
			 limits_minutes(a->max_tres_run_mins, "MaxTRESRunMins", "account", a->acct) |
			 limits_minutes(a->max_tres_mins_pj, "MaxTRESMins", "account", a->acct) |
			 (safe && limits_minutes(a->grp_tres_mins, "GrpTRESMins", "account", a->acct));
		longest_add(a->acct, false, a->max_wall_pj, NO_VAL);
		if (a->acct && a->max_wall_pj < NO_VAL)
			slurm_side_rule(RULE_ACCOUNTING, "account %s (above MaxWall)", a->acct);
	}
	if (i)
		slurm_list_iterator_destroy(i);
	return found;
}

static bool qos_limits(const assoc_mgr_info_msg_t *info, bool safe)
{
	__auto_type i = info->qos_list ? slurm_list_iterator_create(info->qos_list) : NULL;
	const slurmdb_qos_rec_t *q;
	bool found = false;

	while (i && (q = slurm_list_next(i))) {
		bool has_grace = q->grace_time && q->grace_time < NO_VAL;

		found |= limits_minutes(q->grp_tres_run_mins, "GrpTRESRunMins", "QOS", q->name) |
			 limits_minutes(q->max_tres_run_mins_pa, "MaxTRESRunMinsPerAccount", "QOS", q->name) |
			 limits_minutes(q->max_tres_run_mins_pu, "MaxTRESRunMinsPerUser", "QOS", q->name) |
			 limits_minutes(q->max_tres_mins_pj, "MaxTRESMins", "QOS", q->name) |
			 (safe && limits_minutes(q->grp_tres_mins, "GrpTRESMins", "QOS", q->name));
		/* A job that is preempted past its limit has no grace time. */
		longest_add(q->name, true, q->max_wall_pj, has_grace ? 1 : NO_VAL);
		if (q->name && (has_grace || q->max_wall_pj < NO_VAL))
			slurm_side_rule(RULE_ACCOUNTING, "QOS %s (%s)", q->name, has_grace ? "GraceTime" : "above MaxWall");
	}
	if (i)
		slurm_list_iterator_destroy(i);
	return found;
}

int slurm_side_run_minutes(const char *storage, uint16_t enforce, bool *limited, struct errbuf *errp)
{
	static time_t asked;
	static bool known;
	assoc_mgr_info_request_msg_t request = {.flags = ASSOC_MGR_INFO_FLAG_ASSOC | ASSOC_MGR_INFO_FLAG_QOS};
	assoc_mgr_info_msg_t *info = NULL;
	time_t now = slurm_side_now();

	if (!storage || !strstr(storage, "slurmdbd")) {
		known = false;
		longest_n = 0;
		slurm_side_rules_clear(RULE_ALL);
		slurm_side_rules_clear(RULE_ACCOUNTING);
	} else if (now < asked || now - asked >= ASK_AGAIN_S) {
		if (slurm_load_assoc_mgr_info(&request, &info) != SLURM_SUCCESS)
			return err_set(errp, "slurmctld gives no associations: %s", slurm_strerror(errno));
		longest_n = 0;
		slurm_side_rules_clear(RULE_ALL);
		slurm_side_rules_clear(RULE_ACCOUNTING);
		known = associations_limit(info, enforce & ENFORCE_SAFE) | qos_limits(info, enforce & ENFORCE_SAFE);
		qsort(longest_list, longest_n, sizeof(*longest_list), longest_order);
		slurm_free_assoc_mgr_info_msg(info);
		asked = now;
	}
	*limited = known;
	return 0;
}

int slurm_side_default_accounts(bool (*see)(uint32_t uid, const char *account, void *arg), void *arg, struct errbuf *errp)
{
	assoc_mgr_info_request_msg_t request = {.flags = ASSOC_MGR_INFO_FLAG_ASSOC};
	assoc_mgr_info_msg_t *info = NULL;
	const slurmdb_assoc_rec_t *a;

	if (slurm_load_assoc_mgr_info(&request, &info) != SLURM_SUCCESS)
		return err_set(errp, "slurmctld gives no associations: %s", slurm_strerror(errno));
	__auto_type i = info->assoc_list ? slurm_list_iterator_create(info->assoc_list) : NULL;

	while (i && (a = slurm_list_next(i)))
		if (a->user && a->is_def == 1 && a->acct && a->uid != NO_VAL && !see(a->uid, a->acct, arg))
			break;
	if (i)
		slurm_list_iterator_destroy(i);
	slurm_free_assoc_mgr_info_msg(info);
	return 0;
}
