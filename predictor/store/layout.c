/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of a traced job as one line of text in the table of small values: see layout.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/store/layout.h"
#include "predictor/store/busy.h"

static void layout_name(const char *key, char *out, size_t size)
{
	snprintf(out, size, STORE_META_LAYOUT "%s", key);
}

int store_layout_put(struct store *s, const char *key, const struct cluster_layout *l, struct errbuf *errp)
{
	char name[64], value[320];

	layout_name(key, name, sizeof(name));
	snprintf(value, sizeof(value), "%u %u %u %" PRIu64 " %d a=%s\tq=%s", l->gid, l->tasks_per_node,
		 l->cpus_per_task, l->memory, l->exclusive, l->account, l->qos);
	return store_meta_set(s, name, value, errp);
}

int store_layout_get(struct store *s, const char *key, struct cluster_layout *l, struct errbuf *errp)
{
	char name[64], value[320], *tab, *account;
	int rc, exclusive, at = 0;

	memset(l, 0, sizeof(*l));
	layout_name(key, name, sizeof(name));
	rc = store_meta_get(s, name, value, sizeof(value), errp);
	if (rc <= 0)
		return rc;
	if (sscanf(value, "%u %u %u %" SCNu64 " %d %n", &l->gid, &l->tasks_per_node, &l->cpus_per_task, &l->memory,
		   &exclusive, &at) != 5 || strncmp(value + at, "a=", 2))
		return 0;
	l->exclusive = exclusive;
	account = value + at + 2;
	tab = strchr(account, '\t');
	if (!tab || strncmp(tab + 1, "q=", 2))
		return 0;
	*tab = '\0';
	snprintf(l->account, sizeof(l->account), "%s", account);
	snprintf(l->qos, sizeof(l->qos), "%s", tab + 3);
	return 1;
}

int store_layout_drop(struct store *s, const char *key, struct errbuf *errp)
{
	char name[64];

	layout_name(key, name, sizeof(name));
	return store_meta_drop(s, name, errp);
}
