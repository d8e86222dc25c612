/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of a user's quota in the spool, as one line of text in the table of small values: see spool_use.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/store/spool_use.h"

int store_spool_use_put(struct store *s, const struct spool_use *u, int64_t now, struct errbuf *err)
{
	char name[32], value[160];

	snprintf(name, sizeof(name), STORE_META_SPOOL "%u", u->uid);
	snprintf(value, sizeof(value), "%" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d", now, u->bytes,
		 u->files, u->removed_bytes, u->removed_files, u->closed, u->over);
	return store_meta_set(s, name, value, err);
}

int store_spool_use_get(struct store *s, uint32_t uid, struct spool_use *u, int64_t *when, struct errbuf *err)
{
	char name[32], value[160];
	int rc, over = 0;

	*u = (struct spool_use){.uid = uid};
	snprintf(name, sizeof(name), STORE_META_SPOOL "%u", uid);
	rc = store_meta_get(s, name, value, sizeof(value), err);
	if (rc == 1)
		rc = sscanf(value, "%" SCNd64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %d", when, &u->bytes,
			    &u->files, &u->removed_bytes, &u->removed_files, &u->closed, &over) == 7;
	u->over = over;
	return rc;
}
