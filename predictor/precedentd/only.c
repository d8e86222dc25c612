/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up whom the key Only names, and tells the job_submit plugin by the store: slurmctld must not wait for a directory service.
 * See struct only_uids.
 */
#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predictor/precedentd/daemon.h"
#include "predictor/store/store.h"

/* Returns whether there was room. */
static bool append(char *list, uint32_t uid)
{
	size_t len = strlen(list);
	int n = snprintf(list + len, ONLY_UIDS_MAX - len, "%s%u ", len ? "" : " ", uid);

	if (n > 0 && (size_t)n < ONLY_UIDS_MAX - len)
		return true;
	list[len] = '\0';
	return false;
}

static void find_users(const struct precedent_conf *conf, char *list)
{
	for (size_t i = 0; i < conf->n_only; i++) {
		const char *name = conf->only[i].name;
		const struct passwd *pw = conf->only[i].kind == ONLY_USER ? getpwnam(name) : NULL;

		if (pw)
			append(list, pw->pw_uid);
		else if (conf->only[i].kind == ONLY_USER && isdigit((unsigned char)*name))
			append(list, (uint32_t)strtoul(name, NULL, 10));
	}
}

struct only_defaults {
	const struct precedent_conf *conf;
	char *list;
};

static bool default_add(uint32_t uid, const char *account, void *arg)
{
	struct only_defaults *d = arg;

	for (size_t i = 0; i < d->conf->n_only; i++)
		if (d->conf->only[i].kind == ONLY_ACCOUNT && !strcasecmp(d->conf->only[i].name, account))
			return append(d->list, uid);
	return true;
}

static bool names_accounts(const struct precedent_conf *conf)
{
	for (size_t i = 0; i < conf->n_only; i++)
		if (conf->only[i].kind == ONLY_ACCOUNT)
			return true;
	return false;
}

static int tell(struct store *store, const char *name, const char *list, char *before, struct errbuf *errp)
{
	if (store_meta_get(store, name, before, ONLY_UIDS_MAX, errp) == 1 && !strcmp(before, list))
		return 0;
	return store_meta_set(store, name, list, errp);
}

int only_renew(struct store *store, const struct precedent_conf *conf, struct errbuf *errp)
{
	struct {
		char users[ONLY_UIDS_MAX], defaults[ONLY_UIDS_MAX], before[ONLY_UIDS_MAX];
	} *room;
	struct only_defaults defaults = {.conf = conf};
	struct errbuf why;
	int rv;

	if (!conf->n_only)
		return 0;
	room = calloc(1, sizeof(*room));
	if (!room)
		return err_set(errp, "no memory for the users of Only");
	defaults.list = room->defaults;
	find_users(conf, room->users);
	if (names_accounts(conf)) /* the answer has all associations; without accounting there is none */
		slurm_side_default_accounts(default_add, &defaults, &why);
	rv = tell(store, STORE_ONLY_USERS, room->users, room->before, errp) < 0 ||
	     tell(store, STORE_ONLY_DEFAULTS, room->defaults, room->before, errp) < 0 ? -1 : 0;
	free(room);
	return rv;
}
