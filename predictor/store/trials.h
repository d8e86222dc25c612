/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's record of traced runs against untraced ones (trial.h), and whether tracing goes on. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_TRIALS_H
#define PRECEDENT_PREDICTOR_STORE_TRIALS_H

#include "predictor/store/store.h"
#include "predictor/estimate/trial.h"

/* One row for each program, which is all jobs of one kin. The row's name is the kin, or the key if the kin is not known. */
struct store_trial {
	char name[IDENTITY_KEY_LEN + 1];
	char key[IDENTITY_KEY_LEN + 1]; /* of the traced run */
	uint32_t uid;
	enum trial_guard guard;
	uint32_t traced_job;
	char end_state[24]; /* of the traced job; "": none that counts */
	double elapsed_s;
	uint64_t memory;
	uint32_t array_task;
	uint32_t control_job; /* the untraced run after it; 0: none yet */
	char control_state[24];
	int64_t updated;
	/* The pair that counts: the first in which only one run failed, else the latest. */
	enum trial_pair pair;
	uint32_t pair_traced, pair_untraced; /* job ids */
	int64_t pair_at;
};

static inline const char *store_trial_name(const char *kin, const char *key)
{
	return kin[0] ? kin : key;
}

/* Insert or replace by name. */
int store_trial_put(struct store *s, const struct store_trial *t, struct errbuf *err);
/* 1 found, 0 none. */
int store_trial_get(struct store *s, const char *name, struct store_trial *t, struct errbuf *err);
/* For the plugin. Returns 1 if a guard keeps this key from being traced, 0 if not, -1. Costs at most one walk down one tree. */
int store_trial_withholds(struct store *s, const char *name, const char *key, struct store_trial *t, struct errbuf *err);
/* The program may be traced again, and its last traced run says nothing more. Its pair still counts. */
int store_trial_lift(struct store *s, const char *name, int64_t now, struct errbuf *err);

struct store_trial_tally {
	uint64_t pairs[TRIAL_PAIRS]; /* programs since then, by pair; TRIAL_NO_PAIR: 0 */
	/* For trial_judge: at most TRIAL_PER_USER programs of each user. */
	unsigned traced_failed, untraced_failed;
};
/* Of pairs that were complete at `since` or later. */
int store_trial_count(struct store *s, int64_t since, struct store_trial_tally *out, struct errbuf *err);

typedef int (*store_trial_fn)(const struct store_trial *t, void *arg);
/* Programs whose traced run alone failed, the latest first. The callback returns non-zero to stop; it must not use the store. */
int store_trials_against(struct store *s, int64_t since, store_trial_fn fn, void *arg, struct errbuf *err);

struct store_tracing {
	enum tracing_state state;
	int64_t since; /* 0 if it was never anything but TRACING_ON */
};
int store_tracing_set(struct store *s, const struct store_tracing *t, struct errbuf *err);
int store_tracing_get(struct store *s, struct store_tracing *t, struct errbuf *err);
/* Tracing goes on for all programs, and pairs are counted anew. Returns the number of programs that were guarded, or -1. */
int store_tracing_resume(struct store *s, int64_t now, struct errbuf *err);

#endif
