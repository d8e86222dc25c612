/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmctld's clock was set: see clock_set.h. */
#include <inttypes.h>
#include <stdio.h>

#include "predictor/follow/clock_set.h"

#define META_CLOCK "clock.set" /* the time without the change, and the time after it */

int clock_set_note(struct store *s, int64_t now, int64_t set_by, struct errbuf *errp)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, now - set_by, now);
	return store_meta_set(s, META_CLOCK, text, errp);
}

int clock_set_within(struct store *s, int64_t start, int64_t end, struct errbuf *errp)
{
	char text[64];
	int64_t from, to;
	int rc = store_meta_get(s, META_CLOCK, text, sizeof(text), errp);

	if (rc <= 0)
		return rc;
	return sscanf(text, "%" SCNd64 " %" SCNd64, &from, &to) == 2 && start <= from && end >= to;
}
