/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build-and-probe jobs. The source probe comes first, where the traced job ran. If it succeeds, one probe for each other
 * candidate follows. Their state is in the store, so a restarted daemon continues and submits nothing twice.
 *
 * A key has one set of probes, however many of its jobs run. Of a family of one user and one shape, PROBES_FAMILY_MAX programs
 * are probed at a time. All tries of a program share one allowance. Jobs of ours without a row are cancelled: their program was
 * forgotten or is traced again, or the candidate was removed.
 *
 * A probe belongs to its user, who may hold and change it. A held probe is dropped. A probe that was changed is cancelled, its
 * record is not believed, and its user gets no probes for PROBES_BAR_S.
 *
 * A probe is made again when the node class of its candidate has gone (store/keep.h). Programs in use come first, a few at a
 * time; until then their estimates have a wider interval. To notice a changed class where nothing new is probed, a candidate
 * without news for PROBES_NEWS_S is probed again.
 */
#ifndef PRECEDENT_PREDICTOR_PROBE_PROBES_H
#define PRECEDENT_PREDICTOR_PROBE_PROBES_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/store/busy.h"
#include "predictor/store/programs.h"

#define PROBES_TRIES_MAX     3
#define PROBES_PREEMPTED_MAX 10		 /* tries, where the last had to make room for other jobs */
#define PROBES_BACKOFF_S     60		 /* before the second try; doubled before each further one */
#define PROBES_BACKOFF_MAX_S 14400
#define PROBES_PENDING_MAX_S (3 * 86400) /* a probe that waits longer is cancelled and given up */
#define PROBES_OVERRUN_S     120   /* beyond its limit: slurmctld ends a job within a minute, and kills it KillWait later */
#define PROBES_BAR_S	     86400 /* without probes, for a user who changed one */
#define PROBES_QUOTA_S	     600   /* between two questions whether a user is below SpoolQuota again */
#define PROBES_SECONDS_MAX   60.0
#define PROBES_LEAST_S	     60.0  /* beside ProbeSeconds, the least allowance of a probe in seconds of its nodes */
#define PROBES_RETRACE_S     86400 /* after a source probe was given up, the key may be traced again */
#define PROBES_OPEN_MAX	     64	   /* in the queue at once */
#define PROBES_USER_MAX	     8	   /* of these, of one user */
#define PROBES_FAMILY_MAX    2
#define PROBES_LOOK_ROWS     512
#define PROBES_AGAIN_MAX     4	   /* being made again at once */
#define PROBES_AGAIN_RUNS    200   /* the latest runs whose programs are looked at */
#define PROBES_AGAIN_LOOK_S  60
#define PROBES_AGAIN_S	     (7 * 86400) /* after one that could not be made again */
#define PROBES_NEWS_S	     (7 * 86400)

/* The program (state PROGRAM_TRACED, in the store) gets its source probe and becomes PROGRAM_BUILDING. */
int probes_begin(const struct daemon_env *env, struct store_program *p, int64_t now, struct errbuf *errp);

/* Where the next poll goes on among probes that wait and programs under construction. Zeroed: at the beginning. */
struct probes_turn {
	struct store_place probes, programs;
};
/*
 * Collect what has ended, submit what is due, conclude programs whose probes are all done. Thousands of probes may wait for
 * PROBES_OPEN_MAX places in the queue. So one poll looks at PROBES_LOOK_ROWS waiting probes, and at as many programs.
 */
int probes_poll(const struct daemon_env *env, struct probes_turn *turn, const struct cluster_snapshot *snap, int64_t now,
		struct errbuf *errp);

enum probe_again {
	PROBE_AGAIN_NONE, /* there is no record to renew, or the last new try was in vain */
	PROBE_AGAIN_PLANNED,
	PROBE_AGAIN_LATER, /* not now: this probe is in the queue, or too many others are */
};
/* Have the probe of a program that is ready made again on one candidate, for `why`; the estimates stay until it is done. Returns
 * enum probe_again, or -1. */
int probes_again(const struct daemon_env *env, const char *key, const char *candidate, const char *why, int64_t now,
		 struct errbuf *errp);

/* Allowance of all tries of a program, in node seconds: ProbeBudget of the traced job, but at least PROBES_LEAST_S and
 * ProbeSeconds of its nodes on each candidate. */
double probes_allowance(const struct daemon_env *env, const struct store_program *p);

/* Target run time of a skeleton: the program's share of ProbeBudget (of its node seconds, spread over n candidates), at
 * least ProbeSeconds, at most PROBES_SECONDS_MAX. */
double probes_seconds(const struct precedent_conf *conf, double elapsed_s, unsigned n_candidates);

#endif
