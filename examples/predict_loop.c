/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A relaxation that predicts itself: five problems of growing size are solved and marked; then the time of another one,
 * the residue after some sweeps, what comes next, and whether it pays to go parallel are asked for.
 *
 *   gcc -o predict_loop predict_loop.c $(pkg-config --cflags precedent_model_load) -lm
 *
 * runs with the library and without it. The model is kept in the file that is named on the command line, if there is one,
 * and the next run begins with it.
 */
#include <math.h>
#include <precedent_model.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static precedent_model *session;
static int32_t sweep_point, check_point;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* n sweeps over 100 n numbers; a check after every fourth. Returns the seconds that it took. */
static double solve(int n)
{
	double input = n, residue = 1, begin = now_s(), *u = (double *)malloc(100 * (size_t)n * sizeof(*u)), *v = u;

	if (!u)
		exit(1);
	for (int i = 0; i < 100 * n; i++)
		u[i] = 1;
	precedent_model_begin(session, &input, 1);
	for (int sweep = 1; sweep <= n; sweep++) {
		for (int i = 0; i < 100 * n; i++)
			v[i] = 0.5 * v[i] + sqrt(v[i]);
		residue *= 0.75;
		PRECEDENT_MARK(session, sweep_point, residue);
		if (sweep % 4 == 0)
			precedent_model_mark(session, check_point, NULL, 0);
	}
	precedent_model_end(session);
	free(u);
	return now_s() - begin;
}

static void ask(int n)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	double input = n;
	char name[PRECEDENT_MODEL_LINE];

	if (precedent_model_time(session, &input, 1, &a))
		printf("time for %d: %.3g s, confidence %.2f, from %s\n", n, a.value, a.confidence, a.fit ? "this run" : "the file");
	else
		printf("time for %d: not known: %s\n", n, a.reason);
	if (precedent_model_data(session, &input, 1, "residue", sweep_point, 3, &a))
		printf("residue after 3 sweeps: %.6f\n", a.value);
	if (precedent_model_state(session, &input, 1, 4, &a) && !precedent_model_point_name(session, a.point, name, sizeof(name)))
		printf("row 4: %s\n", name);
	if (precedent_model_advise(session, &input, 1, 4, 1, &a))
		printf("four processors, a second to start them: %s\n", a.parallel ? "go parallel" : "do not");
}

int main(int argc, char **argv)
{
	static const char *const inputs[] = {"n"}, *const vars[] = {"residue"};
	struct precedent_model_options options = PRECEDENT_MODEL_OPTIONS;
	struct precedent_model_status status = PRECEDENT_MODEL_STATUS;
	char why[PRECEDENT_MODEL_LINE];

	options.inputs = inputs;
	options.n_inputs = 1;
	options.path = argc > 1 ? argv[1] : NULL;
	session = precedent_model_open(&options, why, sizeof(why));
	if (!session)
		printf("no predictions: %s\n", why);
	sweep_point = precedent_model_point(session, "sweep", vars, 1);
	check_point = precedent_model_point(session, "check", NULL, 0);
	ask(150);
	for (int k = 1; k <= 5; k++)
		solve(30 + 7 * k * k);
	if (precedent_model_wait(session, 60))
		ask(150);
	printf("took %.3g s\n", solve(150));
	precedent_model_status(session, &status);
	printf("%s\n", status.text);
	if (options.path && precedent_model_save(session, NULL, why, sizeof(why)) < 0)
		printf("not saved: %s\n", why);
	precedent_model_close(session);
	return 0;
}
