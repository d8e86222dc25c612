/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remembers the jobs that the last poll has settled. An unchanged, settled job need not be looked up in the store. An open run
 * can be lost only if its job has left the queue. So a poll of 10,000 jobs costs no more than its few changes. Without this
 * memory (NULL) every poll asks the store about every job.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_POLL_CACHE_H
#define PRECEDENT_PREDICTOR_FOLLOW_POLL_CACHE_H

#include "predictor/cluster/cluster.h"
#include "predictor/store/runs.h"

struct poll_cache;

struct poll_cache *poll_cache_create(void); /* NULL: no memory */
void poll_cache_destroy(struct poll_cache *s);

/* Everything is to be looked at again: another configuration, another connection to the store, a look that failed. */
void poll_cache_forget(struct poll_cache *s);

/* A look begins, outside any transaction. Forgets everything when somebody else has written to the store. -1: fault. */
int poll_cache_begin(struct poll_cache *s, struct store *store, const struct cluster_snapshot *snap, struct errbuf *errp);
/* For each job of the snapshot, in its order: is it as it was, and settled? If so there is nothing more to do for it. */
bool poll_cache_settled(struct poll_cache *s, const struct cluster_job *job);
/* Else this, once it was looked at: settled is whether it needs no further look until it changes. */
void poll_cache_note(struct poll_cache *s, const struct cluster_job *job, bool settled);
/* After the last job: the runs of the last poll whose jobs this poll has not seen, *n of them, lent until poll_cache_end. NULL:
 * all open runs of the store must be checked. */
const struct store_run_id *poll_cache_gone(struct poll_cache *s, size_t *n);
/* A run of these stays open: the next look checks all open runs. */
void poll_cache_gone_again(struct poll_cache *s);
/* The look was a good one. */
void poll_cache_end(struct poll_cache *s);

#endif
