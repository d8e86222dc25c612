/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of precedentd share: the connection to Slurm and the query server. Everything else is in predictor/. */
#ifndef PRECEDENT_PREDICTOR_PRECEDENTD_DAEMON_H
#define PRECEDENT_PREDICTOR_PRECEDENTD_DAEMON_H

#include "common/buf.h"
#include "common/conf.h"
#include "predictor/cluster/cluster.h"
#include "predictor/follow/start_forecast.h"

/* ---- slurm.c, slurm_ask.c, slurm_overtime.c and slurm_accounting.c: the only files that talk to Slurm ---- */

void slurm_side_init(void);

/* The jobs of now. 0, or -1 with the reason; there is no snapshot then. Owned by slurm.c, valid until the next call. */
int slurm_side_jobs(const struct cluster_snapshot **snap, struct errbuf *errp);

/* OverTimeLimit of a partition in minutes, by the partition itself or by the configuration that was read last. */
struct partition_info; /* Slurm's */
uint32_t slurm_side_overtime(const struct partition_info *p);
int slurm_side_overtime_conf(struct errbuf *errp); /* reads the configuration again if it has changed */
bool slurm_side_minutes_limited(void);		     /* no limit is shortened, because of accounting */
/* Does an association or QOS limit minutes of running jobs? storage: AccountingStorageType. Returns 0 or -1. */
int slurm_side_run_minutes(const char *storage, bool *limited, struct errbuf *errp);
/* cluster_ops.overtime */
int slurm_side_overtime_table(void *arg, struct overtime_table *table, struct errbuf *errp);

struct job_descriptor; /* Slurm's */
/* Fills all fields that describe the job. Strings are lent by the submission. */
void slurm_side_describe(struct job_descriptor *d, const struct cluster_submission *s);

/* Tell the store about the partitions, when they have changed. */
int slurm_side_partitions(struct store *store, struct errbuf *errp);
/* Seconds that slurmctld remembers ended jobs; UINT32_MAX: for ever; 0: it does not say. */
uint32_t slurm_side_min_job_age(void);
/* In any case the next time: another store. */
void slurm_side_partitions_again(void);
/* When jobs would start, and who is in which group. */
const struct start_forecast_ops *slurm_side_forecast(void);

/* conf_file: argument of the trigger's program; lent. */
const struct cluster_ops *slurm_side_ops(const char *conf_file);

/* The trigger's action: raises a job whose limit Precedent has lowered to its user's own limit. */
int slurm_side_raise_limit(uint32_t job_id, struct errbuf *errp);

/* ---- serve.c: answers the commands, in a thread of its own with its own connection to the store ---- */

/* The configuration at the time of the call, for the length of one answer; serve_conf_release ends it. The main thread
 * changes it under the same lock. */
const struct precedent_conf *daemon_conf_hold(void);
void daemon_conf_release(void);

int serve_start(const char *host, unsigned port, const char *store_file, uid_t slurm_uid, struct errbuf *errp);
void serve_stop(void); /* waits for the thread; legal when it was not started */

/* ---- metrics.c: for monitoring systems, in a thread of its own with its own connection to the store ---- */

struct job_counts;
int metrics_start(const struct precedent_conf *conf, struct errbuf *errp); /* does nothing where no metrics are asked for */
void metrics_stop(void);						   /* waits for the thread; legal when it was not started */
/* A look is over. jobs: that slurmctld knows, of a good one. */
/* Until the next: period_s. */
void metrics_look(double seconds, bool good, size_t jobs, uint32_t period_s, const struct job_counts *counts);

/* ---- sweep.c: cleans the spool and enforces SpoolQuota, in a thread of its own ---- */

/* See spool_sweep; the directories of the snapshot's jobs stay. Nothing while the last sweep runs. */
void sweep_start(const struct precedent_conf *conf, const struct cluster_snapshot *snap, int64_t now);
/* Writes to the store which users were above their quota. */
int sweep_note(struct store *store, int64_t now, struct errbuf *errp);
void sweep_stop(void); /* does not wait */

#endif
