/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates from similar runs (predictor/estimate/ladder.h) on a log in Standard Workload Format, beside the mean of
 * the user's last two runs: see doc/evaluation/benefit.md. Jobs come and end in the order of the log, and nothing is
 * known of a run before it has ended.
 *
 *   bench_ladder FILE.swf [FROM TO]     jobs from this share of the log to that one are counted (0 1)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "predictor/estimate/ladder.h"
#include "predictor/replay/swf.h"

#define TABLE (1u << 20) /* groups: more than twice as many as a log of 200,000 jobs has */

struct slot {
	uint64_t id;
	struct ladder_group g;
};
static struct slot *table;

struct job {
	int64_t submit, end, user;
	double run;
	enum ladder_end kind;
	struct ladder_group *group[LADDER_RUNGS];
};

#define USERS (1u << 16)
/* The mean of a user's last two runs. */
struct user {
	double last[2];
	unsigned n;
};

struct score {
	size_t n, inside, below;
	double accuracy, log_error, *error, *width;
};

struct log {
	struct job *jobs, **ends; /* by submission, by end */
	size_t n, ended;
	struct user users[USERS];
	struct score all, rung[LADDER_RUNGS], both, two;
};

/* ---- the log ---- */

static struct ladder_group *group_of(unsigned rung, int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t what[] = {rung, a, b, c, d};
	uint64_t id = XXH3_64bits(what, sizeof(what)) | 1;
	size_t at = id % TABLE;

	while (table[at].id && table[at].id != id)
		at = (at + 1) % TABLE;
	table[at].id = id;
	return &table[at].g;
}

static void job_take(const struct swf_job *s, struct job *j)
{
	const int64_t *f = s->field;
	const char *state = f[SWF_STATUS] == 0 ? "FAILED" : f[SWF_STATUS] == 5 ? "CANCELLED" : "COMPLETED";

	*j = (struct job){.submit = f[SWF_SUBMIT_S], .run = (double)f[SWF_RUN_S], .user = f[SWF_USER] % USERS};
	j->end = j->submit + (f[SWF_WAIT_S] > 0 ? f[SWF_WAIT_S] : 0) + f[SWF_RUN_S];
	j->kind = ladder_end_of(state, j->run);
	if (f[SWF_EXECUTABLE] > 0) {
		j->group[LADDER_COMMAND] =
		    group_of(LADDER_COMMAND, j->user, f[SWF_EXECUTABLE], f[SWF_PROCESSORS], f[SWF_ASKED_S]);
		j->group[LADDER_NAME] = group_of(LADDER_NAME, j->user, f[SWF_EXECUTABLE], 0, 0);
	}
	j->group[LADDER_SHAPE] = group_of(LADDER_SHAPE, j->user, f[SWF_PROCESSORS], f[SWF_ASKED_S], 0);
	j->group[LADDER_USER] = group_of(LADDER_USER, j->user, 0, 0, 0);
	j->group[LADDER_ACCOUNT] = group_of(LADDER_ACCOUNT, f[SWF_GROUP], 0, 0, 0);
}

static int by_submit(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	return x->submit < y->submit ? -1 : x->submit > y->submit;
}

static int by_end(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

	return x->end < y->end ? -1 : x->end > y->end;
}

static struct score score_make(size_t n)
{
	return (struct score){.error = calloc(n + 1, sizeof(double)), .width = calloc(n + 1, sizeof(double))};
}

static void log_take(struct log *l, const struct swf *swf)
{
	l->jobs = calloc(swf->n, sizeof(*l->jobs));
	l->ends = calloc(swf->n, sizeof(struct job *));
	for (size_t i = 0; i < swf->n; i++)
		if (swf->jobs[i].field[SWF_RUN_S] > 0 && swf->jobs[i].field[SWF_USER] >= 0)
			job_take(&swf->jobs[i], &l->jobs[l->n++]);
	qsort(l->jobs, l->n, sizeof(*l->jobs), by_submit);
	for (size_t i = 0; i < l->n; i++)
		l->ends[i] = &l->jobs[i];
	qsort(l->ends, l->n, sizeof(struct job *), by_end);
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		l->rung[r] = score_make(l->n);
	l->all = score_make(l->n);
	l->both = score_make(l->n);
	l->two = score_make(l->n);
}

/* ---- scores ---- */

static void score_add(struct score *s, double run, double mean, double lo, double hi)
{
	s->error[s->n] = fabs(mean - run) / run;
	s->width[s->n++] = hi / lo;
	s->accuracy += fmin(mean, run) / fmax(mean, run);
	s->log_error += fabs(log(mean / run));
	s->inside += run >= lo && run <= hi;
	s->below += run <= hi;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double share(size_t part, size_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static void score_print(const char *name, struct score *s, size_t jobs)
{
	if (!s->n)
		return;
	qsort(s->error, s->n, sizeof(double), by_value);
	qsort(s->width, s->n, sizeof(double), by_value);
	printf("%-9s jobs %5.1f %%  median error %5.1f %%  accuracy %.3f  log error %.3f  inside %5.1f %%  at most "
	       "hi %5.1f %%"
	       "  median hi/lo %.1f\n",
	       name, share(s->n, jobs), 100 * s->error[s->n / 2], s->accuracy / (double)s->n,
	       s->log_error / (double)s->n, share(s->inside, s->n), share(s->below, s->n), s->width[s->n / 2]);
}

/* ---- the replay ---- */

static void ends_until(struct log *l, int64_t now)
{
	for (; l->ended < l->n && l->ends[l->ended]->end < now; l->ended++) {
		const struct job *j = l->ends[l->ended];
		struct user *u = &l->users[j->user];

		for (int r = 0; r < LADDER_RUNGS; r++)
			if (j->group[r])
				ladder_group_add(j->group[r], j->run, j->kind);
		u->last[1] = u->last[0];
		u->last[0] = j->run;
		u->n++;
	}
}

static void job_score(struct log *l, const struct job *j)
{
	const struct ladder_group *groups[LADDER_RUNGS];
	const struct user *u = &l->users[j->user];
	struct ladder_estimate e;
	double mean = u->n > 1 ? (u->last[0] + u->last[1]) / 2 : u->last[0];

	memcpy(groups, j->group, sizeof(groups));
	if (ladder_predict(groups, &e) < 0)
		return;
	score_add(&l->all, j->run, e.mean_s, e.lo_s, e.hi_s);
	score_add(&l->rung[e.rung], j->run, e.mean_s, e.lo_s, e.hi_s);
	if (!u->n)
		return;
	score_add(&l->both, j->run, e.mean_s, e.lo_s, e.hi_s);
	score_add(&l->two, j->run, mean, mean, mean);
}

int main(int argc, char **argv)
{
	double from = argc > 3 ? atof(argv[2]) : 0, to = argc > 3 ? atof(argv[3]) : 1;
	static struct log l;
	struct errbuf err;
	struct swf swf;
	size_t counted = 0;

	if (argc < 2 || swf_read(argv[1], NULL, NULL, &swf, &err) < 0) {
		fprintf(stderr, "bench_ladder: %s\n", argc < 2 ? "FILE.swf [FROM TO]" : err.text);
		return 1;
	}
	table = calloc(TABLE, sizeof(*table));
	log_take(&l, &swf);
	for (size_t i = 0; i < l.n; i++) {
		ends_until(&l, l.jobs[i].submit);
		if ((double)i < from * (double)l.n || (double)i >= to * (double)l.n)
			continue;
		counted++;
		job_score(&l, &l.jobs[i]);
	}
	printf("%zu jobs\n", counted);
	score_print("ladder", &l.all, counted);
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		score_print(ladder_rung_name((enum ladder_rung)r), &l.rung[r], counted);
	printf("of these, jobs of users with an ended run:\n");
	score_print("ladder", &l.both, counted);
	score_print("last two", &l.two, counted);
	return 0;
}
