/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cluster made of structs, with a real store and a real spool in a private directory, for the daemon's tests. */
#ifndef PRECEDENT_TESTS_FOLLOW_WORLD_H
#define PRECEDENT_TESTS_FOLLOW_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/follow/follow.h"
#include "predictor/probe/probes.h"
#include "predictor/store/probes.h"
#include "predictor/store/programs.h"

#define KEY    "0123456789abcdef0123456789abcdef"
#define FAMILY "fedcba9876543210fedcba9876543210"
#define JOBS   64
#define SUBMITTED 48
#define START  1000000

struct world {
	char dir[64], spool[128], store_file[128];
	struct precedent_conf conf;
	struct store *store;
	struct daemon_env env;
	struct job_counts counts;
	struct cluster_ops ops;
	struct cluster_job jobs[JOBS];
	char comments[JOBS][COMMENT_TEXT_MAX], comments_set[JOBS][COMMENT_TEXT_MAX];
	size_t n;
	int64_t now;
	/* what was asked of the cluster */
	struct {
		char script[1024], partition[64], features[64], comment[COMMENT_TEXT_MAX], out[256], account[64];
		char want[CLUSTER_WANTS][64];
		uint32_t job_id, uid, nodes, tasks, limit_min;
	} submitted[SUBMITTED];
	unsigned n_submitted, n_cancelled, n_armed, n_limits, n_time_mins;
	uint32_t last_limit_job, last_limit_min;
	bool refuse_submit, refuse_limit, refuse_cancel, refuse_arm, refuse_armed;
	struct follow_memory memory;
	struct probes_turn turn;
	uint32_t triggers[JOBS]; /* of which jobs the cluster has one */
	size_t n_triggers;
	double clock_ms, arm_ms, limit_ms; /* what one trigger takes, one change of a limit */
	uint32_t last_cancelled;
	struct overtime_partition partitions[2]; /* fast and slow */
	bool refuse_overtime, soft_works;
	uint32_t (*longest_min)(const char *account, const char *qos);
	int end_known; /* what cluster_ops.ended returns of jobs that have left the queue */
	struct cluster_end end;
	uint32_t last_asked;
	int64_t clock_ahead_s; /* precedentd's before slurmctld's */
	int64_t boot; /* of slurmctld; 0: not known */
	char node_class[17]; /* that records name; "": 0123456789abcdef */
	char log[8192];
};

extern struct world *w; /* of the test under way */

void conf_make(const char *candidates);
int world_setup(void **state);
int world_teardown(void **state);
struct cluster_job *job_add(uint32_t id, enum job_act act);
/* The only job: a program of that number in its key, a member of the kin by these numbers. */
struct cluster_job *job_add_member(uint32_t id, unsigned number, const char *vars);
void job_run(struct cluster_job *j);
void job_end(struct cluster_job *j, const char *state, double elapsed_s);
struct cluster_job *job_find(uint32_t id);
void comments_read(void); /* as when the queue is taken in; look does it too */
void look(void);
/* LimitGuard = raise: slurmctld lets limits be raised. The world is as before. */
void raises_prove(void);
void job_dir(uint32_t job, char *path, size_t size);
void trace_leave(uint32_t job);
void result_leave(uint32_t job, uint32_t probe_job, const char *candidate, double skel_s, const char *reason);
struct store_program program(void);
struct store_probe probe(const char *candidate);
void assert_state(enum program_state state, const char *reason);
void traced_job(void);
void probe_end(uint32_t probe_job, const char *candidate, double skel_s, double elapsed_s);
void program_ready(void);
void job_play(struct cluster_job *j, const char *state, double elapsed_s);

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#endif
