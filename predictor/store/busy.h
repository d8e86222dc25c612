/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is under way, for the loop of precedentd. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_BUSY_H
#define PRECEDENT_PREDICTOR_STORE_BUSY_H

#include "predictor/store/programs.h"
#include "predictor/store/runs.h"

struct store_pair {
	char key[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
};
/* Where a walk over a long list goes on. Zeroed: at its beginning. */
struct store_place {
	int64_t row, state, updated;
	char key[IDENTITY_KEY_LEN + 1];
};
/*
 * Probes that wait, programs that are traced or under construction (candidate ""): the next `max` of them, the oldest first. *at
 * moves on, and is at the beginning again after the last one. The list is to be freed by the caller.
 */
int store_busy_probes(struct store *s, struct store_place *at, size_t max, struct store_pair **out, size_t *n, struct errbuf *err);
int store_busy_programs(struct store *s, struct store_place *at, size_t max, struct store_pair **out, size_t *n, struct errbuf *err);
/* Probes in the queue: all of them, with their users. The list is to be freed by the caller. */
struct store_submitted {
	struct store_pair of;
	uint32_t uid;
};
int store_busy_submitted(struct store *s, struct store_submitted **out, size_t *n, struct errbuf *err);
/* Runs that have not ended, by name alone. The list is to be freed by the caller. */
int store_busy_runs(struct store *s, struct store_run_id **out, size_t *n, struct errbuf *err);
/* How many: probes that are made again; programs of this one's user, family and shape being probed. */
int store_busy_again(struct store *s, struct errbuf *err);
int store_busy_family(struct store *s, const struct store_program *p, struct errbuf *err);
#define STORE_META_LAYOUT    "layout."	  /* and the key: layout of the traced job (layout.h) */
#define STORE_META_FORGOTTEN "forgotten." /* and the key: when */
#define STORE_FORGOTTEN_USER "uid."	  /* and a uid, in place of a key */
/*
 * Drop all that is known of one key of one user: program, estimates, probes and runs. Returns how many rows
 * went. Runs submitted before `now` stay forgotten: slurmctld remembers ended jobs for a while, and
 * precedentd would learn of them again.
 */
int store_key_forget(struct store *s, const char *key, uint32_t uid, int64_t now, struct errbuf *err);
/* Was this key forgotten at or after that time? 1, 0. */
int store_key_forgotten(struct store *s, const char *key, int64_t submit_time, struct errbuf *err);
/* The same of a job without a key: was its user forgotten? */
int store_user_forgotten(struct store *s, uint32_t uid, int64_t submit_time, struct errbuf *err);
/* Drop what store_key_forget noted before that time. */
int store_forgotten_prune(struct store *s, int64_t before, struct errbuf *err);

#endif
