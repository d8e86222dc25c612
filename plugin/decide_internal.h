/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of decide() share and nobody else may see: one decision under way. decide.c goes through the steps,
 * decide_place.c chooses the partition, decide_say.c tells the user.
 */
#ifndef PRECEDENT_PLUGIN_DECIDE_INTERNAL_H
#define PRECEDENT_PLUGIN_DECIDE_INTERNAL_H

#include "plugin/decide.h"

#define OPT_OUT	       "; --predict=off to opt out"
#define PARTITIONS_MAX 32

/* One estimate that may be used, with the candidate that it is for. */
struct option {
	const struct store_estimate *e;
	const struct conf_candidate *candidate; /* NULL: a partition that is no candidate (any more) */
	/* The wait there; PLACE_UNASKED where it was not looked at. */
	enum place_answer answer;
	double wait_s;
	const char *barred; /* why the job may not be sent there, as in struct job_comment's at; NULL: it may, or was not weighed */
};

/* Why a run that could be traced is not. */
enum untraced {
	UNTRACED_NOT,
	UNTRACED_SILENT,  /* no probes or no daemon, which would look at its trace */
	UNTRACED_STOPPED, /* tracing is stopped on this cluster */
	UNTRACED_GUARDED, /* see trial */
	UNTRACED_MARKED,  /* another run of it was marked a moment ago */
};

struct deciding {
	const struct decide_input *in;
	const struct precedent_conf *conf;
	const struct decide_source *src;
	struct identity_room *identity;
	struct decision *out;
	struct errbuf *err;
	struct job_comment comment;
	bool mode_given; /* by the user, for this job */
	int64_t shape;	 /* of the program's last job; 0: not known */
	/*
	 * Partitions where the job may run as it was submitted: the user's, else the default when it is
	 * known.
	 */
	unsigned n_partitions;
	char partitions[PARTITIONS_MAX][CONF_NAME_MAX];
	unsigned n_options;
	struct option options[STORE_ESTIMATES_MAX];
	const struct option *primary; /* what the prediction is for; NULL: nowhere where the job will run */
	double limit_hi_s;	      /* upper bound that a limit must cover; 0: not known */
	uint32_t cap_min;	      /* what the limit may be at most */
	bool placed;
	bool waits_unknown; /* it stays because slurmctld has not been asked yet about jobs like it */
	bool weighed; /* the candidates were compared, whether or not it moves */
	uint32_t unseen; /* an index that the array asks for and that has not run; ARRAY_NO_INDEX: none is known */
	bool by_others;		 /* the options are from its kin: they are in others */
	enum untraced untraced;
	struct errbuf unmodelled; /* why the model over inputs does not know, where there is one; "" */
	const struct option *instead_of; /* of a placed job: where it would have run, or the second choice; NULL: none */
	/* What was read. Not zeroed from here on. */
	struct store_lookup known, others;
	union {
		struct store_family kin[STORE_ESTIMATES_MAX];
		struct store_model models[STORE_ESTIMATES_MAX];
	} rows;
	struct store_array_run runs[STORE_ARRAY_RUNS];
	struct store_trial trial; /* of UNTRACED_GUARDED */
};

struct decide_room {
	struct identity_room *identity;
	struct deciding d;
};

/* ---- decide.c ---- */

/* Options from runs of its kin (alike: not by the model alone) in place of those that there are. 1, 0 when these say nothing of
 * where it will run: then there are none, -1 fault. */
int decide_others(struct deciding *d, bool alike);
/* The estimate for a partition as the job asks for it; NULL: none. */
struct option *decide_option_for(struct deciding *d, const char *partition);
/* What the job would get on this partition when the user gives no limit, and the most; DURATION_UNSET: not known. */
int decide_partition_cap(struct deciding *d, const char *name, uint32_t *cap, uint32_t *max);
/* cap_min: the user's limit, else the least that the partitions give where the job is to run; unknown when one of them is. */
int decide_find_cap(struct deciding *d);
uint32_t decide_limit_wanted(const struct deciding *d, double hi_s);

/* ---- decide_kin.c ---- */

/* Of a program that says nothing itself: fills known->estimates from its kin, alike: not by the model over inputs alone. 1, 0
 * when there is nothing to be said, -1 fault. */
int decide_kin(struct deciding *d, bool alike, struct store_lookup *known);

/* ---- decide_array.c ---- */

enum array_asked { ASKED_SEEN, ASKED_UNSEEN, ASKED_UNREADABLE };
/* Slurm's list of indexes ("0-31:4,40%2") against whole runs; *unseen: of ASKED_UNSEEN the first that has none. */
enum array_asked decide_array_asked(const char *inx, const struct store_array_run *runs, size_t n, uint32_t *unseen);
/* Least and greatest index that it asks for; false where it is not understood. */
bool decide_array_span(const char *inx, uint32_t *first, uint32_t *last);
/* 1: nothing is to be said of this array, and the user has been told why; 0: go on, with d->unseen; -1: fault. */
int decide_array(struct deciding *d);

/* ---- decide_place.c ---- */

/*
 * Choose among the candidates when the job may be sent elsewhere: fills out->partition, primary and limit_hi_s, or leaves
 * the job where it is. -1: fault.
 */
int decide_place(struct deciding *d, bool named);

/* ---- decide_say.c ---- */

void decide_say(struct decision *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow" */
void decide_say_predictions(struct deciding *d);
/* "; placed on slow: starts at once, ends 14m earlier than on fast" */
void decide_say_place(struct deciding *d);
void decide_say_limit(struct deciding *d);
/* The candidates as they were, for the comment. */
void decide_say_weighed(struct deciding *d);
/* "; its model over inputs does not know: input 4 is 900, too far from the 100 to 300 that ran" */
void decide_say_unmodelled(struct deciding *d);
/* "precedent: not traced: job 123 of this program ended FAILED while it was traced; this run is without the tracer" */
void decide_say_untraced(struct deciding *d);
/* The end of every message; an overlong one gives way to it. */
void decide_say_opt_out(struct decision *out);

#endif
