/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of a traced job as one line of text in the table of small values: see layout.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/store/layout.h"
#include "predictor/store/busy.h"

#define VALUE_MAX (320 + CLUSTER_WANTS * (CLUSTER_WANT_MAX + 3)) /* numbers and names, then entries */

static void layout_name(const char *key, char *out, size_t size)
{
	snprintf(out, size, STORE_META_LAYOUT "%s", key);
}

int store_layout_put(struct store *s, const char *key, const struct cluster_layout *l, struct errbuf *errp)
{
	char name[64], value[VALUE_MAX];
	size_t len;

	layout_name(key, name, sizeof(name));
	snprintf(value, sizeof(value), "%u %u %u %" PRIu64 " %d a=%s\tq=%s", l->gid, l->tasks_per_node,
		 l->cpus_per_task, l->memory, l->exclusive, l->account, l->qos);
	len = strlen(value);
	for (int i = 0; i < CLUSTER_WANTS; i++)
		if (l->want[i][0])
			len += (size_t)snprintf(value + len, sizeof(value) - len, "\t%d=%s", i, l->want[i]);
	return store_meta_set(s, name, value, errp);
}

/* Each entry is a tab, its number, '=' and its text. */
static int wants_read(char *text, struct cluster_layout *l)
{
	for (char *save, *entry = strtok_r(text, "\t", &save); entry; entry = strtok_r(NULL, "\t", &save)) {
		size_t n = strlen(entry);
		int i = entry[0] - '0';

		if (i < 0 || i >= CLUSTER_WANTS || entry[1] != '=' || n - 2 >= CLUSTER_WANT_MAX)
			return -1;
		memcpy(l->want[i], entry + 2, n - 1);
	}
	return 0;
}

int store_layout_get(struct store *s, const char *key, struct cluster_layout *l, struct errbuf *errp)
{
	char name[64], value[VALUE_MAX], *tab, *account, *wants;
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
	wants = strchr(tab + 3, '\t');
	if (wants) {
		*wants++ = '\0';
		if (wants_read(wants, l) < 0)
			return 0;
	}
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
