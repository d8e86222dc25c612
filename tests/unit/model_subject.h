/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program that the tests of libprecedent_model predict: n sweeps, a check after every fourth, a variable that is halved;
 * and its oracle.
 */
#ifndef PRECEDENT_TESTS_MODEL_SUBJECT_H
#define PRECEDENT_TESTS_MODEL_SUBJECT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/api/session.h"

#define N(a)	(sizeof(a) / sizeof((a)[0]))
#define PATIENT 120.0

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct subject {
	precedent_model *m;
	int32_t sweep, check;
};

static inline struct subject subject_open(struct precedent_model_options o)
{
	static const char *const inputs[] = {"n"}, *const vars[] = {"residue"};
	struct subject s;
	char why[PRECEDENT_MODEL_LINE];

	o.inputs = inputs;
	o.n_inputs = 1;
	o.normal_priority = 1; /* whatever else the machine has to do */
	s.m = precedent_model_open(&o, why, sizeof(why));
	if (!s.m)
		fail_msg("%s", why);
	s.sweep = precedent_model_point(s.m, "sweep", vars, 1);
	s.check = precedent_model_point(s.m, "check", NULL, 0);
	assert_int_equal(s.sweep, 1);
	assert_int_equal(s.check, 2);
	return s;
}

static inline struct subject subject_default(void)
{
	return subject_open((struct precedent_model_options)PRECEDENT_MODEL_OPTIONS);
}

static inline void subject_begin(const struct subject *s, double n)
{
	precedent_model_begin(s->m, &n, 1);
}

static inline void subject_run(const struct subject *s, int n)
{
	double residue = 1;

	subject_begin(s, n);
	for (int i = 1; i <= n; i++) {
		residue *= 0.5;
		PRECEDENT_MARK(s->m, s->sweep, residue);
		if (i % 4 == 0)
			precedent_model_mark(s->m, s->check, NULL, 0);
	}
	precedent_model_end(s->m);
}

/* The oracle: points of a run of n sweeps. */
static inline int32_t subject_row(const struct subject *s, int n, int row)
{
	int at = 0;

	for (int i = 1; i <= n; i++) {
		if (at++ == row)
			return s->sweep;
		if (i % 4 == 0 && at++ == row)
			return s->check;
	}
	return at == row ? PRECEDENT_MODEL_END : -1;
}

static inline struct precedent_model_status status_of(precedent_model *m)
{
	struct precedent_model_status s = PRECEDENT_MODEL_STATUS;

	precedent_model_status(m, &s);
	return s;
}

static inline void subject_learn(const struct subject *s)
{
	static const int n[] = {5, 9, 14, 22, 31};

	for (size_t i = 0; i < N(n); i++)
		subject_run(s, n[i]);
	if (!precedent_model_wait(s->m, PATIENT))
		fail_msg("%s", status_of(s->m).text);
}

#endif
