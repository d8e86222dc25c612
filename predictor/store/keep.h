/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the store keeps beside programs, probes and runs, and what keeps the store: the node classes of candidates, the records
 * of traced classes, what probes cost and shorter limits freed; retention in bounded steps, and backup while it is in use.
 * Conventions as in store.h.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_KEEP_H
#define PRECEDENT_PREDICTOR_STORE_KEEP_H

#include "predictor/store/store.h"

/* ---- node classes ---- */

/*
 * A probe has found this class on the candidate. A class has gone when as many results in a row were of other classes as
 * it takes: one at first, twice as many each time that it came back after all. So candidates whose nodes differ are not
 * probed for ever.
 */
int store_class_seen(struct store *s, const char *candidate, const char *class_hex, const char *text, int64_t now,
		     struct errbuf *err);
/* Has the class gone from the candidate? 1, 0; "" never has. */
int store_class_gone(struct store *s, const char *candidate, const char *class_hex, struct errbuf *err);
/* How many classes have gone from any candidate. */
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
	bool done;
};
/*
 * Look at no more than `max` rows and drop those that were not touched since `before`: finished runs, programs without runs
 * (with all that belongs to them), days of costs, classes that have gone. Returns how many runs, programs and other rows went. The file does not
 * shrink; its free pages are used again.
 */
int store_prune_step(struct store *s, int64_t before, unsigned max, struct store_pruning *at, struct errbuf *err);

/* ---- backup ---- */

/*
 * Copy the store at `path` to the file `to`, of one instant, while others read and write it: written beside (0600), checked,
 * synced and renamed. An older `to` is replaced.
 */
int store_backup(const char *path, const char *to, struct errbuf *err);

#endif
