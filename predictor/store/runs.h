/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs: every job that the plugin saw, and how well runs were predicted. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_RUNS_H
#define PRECEDENT_PREDICTOR_STORE_RUNS_H

#include "common/comment.h"
#include "predictor/estimate/estimate.h"
#include "predictor/store/store.h"

struct store_run {
	uint32_t jobid;
	int64_t submit_time; /* with jobid the identity of a run: job ids start again one day */
	uint32_t uid;
	char key[IDENTITY_KEY_LEN + 1];
	char family[IDENTITY_KEY_LEN + 1];
	char name[CONF_CANDIDATE_MAX];
	enum job_act act;
	enum precedent_mode mode;
	char partition[CONF_NAME_MAX];
	char candidate[CONF_CANDIDATE_MAX];	 /* where it ran, "" when on none of the candidates */
	char pred_candidate[CONF_CANDIDATE_MAX]; /* what pred_s is for */
	double pred_s, lo_s, hi_s;		 /* 0 = none */
	uint32_t user_limit_min, limit_min;	 /* as in struct job_comment; limit_min also when raised */
	uint32_t plan_min; /* its time_min by LimitGuard = soft; 0: none */
	uint32_t nodes, tasks;
	int64_t start_time, end_time; /* 0 = not yet */
	double elapsed_s;
	char end_state[24];  /* "" while it lasts; COMPLETED, FAILED, TIMEOUT, CANCELLED, ... */
	uint32_t extensions; /* how often precedentd raised the limit */
	double suspended_s;  /* not in elapsed_s */
	uint32_t restarts;   /* how often the job had been queued again before this run */
	uint32_t array_job;  /* the array's job id; 0: not of an array */
	uint32_t array_task; /* its index */
	char kin[IDENTITY_KEY_LEN + 1]; /* as in struct job_comment; "" = none */
	char vars[COMMENT_VARS_MAX];
	int pred_kind;	   /* enum estimate_kind of the prediction; -1 = not known */
	double pred_scale; /* what the half widths of the evidence were multiplied by (predictor/estimate/interval_calibration.h) */
	char weighed[COMMENT_AT_MAX]; /* struct job_comment's at */
	char similar[COMMENT_SIMILAR_MAX]; /* struct job_comment's similar */
};
/* Insert or replace by (jobid, submit_time). */
int store_run_put(struct store *s, const struct store_run *r, struct errbuf *err);
/* Insert if there is no run of that (jobid, submit_time). Returns 1, 0 if there is one, -1 on error. */
int store_run_add(struct store *s, const struct store_run *r, struct errbuf *err);
/* The latest run of that job id: 1 found, 0 none. */
int store_run_get(struct store *s, uint32_t jobid, struct store_run *r, struct errbuf *err);
/* The latest run of a task of an array that has started: 1 found, 0 none. */
int store_run_get_task(struct store *s, uint32_t array_job, uint32_t task, struct store_run *r, struct errbuf *err);
/* A run by name. */
struct store_run_id {
	uint32_t jobid;
	int64_t submit_time;
};
/* That very run: 1 found, 0 none. */
int store_run_of(struct store *s, const struct store_run_id *id, struct store_run *r, struct errbuf *err);

enum store_run_key { RUN_KEY_NEW, RUN_KEY_ARRAY, RUN_KEY_AGAIN };
/* r is not in the store yet. Has its key come before: not; with a task of the same array; with another submission?
 * -1 on error. */
int store_run_key(struct store *s, const struct store_run *r, struct errbuf *err);

struct store_run_filter {
	uint32_t uid;		   /* STORE_ALL_USERS */
	const char *key;	   /* NULL: any */
	const char *family;	   /* NULL: any */
	const char *candidate;	   /* NULL: any */
	bool finished, unfinished; /* only those; neither: all */
	bool completed;		   /* only end_state COMPLETED */
	bool predicted;		   /* only pred_s > 0 */
	int64_t since;		   /* submitted at or after */
	unsigned max;		   /* 0: all */
};
typedef int (*store_run_fn)(const struct store_run *r, void *arg);
/*
 * Latest submission first. The callback returns non-zero to stop; it may write to the store. Returns the
 * number seen.
 */
int store_runs_each(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
		    struct errbuf *err);
/*
 * The same in one pass, for many runs, latest job id first; the callback must not use the store.
 */
int store_runs_scan(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
		    struct errbuf *err);
/*
 * Completed runs of a key on a candidate as input of estimate_blend, latest first. Returns how many, at most
 * max.
 */
int store_runs_past(struct store *s, const char *key, const char *candidate, struct estimate_past *past,
		    size_t max, struct errbuf *err);

/* Predicted runs that completed on the candidate they were predicted for, summed up per candidate. */
struct store_accuracy {
	char candidate[CONF_CANDIDATE_MAX];
	uint64_t n;
	double mean_abs_rel; /* mean of |actual - predicted| / actual */
	double median_abs_rel;
	double p90_abs_rel;
	double bias_rel;	  /* mean of (predicted - actual) / actual; negative = predicted too short */
	double share_under;	  /* actual above the upper bound */
	double share_inside;	  /* actual within the interval */
	uint64_t extended;	  /* runs whose limit was raised */
	uint64_t timed_out;	  /* ended by TIMEOUT */
	double used_of_requested; /* mean of elapsed / user's limit, where that is known; else 0 */
	double used_of_limit;	  /* mean of elapsed / limit that we set; else 0 */
};
typedef int (*store_accuracy_fn)(const struct store_accuracy *a, void *arg);
/* By candidate name. uid: STORE_ALL_USERS; key NULL: any. Returns the number of candidates. */
int store_accuracy_each(struct store *s, uint32_t uid, const char *key, int64_t since, store_accuracy_fn fn,
			void *arg, struct errbuf *err);

#endif
