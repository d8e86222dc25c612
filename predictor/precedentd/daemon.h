/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of precedentd share: the connection to Slurm and the query server. Everything else is in predictor/. */
#ifndef PRECEDENT_PREDICTOR_PRECEDENTD_DAEMON_H
#define PRECEDENT_PREDICTOR_PRECEDENTD_DAEMON_H

#include "common/buf.h"
#include "common/conf.h"
#include "predictor/cluster/cluster.h"
#include "predictor/follow/start_forecast.h"

/* ---- slurm.c and slurm_*.c: the only files that talk to Slurm ---- */

void slurm_side_init(void);

/* With each look, before all others: slurmctld's time, and by how many seconds its clock was set since the last look. Returns 0 or
 * -1. */
int slurm_side_clock(int64_t *now, int64_t *set_by, struct errbuf *errp);
int64_t slurm_side_now(void); /* by slurmctld's clock, as it was when it was last read; any thread */
uint32_t slurm_side_min_job_age(void); /* seconds that slurmctld remembers ended jobs; UINT32_MAX: for ever */
/* The next answer is a whole one. */
void slurm_side_jobs_again(void);
void slurm_side_overtime_again(void);
void slurm_side_partitions_again(void);

/* The jobs of now. 0, or -1 with the reason; there is no snapshot then. Owned by slurm.c, valid until the next call. */
int slurm_side_jobs(const struct cluster_snapshot **snap, struct errbuf *errp);

/* OverTimeLimit of a partition in minutes, by the partition itself or by the configuration that was read last. */
struct partition_info; /* Slurm's */
uint32_t slurm_side_overtime(const struct partition_info *p);
bool slurm_side_graces(const struct partition_info *p); /* a job that is preempted past its limit would lose its grace time */
bool slurm_side_soft_works(void);			 /* see overtime_table; after slurm_side_overtime_conf */
int slurm_side_overtime_conf(struct errbuf *errp); /* after slurm_side_clock; asks for the limits of accounting */
bool slurm_side_minutes_limited(void);		     /* no limit is shortened, because of accounting */
/* Does an association or QOS limit minutes of jobs? storage, enforce: AccountingStorageType and -Enforce. Returns 0 or -1. */
int slurm_side_run_minutes(const char *storage, uint16_t enforce, bool *limited, struct errbuf *errp);

/* ---- slurm_rules.c: rules of the site by which jobs keep their limits, in words ---- */

enum limit_rule { RULE_ALL, RULE_PARTITIONS, RULE_ACCOUNTING, LIMIT_RULES }; /* RULE_ALL: all jobs keep them */
void slurm_side_rules_clear(enum limit_rule kind);
void slurm_side_rule(enum limit_rule kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *slurm_side_rules(void); /* "": there are none. Valid until the next call. */

uint32_t slurm_side_longest_min(const char *account, const char *qos); /* overtime_table.longest_min */
/* The cluster's name if slurmdbd keeps its accounts, else NULL; by the configuration that was read last. */
const char *slurm_side_accounting(void);
int64_t slurm_side_time(void *arg); /* cluster_ops.time_s */
int64_t slurm_side_boot(void *arg); /* cluster_ops.boot */
/* cluster_ops.ended */
int slurm_side_ended(void *arg, uint32_t job_id, int64_t submit_time, struct cluster_end *end);
const char *slurm_side_end_state(uint32_t job_state); /* COMPLETED, TIMEOUT, ... */
/* The default accounts of users. Stops when see() returns false. Returns 0, or -1 if slurmctld keeps no associations. */
int slurm_side_default_accounts(bool (*see)(uint32_t uid, const char *account, void *arg), void *arg, struct errbuf *errp);
/* cluster_ops.overtime */
int slurm_side_overtime_table(void *arg, struct overtime_table *table, struct errbuf *errp);

struct job_descriptor; /* Slurm's */
/* Fills all fields that describe the job. Strings are lent by the submission. */
void slurm_side_describe(struct job_descriptor *d, const struct cluster_submission *s);

/* Tell the store about the partitions, when they have changed. */
int slurm_side_partitions(struct store *store, struct errbuf *errp);
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

/* ---- only.c ---- */

/* Writes to the store whom Only names. */
int only_renew(struct store *store, const struct precedent_conf *conf, struct errbuf *errp);

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
