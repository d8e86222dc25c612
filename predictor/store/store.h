/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: one SQLite file (write-ahead log) with all data of Precedent. precedentd creates it and opens it for writing. The
 * job_submit plugin and the command line open it for reading. SQL is in predictor/store/ alone.
 *
 * A program is one exact key (common/identity.h). Times are seconds since the epoch; durations are seconds (_s) or minutes
 * (_min). Functions return 0 on success and -1 with err filled, unless their comment tells otherwise. A struct store is used by
 * one thread at a time. Writes are atomic one by one; store_begin and store_commit group them. kill -9 or power loss at any
 * time loses at most the transaction under way.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_STORE_H
#define PRECEDENT_PREDICTOR_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/comment.h"
#include "common/conf.h"
#include "common/errbuf.h"
#include "common/identity.h"
#include "predictor/estimate/array.h"
#include "predictor/estimate/drift.h"
#include "predictor/estimate/estimate.h"
#include "predictor/estimate/scaling_model.h"

#define STORE_SCHEMA_VERSION 6
#define STORE_ESTIMATES_MAX  CONF_CANDIDATES_MAX
#define STORE_REASON_MAX     304
#define STORE_RESULT_MAX     65536
#define STORE_ALL_USERS	     UINT32_MAX

struct store;

enum store_flags {
	STORE_READ = 0,	 /* never creates, never writes, never waits for a lock unless STORE_WAIT */
	STORE_WRITE = 1, /* creates the file (0640) and brings an older schema up to date */
	STORE_WAIT = 2,	 /* wait up to 5 s for a lock instead of failing at once */
};

/* Why store_open or a later call failed; the text is in err. */
enum store_fault {
	STORE_OK,
	STORE_MISSING, /* no such file (yet) */
	STORE_LOCKED,
	STORE_NEWER,   /* written by a newer Precedent */
	STORE_OLDER,   /* opened for reading before precedentd has migrated it */
	STORE_CORRUPT, /* not a database, or damaged */
	STORE_DENIED,  /* permission, read-only file system */
	STORE_FULL,
	STORE_FAILED, /* anything else */
};

int store_open(const char *path, unsigned flags, struct store **out, struct errbuf *err);
void store_close(struct store *s); /* NULL is legal */

/*
 * Beside the store is an index file of programs, families and models that the store does not have (index_file.h). For these,
 * store_lookup, store_family_lookup and store_model_lookup do not ask SQLite. The latter two are called right after
 * store_lookup and use the index as of that call.
 */
#define STORE_INDEX_SUFFIX "-index"
/* For a reader, about once a second: checks whether the index is valid. Later look-ups use it, also for rows written
 * afterwards. Returns 1 if it is valid, 0 if SQLite is asked for everything. */
int store_index_check(struct store *s, struct errbuf *err);
/* For precedentd, at every look, outside transactions: build the index where there is none, or none that will do. 1: built, 0:
 * nothing to do, -1: readers ask SQLite. */
int store_index_renew(struct store *s, struct errbuf *err);

/* Of the last failed call on this thread, store_open included. */
enum store_fault store_last_fault(void);
/* Read through the whole file: 0 sound, -1 damaged (or unreadable). Slow; for doctor. */
int store_check(struct store *s, struct errbuf *err);

/* Transactions nest. An inner rollback undoes the inner transaction alone; an inner commit lasts with the outermost one. */
int store_begin(struct store *s, struct errbuf *err);
int store_commit(struct store *s, struct errbuf *err);
void store_rollback(struct store *s);

/* ---- programs: by exact key ---- */

enum program_state {
	PROGRAM_NEW,	  /* a job with this key is marked for tracing */
	PROGRAM_TRACED,	  /* the traced job ended and left traces */
	PROGRAM_BUILDING, /* build-and-probe jobs are under way */
	PROGRAM_READY,	  /* there are estimates */
	PROGRAM_FAILED,	  /* see reason */
};
const char *program_state_name(enum program_state state);

/* What stands behind this in the reason of PROGRAM_FAILED is about its runs, and is written anew with each of them. */
#define STORE_REMARK "; past runs: "

struct store_program {
	char key[IDENTITY_KEY_LEN + 1];
	char family[IDENTITY_KEY_LEN + 1];
	uint32_t uid;
	enum program_state state;
	char reason[STORE_REASON_MAX]; /* of PROGRAM_FAILED, or a remark */
	char name[CONF_CANDIDATE_MAX]; /* the job's name, for people */
	uint32_t source_job;	       /* the traced job */
	char source_candidate[CONF_CANDIDATE_MAX];
	double source_elapsed_s;
	uint32_t n_traces;
	double mpi_s;	       /* sum over the traces */
	uint32_t nodes, tasks; /* of the traced job */
	int64_t created, updated;
	int64_t retrace_at; /* from then on the plugin may mark this key again; 0 = never by itself */
	int64_t shape;	    /* of its last job (places.h); 0 = not known */
};

/* Insert or replace by key. */
int store_program_put(struct store *s, const struct store_program *p, struct errbuf *err);
/* 1 found, 0 no such program. */
int store_program_get(struct store *s, const char *key, struct store_program *p, struct errbuf *err);
/* State and reason (NULL: "") alone; -1 when there is no such program. */
int store_program_set_state(struct store *s, const char *key, enum program_state state, const char *reason,
			    int64_t now, struct errbuf *err);
/* Drop the program, its estimates and probes; its runs stay. 1 dropped, 0 there was none. */
int store_program_forget(struct store *s, const char *key, struct errbuf *err);

struct store_program_filter {
	uint32_t uid;	     /* STORE_ALL_USERS */
	const char *family;  /* NULL: any */
	unsigned state_mask; /* 1 << PROGRAM_NEW | ...; 0: any */
	unsigned max;	     /* 0: all */
};
/*
 * Latest change first. The callback returns non-zero to stop; it may write to the store. Returns the number
 * seen.
 */
typedef int (*store_program_fn)(const struct store_program *p, void *arg);
int store_programs_each(struct store *s, const struct store_program_filter *f, store_program_fn fn, void *arg,
			struct errbuf *err);

/* ---- estimates: by key and candidate ---- */

struct store_estimate {
	char candidate[CONF_CANDIDATE_MAX];
	struct estimate e;
	char node_class[17]; /* 16 hex or "" */
	int64_t updated;
	double scale; /* what interval_calibration.h multiplied the half widths by; 0 counts as 1 */
	bool stale;   /* read only: node_class has gone from the candidate (store/keep.h); the interval is widened */
};
int store_estimate_put(struct store *s, const char *key, const struct store_estimate *e, struct errbuf *err);
int store_estimate_drop(struct store *s, const char *key, const char *candidate, struct errbuf *err);

struct combine_part; /* predictor/estimate/combine.h */
/* Replaces the evidence of an estimate; it is dropped with the estimate. */
int store_evidence_put(struct store *s, const char *key, const char *candidate, const struct combine_part *part, unsigned n,
		       struct errbuf *err);
/* By kind. Returns how many, at most max; 0: not known. */
int store_evidence_get(struct store *s, const char *key, const char *candidate, struct combine_part *out, unsigned max,
		       struct errbuf *err);

/* What the plugin needs of a program, in one read. */
struct store_lookup {
	struct store_program program;
	unsigned n_estimates;
	struct store_estimate estimates[STORE_ESTIMATES_MAX];
};
/* 1 found, 0 unknown key. One snapshot. */
int store_lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err);

/* ---- runs: every job that the plugin saw ---- */

struct store_run {
	uint32_t jobid;
	int64_t submit_time; /* with jobid the identity of a run: job ids start again one day */
	uint32_t uid;
	char key[IDENTITY_KEY_LEN + 1];
	char family[IDENTITY_KEY_LEN + 1];
	char name[CONF_CANDIDATE_MAX];
	enum job_act act;
	enum precedent_mode mode;
	char partition[CONF_NAME_MAX];
	char candidate[CONF_CANDIDATE_MAX];	 /* where it ran, "" when on none of the candidates */
	char pred_candidate[CONF_CANDIDATE_MAX]; /* what pred_s is for */
	double pred_s, lo_s, hi_s;		 /* 0 = none */
	uint32_t user_limit_min, limit_min;	 /* as in struct job_comment; limit_min also when raised */
	uint32_t nodes, tasks;
	int64_t start_time, end_time; /* 0 = not yet */
	double elapsed_s;
	char end_state[24];  /* "" while it lasts; COMPLETED, FAILED, TIMEOUT, CANCELLED, ... */
	uint32_t extensions; /* how often precedentd raised the limit */
	double suspended_s;  /* not in elapsed_s */
	uint32_t restarts;   /* how often the job had been queued again before this run */
	uint32_t array_job;  /* the array's job id; 0: not of an array */
	uint32_t array_task; /* its index */
	char kin[IDENTITY_KEY_LEN + 1]; /* as in struct job_comment; "" = none */
	char vars[COMMENT_VARS_MAX];
	int pred_kind;	   /* enum estimate_kind of the prediction; -1 = not known */
	double pred_scale; /* what the half widths of the evidence were multiplied by (predictor/estimate/interval_calibration.h) */
	char weighed[COMMENT_AT_MAX]; /* struct job_comment's at */
};
/* Insert or replace by (jobid, submit_time). */
int store_run_put(struct store *s, const struct store_run *r, struct errbuf *err);
/* The latest run of that job id: 1 found, 0 none. */
int store_run_get(struct store *s, uint32_t jobid, struct store_run *r, struct errbuf *err);
struct store_run_id;
/* That very run: 1 found, 0 none. */
int store_run_of(struct store *s, const struct store_run_id *id, struct store_run *r, struct errbuf *err);

struct store_run_filter {
	uint32_t uid;		   /* STORE_ALL_USERS */
	const char *key;	   /* NULL: any */
	const char *family;	   /* NULL: any */
	const char *candidate;	   /* NULL: any */
	bool finished, unfinished; /* only those; neither: all */
	bool completed;		   /* only end_state COMPLETED */
	bool predicted;		   /* only pred_s > 0 */
	int64_t since;		   /* submitted at or after */
	unsigned max;		   /* 0: all */
};
typedef int (*store_run_fn)(const struct store_run *r, void *arg);
/*
 * Latest submission first. The callback returns non-zero to stop; it may write to the store. Returns the
 * number seen.
 */
int store_runs_each(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
		    struct errbuf *err);
/*
 * The same in one pass, for many runs, latest job id first; the callback must not use the store.
 */
int store_runs_scan(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
		    struct errbuf *err);
/*
 * Completed runs of a key on a candidate as input of estimate_blend, latest first. Returns how many, at most
 * max.
 */
int store_runs_past(struct store *s, const char *key, const char *candidate, struct estimate_past *past,
		    size_t max, struct errbuf *err);

/* ---- past runs as evidence (past.c) ---- */

struct store_past {
	uint32_t jobid;
	int64_t submit_time;
	char key[IDENTITY_KEY_LEN + 1];
	char vars[COMMENT_VARS_MAX];
	enum run_evidence evidence; /* never RUN_NO_EVIDENCE */
	double actual_s;
	/* What was told for the candidate where it ran, if `told`; pred_s 0: nothing, or to an array, of whose tasks it holds for one
	 * only. */
	bool told;
	double pred_s, lo_s, hi_s;
	int pred_kind;		   /* enum estimate_kind, -1 */
	double pred_scale;
	uint32_t array_job, array_task; /* as in struct store_run */
	bool drifted; /* it ran when the program had changed, and the prediction had not (predictor/estimate/drift.h) */
};
struct store_past_filter {
	const char *candidate;
	int64_t since;	/* submitted at or after */
	int64_t before; /* submitted earlier; 0: any */
	/* Of these the first that is not NULL: */
	const char *key, *family;
	uint32_t uid;	 /* else: of this user */
	const char *kin;    /* with family: only this kin; without key and family: this kin in any layout */
	const char *except; /* with uid: not of this family */
};
/* The latest first, at most max of them. Returns how many. */
int store_past_read(struct store *s, const struct store_past_filter *f, struct store_past *out, size_t max,
		    struct errbuf *err);

/* A run of an array's task that says something. */
struct store_array_run {
	char candidate[CONF_CANDIDATE_MAX];
	struct array_run run;
};
#define STORE_ARRAY_RUNS (2 * ARRAY_LOOK)
/* Those among the latest `max` runs of a program, after the last change of it, the latest first; *all: there are no older ones.
 * Returns how many. For the plugin. */
int store_array_runs(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *err);

/* What the runs of a kin (common/identity.h) with one layout say of a member that has not run yet, on a candidate. */
struct store_family {
	char family[IDENTITY_KEY_LEN + 1];
	char kin[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
	struct estimate e;	 /* mean_s 0: nothing, see reason; n: runs */
	unsigned programs;	 /* keys that have run */
	char ranges[2 * COMMENT_VARS_MAX]; /* where their numbers lie: see predictor/estimate/param_family.h */
	char reason[STORE_REASON_MAX];
	double scale; /* as in struct store_estimate */
	int64_t updated;
};
int store_family_put(struct store *s, const struct store_family *f, struct errbuf *err);
/* All candidates of a family's kin. Returns how many. For the plugin: one walk down one tree. */
int store_family_lookup(struct store *s, const char *family, const char *kin, struct store_family *out, size_t max,
			struct errbuf *err);

/* The model over inputs of a kin on a candidate: how long any member takes, of any layout. */
struct store_model {
	char kin[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
	char law[SCALING_TEXT_MAX]; /* scaling_format; "": none, see reason */
	unsigned runs, points;	/* that it was fitted to; points: different inputs */
	char reason[STORE_REASON_MAX]; /* with a law: a remark */
	double scale; /* by which intervals are to be multiplied (interval_calibration.h) */
	int64_t updated;
};
int store_model_put(struct store *s, const struct store_model *m, struct errbuf *err);
/* All candidates of a kin, the latest first. Returns how many. */
int store_model_lookup(struct store *s, const char *kin, struct store_model *out, size_t max, struct errbuf *err);

int store_drift_put(struct store *s, const char *key, const char *candidate, const struct drift *d, struct errbuf *err);
/* 1 found, 0 none: then all is zero. */
int store_drift_get(struct store *s, const char *key, const char *candidate, struct drift *out, struct errbuf *err);

/* Predicted runs that completed on the candidate they were predicted for, summed up per candidate. */
struct store_accuracy {
	char candidate[CONF_CANDIDATE_MAX];
	uint64_t n;
	double mean_abs_rel; /* mean of |actual - predicted| / actual */
	double median_abs_rel;
	double p90_abs_rel;
	double bias_rel;	  /* mean of (predicted - actual) / actual; negative = predicted too short */
	double share_under;	  /* actual above the upper bound */
	double share_inside;	  /* actual within the interval */
	uint64_t extended;	  /* runs whose limit was raised */
	uint64_t timed_out;	  /* ended by TIMEOUT */
	double used_of_requested; /* mean of elapsed / user's limit, where that is known; else 0 */
	double used_of_limit;	  /* mean of elapsed / limit that we set; else 0 */
};
typedef int (*store_accuracy_fn)(const struct store_accuracy *a, void *arg);
/* By candidate name. uid: STORE_ALL_USERS; key NULL: any. Returns the number of candidates. */
int store_accuracy_each(struct store *s, uint32_t uid, const char *key, int64_t since, store_accuracy_fn fn,
			void *arg, struct errbuf *err);

/* ---- probes: build-and-probe jobs, by key and candidate ---- */

enum probe_state {
	PROBE_WAITING,	 /* to be submitted */
	PROBE_SUBMITTED, /* jobid is in the queue or runs */
	PROBE_DONE,	 /* result holds the record */
	PROBE_FAILED,	 /* see reason; given up */
};
const char *probe_state_name(enum probe_state state);

struct store_probe {
	char key[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
	uint32_t jobid; /* 0 = none yet */
	enum probe_state state;
	uint32_t tries;
	char reason[STORE_REASON_MAX];
	int64_t submitted, updated;
	int64_t not_before; /* next try; 0 = now */
	double cost_node_s; /* nodes times seconds that it took */
	const char *result; /* written only: the record's text; NULL leaves the one that is there (records.h reads it) */
	char class_hex[17]; /* node class of the record; "" when there is none */
	bool kept;	    /* read only: there is a record in the store */
};
int store_probe_put(struct store *s, const struct store_probe *p, struct errbuf *err);
/* 1 found, 0 none. */
int store_probe_get(struct store *s, const char *key, const char *candidate, struct store_probe *p,
		    struct errbuf *err);
typedef int (*store_probe_fn)(const struct store_probe *p, void *arg);
/* key NULL: of all programs; state_mask 0: any state. By key and candidate. Returns the number seen. */
int store_probes_each(struct store *s, const char *key, unsigned state_mask, store_probe_fn fn, void *arg,
		      struct errbuf *err);

/* ---- the cluster's partitions, as precedentd last saw them: the plugin cannot ask slurmctld ---- */

struct store_partition {
	char name[CONF_NAME_MAX];
	bool is_default;
	uint32_t default_min; /* DefaultTime; DURATION_UNSET: none, max_min counts */
	uint32_t max_min;     /* MaxTime; DURATION_UNLIMITED */
};
/* Replace the whole table (in one transaction); does nothing when it is the same already. */
int store_partitions_put(struct store *s, const struct store_partition *p, size_t n, struct errbuf *err);
/* name NULL: the default partition. 1 found, 0 none. */
int store_partition_get(struct store *s, const char *name, struct store_partition *p, struct errbuf *err);

/* ---- the daemon's own ---- */

/*
 * A small named value ("" when there is none); 1 found, 0 none. For cursors of the daemon; names of at most
 * 63 bytes.
 */
int store_meta_set(struct store *s, const char *name, const char *value, struct errbuf *err);
int store_meta_get(struct store *s, const char *name, char *value, size_t size, struct errbuf *err);
/* Another number whenever another connection has written since; only numbers of one connection compare. Outside transactions. */
int store_data_version(struct store *s, int64_t *version, struct errbuf *err);
/* precedentd says "alive"; the plugin reads it. 0 as time: never. */
int store_heartbeat_set(struct store *s, int64_t now, struct errbuf *err);
int store_heartbeat_get(struct store *s, int64_t *when, struct errbuf *err);
/* All steps of store_prune_step (store/keep.h) at once. Returns how many runs and programs went. */
int store_prune(struct store *s, int64_t before, struct errbuf *err);

struct store_counts {
	uint64_t programs, estimates, runs, runs_open, probes;
	uint64_t by_state[PROGRAM_FAILED + 1];
	int64_t file_bytes;
	int schema;
};
int store_counts(struct store *s, struct store_counts *c, struct errbuf *err);

/* ---- what is under way, for precedentd's loop (busy.c) ---- */

struct store_pair {
	char key[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
};
/*
 * Probes waiting or submitted; programs traced or building (candidate ""). The list is to be freed by the
 * caller.
 */
int store_busy_probes(struct store *s, struct store_pair **out, size_t *n, struct errbuf *err);
int store_busy_programs(struct store *s, struct store_pair **out, size_t *n, struct errbuf *err);
/* Runs that have not ended, by name alone. The list is to be freed by the caller. */
struct store_run_id {
	uint32_t jobid;
	int64_t submit_time;
};
int store_busy_runs(struct store *s, struct store_run_id **out, size_t *n, struct errbuf *err);
/* How many: probes in the queue; probes that are made again; programs of this one's user, family and shape being probed. */
int store_busy_submitted(struct store *s, struct errbuf *err);
int store_busy_again(struct store *s, struct errbuf *err);
int store_busy_family(struct store *s, const struct store_program *p, struct errbuf *err);
#define STORE_META_LAYOUT    "layout."	  /* and the key: layout of the traced job (layout.h) */
#define STORE_META_FORGOTTEN "forgotten." /* and the key: when */
int store_meta_drop(struct store *s, const char *name, struct errbuf *err);
/*
 * Drop all that is known of one key of one user: program, estimates, probes and runs. Returns how many rows
 * went. Runs submitted before `now` stay forgotten: slurmctld remembers ended jobs for a while, and
 * precedentd would learn of them again.
 */
int store_key_forget(struct store *s, const char *key, uint32_t uid, int64_t now, struct errbuf *err);
/* Was this key forgotten at or after that time? 1, 0. */
int store_key_forgotten(struct store *s, const char *key, int64_t submit_time, struct errbuf *err);
/* Drop what store_key_forget noted before that time. */
int store_forgotten_prune(struct store *s, int64_t before, struct errbuf *err);

#endif
