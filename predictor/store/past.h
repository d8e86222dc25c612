/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Past runs as evidence; when a program has drifted. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_PAST_H
#define PRECEDENT_PREDICTOR_STORE_PAST_H

#include "common/comment.h"
#include "predictor/estimate/array.h"
#include "predictor/estimate/drift.h"
#include "predictor/estimate/estimate.h"
#include "predictor/store/store.h"

struct store_past {
	uint32_t jobid;
	int64_t submit_time;
	char key[IDENTITY_KEY_LEN + 1];
	char vars[COMMENT_VARS_MAX];
	enum run_evidence evidence; /* never RUN_NO_EVIDENCE */
	double actual_s;
	/* What was told for the candidate where it ran, if `told`; pred_s 0: nothing, or to an array, of whose tasks it holds for one
	 * only. */
	bool told;
	double pred_s, lo_s, hi_s;
	int pred_kind;		   /* enum estimate_kind, -1 */
	double pred_scale;
	uint32_t array_job, array_task; /* as in struct store_run */
	char candidate[CONF_CANDIDATE_MAX]; /* where it ran */
	unsigned row; /* among the rows that were looked at */
	bool drifted; /* told, and it ran when the program had changed, and the prediction had not (predictor/estimate/drift.h) */
};
/* A query for runs on a candidate looks at so many rows for each run that it may return. */
#define STORE_PAST_WINDOW 2
struct store_past_filter {
	const char *candidate; /* NULL: any */
	size_t max_rows; /* to be looked at; 0: STORE_PAST_WINDOW * max */
	int64_t since;	/* submitted at or after */
	int64_t before; /* submitted earlier; 0: any */
	/* Of these the first that is not NULL: */
	const char *key, *family;
	uint32_t uid;	 /* else: of this user */
	const char *kin;    /* with family: only this kin; without key and family: this kin in any layout */
	const char *except; /* with uid: not of this family */
};
/* The latest first, at most max of them. Returns how many. */
int store_past_read(struct store *s, const struct store_past_filter *f, struct store_past *out, size_t max,
		    struct errbuf *err);

/* A run of an array's task that says something. */
struct store_array_run {
	char candidate[CONF_CANDIDATE_MAX];
	struct array_run run;
};
#define STORE_ARRAY_RUNS (2 * ARRAY_LOOK)
/* Those among the latest `max` runs of a program, after the last change of it, the latest first; *all: there are no older ones.
 * Returns how many. For the plugin. */
int store_array_runs(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *err);
/* Does the run time of these depend on the index, on any candidate? *view: the runs seen there. */
bool store_array_depends(const struct store_array_run *runs, size_t n, struct array_view *view, const char **candidate);

int store_drift_put(struct store *s, const char *key, const char *candidate, const struct drift *d, struct errbuf *err);
/* 1 found, 0 none: then all is zero. */
int store_drift_get(struct store *s, const char *key, const char *candidate, struct drift *out, struct errbuf *err);

#endif
