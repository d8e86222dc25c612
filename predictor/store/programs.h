/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs by exact key, and their estimates by key and candidate. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_PROGRAMS_H
#define PRECEDENT_PREDICTOR_STORE_PROGRAMS_H

#include "predictor/estimate/estimate.h"
#include "predictor/store/store.h"

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

/* At the end of the reason of a program whose traced run failed, if the tracer may be why. */
#define STORE_WITHOUT_TRACER "the next run goes without the tracer"
#define STORE_NOT_BY_ITSELF  "it is not traced again by itself"

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

/* Did its traced run leave no trace? Another run may leave one. */
bool store_program_lacks_trace(const struct store_program *p);
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
	unsigned within;     /* searches the programs that changed last, at most this many; 0: all */
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
/* When and how it was made: 1, 0 there is none, -1 on error. */
int store_estimate_updated(struct store *s, const char *key, const char *candidate, enum estimate_kind *kind, int64_t *updated,
			   struct errbuf *err);
int store_estimate_drop(struct store *s, const char *key, const char *candidate, struct errbuf *err);

/* What the plugin needs of a program, in one read. */
struct store_lookup {
	struct store_program program;
	unsigned n_estimates;
	struct store_estimate estimates[STORE_ESTIMATES_MAX];
};
/* 1 found, 0 unknown key. One snapshot. */
int store_lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err);

#endif
