/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text that Precedent writes into a job's admin_comment: one line, "precedent:1 act=... mode=... key=...", with
 * the fields that apply. The job_submit plugin writes it; precedentd and the command line read it. Only operators
 * can change it, so its contents are trusted if the form is valid. Earlier text in the comment is kept in front,
 * separated by " | ".
 */
#ifndef PRECEDENT_COMMON_COMMENT_H
#define PRECEDENT_COMMON_COMMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/identity.h"

#define COMMENT_TEXT_MAX 512
#define COMMENT_AT_MAX	 160
#define COMMENT_VARS_MAX 128
#define COMMENT_NO_TASK	 UINT32_MAX
#define COMMENT_GROUPS_MAX  85 /* predictor/store/groups.h */
#define COMMENT_SIMILAR_MAX 64

enum job_act {
	ACT_NONE,    /* the plugin left the job alone */
	ACT_TRACE,   /* first run: marked for tracing */
	ACT_PREDICT, /* a prediction was made */
	ACT_OBSERVE, /* recorded, no prediction yet */
	ACT_PROBE,   /* one of Precedent's probe jobs; set by precedentd */
};

struct job_comment {
	enum job_act act;
	enum precedent_mode mode;
	char key[IDENTITY_KEY_LEN + 1];	   /* "" = none */
	char family[IDENTITY_KEY_LEN + 1]; /* "" = none */
	/* kin of the job, and its numbers within the kin, as identity_vars_format writes them; "" = none. Left
	 * out if the text gets too long. */
	char kin[IDENTITY_KEY_LEN + 1];
	char vars[COMMENT_VARS_MAX];
	/*
	 * user_limit_min: upper bound for the limit, in minutes: the user's own limit or else the partition's
	 * default. DURATION_UNSET: neither is known. DURATION_UNLIMITED is written as "unlimited". Of a probe: the
	 * limit of its submission.
	 * wish_min: the limit decided at submission; DURATION_UNSET: none.
	 * limit_min: the limit that Precedent set last; DURATION_UNSET: not changed so far. It replaces the wish in
	 * the same step in which slurmctld changes the limit.
	 */
	uint32_t user_limit_min;
	uint32_t wish_min;
	uint32_t limit_min;
	uint32_t task; /* of an array to be traced: the index of the only task that is; COMMENT_NO_TASK: no array */
	char candidate[CONF_CANDIDATE_MAX]; /* candidate of the prediction; "" = none */
	double pred_s, lo_s, hi_s;	    /* whole seconds when written; 0 = none */
	/*
	 * The candidates of a job that could have run elsewhere: "slow/0/460,fast/1800/192"; "" = none. Each has
	 * its name, seconds until the job would have started there ("-": not known) and predicted seconds. The
	 * chosen one comes first. A word behind a candidate tells why it was not chosen:
	 *
	 * - refused: by the scheduler.
	 *
	 * - closed: to the user, or to jobs of this size.
	 *
	 * - limit: the partition's limit is too short.
	 *
	 * - unnamed: the user did not name the partition.
	 *
	 * - features, mode: these do not match.
	 *
	 * - other: no candidate any more.
	 *
	 * - least: the known wait is a lower bound only.
	 */
	char at[COMMENT_AT_MAX];
	/*
	 * launch: name of the job's launches (predictor/store/launches.h); 0: not known.
	 *
	 * groups: the job's groups of similar runs (predictor/store/groups.h).
	 *
	 * similar: facts that are known by other means than the job's key; "": none. Parts in this order, with commas:
	 *
	 * - command/600/120/4200: the estimate from similar runs if nothing else was known: the narrowest group that counted; then
	 *   estimate, least and most in seconds.
	 *
	 * - launch/17: its own key was new; it is known as the job of this number, which launched the same. 0: no job was traced.
	 *
	 * - fresh/9: not traced, since so many jobs of its kind in a row had new keys.
	 *
	 * Each of these three fields is left out if it does not fit. The groups take their room before similar, since
	 * the run joins its groups when it ends.
	 */
	uint64_t launch;
	char groups[COMMENT_GROUPS_MAX];
	char similar[COMMENT_SIMILAR_MAX];
};

const char *act_name(enum job_act act);
void comment_init(struct job_comment *c); /* no field is set */
/* Write the text, without any earlier comment. Returns its length, or -1 if it does not fit. */
int comment_format(const struct job_comment *c, char *buf, size_t size);
/*
 * Find and parse Precedent's part of an admin_comment. text may be NULL. Returns 0 on success, -1 if there is none
 * or it is malformed.
 */
int comment_parse(const char *text, struct job_comment *c);
/*
 * Copy an admin_comment with limit_min in place of the wish or the limit set before. The rest stays unchanged.
 * Returns the length, or -1 if there is no part of Precedent or the text does not fit.
 */
int comment_set_limit(const char *text, uint32_t limit_min, char *buf, size_t size);
/* The same with a wish, in place of an earlier one or of none. The limit stays. */
int comment_set_wish(const char *text, uint32_t wish_min, char *buf, size_t size);

#endif
