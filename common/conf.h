/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent.conf: one key=value per line, '#' comments, keys without regard to case. Defaults come first; an
 * unknown key, a key given twice or a bad value is an error that names file and line and says what to do. The
 * keys are documented in conf/precedent.conf and precedent.conf(5).
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
#define CONF_NAME_MAX	    64	/* partition, account, QOS, with the NUL */
#define CONF_CANDIDATE_MAX  160 /* "partition:constraint", with the NUL */

/* Ordered: each mode does what the one before does, and more. */
enum precedent_mode {
	MODE_OFF,     /* per job only: the job is left alone, completely */
	MODE_OBSERVE, /* trace, predict, tell */
	MODE_LIMIT,   /* and set the time limit */
	MODE_PLACE,   /* and choose the partition */
};

struct conf_candidate {
	char name[CONF_CANDIDATE_MAX]; /* as configured: "slow" or "slow:bigmem" */
	char partition[CONF_NAME_MAX];
	char constraint[CONF_CANDIDATE_MAX]; /* "" when there is none */
};

struct conf_partition_mode {
	char partition[CONF_NAME_MAX];
	enum precedent_mode mode;
};

/* Whether probes may run the program itself (partial execution). */
enum conf_partial {
	PARTIAL_NEVER,
	PARTIAL_OFF, /* unless the job asks for it */
	PARTIAL_ON,
};

struct conf_candidate_partial {
	char candidate[CONF_CANDIDATE_MAX];
	enum conf_partial partial;
};

/* Which candidate is the best one. */
enum place_policy {
	POLICY_EARLIEST, /* where the job ends first: least wait and run */
	POLICY_FASTEST,	 /* least run */
	POLICY_CHEAPEST, /* least node-hours, weighed by Cost.<candidate>; of equals the earliest */
};

struct conf_cost {
	char candidate[CONF_CANDIDATE_MAX];
	double per_node_hour;
};

struct precedent_conf {
	char *file; /* the file that was read; NULL when there was none and these are the defaults */
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
	double margin;		/* 0.15: the limit is the upper bound times 1.15 */
	uint32_t min_limit_min; /* the limit is never set below this many minutes */
	double probe_budget;	/* 0.01: share of the job's node seconds that its probes may cost */
	double probe_seconds;	/* target run time of a skeleton */
	char *probe_account;	/* "" = the job's own */
	char *probe_qos;	/* "" = the job's own */
	char *spool_dir;
	char *local_dir;  /* of every node; "" = nothing is kept of runs that die */
	char *scratch_dir; /* of all nodes: where probes put the files of MPI-IO; "" = calls on files are delays */
	char *state_dir;
	char *store_file; /* state_dir/precedent.db */
	uint64_t retention_s;
	uint32_t poll_interval_s;
	uint32_t heartbeat_timeout_s;
	uint16_t listen_port;
	char *listen_host; /* where clients find precedentd */
	char *install_dir; /* prefix */
	char *metrics_file; /* "" = none is written */
	char *metrics_host; /* a loopback address */
	uint16_t metrics_port; /* 0 = nobody listens */
};

/*
 * Read a configuration. path NULL: $PRECEDENT_CONF, else CONF_DEFAULT_FILE; that default file may be missing
 * (defaults, conf->file NULL), a file named by path or by $PRECEDENT_CONF may not. -1 with err filled and
 * conf freed. Call conf_free in the end.
 */
int conf_load(const char *path, struct precedent_conf *conf, struct errbuf *err);
/* The file that conf_load(path) would read; never NULL. */
const char *conf_path(const char *path);
void conf_free(struct precedent_conf *conf); /* conf_free of a zeroed or freed struct is legal */

/* The mode for a partition: PartitionMode.<name>, else Mode. partition may be NULL. */
enum precedent_mode conf_mode_for(const struct precedent_conf *conf, const char *partition);
/* PartialExecution.<candidate>, else of its partition, else PartialExecution. */
enum conf_partial conf_partial_for(const struct precedent_conf *conf, const char *candidate);
const char *partial_name(enum conf_partial partial); /* "never", "off", "on" */
/* Cost.<candidate>, else of its partition, else 1: what a node hour there counts. */
double conf_cost_for(const struct precedent_conf *conf, const char *candidate);
const char *policy_name(enum place_policy policy); /* "earliest", "fastest", "cheapest" */
/* Is there a partition where jobs are placed without asking for it? */
bool conf_places(const struct precedent_conf *conf);
/* The candidate with this name, or NULL. */
const struct conf_candidate *conf_candidate_find(const struct precedent_conf *conf, const char *name);
/*
 * The candidate on which a job runs: partition and features ("" or NULL: none asked). A candidate with the
 * same constraint is preferred to one without; NULL when there is none.
 */
const struct conf_candidate *conf_candidate_match(const struct precedent_conf *conf, const char *partition,
						  const char *features);

const char *mode_name(enum precedent_mode mode);	     /* "off", "observe", "limit", "place" */
int mode_parse(const char *text, enum precedent_mode *mode); /* -1: none of the four */

#endif
