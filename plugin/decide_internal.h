/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals that the files of decide() share: one decision in progress. decide.c has the steps, decide_place.c
 * chooses the partition, decide_say.c writes the message.
 */
#ifndef PRECEDENT_PLUGIN_DECIDE_INTERNAL_H
#define PRECEDENT_PLUGIN_DECIDE_INTERNAL_H

#include "plugin/decide.h"

#define OPT_OUT	       "; --predict=off to opt out"
#define PARTITIONS_MAX 32

/* A usable estimate, with its candidate. */
struct option {
	const struct store_estimate *e;
	const struct conf_candidate *candidate; /* NULL: the partition is no candidate (any more) */
	/* the wait there; PLACE_UNASKED: not looked up */
	enum place_answer answer;
	double wait_s;
	/* why the job may not be sent there, in the words of struct job_comment's `at`; NULL: it may, or was not
	 * compared */
	const char *barred;
};

/* Why a run is not traced although it could be. */
enum untraced {
	UNTRACED_NOT,
	UNTRACED_SILENT,  /* no daemon that would read its trace */
	UNTRACED_STOPPED, /* tracing is stopped on this cluster */
	UNTRACED_GUARDED, /* withheld after a trial: see trial */
	UNTRACED_MARKED,  /* another run of the program was marked a moment ago */
	UNTRACED_LAUNCHES, /* the run of same_job launched the same, and failed while it was traced */
	UNTRACED_FRESH,	  /* keys of its kind never come again: see fresh */
};

struct deciding {
	const struct decide_input *in;
	const struct precedent_conf *conf;
	const struct decide_source *src;
	struct identity_room *identity;
	struct decision *out;
	struct errbuf *err;
	bool mode_given; /* given by the user for this job */
	int64_t shape;	 /* shape of the program's last job; 0: not known */
	/*
	 * Partitions where the job may run as submitted: the user's, or else the default partition if it is known.
	 */
	unsigned n_partitions;
	char partitions[PARTITIONS_MAX][CONF_NAME_MAX];
	unsigned n_options;
	struct option options[STORE_ESTIMATES_MAX];
	const struct option *primary; /* option of the prediction; NULL: none where the job will run */
	double limit_hi_s;	      /* upper bound of run time that a limit must cover; 0: not known */
	uint32_t cap_min;	      /* largest limit of the job in minutes */
	bool placed;
	bool waits_unknown; /* the job stays, since the scheduler has not been asked about its shape yet */
	bool weighed; /* the candidates were compared, whether or not the job moves */
	/* an index of the array that has not run; ARRAY_NO_INDEX: none is known */
	uint32_t unseen;
	bool watches_limit;	 /* the job, or its script, looks at its limit: GUARD_OVERTIME leaves it */
	bool by_others;		 /* the options come from its kin and are in others */
	enum untraced untraced;
	struct errbuf unmodelled; /* why the model over inputs has no prediction; "" */
	/* of a placed job: where it would have run otherwise, or the second choice; NULL: none */
	const struct option *instead_of;
	bool same_launches; /* the job has another key; it is known as same_job, which launched the same; 0: none was traced */
	uint32_t same_job;
	int64_t marked_since; /* an earlier mark of an unknown job's launches does not count */
	uint32_t fresh; /* of UNTRACED_FRESH: jobs of its kind in a row with new keys */
	/* Results of look-ups, which are not zeroed. */
	struct store_lookup known, others;
	union {
		struct store_family kin[STORE_ESTIMATES_MAX];
		struct store_model models[STORE_ESTIMATES_MAX];
	} rows;
	struct store_array_run runs[STORE_ARRAY_RUNS];
	struct store_trial trial; /* for UNTRACED_GUARDED */
};

struct decide_room {
	struct identity_room *identity;
	struct deciding d;
};

/* ---- decide.c ---- */

/* Replace the options by options from the kin. alike: without the model over inputs. Returns 1; 0, without
 * options, if the kin has no estimate where the job will run; -1 on error. */
int decide_others(struct deciding *d, bool alike);
/* The estimate for a partition with the job's features. NULL: none. */
struct option *decide_option_for(struct deciding *d, const char *partition);
/* *cap: the job's limit on this partition if the user gives none; *max: the largest limit. DURATION_UNSET: not
 * known. */
void decide_partition_cap(const struct deciding *d, const char *name, uint32_t *cap, uint32_t *max);
/* Set cap_min: the user's limit, or else the least default of the partitions where the job may run. Unknown if
 * one of these is unknown. */
void decide_find_cap(struct deciding *d);
/* Decide the limit that precedentd sets later (predictor/limits): enough for need_s. At submission the job's limit stays. */
void decide_wish_limit(struct deciding *d, double need_s);
enum limit_guard decide_guard(const struct deciding *d);
/* The shortened limit of a job with this upper bound; asked_min if the limit may not be shortened. overtime_min: the least
 * OverTimeLimit of the partitions. */
uint32_t decide_limit_short(const struct deciding *d, double hi_s, uint32_t asked_min, uint32_t overtime_min);

/* ---- decide_kin.c ---- */

/* Fill known->estimates from the kin of a program without estimates of its own. alike: without the model over
 * inputs. Returns 1, 0 if the kin has none, -1 on error. */
int decide_kin(struct deciding *d, bool alike, struct store_lookup *known);

/* ---- decide_array.c ---- */

enum array_asked { ASKED_SEEN, ASKED_UNSEEN, ASKED_UNREADABLE };
/* Compare Slurm's list of indexes ("0-31:4,40%2") with the runs. *unseen: for ASKED_UNSEEN, the first index
 * without a run. */
enum array_asked decide_array_asked(const char *inx, const struct store_array_run *runs, size_t n, uint32_t *unseen);
/* Least and greatest index of the list. Returns false if the list cannot be parsed. */
bool decide_array_span(const char *inx, uint32_t *first, uint32_t *last);
/* Returns 1 if this array gets no prediction, which the message explains; 0 to go on, with d->unseen; -1 on error. */
int decide_array(struct deciding *d);

/* ---- decide_place.c ---- */

/*
 * Choose among the candidates if the job may be sent elsewhere. Fills out->partition, primary and limit_hi_s, or
 * leaves the job where it is.
 */
void decide_place(struct deciding *d, bool named);

/* ---- decide_launch.c ---- */

/* The job's key is unknown. Is it known by its launches? Then it has that program's key, and d->known is filled. */
bool decide_launch(struct deciding *d);
/* Is the job left untraced, since keys of its kind never come again? */
bool decide_is_fresh(struct deciding *d);

/* ---- decide_similar.c ---- */

/*
 * Write down the job's groups of similar runs. If no estimate of the job is known, tell what such runs took. Under LimitGuard = soft
 * the scheduler plans with their median: the user's limit stays, so a plan that is too short ends no job.
 */
void decide_similar(struct deciding *d);

/* ---- decide_say.c ---- */

void decide_say(struct decision *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Write "precedent: 00:03:12 on fast (00:03:05-00:03:20), 00:07:40 on slow". */
void decide_say_predictions(struct deciding *d);
/* Write "; placed on slow: starts at once, ends 14m earlier than on fast". */
void decide_say_place(struct deciding *d);
/* Write "; none for gpu: it is no candidate" for the first partition that the user named and that has no prediction. */
void decide_say_unpredicted(struct deciding *d);
void decide_say_limit(struct deciding *d);
/* Write the compared candidates into the comment. */
void decide_say_weighed(struct deciding *d);
/* Write "; its model over inputs does not know: input 4 is 900, too far from the 100 to 300 that ran". */
void decide_say_unmodelled(struct deciding *d);
/* Write "precedent: not traced: job 123 of this program ended FAILED while it was traced; this run is without the
 * tracer". */
void decide_say_untraced(struct deciding *d);
/* Write the end of every message. A message that is too long is cut before it. */
void decide_say_opt_out(struct decision *out);

#endif
