/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journals of runs, row by row: see journal.h. Every value is checked when it is added. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "model/induce/journal.h"

static int name_check(const char *name, const char *what, struct errbuf *err)
{
	size_t n = name ? strlen(name) : 0;

	if (!n || n > JOURNAL_MAX_NAME)
		return err_set(err, "the name of a %s has %zu bytes, not 1 to %d", what, n, JOURNAL_MAX_NAME);
	return clean_is_line(name) ? 0 : err_set(err, "the name of a %s has a control character or is not UTF-8", what);
}

static int names_copy(char ***out, const char *const *name, uint32_t n, const char *what, struct errbuf *err)
{
	*out = calloc(n ? n : 1, sizeof(**out));
	if (!*out)
		return err_set(err, "no memory for the names of a journal");
	for (uint32_t i = 0; i < n; i++) {
		if (name_check(name[i], what, err) < 0)
			return -1;
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(name[i], name[k]))
				return err_set(err, "two %ss are called %s", what, name[i]);
		(*out)[i] = strdup(name[i]);
		if (!(*out)[i])
			return err_set(err, "no memory for the names of a journal");
	}
	return 0;
}

static int32_t name_find(char **names, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int32_t)i;
	return -1;
}

struct journal *journal_create(const char *const *inputs, uint32_t n_inputs, const char *const *vars, uint32_t n_vars,
			       struct errbuf *err)
{
	struct journal *j;

	if (n_inputs > JOURNAL_MAX_INPUTS || n_vars > JOURNAL_MAX_VARS) {
		err_set(err, "%u inputs and %u variables are more than %d and %d", n_inputs, n_vars, JOURNAL_MAX_INPUTS,
			JOURNAL_MAX_VARS);
		return NULL;
	}
	j = calloc(1, sizeof(*j));
	if (!j) {
		err_set(err, "no memory for a journal");
		return NULL;
	}
	j->n_inputs = n_inputs;
	j->n_vars = n_vars;
	if (names_copy(&j->input, inputs, n_inputs, "input", err) < 0 ||
	    names_copy(&j->var, vars, n_vars, "variable", err) < 0) {
		journal_destroy(j);
		return NULL;
	}
	j->rank_input = name_find(j->input, n_inputs, "rank");
	j->ranks_input = name_find(j->input, n_inputs, "ranks");
	return j;
}

static void names_free(char **name, uint32_t n)
{
	for (uint32_t i = 0; name && i < n; i++)
		free(name[i]);
	free(name);
}

void journal_destroy(struct journal *j)
{
	if (!j)
		return;
	for (uint32_t r = 0; r < j->n_runs; r++) {
		free(j->run[r].input);
		free(j->run[r].point);
		free(j->run[r].time_s);
		free(j->run[r].var);
	}
	free(j->run);
	names_free(j->point, j->n_points);
	names_free(j->input, j->n_inputs);
	names_free(j->var, j->n_vars);
	free(j);
}

int64_t journal_point(struct journal *j, const char *name, struct errbuf *err)
{
	int32_t at = name ? name_find(j->point, j->n_points, name) : -1;
	char *copy;

	if (at >= 0)
		return at;
	if (name_check(name, "control point", err) < 0)
		return -1;
	if (j->n_points == JOURNAL_MAX_POINTS)
		return err_set(err, "more than %d control points", JOURNAL_MAX_POINTS);
	if (j->n_points == j->points_cap) {
		uint32_t cap = j->points_cap ? j->points_cap * 2 : 16;
		char **p = realloc(j->point, cap * sizeof(*p));

		if (!p)
			return err_set(err, "no memory for control points");
		j->point = p;
		j->points_cap = cap;
	}
	copy = strdup(name);
	if (!copy)
		return err_set(err, "no memory for control points");
	j->point[j->n_points] = copy;
	return j->n_points++;
}

int journal_begin(struct journal *j, const double *input, struct errbuf *err)
{
	struct journal_run *run;

	if (j->n_runs == JOURNAL_MAX_RUNS)
		return err_set(err, "more than %d runs in a journal", JOURNAL_MAX_RUNS);
	for (uint32_t i = 0; i < j->n_inputs; i++)
		if (!isfinite(input[i]))
			return err_set(err, "input %s of run %u is not a number", j->input[i], j->n_runs);
	if (j->n_runs == j->runs_cap) {
		uint32_t cap = j->runs_cap ? j->runs_cap * 2 : 8;
		struct journal_run *p = realloc(j->run, cap * sizeof(*p));

		if (!p)
			return err_set(err, "no memory for the runs of a journal");
		j->run = p;
		j->runs_cap = cap;
	}
	run = &j->run[j->n_runs];
	*run = (struct journal_run){0};
	run->input = malloc((j->n_inputs ? j->n_inputs : 1) * sizeof(*run->input));
	if (!run->input)
		return err_set(err, "no memory for the runs of a journal");
	if (j->n_inputs)
		memcpy(run->input, input, j->n_inputs * sizeof(*input));
	j->n_runs++;
	return 0;
}

static int run_grow(struct journal_run *run, uint32_t n_vars)
{
	size_t cap = run->cap ? run->cap * 2 : 64;
	uint32_t *point = realloc(run->point, cap * sizeof(*point));
	double *time_s, *var;

	if (!point)
		return -1;
	run->point = point;
	time_s = realloc(run->time_s, cap * sizeof(*time_s));
	if (!time_s)
		return -1;
	run->time_s = time_s;
	var = realloc(run->var, (n_vars ? cap * n_vars : 1) * sizeof(*var));
	if (!var)
		return -1;
	run->var = var;
	run->cap = cap;
	return 0;
}

int journal_add(struct journal *j, uint32_t point, double time_s, const double *var, struct errbuf *err)
{
	struct journal_run *run;
	size_t row;

	if (!j->n_runs)
		return err_set(err, "a row before the first run was begun");
	run = &j->run[j->n_runs - 1];
	row = run->n_rows;
	if (point >= j->n_points)
		return err_set(err, "run %u, row %zu: there is no control point %u", j->n_runs - 1, row, point);
	if (!isfinite(time_s) || time_s < 0 || (row && time_s < run->time_s[row - 1]))
		return err_set(err, "run %u, row %zu: time %g s goes back, or is no time", j->n_runs - 1, row, time_s);
	for (uint32_t v = 0; v < j->n_vars; v++)
		if (!isfinite(var[v]))
			return err_set(err, "run %u, row %zu: variable %s is not a number", j->n_runs - 1, row, j->var[v]);
	if (j->n_rows == JOURNAL_MAX_ROWS)
		return err_set(err, "more than %llu rows in a journal", JOURNAL_MAX_ROWS);
	if (row == run->cap && run_grow(run, j->n_vars) < 0)
		return err_set(err, "no memory for row %zu of run %u", row, j->n_runs - 1);
	run->point[row] = point;
	run->time_s[row] = time_s;
	if (j->n_vars)
		memcpy(run->var + row * j->n_vars, var, j->n_vars * sizeof(*var));
	run->n_rows++;
	j->n_rows++;
	return 0;
}
