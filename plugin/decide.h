/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides about a submitted job. The code is pure and independent of Slurm, so every rule is tested. The plugin
 * converts Slurm's job descriptor to decide_input, and the decision back. The rules are in the documentation under
 * "Limits and placement". No limit is ever set above the user's limit, or else the partition's. In doubt the job is
 * left unchanged.
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
	bool privileged;    /* submitted by root or SlurmUser, whose admin_comment is trusted */
	const char *script; /* NULL: interactive (srun, salloc) */
	char *const *args;  /* arguments of the script, without its name */
	size_t n_args;
	char *const *spank_env; /* user-controlled data, "NAME=value" */
	size_t n_spank_env;
	const char *work_dir;
	const char *partition; /* comma-separated list; NULL or "": not given */
	const char *features;  /* NULL or "": none */
	const char *admin_comment;
	const char *submit_line;
	struct identity_layout layout;
	uint32_t time_limit_min; /* DURATION_UNSET, DURATION_UNLIMITED */
	uint32_t time_min_min;	 /* --time-min; DURATION_UNSET */
	/* --signal=...@SECONDS: the signal must not come before the predicted end */
	uint32_t warn_time_s;
	bool het;		 /* component of a heterogeneous job */
	bool pinned;		 /* nodes, a reservation or a cluster are given by name: never placed */
	const char *account, *qos; /* NULL or "": not given */
	uint64_t memory;	   /* in Slurm's encoding; 0: not given */
	bool exclusive;
	/* needs resources that a shape does not describe (generic resources, licences, ...): never placed */
	bool more;
	bool later; /* starts later: begin time, dependency, hold */
	bool array; /* has several tasks */
	const char *array_inx; /* indexes in Slurm's form; NULL: no array */
	int64_t now;
};

/*
 * Working memory of a decision, kept for the next decision. slurmctld makes a thread per submission, and each new
 * page of its stack costs a page fault.
 */
struct decide_room;
struct decide_room *decide_room_create(void); /* NULL if memory runs out */
void decide_room_destroy(struct decide_room *room); /* NULL is legal */

/*
 * Data for decide. Functions return 1 if found, 0 if not, -1 on error (the job then passes unchanged).
 */
struct decide_source {
	void *arg;
	struct decide_room *room; /* NULL: allocated for each decision */
	int (*lookup)(void *arg, const char *key, struct store_lookup *out, struct errbuf *err);
	int (*partition)(void *arg, const char *name, struct store_partition *out, struct errbuf *err);
	int (*heartbeat)(void *arg, int64_t *when, struct errbuf *err);
	/* May this key be marked for tracing now? Marks before `since` do not count. The answer yes marks the
	 * key. NULL: always yes. */
	bool (*trace_ok)(void *arg, const char *key, int64_t since, int64_t now);
	/* Is tracing withheld from this key (store_trial_withholds)? Returns 1, 0, or -1 on error. NULL: no. */
	int (*trial)(void *arg, const char *name, const char *key, struct store_trial *out, struct errbuf *err);
	bool stopped; /* tracing is stopped on the cluster until an administrator resumes it */
	/*
	 * Has a partition changed since `places` was read? A partition may be closed now, and a job sent there
	 * would be refused. So no job is placed until the partitions have been read again. NULL: no.
	 */
	bool (*doors_old)(void *arg);
	const struct places *places; /* access to partitions and waits; NULL: not known, and no job is placed */
	/* work sent to partitions since the waits were asked for; NULL: not recorded */
	struct decide_load *load;
	/* Runs of a program's array tasks (store_array_runs). Returns their number, or -1 on error. NULL: none. */
	int (*array_runs)(void *arg, const char *key, struct store_array_run *out, size_t max, bool *all,
			  struct errbuf *err);
	/* Estimates from other programs of the family (store_family_lookup) and of the model over inputs
	 * (store_model_lookup). Return their number, or -1 on error. NULL: none. */
	int (*family)(void *arg, const char *family, const char *kin, struct store_family *out, size_t max, struct errbuf *err);
	int (*model)(void *arg, const char *kin, struct store_model *out, size_t max, struct errbuf *err);
};

struct decision {
	enum job_act act; /* ACT_NONE: leave the job alone completely */
	enum precedent_mode mode;
	bool trace; /* mark the environment: INJECT_MARK */
	/* the limit is only a wish in the comment; precedentd sets it later */
	bool set_limit;
	uint32_t limit_min;
	bool set_partition;
	char partition[CONF_NAME_MAX];
	bool set_features;
	char features[CONF_CANDIDATE_MAX];
	/* Precedent's part only; the plugin appends it to an existing comment. "" = none */
	char admin_comment[COMMENT_TEXT_MAX];
	char message[DECIDE_MESSAGE_MAX];     /* message to the user; "" = none */
	struct identity id;		      /* if no identity was computed: n_vars is 0 and keys are "" */
};

/* Returns 0, or -1 if the store failed (err says why); then *out has ACT_NONE. */
int decide(const struct decide_input *in, const struct precedent_conf *conf, const struct decide_source *src,
	   struct decision *out, struct errbuf *err);

/*
 * Unknown keys that were marked for tracing lately: a fixed table in which old entries are overwritten. Not locked:
 * the plugin holds its own mutex. Zeroed is empty.
 */
#define DECIDE_MEMO_SLOTS 4096
#define DECIDE_MEMO_S	  120 /* long enough for precedentd to put the key into the store */
struct decide_memo {
	struct {
		char key[IDENTITY_KEY_LEN + 1];
		int64_t when;
	} slot[DECIDE_MEMO_SLOTS];
};
/* Mark the key. Returns false, without a new mark, if the key was marked at `since` or later, within
 * DECIDE_MEMO_S. */
bool decide_memo_mark(struct decide_memo *memo, const char *key, int64_t since, int64_t now);

/*
 * Node seconds sent to each candidate's partition, by second. The scheduler's answers do not include jobs submitted
 * since. Without this sum, a hundred jobs would all go where one could have started at once. Not locked. Zeroed is
 * empty.
 */
#define DECIDE_LOAD_S 512 /* longer than an answer of the scheduler is used */
struct decide_load {
	int64_t when[DECIDE_LOAD_S];
	float node_s[CONF_CANDIDATES_MAX][DECIDE_LOAD_S];
};
void decide_load_add(struct decide_load *load, const struct precedent_conf *conf, const char *partition, double node_s,
		     int64_t now);
/* Node seconds sent to the partition at or after `since`. */
double decide_load_since(const struct decide_load *load, const struct precedent_conf *conf, const char *partition,
			 int64_t since, int64_t now);

#endif
