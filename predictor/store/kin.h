/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates from the runs of a kin, and models over inputs. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_KIN_H
#define PRECEDENT_PREDICTOR_STORE_KIN_H

#include "common/comment.h"
#include "predictor/estimate/estimate.h"
#include "predictor/estimate/scaling_model.h"
#include "predictor/store/store.h"

/* What the runs of a kin (common/identity.h) with one layout say of a member that has not run yet, on a candidate. */
struct store_family {
	char family[IDENTITY_KEY_LEN + 1];
	char kin[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
	struct estimate e;	 /* mean_s 0: nothing, see reason; n: runs */
	unsigned programs;	 /* keys that have run */
	char ranges[2 * COMMENT_VARS_MAX]; /* where their numbers lie: see predictor/estimate/param_family.h */
	char reason[STORE_REASON_MAX];
	double scale; /* as in struct store_estimate */
	int64_t updated;
};
int store_family_put(struct store *s, const struct store_family *f, struct errbuf *err);
/* All candidates of a family's kin. Returns how many. For the plugin: one walk down one tree. */
int store_family_lookup(struct store *s, const char *family, const char *kin, struct store_family *out, size_t max,
			struct errbuf *err);

/* The model over inputs of a kin on a candidate: how long any member takes, of any layout. */
struct store_model {
	char kin[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
	char law[SCALING_TEXT_MAX]; /* scaling_format; "": none, see reason */
	unsigned runs, points;	/* that it was fitted to; points: different inputs */
	char reason[STORE_REASON_MAX]; /* with a law: a remark */
	double scale; /* by which intervals are to be multiplied (interval_calibration.h) */
	int64_t updated;
};
int store_model_put(struct store *s, const struct store_model *m, struct errbuf *err);
/* All candidates of a kin, the latest first. Returns how many. */
int store_model_lookup(struct store *s, const char *kin, struct store_model *out, size_t max, struct errbuf *err);

#endif
