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
#include "predictor/store/groups.h"
#include "predictor/store/kin.h"
#include "predictor/store/launches.h"
#include "predictor/store/past.h"
#include "predictor/store/programs.h"
#include "predictor/store/trials.h"

#define DECIDE_MESSAGE_MAX 512
#define DECIDE_OPTION_VAR  "_SLURM_SPANK_OPTION_precedent_predict"

struct decide_input {
	uint32_t uid;
	bool privileged;    /* submitted by root or SlurmUser, whose admin_comment is trusted */
	const char *script; /* NULL: interactive (srun, salloc) */
	bool invented;	    /* `script` stands for the program: the real script is not known, so no run has the same */
	char *const *args;  /* arguments of the script, without its name */
	size_t n_args;
	char *const *spank_env; /* user-controlled data, "NAME=value" */
	size_t n_spank_env;
	const char *work_dir;
	const char *name, *command; /* the job's; the command line of its submission. NULL or "": not known */
	const char *partition; /* comma-separated list; NULL or "": not given */
	const char *features;  /* NULL or "": none */
	const char *admin_comment;
	bool test_only; /* sbatch --test-only: Slurm answers when the job would start, and runs nothing */
	struct identity_layout layout;
	uint32_t time_limit_min; /* DURATION_UNSET, DURATION_UNLIMITED */
	uint32_t time_min_min;	 /* --time-min; DURATION_UNSET */
	/* --signal=...@SECONDS: the signal must not come before the predicted end */
	uint32_t warn_time_s;
	/* its end by the limit matters to it: --signal, --deadline, mail at TIME_LIMIT, a reservation */
	bool watches_limit;
	bool deadline; /* --deadline: Slurm derives limits from it */
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
 * The reads of the store in a decision, with the signatures of the functions whose names stand behind them. They are pointers, so
 * that each rule is tested without SQLite, and with a fault of each read. NULL: nothing is found.
 */
struct decide_reads {
	int (*lookup)(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err); /* store_lookup */
	/* store_family_lookup: estimates from other programs of the family */
	int (*family)(struct store *s, const char *family, const char *kin, struct store_family *out, size_t max, struct errbuf *err);
	/* store_model_lookup: the model over inputs */
	int (*model)(struct store *s, const char *kin, struct store_model *out, size_t max, struct errbuf *err);
	/* store_array_runs: runs of a program's array tasks */
	int (*array_runs)(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *err);
	/* store_groups_get: groups of similar runs */
	int (*groups)(struct store *s, const struct group_ids *ids, struct ladder_group out[LADDER_RUNGS], struct errbuf *err);
	/* store_launch_get: the program that launches this */
	int (*launch)(struct store *s, uint64_t launch, char key[IDENTITY_KEY_LEN + 1], struct errbuf *err);
	/* store_kind_get: do keys of this kind never come again? */
	int (*kind)(struct store *s, uint64_t kind, uint32_t *fresh, struct errbuf *err);
	/* store_trial_withholds: is tracing withheld from this key? */
	int (*trial)(struct store *s, const char *name, const char *key, struct store_trial *out, struct errbuf *err);
};
extern const struct decide_reads decide_reads_store; /* the store's own functions */

struct decide_memo;

/* Data for decide. */
struct decide_source {
	const struct decide_reads *reads;
	struct store *store;
	struct decide_room *room;  /* NULL: allocated for each decision */
	int64_t heartbeat;	   /* of precedentd; 0: never */
	struct decide_memo *memo;  /* keys marked for tracing lately; NULL: each key may be marked */
	const struct places *places; /* partitions, access to them, and waits; NULL: not known */
	/* work sent to partitions since the waits were asked for; NULL: not recorded */
	struct decide_load *load;
	bool soft_works; /* Slurm takes time_min as a soft limit */
	struct only_uids only; /* of the configuration's Only */
	bool stopped; /* tracing is stopped on the cluster until an administrator resumes it */
	/*
	 * A partition has changed since `places` was read, and may be closed now. A job sent there would be refused. So no job is
	 * placed until the partitions have been read again.
	 */
	bool doors_old;
};

/* The limit wished for, which precedentd sets later. */
struct wish {
	uint32_t asked_min; /* what the user asked, or else the partition's default; DURATION_UNSET: neither is known */
	uint32_t limit_min; /* DURATION_UNSET: no wish */
};

struct decision {
	enum job_act act; /* ACT_NONE: leave the job alone completely */
	enum precedent_mode mode;
	bool trace; /* mark the environment: INJECT_MARK */
	struct wish wish;
	bool lowers; /* the wish lowers the limit that the job itself sees (GUARD_OVERTIME, GUARD_RAISE) */
	bool set_partition;
	char partition[CONF_NAME_MAX];
	bool set_features;
	char features[CONF_CANDIDATE_MAX];
	struct job_comment comment; /* of ACT_NONE: nothing is written */
	char message[DECIDE_MESSAGE_MAX];     /* message to the user; "" = none */
	struct identity id;		      /* if no identity was computed: n_vars is 0 and keys are "" */
};

/* Only the identity of a job with a script: id of *out, and key, family, kin and numbers of its comment, as decide() finds them. */
void decide_identify(struct decide_room *room, const struct decide_input *in, struct decision *out);
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
