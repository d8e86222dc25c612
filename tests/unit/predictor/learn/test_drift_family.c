/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift of a kin: simulated families that become slower or faster at all inputs, families that stay as they are, families whose
 * law has a kink, and one program alone; then the daemon.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/learn/drift_family.h"
#include "predictor/learn/scaling_row.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/scaling_laws.h"
#include "tests/unit/normal.h"

/* ---- simulated families ---- */

#define RUNS  24
#define EVERY 600 /* seconds between two submissions */

struct stream {
	struct param_family_run runs[RUNS]; /* the latest first */
	int64_t submitted[RUNS];
	char vars[RUNS][32];
	double x[RUNS][2], took[RUNS]; /* in the order of time, as vars */
};

/* From the run `when` on `factor` times as long; with a kink: twice as steep above n 600. */
static void stream_make(struct stream *s, int kind, double noise, double factor, int when, bool kink)
{
	for (int i = 0; i < RUNS; i++) {
		double p = 1 << (int)(uniform() * 4), n = floor(200 * exp(1.6 * uniform())), t = law_of(kind, n, p);

		if (kink && n > 600)
			t += t - law_of(kind, 600, p);
		s->x[i][0] = p;
		s->x[i][1] = n;
		s->took[i] = t * (i >= when ? factor : 1) * (1 + noise * normal());
		snprintf(s->vars[i], sizeof(s->vars[0]), "%.9g,%.9g", p, n);
	}
}

/* The first n, those submitted at or after `since`, the latest first. Returns how many. */
static size_t stream_view(struct stream *s, int n, int64_t since)
{
	size_t kept = 0;

	for (int i = n - 1; i >= 0; i--) {
		if (START + (int64_t)i * EVERY < since)
			continue;
		s->submitted[kept] = START + (int64_t)i * EVERY;
		s->runs[kept++] = (struct param_family_run){"k", s->vars[i], s->took[i], false};
	}
	return kept;
}

struct tally {
	unsigned told, inside, alarms;
};

/* One family through time: each run is told what the model says then, if it says something. */
static void stream_play(struct stream *s, bool watch, int from, struct tally *t)
{
	struct drift d = {DRIFT_NONE, 0, 0};

	for (int i = SCALING_POINTS_MIN; i < RUNS; i++) {
		struct errbuf why;
		struct estimate e;
		struct scaling_model model;
		bool told = scaling_fit(s->runs, stream_view(s, i, d.since), &model, &why) == 0 && scaling_predict(&model, s->x[i], 2, &e, &why) == 0;
		bool in = told && s->took[i] >= e.lo_s && s->took[i] <= e.hi_s;
		size_t n;

		t->told += told && i >= from;
		t->inside += in && i >= from;
		if (!watch || in)
			continue;
		n = stream_view(s, i + 1, d.since);
		if (drift_family_judge(&d, s->runs, s->submitted, n, 1, START + (int64_t)i * EVERY + 60))
			t->alarms++;
	}
}

#define FAMILIES 9

static struct tally families_play(double factor, bool kink, bool watch, int from, uint64_t seed)
{
	static struct stream s;
	struct tally t = {0};

	state64 = seed;
	for (int f = 0; f < FAMILIES; f++) {
		stream_make(&s, f % 3, 0.03 * uniform(), factor, RUNS / 2, kink);
		stream_play(&s, watch, from, &t);
	}
	return t;
}

/* Where nothing changes nothing is forgotten, and nearly nothing where the law only has a kink. */
static void test_no_drift(void **state)
{
	(void)state;
	for (int kink = 0; kink < 2; kink++) {
		struct tally alone = families_play(1, kink, false, 0, 5), watched = families_play(1, kink, true, 0, 5);

		if (watched.alarms > (kink ? 2 : 0) || watched.told * 100 < alone.told * 97 ||
		    watched.inside * alone.told * 100 < alone.inside * watched.told * 98)
			fail_msg("kink %d: %u alarms, told %u and %u, inside %u and %u", kink, watched.alarms, alone.told, watched.told,
				 alone.inside, watched.inside);
	}
}

/* Three runs after a change of all inputs most are told rightly; without watching for it hardly any would be told. */
static void test_all_inputs(void **state)
{
	static const double factors[] = {2, 0.5, 1.3};

	(void)state;
	for (unsigned k = 0; k < sizeof(factors) / sizeof(factors[0]); k++) {
		const int from = RUNS / 2 + 3, asked = FAMILIES * (RUNS - from);
		struct tally t = families_play(factors[k], false, true, from, 7);

		if (t.alarms != FAMILIES || t.told * 10 < 7u * (unsigned)asked || t.inside * 100 < t.told * 90)
			fail_msg("by %g: %u alarms, %u of %d told, %u inside", factors[k], t.alarms, t.told, asked, t.inside);
	}
}

/* ---- the rules ---- */

static bool judged(const char *const *vars, const double *took, size_t n, struct drift *d)
{
	struct param_family_run runs[16];
	int64_t submitted[16];

	for (size_t i = 0; i < n; i++) { /* the oldest first */
		runs[n - 1 - i] = (struct param_family_run){"k", vars[i], fabs(took[i]), took[i] < 0};
		submitted[n - 1 - i] = START + (int64_t)i * EVERY;
	}
	return drift_family_judge(d, runs, submitted, n, 1, START + (int64_t)n * EVERY);
}

static void test_rules(void **state)
{
	const char *const swept[] = {"100", "200", "300", "400", "500", "150", "250", "350"};
	const char *const one[] = {"100", "200", "300", "400", "500", "250", "250", "250"};
	const char *const beyond[] = {"100", "200", "300", "400", "500", "700", "800", "900"};
	struct drift d = {DRIFT_NONE, 0, 0};

	(void)state;
	assert_false(judged(swept, (double[]){10, 20, 30, 40, 50, 15, 25, 35}, 8, &d));
	assert_false(judged(swept, (double[]){10, 20, 30, 40, 50, 15, 25, 70}, 8, &d));
	assert_false(judged(swept, (double[]){10, 20, 30, 40, 50, 15, 12, 70}, 8, &d)); /* not on the same side */
	assert_false(judged(swept, (double[]){10, 20, 30, 40, 50, 15, -12, -12}, 8, &d)); /* ended early */
	assert_false(judged(one, (double[]){10, 20, 30, 40, 50, 50, 50, 50}, 8, &d)); /* its own drift */
	assert_false(judged(beyond, (double[]){10, 20, 30, 40, 50, 150, 180, 200}, 8, &d)); /* the law errs there */
	assert_false(judged(swept, (double[]){10, 20, 30, 40, 50}, 5, &d));
	assert_int_equal(d.since, 0);
	assert_true(judged(swept, (double[]){10, 20, 30, 40, 50, 15, 50, -70}, 8, &d));
	assert_int_equal(d.since, START + 6 * EVERY);
	assert_int_equal(d.acted, START + 8 * EVERY);
	assert_int_equal(d.stage, DRIFT_NONE);
	/* what was submitted before it is settled */
	assert_false(judged(swept, (double[]){10, 20, 30, 40, 50, 15, 50, 70}, 8, &d));
}

/* ---- the daemon ---- */

static void run_with(uint32_t id, double elapsed_s, unsigned n)
{
	char vars[40];

	snprintf(vars, sizeof(vars), "2,1,1,0,%u", n);
	w->now += EVERY;
	job_play(job_add_member(id, n, vars), "COMPLETED", elapsed_s);
}

static int says(double n, struct estimate *out, struct errbuf *why)
{
	static struct store_model list[STORE_ESTIMATES_MAX];
	double scale;
	struct errbuf e;

	assert_int_equal(store_model_lookup(w->store, FAMILY, list, STORE_ESTIMATES_MAX, &e), 1);
	assert_string_equal(list[0].candidate, "fast");
	return scaling_row_predict(&list[0], (double[]){2, 1, 1, 0, n}, 5, out, &scale, why);
}

static void test_daemon(void **state)
{
	struct errbuf e = {""};
	struct estimate est;
	struct drift d;
	uint32_t id = 1;

	(void)state;
	for (unsigned n = 1000; n <= 6000; n += 1000)
		run_with(id++, n / 10.0, n);
	assert_int_equal(says(2500, &est, &e), 0);
	assert_true(fabs(est.mean_s / 250 - 1) < 0.02);
	/* a new library: all of it takes twice as long */
	run_with(id++, 500, 2500);
	assert_int_equal(store_drift_get(w->store, FAMILY, "fast", &d, &e), 0);
	run_with(id++, 700, 3500);
	assert_int_equal(store_drift_get(w->store, FAMILY, "fast", &d, &e), 1);
	assert_true(d.since < w->now && d.since > w->now - 3 * EVERY);
	assert_non_null(strstr(w->log, "were not as their model said"));
	assert_int_equal(says(3000, &est, &e), -1);
	assert_non_null(strstr(e.text, "what ran before counts no more: runs of 2 different inputs"));
	run_with(id++, 900, 4500);
	run_with(id++, 320, 1600);
	assert_int_equal(says(3000, &est, &e), 0);
	assert_true(fabs(est.mean_s / 600 - 1) < 0.03 && est.hi_s < 900);
	for (unsigned n = 1100; n <= 5100; n += 1000) /* and goes on so */
		run_with(id++, n / 5.0, n);
	assert_int_equal(says(3000, &est, &e), 0);
	assert_true(fabs(est.mean_s / 600 - 1) < 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules), cmocka_unit_test(test_no_drift), cmocka_unit_test(test_all_inputs), T(test_daemon),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
