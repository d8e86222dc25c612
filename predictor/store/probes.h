/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build-and-probe jobs, by key and candidate. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_PROBES_H
#define PRECEDENT_PREDICTOR_STORE_PROBES_H

#include "predictor/store/store.h"

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

#endif
