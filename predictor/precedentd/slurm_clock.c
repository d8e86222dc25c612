/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmctld's clock and configuration, which one message tells. Times of jobs are of that clock, so every `now` that is compared
 * with them is of that clock too. The clock of this host may be wrong, or slurmctld may be on another host.
 *
 * slurmctld answers "no change" if what it has last changed before the time of the question. After its clock was set back, it may
 * say so for hours. Then all is asked for anew.
 */
#include <errno.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <string.h>
#include <time.h>

#include "common/slurm_compat.h"
#include "predictor/cluster/clock_watch.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/precedentd/slurm_clock.h"

static slurm_conf_t *conf; /* of the main thread */
static struct clock_watch watch;

static pthread_mutex_t ahead_lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t ahead_s; /* of this host's clock; under ahead_lock */

static double steady_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int slurm_side_clock(int64_t *now, int64_t *set_by, struct errbuf *errp)
{
	double before = steady_s();
	slurm_conf_t *fresh = NULL;

	if (slurm_load_ctl_conf(0, &fresh) != SLURM_SUCCESS)
		return err_set(errp, "slurmctld gives no configuration: %s", slurm_strerror(errno));
	if (conf)
		compat_free_conf(conf);
	conf = fresh;
	*now = conf->last_update; /* when slurmctld wrote the message */
	*set_by = clock_watch_read(&watch, *now, before, steady_s());
	pthread_mutex_lock(&ahead_lock);
	ahead_s = *now - time(NULL);
	pthread_mutex_unlock(&ahead_lock);
	if (*set_by) {
		slurm_side_jobs_again();
		slurm_side_partitions_again();
		slurm_side_overtime_again();
	}
	return 0;
}

int64_t slurm_side_now(void)
{
	int64_t s;

	pthread_mutex_lock(&ahead_lock);
	s = ahead_s;
	pthread_mutex_unlock(&ahead_lock);
	return time(NULL) + s;
}

const slurm_conf_t *slurm_side_conf(void)
{
	return conf;
}

uint32_t slurm_side_min_job_age(void)
{
	return conf->min_job_age ? conf->min_job_age : UINT32_MAX;
}
