/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables of runs: numbers of the command lines, and variables that the user gives. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/runs.h"

#define ARGUMENTS_MAX 256

struct arguments {
	char *text;
	uint32_t n;
	char *word[ARGUMENTS_MAX];
};

static int split(struct arguments *a, const char *text)
{
	char *save = NULL;

	*a = (struct arguments){.text = strdup(text ? text : "")};
	if (!a->text)
		return -1;
	for (char *w = strtok_r(a->text, " \t", &save); w && a->n < ARGUMENTS_MAX; w = strtok_r(NULL, " \t", &save))
		a->word[a->n++] = w;
	return 0;
}

/* The number that a word is, or that follows its "=". */
static bool number_of(const char *word, double *out)
{
	const char *eq = strrchr(word, '='), *s = eq ? eq + 1 : word;
	char *end;

	*out = strtod(s, &end);
	return *s && (isdigit((unsigned char)*s) || strchr("+-.", *s)) && !*end && isfinite(*out);
}

static bool same_word(const char *a, const char *b)
{
	double x, y;
	const char *p = strrchr(a, '='), *q = strrchr(b, '=');

	if (!number_of(a, &x) || !number_of(b, &y))
		return !strcmp(a, b);
	return (p ? p - a : -1) == (q ? q - b : -1) && (!p || !strncmp(a, b, (size_t)(p - a)));
}

static int add_name(struct runs *r, const char *name, struct errbuf *err)
{
	if (r->n_vars == FEATURE_VARS_MAX)
		return err_set(err, "more than %d variables: name those that matter by --var NAME=@ARGUMENT, and only these are used",
			       FEATURE_VARS_MAX);
	for (uint32_t v = 0; v < r->n_vars; v++)
		if (!strcmp(r->var_name[v], name))
			return err_set(err, "variable %s is named twice", name);
	if (!strcmp(name, "rank") || !strcmp(name, "ranks") || strcspn(name, "(), -*+=|") != strlen(name) || !*name)
		return err_set(err, "'%s' cannot be the name of a variable", name);
	snprintf(r->var_name[r->n_vars++], sizeof(r->var_name[0]), "%s", name);
	return 0;
}

/* All runs have the same words but for their numbers. */
static int check_words(const struct runs *r, const struct arguments *a, struct errbuf *err)
{
	for (uint32_t i = 1; i < r->n_runs; i++) {
		if (a[i].n != a[0].n)
			return err_set(err, "%s has %u arguments and %s has %u: name the variables by --var NAME=VALUE,...",
				       r->run[0].path, a[0].n, r->run[i].path, a[i].n);
		for (uint32_t k = 0; k < a[0].n; k++)
			if (!same_word(a[0].word[k], a[i].word[k]))
				return err_set(err,
					       "%s has argument '%s' where %s has '%s': other kinds of runs, or name the "
					       "variables by --var NAME=VALUE,...",
					       r->run[0].path, a[0].word[k], r->run[i].path, a[i].word[k]);
	}
	return 0;
}

static int take_argument(struct runs *r, const struct arguments *a, uint32_t k, const char *name, struct errbuf *err)
{
	if (add_name(r, name, err) < 0)
		return -1;
	for (uint32_t i = 0; i < r->n_runs; i++)
		if (k >= a[i].n || !number_of(a[i].word[k], &r->run[i].var[r->n_vars - 1]))
			return err_set(err, "%s has no number as argument %u", r->run[i].path, k + 1);
	return 0;
}

/* What the user named: then no argument is a variable by itself. */
static int take_given(struct runs *r, const struct arguments *a, const struct runs_var *var, uint32_t n, struct errbuf *err)
{
	for (uint32_t v = 0; v < n; v++) {
		if (var[v].argument) {
			if (take_argument(r, a, var[v].argument - 1, var[v].name, err) < 0)
				return -1;
			continue;
		}
		if (var[v].n_value != r->n_runs)
			return err_set(err, "variable %s has %u values, and there are %u traces", var[v].name, var[v].n_value,
				       r->n_runs);
		if (add_name(r, var[v].name, err) < 0)
			return -1;
		for (uint32_t i = 0; i < r->n_runs; i++)
			r->run[i].var[r->n_vars - 1] = var[v].value[i];
	}
	return 0;
}

static int take_all(struct runs *r, const struct arguments *a, struct errbuf *err)
{
	char name[RUNS_VAR_NAME + 1];
	double x;

	if (check_words(r, a, err) < 0)
		return -1;
	for (uint32_t k = 0; k < a[0].n; k++) {
		const char *w = a[0].word[k], *eq = strrchr(w, '=');

		if (!number_of(w, &x))
			continue;
		w += strspn(w, "-+");
		if (eq && eq > w)
			snprintf(name, sizeof(name), "%.*s", (int)(eq - w < RUNS_VAR_NAME ? eq - w : RUNS_VAR_NAME), w);
		else
			snprintf(name, sizeof(name), "arg%u", k + 1);
		for (char *p = name; *p; p++)
			if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.')
				*p = '_';
		if (take_argument(r, a, k, name, err) < 0)
			return -1;
	}
	return 0;
}

static int check_programs(const struct runs *r, struct errbuf *err)
{
	const char *a = trace_job_get(r->run[0].trace, "program");

	for (uint32_t i = 1; a && i < r->n_runs; i++) {
		const char *b = trace_job_get(r->run[i].trace, "program");
		const char *x = strrchr(a, '/'), *y = b ? strrchr(b, '/') : NULL;

		if (b && strcmp(x ? x + 1 : a, y ? y + 1 : b))
			return err_set(err, "%s is of %s and %s of %s: not one program", r->run[0].path, a, r->run[i].path, b);
	}
	return 0;
}

static void find_repeated(struct runs *r)
{
	r->n_different = 0;
	for (uint32_t i = 0; i < r->n_runs; i++) {
		struct runs_run *run = &r->run[i];
		uint32_t k = 0;

		while (r->run[k].n_ranks != run->n_ranks || memcmp(r->run[k].var, run->var, r->n_vars * sizeof(*run->var)))
			k++;
		run->same = k;
		r->n_different += k == i;
	}
}

int runs_take_vars(struct runs *r, const struct runs_var *var, uint32_t n_var, struct errbuf *err)
{
	struct arguments *a = calloc(r->n_runs, sizeof(*a));
	int rc = -1;

	if (!a)
		return err_set(err, "no memory for arguments");
	for (uint32_t i = 0; i < r->n_runs; i++)
		if (split(&a[i], trace_job_get(r->run[i].trace, "arguments")) < 0) {
			err_set(err, "no memory for arguments");
			goto out;
		}
	if (check_programs(r, err) < 0)
		goto out;
	rc = n_var ? take_given(r, a, var, n_var, err) : take_all(r, a, err);
	if (rc == 0)
		find_repeated(r);
out:
	for (uint32_t i = 0; i < r->n_runs; i++)
		free(a[i].text);
	free(a);
	return rc;
}
