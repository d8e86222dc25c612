/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs whose limit is shortened, or may be (predictor/limits/overtime.h). The user's limit is kept here, not in the job. A row
 * lives as long as the job is in the queue and its limit is ours. Conventions as in store.h.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_LIMITS_H
#define PRECEDENT_PREDICTOR_STORE_LIMITS_H

#include "predictor/store/store.h"

struct store_limit {
	uint32_t jobid;
	int64_t submit_time; /* of the first run: a job that is queued again keeps its row */
	uint32_t asked_min;
	uint32_t wish_min;
	/* The limit that was set, or the time_min under LimitGuard = soft. DURATION_UNSET: none. Written before slurmctld is asked. */
	uint32_t set_min;
	bool seen; /* the job was seen with set_min */
	bool soft; /* set_min is its time_min */
};
/* Insert or replace by job id. */
int store_limit_put(struct store *s, const struct store_limit *l, struct errbuf *err);
int store_limit_drop(struct store *s, uint32_t jobid, struct errbuf *err);
/* Returns 1 if found, 0 if not, -1 on error. */
int store_limit_get(struct store *s, uint32_t jobid, struct store_limit *out, struct errbuf *err);
/* All rows by job id; *out is to be freed by the caller. */
int store_limits_load(struct store *s, struct store_limit **out, size_t *n, struct errbuf *err);

/* Runs with a limit of ours below their user's. */
struct store_limits_missed {
	uint64_t cut_short; /* ended by it */
	uint64_t unseen;    /* nobody saw their end */
	uint32_t last_job;  /* the highest job id of the first kind; 0: none */
};
int store_limits_missed(struct store *s, int64_t since, struct store_limits_missed *out, struct errbuf *err);
enum store_limits_note {
	STORE_LIMITS_STOPPED, /* why no limit is lowered (LimitGuard = raise) */
	STORE_LIMITS_REFUSED, /* slurmctld's reason, if it refused the last limit that precedentd wanted to set */
	STORE_LIMITS_RULES,   /* rules of the site by which jobs keep their limits */
};
#define STORE_LIMITS_ALL "all jobs keep their limits: " /* such a rule begins with it */

/* text "": nothing is to be said. Writes to the store only if the text is new. */
int store_limits_note_set(struct store *s, enum store_limits_note note, const char *text, struct errbuf *err);
/* Returns 1 with the text, 0 if there is none, -1 on error. */
int store_limits_note_get(struct store *s, enum store_limits_note note, char *text, size_t size, struct errbuf *err);

#endif
