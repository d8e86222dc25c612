/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Past runs of one program, of its family, and of its user's other programs. Each list is read once, for all candidates. Other
 * users' runs are never read.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_PAST_RUNS_H
#define PRECEDENT_PREDICTOR_LEARN_PAST_RUNS_H

#include "predictor/store/past.h"

enum past_of { PAST_OF_PROGRAM, PAST_OF_FAMILY, PAST_OF_OTHERS, PAST_LISTS };

/* Zeroed but for store and names, nothing is read. */
struct past_runs {
	struct store *store;
	uint32_t uid;
	const char *key, *family; /* key NULL: PAST_OF_PROGRAM is not asked for; family "": none */
	struct {
		struct store_past *run; /* NULL: not read */
		size_t n;
		size_t looked_at; /* rows */
	} list[PAST_LISTS];
};

/*
 * The latest runs on the candidate, submitted at or after `since`, as store_past_read with a candidate returns them. Returns how
 * many, at most max; -1 on error.
 */
int past_runs_get(struct past_runs *r, enum past_of of, const char *candidate, int64_t since, struct store_past *out, size_t max,
		  struct errbuf *errp);
/* From now on PAST_OF_PROGRAM is of this program. The other lists stay. */
void past_runs_key_set(struct past_runs *r, const char *key);
void past_runs_free(struct past_runs *r); /* the lists; r may be used again */

#endif
