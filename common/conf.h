/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent.conf: one key=value per line, '#' comments, case-insensitive keys. Defaults are set first. An unknown
 * key, a repeated key or a bad value is an error, which names file and line and says what to do. The keys are
 * documented in conf/precedent.conf and precedent.conf(5).
 */
#ifndef PRECEDENT_COMMON_CONF_H
#define PRECEDENT_COMMON_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define CONF_DEFAULT_FILE   "/etc/precedent/precedent.conf"
#define CONF_CANDIDATES_MAX 16
#define CONF_PARTITIONS_MAX 128
#define CONF_NAME_MAX	    64	/* partition, account or QOS, including the NUL */
#define CONF_CANDIDATE_MAX  160 /* "partition:constraint", including the NUL */

/* In order: each mode does the same as the mode before, and more. */
enum precedent_mode {
	MODE_OFF,     /* per job only: the job is not touched */
	MODE_OBSERVE, /* trace, predict, report */
	MODE_LIMIT,   /* also set the time limit */
	MODE_PLACE,   /* also choose the partition */
};

struct conf_candidate {
	char name[CONF_CANDIDATE_MAX]; /* as configured: "slow" or "slow:bigmem" */
	char partition[CONF_NAME_MAX];
	char constraint[CONF_CANDIDATE_MAX]; /* "" = none */
};

struct conf_partition_mode {
	char partition[CONF_NAME_MAX];
	enum precedent_mode mode;
};

/* Whether probes may run the program itself (partial execution). */
enum conf_partial {
	PARTIAL_NEVER,
	PARTIAL_OFF, /* only if the job asks for it */
	PARTIAL_ON,
};

struct conf_candidate_partial {
	char candidate[CONF_CANDIDATE_MAX];
	enum conf_partial partial;
};

/* The criterion for the best candidate. */
enum place_policy {
	POLICY_EARLIEST, /* earliest end: least wait plus run time */
	POLICY_FASTEST,	 /* least run time */
	/* least node hours, weighted by Cost.<candidate>; among equals the earliest */
	POLICY_CHEAPEST,
};

/* How a shortened limit is kept from ending a job before the limit that its user asked for. */
enum limit_guard {
	GUARD_AUTO,	/* soft where slurm.conf has the parameter for it, else overtime */
	GUARD_SOFT,	/* the limit stays; Slurm plans with time_min */
	GUARD_OVERTIME, /* by OverTimeLimit of slurm.conf */
	GUARD_RAISE,	/* precedentd raises the limit in time */
};

struct conf_cost {
	char candidate[CONF_CANDIDATE_MAX];
	double per_node_hour;
};

struct precedent_conf {
	char *file; /* the file that was read; NULL: no file, only defaults */
	enum precedent_mode mode;
	size_t n_partition_modes;
	struct conf_partition_mode partition_modes[CONF_PARTITIONS_MAX];
	size_t n_candidates;
	struct conf_candidate candidates[CONF_CANDIDATES_MAX];
	enum conf_partial partial;
	size_t n_partials;
	struct conf_candidate_partial partials[CONF_CANDIDATES_MAX];
	enum place_policy policy;
	size_t n_costs;
	struct conf_cost costs[CONF_CANDIDATES_MAX];
	enum limit_guard limit_guard;
	double margin;		/* 0.15: the limit is the upper bound of the prediction times 1.15 */
	uint32_t min_limit_min; /* the limit is never set below this many minutes */
	/* 0.01: largest share of the job's node seconds that its probes may cost */
	double probe_budget;
	double probe_seconds;	/* target run time of a skeleton */
	char *probe_account;	/* "" = the job's own */
	char *probe_qos;	/* "" = the job's own */
	char *spool_dir;
	uint64_t spool_quota; /* bytes of each user in spool_dir; 0 = no quota */
	char *local_dir;  /* on every node; "" = runs that die leave no trace */
	/* shared directory where probes put files of MPI-IO; "" = probes replace calls on files by delays */
	char *scratch_dir;
	char *state_dir;
	char *store_file; /* state_dir/precedent.db */
	uint64_t retention_s;
	uint32_t poll_interval_s;
	uint32_t heartbeat_timeout_s;
	uint16_t listen_port;
	char *listen_host; /* address at which clients find precedentd */
	char *install_dir; /* prefix */
	char *metrics_file; /* "" = no file is written */
	char *metrics_host; /* a loopback address */
	uint16_t metrics_port; /* 0 = no server */
};

/*
 * Read a configuration. If path is NULL, $PRECEDENT_CONF or else CONF_DEFAULT_FILE is read. Only the default file
 * may be missing; then conf has defaults and conf->file is NULL. Returns 0 on success; -1 on error (err says why),
 * with conf freed. The caller frees conf with conf_free.
 */
int conf_load(const char *path, struct precedent_conf *conf, struct errbuf *err);
/* The file that conf_load(path) reads; never NULL. */
const char *conf_path(const char *path);
void conf_free(struct precedent_conf *conf); /* a zeroed or freed struct is allowed */

/* The mode of a partition: PartitionMode.<name> or else Mode. partition may be NULL. */
enum precedent_mode conf_mode_for(const struct precedent_conf *conf, const char *partition);
/* The first of these keys that is set: PartialExecution.<candidate>, .<its partition>, PartialExecution. */
enum conf_partial conf_partial_for(const struct precedent_conf *conf, const char *candidate);
const char *partial_name(enum conf_partial partial); /* "never", "off", "on" */
/* Weight of a node hour: Cost.<candidate>, or Cost.<its partition>, or 1. */
double conf_cost_for(const struct precedent_conf *conf, const char *candidate);
const char *limit_guard_name(enum limit_guard guard); /* "auto", "soft", "overtime", "raise" */
/* The guard in force. soft_works: Slurm takes time_min as a soft limit (predictor/cluster/overtime.h). */
enum limit_guard conf_guard(const struct precedent_conf *c, bool soft_works);
const char *policy_name(enum place_policy policy); /* "earliest", "fastest", "cheapest" */
/* Is there a partition with mode "place"? */
bool conf_places(const struct precedent_conf *conf);
/* Is there a partition with mode "limit" or "place"? */
bool conf_limits(const struct precedent_conf *conf);
/* The candidate with this name, or NULL. */
const struct conf_candidate *conf_candidate_find(const struct precedent_conf *conf, const char *name);
/*
 * The candidate on which a job runs, by its partition and features ("" or NULL: none). A candidate with the same
 * constraint is preferred to one without a constraint. Returns NULL if there is none.
 */
const struct conf_candidate *conf_candidate_match(const struct precedent_conf *conf, const char *partition,
						  const char *features);

const char *mode_name(enum precedent_mode mode);	     /* "off", "observe", "limit", "place" */
int mode_parse(const char *text, enum precedent_mode *mode); /* 0, or -1 if text is no mode */

#endif
