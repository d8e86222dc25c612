/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to do with a submitted job: pure, without Slurm, so that every rule is tested. The plugin translates
 * Slurm's job descriptor into decide_input and decide's answer back. Rules: "Limits and placement" in the
 * documentation; nobody's limit is ever set above what the user (or else the partition) gives, and whatever
 * is in doubt leaves the job as it was.
 */
#ifndef PRECEDENT_PLUGIN_DECIDE_H
#define PRECEDENT_PLUGIN_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/comment.h"
#include "common/conf.h"
#include "common/duration.h"
#include "common/errbuf.h"
#include "common/identity.h"
#include "predictor/cluster/places.h"
#include "predictor/store/store.h"
#include "predictor/store/trials.h"

#define DECIDE_MESSAGE_MAX 512
#define DECIDE_OPTION_VAR  "_SLURM_SPANK_OPTION_precedent_predict"

struct decide_input {
	uint32_t uid;
	bool privileged;    /* submitted by root or SlurmUser: an admin_comment of theirs is believed */
	const char *script; /* NULL: interactive (srun, salloc) */
	char *const *args;  /* of the script, without its name */
	size_t n_args;
	char *const *spank_env; /* user-controlled data, "NAME=value" */
	size_t n_spank_env;
	const char *work_dir;
	const char *partition; /* comma list; NULL or "": the user named none */
	const char *features;  /* NULL or "": none */
	const char *admin_comment;
	const char *submit_line;
	struct identity_layout layout;
	uint32_t time_limit_min; /* DURATION_UNSET, DURATION_UNLIMITED */
	uint32_t time_min_min;	 /* --time-min; DURATION_UNSET */
	uint32_t warn_time_s;	 /* --signal=...@SECONDS: the signal must not come before the predicted end */
	bool het;		 /* component of a heterogeneous job */
	bool pinned;		 /* asks for nodes, a reservation or a cluster by name: never placed */
	const char *account, *qos; /* NULL or "": not named */
	uint64_t memory;	   /* as Slurm codes it; 0: not said */
	bool exclusive;
	bool more;  /* asks for what no shape holds (generic resources, licences, ...): never placed */
	bool later; /* is not to start now: begin time, dependency, hold */
	bool array; /* of several tasks */
	const char *array_inx; /* the indexes asked for, as Slurm has them; NULL: no array */
	int64_t now;
};

/*
 * Room for one decision under way, kept from one to the next: slurmctld has a new thread for each submission, and each page of
 * its stack that is touched costs a page fault.
 */
struct decide_room;
struct decide_room *decide_room_create(void); /* NULL: out of memory */
void decide_room_destroy(struct decide_room *room); /* NULL is legal */

/*
 * Where decide looks things up. Functions return 1 found, 0 none, -1 fault (the job then passes unchanged).
 */
struct decide_source {
	void *arg;
	struct decide_room *room; /* NULL: made for each decision alone */
	int (*lookup)(void *arg, const char *key, struct store_lookup *out, struct errbuf *err);
	int (*partition)(void *arg, const char *name, struct store_partition *out, struct errbuf *err);
	int (*heartbeat)(void *arg, int64_t *when, struct errbuf *err);
	/* May this key be marked for tracing now? Marks before `since` do not count. NULL: yes. It remembers that it said yes. */
	bool (*trace_ok)(void *arg, const char *key, int64_t since, int64_t now);
	/* Is this key of a program kept from being traced (store_trial_withholds)? 1, 0, -1 fault. NULL: no. */
	int (*trial)(void *arg, const char *name, const char *key, struct store_trial *out, struct errbuf *err);
	bool stopped; /* nothing is traced on this cluster until an administrator resumes it */
	/*
	 * Has a partition been changed since the doors in places were looked at? A job that was sent through one that is closed by
	 * now would be refused because of us, so nothing is placed until they have been looked at again. NULL: no.
	 */
	bool (*doors_old)(void *arg);
	const struct places *places; /* doors and waits; NULL: not known, and nothing is placed */
	struct decide_load *load;    /* what was sent where since they were asked for; NULL: not kept */
	/* What is known of a program's array tasks (store_array_runs): how many, -1 fault. NULL: nothing. */
	int (*array_runs)(void *arg, const char *key, struct store_array_run *out, size_t max, bool *all,
			  struct errbuf *err);
	/* What others say of a program that is not known (store_family_lookup, store_model_lookup): how many, -1 fault. NULL:
	 * nothing. */
	int (*family)(void *arg, const char *family, const char *kin, struct store_family *out, size_t max, struct errbuf *err);
	int (*model)(void *arg, const char *kin, struct store_model *out, size_t max, struct errbuf *err);
};

struct decision {
	enum job_act act; /* ACT_NONE: leave the job alone, completely */
	enum precedent_mode mode;
	bool trace; /* mark the environment: INJECT_MARK */
	bool set_limit; /* not at submission: it is in the comment as the wish, for precedentd */
	uint32_t limit_min;
	bool set_partition;
	char partition[CONF_NAME_MAX];
	bool set_features;
	char features[CONF_CANDIDATE_MAX];
	char admin_comment[COMMENT_TEXT_MAX]; /* ours alone; the plugin appends it to one that is there; "" =
						 none */
	char message[DECIDE_MESSAGE_MAX];     /* for the user; "" = say nothing */
	struct identity id;		      /* n_vars 0 and keys "" where none was computed */
};

/* 0, or -1 with err when the store failed: then *out says ACT_NONE. */
int decide(const struct decide_input *in, const struct precedent_conf *conf, const struct decide_source *src,
	   struct decision *out, struct errbuf *err);

/*
 * Which unknown keys were marked for tracing lately: a fixed table, oldest entries give way. Not locked: the
 * plugin holds its own mutex. Zeroed is empty.
 */
#define DECIDE_MEMO_SLOTS 4096
#define DECIDE_MEMO_S	  120 /* many looks of precedentd, which then has the key in the store */
struct decide_memo {
	struct {
		char key[IDENTITY_KEY_LEN + 1];
		int64_t when;
	} slot[DECIDE_MEMO_SLOTS];
};
/* Marks the key. Returns false if it was marked at `since` or later, within DECIDE_MEMO_S: then the old mark stays. */
bool decide_memo_mark(struct decide_memo *memo, const char *key, int64_t since, int64_t now);

/*
 * Node seconds sent to each candidate's partition, by second: an answer of the scheduler does not hold what was submitted
 * since, and a hundred jobs at once must not all go where one would have started at once. Not locked. Zeroed is empty.
 */
#define DECIDE_LOAD_S 512 /* longer than an answer is believed */
struct decide_load {
	int64_t when[DECIDE_LOAD_S];
	float node_s[CONF_CANDIDATES_MAX][DECIDE_LOAD_S];
};
void decide_load_add(struct decide_load *load, const struct precedent_conf *conf, const char *partition, double node_s,
		     int64_t now);
/* Sent to that partition at or after `since`. */
double decide_load_since(const struct decide_load *load, const struct precedent_conf *conf, const char *partition,
			 int64_t since, int64_t now);

#endif
