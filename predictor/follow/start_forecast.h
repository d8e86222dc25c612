/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forecasts of start times. precedentd collects the shapes of jobs, and asks the scheduler when a job of a shape would start on
 * each candidate with estimates. Each poll asks a few questions, the oldest answers first, within a time budget. Without mode
 * place nothing is asked.
 *
 * slurmctld's answer considers running jobs, not waiting ones. A waiting job that would use the same nodes and asks for no more
 * comes first. So its expected start is a lower bound of the wait.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_START_FORECAST_H
#define PRECEDENT_PREDICTOR_FOLLOW_START_FORECAST_H

#include "predictor/cluster/daemon_env.h"

#define START_FORECAST_QUESTIONS	  8	    /* questions */
#define START_FORECAST_BUDGET_MS	  250	    /* of one look, after which no further question is asked */
#define START_FORECAST_SLOW_MS	  500	    /* a question that takes longer has us keep away for a while ... */
#define START_FORECAST_PAUSE_S	  60	    /* ... this long at first, twice as long each time after, ... */
#define START_FORECAST_PAUSE_MAX_S 960	    /* ... at most this */
#define START_FORECAST_PROGRAMS	  128	    /* whose questions are asked: the latest in use */
#define START_FORECAST_LATEST	  4096	    /* programs among which these are looked for */
#define START_FORECAST_USED_S	  (14 * 86400)
#define START_FORECAST_WANT_S	  300	    /* between two looks at which questions there are, when no program has changed */
#define START_FORECAST_UNSEEN_S	  60	    /* a job that was submitted later has no start time as yet */
#define START_FORECAST_GROUPS_S	  900	    /* between two looks at whether a user is in a group */

struct start_forecast_ops {
	void *arg;
	/* When would such a job start? 1 *start, 0 not at all (the reason in errp), -1 could not be asked. */
	int (*will_run)(void *arg, const struct cluster_submission *sub, int64_t *start, struct errbuf *errp);
	/* Is the user in one of these groups (comma separated)? 1, 0, or -1: cannot be told. */
	int (*in_groups)(void *arg, uint32_t uid, const char *groups);
	double (*clock_ms)(void *arg); /* grows steadily */
};

struct start_forecast;

struct start_forecast *start_forecast_create(void); /* NULL: no memory */
void start_forecast_destroy(struct start_forecast *w);
/* With each look, after follow_poll. 0, or -1 with the reason when the store failed. */
int start_forecast_poll(struct start_forecast *w, const struct daemon_env *env, const struct start_forecast_ops *ops,
			const struct cluster_snapshot *snap, int64_t now, struct errbuf *errp);

#endif
