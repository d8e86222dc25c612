/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Precedent writes into a job's admin_comment: one line, "precedent:1 act=... mode=... key=..." (fields
 * that apply). Written by the job_submit plugin, read by precedentd and the command line. Only operators can
 * change it, so it is trusted as far as its form; a comment that was there before is kept in front, with " |
 * " between.
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

enum job_act {
	ACT_NONE,    /* the plugin left the job alone */
	ACT_TRACE,   /* first run: marked for tracing */
	ACT_PREDICT, /* a prediction was given */
	ACT_OBSERVE, /* seen, nothing to say yet */
	ACT_PROBE,   /* one of our own probe jobs: set by precedentd */
};

struct job_comment {
	enum job_act act;
	enum precedent_mode mode;
	char key[IDENTITY_KEY_LEN + 1];	   /* "" = none */
	char family[IDENTITY_KEY_LEN + 1]; /* "" = none */
	/* struct identity's kin and the numbers that tell its members apart, as identity_vars_format writes them; "" = none.
	 * Left out where the rest leaves no room. */
	char kin[IDENTITY_KEY_LEN + 1];
	char vars[COMMENT_VARS_MAX];
	/*
	 * user_limit_min is how far the limit may be raised: the user's own limit, else the partition's
	 * default; DURATION_UNSET when neither is known, DURATION_UNLIMITED written as "unlimited".
	 * wish_min: the limit that the job is to have, decided at submission; DURATION_UNSET: none.
	 * limit_min: what Precedent last set the job's limit to; DURATION_UNSET as long as it is not touched. It
	 * takes the place of the wish in the same step in which slurmctld changes the limit.
	 */
	uint32_t user_limit_min;
	uint32_t wish_min;
	uint32_t limit_min;
	char candidate[CONF_CANDIDATE_MAX]; /* "" = none; what the prediction is for */
	double pred_s, lo_s, hi_s;	    /* whole seconds once written; 0 = none */
	/*
	 * Of a job that could have gone elsewhere: "slow/0/460,fast/1800/192", candidate, seconds until it would
	 * have started there ("-": not known) and predicted seconds, the chosen one first; behind that, where there is one,
	 * a word why it is out: refused (by the scheduler), closed (to the user, or to jobs of this size), limit (the
	 * partition's is too short), unnamed (by the user), features, mode, other (no candidate any more); or "least": it starts
	 * then or later. "" = none.
	 */
	char at[COMMENT_AT_MAX];
};

const char *act_name(enum job_act act);
void comment_init(struct job_comment *c); /* nothing set */
/* The text alone, without any earlier comment. Returns its length, or -1 when it does not fit. */
int comment_format(const struct job_comment *c, char *buf, size_t size);
/*
 * Find and parse our part of an admin_comment. 0 found, -1 there is none or it is malformed. text may be
 * NULL.
 */
int comment_parse(const char *text, struct job_comment *c);
/*
 * The same admin_comment with limit_min in place of the wish, or of the limit set before; everything else in it stays as it
 * is. Returns its length, or -1 when there is nothing of ours in it or it does not fit.
 */
int comment_set_limit(const char *text, uint32_t limit_min, char *buf, size_t size);

#endif
