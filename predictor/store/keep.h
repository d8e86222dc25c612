/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's other tables: node classes of candidates, and costs of probes and savings by shorter limits. Also its upkeep:
 * retention in bounded steps, and backup while the store is in use. Conventions as in store.h.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_KEEP_H
#define PRECEDENT_PREDICTOR_STORE_KEEP_H

#include "predictor/store/programs.h"

/* ---- node classes ---- */

struct store_class_record {
	uint32_t uid; /* whose probe */
	const char *candidate, *class_hex, *text;
};
/*
 * A good record of a probe names this class of the candidate's nodes. A class is gone after a number of records in a row that
 * name other classes: one at first, doubled each time the class came back. So candidates with different nodes are not probed
 * for ever.
 *
 * Users write these records, and may forge them. A record counts at once for the programs of its user. For all others it counts
 * only if another user's record named the same class, after the last record that counted for another class.
 */
int store_class_seen(struct store *s, const struct store_class_record *record, int64_t now, struct errbuf *err);
/* Has the class gone from the candidate, for programs of this user? 1, 0; "" never has. */
int store_class_gone(struct store *s, uint32_t uid, const char *candidate, const char *class_hex, struct errbuf *err);
/* How many classes have gone from any candidate, for any user. */
int store_classes_gone(struct store *s, struct errbuf *err);
/* When a probe last told the candidate's class; 0 = never. */
int store_class_told(struct store *s, const char *candidate, int64_t *when, struct errbuf *err);

/* An estimate whose class has gone is given out with at least this interval, relative to the mean. */
#define STORE_STALE_LO 0.8
#define STORE_STALE_HI 1.25

int store_probe_drop(struct store *s, const char *key, const char *candidate, struct errbuf *err);

/* ---- cost and saving ---- */

/* A try of a probe has come to an end; candidate "" = a partition. */
int store_cost_add(struct store *s, int64_t now, uint32_t uid, const char *candidate, double node_s, struct errbuf *err);

/* Node seconds of all probes whose cost is kept. Reads no runs. */
int store_cost_probes(struct store *s, double *node_s, struct errbuf *err);

struct store_cost {
	uint32_t uid;
	char partition[CONF_NAME_MAX];
	uint64_t probes; /* tries */
	double probe_node_s;
	uint64_t jobs; /* that started and ended */
	double used_node_s;
	uint64_t limited;	    /* jobs of them whose limit was set below what the user asked for, and stayed there */
	double asked_node_s;	    /* what those had asked for */
	double freed_node_s;	    /* what of it their limits, as they were in the end, gave back */
};
typedef int (*store_cost_fn)(const struct store_cost *c, void *arg);
/* By user and partition; uid: STORE_ALL_USERS. Days begin at 0 h UTC. Returns the number of rows. */
int store_costs_each(struct store *s, uint32_t uid, int64_t since, store_cost_fn fn, void *arg, struct errbuf *err);

/* ---- retention ---- */

/* Where a pruning is. Zeroed: at its beginning. */
struct store_pruning {
	int stage;
	int64_t updated; /* the last program that was looked at */
	char key[IDENTITY_KEY_LEN + 1];
	int64_t group; /* the last row of groups that was looked at */
	bool done;
};
/*
 * Looks at no more than `max` rows and drops those last touched before `before`: finished runs, programs without runs (with all
 * that belongs to them), days of costs, gone classes. Returns the number of dropped rows. The file does not shrink; SQLite
 * reuses its free pages.
 */
int store_prune_step(struct store *s, int64_t before, unsigned max, struct store_pruning *at, struct errbuf *err);

/* All steps of store_prune_step (store/keep.h) at once. Returns how many runs and programs went. */
int store_prune(struct store *s, int64_t before, struct errbuf *err);


/* ---- size ---- */

struct store_counts {
	uint64_t programs, estimates, runs, runs_open, probes;
	uint64_t by_state[PROGRAM_FAILED + 1];
	int64_t file_bytes;
	int schema;
};
int store_counts(struct store *s, struct store_counts *c, struct errbuf *err);

/* ---- backup ---- */

/*
 * Copy the store at `path` to the file `to`, of one instant, while others read and write it: written beside (0600), checked,
 * synced and renamed. An older `to` is replaced.
 */
int store_backup(const char *path, const char *to, struct errbuf *err);

#endif
