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
#define CONF_ONLY_MAX	    64
#define ONLY_UIDS_MAX	    65536 /* bytes of a list of uids */
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

/* When sbatch's user is told what Precedent decided. */
enum conf_message {
	MESSAGE_ALWAYS,
	MESSAGE_TERMINAL, /* if sbatch's standard error is a terminal */
	MESSAGE_NEVER,
};
#define MESSAGE_VAR "PRECEDENT_MESSAGE" /* the user's choice, in sbatch's environment */
#define MESSAGE_TERMINAL_VAR "PRECEDENT_TERMINAL" /* "1": sbatch's standard error is a terminal */

struct conf_cost {
	char candidate[CONF_CANDIDATE_MAX];
	double per_node_hour;
};

/* Whose jobs are looked at: a user, an account or a QOS of the key Only. */
enum only_kind { ONLY_USER, ONLY_ACCOUNT, ONLY_QOS };
struct conf_only {
	enum only_kind kind;
	char name[CONF_NAME_MAX];
};

struct precedent_conf {
	char *file; /* the file that was read; NULL: no file, only defaults */
	enum precedent_mode mode;
	size_t n_partition_modes;
	struct conf_partition_mode partition_modes[CONF_PARTITIONS_MAX];
	size_t n_candidates;
	struct conf_candidate candidates[CONF_CANDIDATES_MAX];
	size_t n_only; /* 0: all jobs */
	struct conf_only only[CONF_ONLY_MAX];
	enum conf_partial partial;
	size_t n_partials;
	struct conf_candidate_partial partials[CONF_CANDIDATES_MAX];
	enum place_policy policy;
	size_t n_costs;
	struct conf_cost costs[CONF_CANDIDATES_MAX];
	enum limit_guard limit_guard;
	bool end_at_asked; /* under GUARD_OVERTIME no job runs on by OverTimeLimit */
	enum conf_message message;
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
	char *listen_host; /* where precedentd listens and clients find it; "" = it listens on all addresses, clients go to SlurmctldHost */
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
 * The name of the i-th place where a program that was traced on `traced` is probed: a candidate, or without candidates `traced`
 * alone. NULL: there are no more.
 */
const char *conf_place_at(const struct precedent_conf *conf, size_t i, const char *traced);
/*
 * The candidate on which a job runs, by its partition and features ("" or NULL: none). A candidate with the same
 * constraint is preferred to one without a constraint. Returns NULL if there is none.
 */
const struct conf_candidate *conf_candidate_match(const struct precedent_conf *conf, const char *partition,
						  const char *features);

/*
 * What precedentd found out about the names of Only: lists such as " 1000 1001 ", or NULL. Names are not looked up in slurmctld,
 * which would wait for a directory service.
 */
struct only_uids {
	const char *users;    /* that are named */
	const char *defaults; /* users whose default account is named */
};
/* Is the job of somebody whom Only names? account, qos: as the job names them, NULL or "": not named. A default QOS is not known. */
bool only_admits(const struct precedent_conf *conf, const struct only_uids *uids, uint32_t uid, const char *account, const char *qos);
int only_parse(struct precedent_conf *conf, const char *value, struct errbuf *err);
const char *only_kind_name(enum only_kind kind); /* "user", "account", "qos" */
/* "user:alice, account:physics"; "" without Only. */
void only_text(const struct precedent_conf *conf, char *out, size_t size);

const char *mode_name(enum precedent_mode mode);	     /* "off", "observe", "limit", "place" */
int mode_parse(const char *text, enum precedent_mode *mode); /* 0, or -1 if text is no mode */
const char *message_name(enum conf_message message);	     /* "always", "terminal", "never" */
int message_parse(const char *text, enum conf_message *message); /* 0, or -1 if text is none of these */

#endif
