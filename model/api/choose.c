/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which runs a model is learnt from, as a journal, and how well a model predicts one of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/api/fitting.h"
#include "model/api/ticks.h"
#include "model/induce/interpret.h"

struct candidate {
	struct run_log *run;
	uint64_t group;
	uint32_t age, rank; /* rank: newest of its inputs first */
};

static int by_group(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->group != y->group ? (x->group < y->group ? -1 : 1) : x->age < y->age ? -1 : x->age > y->age;
}

static int by_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->age < y->age ? -1 : x->age > y->age;
}

/* References to all runs there are: the lock is held as long as it takes to count them. */
static struct candidate *candidates(struct precedent_model *m, uint32_t *n)
{
	struct candidate *c;
	uint32_t cap;

	pthread_mutex_lock(&m->lock);
	cap = m->n_runs;
	pthread_mutex_unlock(&m->lock);
	c = calloc(cap + 1ull, sizeof(*c));
	*n = 0;
	if (!c)
		return NULL;
	pthread_mutex_lock(&m->lock);
	for (struct run_log *l = m->runs; l && *n < cap; l = l->next) {
		l->refs++;
		c[*n] = (struct candidate){l, l->group, *n, 0};
		(*n)++;
	}
	pthread_mutex_unlock(&m->lock);
	qsort(c, *n, sizeof(*c), by_group);
	for (uint32_t i = 1; i < *n; i++)
		c[i].rank = c[i].group == c[i - 1].group ? c[i - 1].rank + 1 : 0;
	qsort(c, *n, sizeof(*c), by_rank);
	return c;
}

static void give_back(struct precedent_model *m, struct run_log *l)
{
	bool last;

	pthread_mutex_lock(&m->lock);
	last = --l->refs == 0;
	pthread_mutex_unlock(&m->lock);
	if (last)
		run_log_free(l);
}

int fitting_choose(struct precedent_model *m, struct fitting_set *set)
{
	uint32_t n;
	struct candidate *c = candidates(m, &n);

	*set = (struct fitting_set){.n_points = atomic_load(&m->n_points), .n_vars = atomic_load(&m->n_vars)};
	if (!c)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		bool fits = set->n < FITTING_RUNS_MAX && (!set->n || set->n_rows + c[i].run->n <= FITTING_ROWS_MAX);
		uint32_t k = 0;

		if (!fits) {
			give_back(m, c[i].run);
			continue;
		}
		while (k < set->n && set->run[k]->group != c[i].group)
			k++;
		set->group[set->n] = k < set->n ? set->group[k] : set->n_groups++;
		set->run[set->n++] = c[i].run;
		set->n_rows += c[i].run->n;
	}
	free(c);
	set->tick_s = ticks_second();
	return 0;
}

void fitting_release(struct precedent_model *m, struct fitting_set *set)
{
	for (uint32_t i = 0; i < set->n; i++)
		give_back(m, set->run[i]);
	set->n = 0;
}

/* ---- journals ---- */

static int run_put(const struct precedent_model *m, const struct fitting_set *set, const struct run_log *l, struct journal *j,
		   double *var, struct errbuf *err)
{
	const double *value = l->value;

	memset(var, 0, set->n_vars * sizeof(*var));
	if (journal_begin(j, l->input, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		const struct point *p = &m->point[l->point[i]];

		for (uint32_t v = 0; v < p->n_vars; v++)
			var[p->var[v]] = *value++;
		if (journal_add(j, l->point[i], (double)l->ticks[i] * set->tick_s, var, err) < 0)
			return -1;
	}
	return 0;
}

struct journal *fitting_journal(const struct precedent_model *m, const struct fitting_set *set, uint32_t without_group,
				uint32_t without_run, struct errbuf *err)
{
	double *var = malloc((set->n_vars + 1ull) * sizeof(*var));
	struct journal *j = NULL;
	bool good = false;

	if (!var) {
		err_set(err, "no memory for a journal");
		return NULL;
	}
	j = journal_create((const char *const *)m->input, m->n_inputs, (const char *const *)m->var, set->n_vars, err);
	if (!j)
		goto out;
	for (uint32_t p = 0; p < set->n_points; p++)
		if (journal_point(j, m->point[p].name, err) < 0)
			goto out;
	/* Oldest first. */
	for (uint32_t i = set->n; i-- > 0;)
		if (set->group[i] != without_group && i != without_run && run_put(m, set, set->run[i], j, var, err) < 0)
			goto out;
	good = true;
out:
	free(var);
	if (good)
		return j;
	journal_destroy(j);
	return NULL;
}

/* ---- comparison ---- */

struct comparison {
	const struct precedent_model *m;
	const struct model *model;
	const struct run_log *run;
	size_t at, same;
	bool apart;
};

static int compare(void *arg, uint32_t point, double time_s, const double *var)
{
	struct comparison *c = arg;
	const char *actual = c->at < c->run->n ? c->m->point[c->run->point[c->at]].name : "";

	(void)time_s;
	(void)var;
	if (!c->apart && !strcmp(actual, c->model->point[point]))
		c->same++;
	else
		c->apart = true;
	c->at++;
	return 0;
}

void fitting_compare(const struct precedent_model *m, const struct fitting_set *set, uint32_t i, const struct model *model,
		     struct model_confidence *sum)
{
	const struct run_log *l = set->run[i];
	struct comparison c = {.m = m, .model = model, .run = l};
	struct model_sink sink = {compare, &c};
	struct model_limits limits = {.steps = 4 * l->n + 1000};
	struct model_result r = {0};
	double actual = (double)l->ticks[l->n - 1] * set->tick_s;

	sum->n_runs++;
	if (model_interpret(model, l->input, 1, &limits, &sink, &r, NULL) < 0) {
		sum->n_refused++;
		return;
	}
	sum->prefix += (double)c.same / (double)l->n;
	sum->n_exact += !c.apart && c.at == l->n;
	sum->time_error += actual > 0 ? fabs(r.time_s / actual - 1) : 0;
}
