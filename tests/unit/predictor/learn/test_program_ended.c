/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates of a program are the same, byte for byte, whether its runs are read for it or were read for the run that has ended. */
#include "predictor/learn/ended_run.h"
#include "predictor/learn/program_estimate.h"
#include "tests/unit/store_fixture.h"

#define RUNS	 400
#define PROGRAMS 6
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const char *const candidates[] = {"fast", "slow"};
static struct precedent_conf conf;

static void key_of(unsigned program, char out[IDENTITY_KEY_LEN + 1])
{
	snprintf(out, IDENTITY_KEY_LEN + 1, "%032x", 1 + program);
}

/* Programs differ in one number, and the last one in its family and kin, too. */
static struct store_run run_of(uint32_t job, unsigned program)
{
	struct store_run r = {.jobid = job, .submit_time = NOW + job, .uid = 1000, .act = ACT_PREDICT, .limit_min = DURATION_UNSET};
	double size = 1 + program;

	key_of(program, r.key);
	snprintf(r.family, sizeof(r.family), "%032x", 100u + (program + 1 == PROGRAMS));
	snprintf(r.kin, sizeof(r.kin), "%032x", 200u + (program + 1 == PROGRAMS));
	snprintf(r.vars, sizeof(r.vars), "%u", 1 + program);
	snprintf(r.candidate, sizeof(r.candidate), "%s", candidates[lrand48() % 3 == 0]);
	snprintf(r.end_state, sizeof(r.end_state), "%s", lrand48() % 12 ? "COMPLETED" : "TIMEOUT");
	r.elapsed_s = 100 * size * (0.9 + 0.2 * drand48());
	if (lrand48() % 2) {
		r.pred_s = 100 * size;
		r.lo_s = 95 * size;
		r.hi_s = 105 * size;
		memcpy(r.pred_candidate, r.candidate, sizeof(r.pred_candidate));
		r.pred_kind = ESTIMATE_HISTORY;
	} else {
		r.pred_kind = -1;
	}
	r.pred_scale = 1;
	return r;
}

static struct store_program program_of(unsigned program, uint32_t source)
{
	struct store_program p = {.uid = 1000, .state = PROGRAM_READY, .source_job = source, .created = NOW, .updated = NOW};
	struct store_run r = run_of(source, program);

	memcpy(p.key, r.key, sizeof(p.key));
	memcpy(p.family, r.family, sizeof(p.family));
	snprintf(p.source_candidate, sizeof(p.source_candidate), "fast");
	return p;
}

static void estimated(struct store *s, const struct store_program *p, const struct program_ended *ended, struct store_lookup *out,
		      struct program_estimates *est)
{
	const struct daemon_env env = {.conf = &conf, .store = s};

	ok(store_begin(s, &err));
	ok(program_estimate(&env, p, ended, NOW, est, &err));
	memset(out, 0, sizeof(*out));
	assert_int_equal(store_lookup(s, p->key, out, &err), 1);
	store_rollback(s);
}

static void test_as_read_alone(void **state)
{
	static struct store_lookup alone, shared;
	struct program_estimates one, all;
	struct store *s = must_open(STORE_WRITE);
	const struct daemon_env env = {.conf = &conf, .store = s};
	struct store_program programs[PROGRAMS];
	unsigned known = 0;

	(void)state;
	srand48(11);
	for (uint32_t job = 1; job <= RUNS; job++) {
		struct store_run r = run_of(job, job <= PROGRAMS ? job - 1 : (unsigned)(lrand48() % PROGRAMS));

		ok(store_run_put(s, &r, &err));
	}
	for (unsigned i = 0; i < PROGRAMS; i++) {
		programs[i] = program_of(i, 1 + i);
		ok(store_program_put(s, &programs[i], &err));
	}
	for (uint32_t job = RUNS - 40; job <= RUNS; job++) {
		struct store_run row;
		struct ended_run r = {.env = &env, .row = &row, .now = NOW};

		assert_int_equal(store_run_get(s, job, &row, &err), 1);
		assert_non_null(ended_run_members(&r, &err));
		for (unsigned i = 0; i < PROGRAMS; i++) {
			estimated(s, &programs[i], &(struct program_ended){.candidate = row.candidate}, &alone, &one);
			estimated(s, &programs[i], &(struct program_ended){row.candidate, ended_run_past(&r), r.members}, &shared, &all);
			assert_memory_equal(&shared, &alone, sizeof(alone));
			assert_int_equal(all.n, one.n);
			assert_string_equal(all.refused.text, one.refused.text);
			known += one.n;
		}
		ended_run_forget(&r);
	}
	assert_in_range(known, PROGRAMS * 20, PROGRAMS * 82);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_as_read_alone)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
