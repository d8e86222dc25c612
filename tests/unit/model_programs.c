/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs, and their tapes: see model_programs.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_programs.h"

void tape_pass(struct tape *t, const char *point)
{
	struct errbuf err;
	struct tape_row *row;
	int64_t p = journal_point(t->names, point, &err);

	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 256;
		t->row = realloc(t->row, t->cap * sizeof(*t->row));
	}
	if (p < 0 || !t->row)
		abort();
	row = &t->row[t->n++];
	row->point = (uint32_t)p;
	row->time_s = t->time_s;
	memcpy(row->var, t->var, sizeof(t->var));
}

void tape_after(struct tape *t, double dt_s, const char *point)
{
	t->time_s += dt_s;
	tape_pass(t, point);
}

double tape_random(struct tape *t)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return (double)(t->random >> 11) * 0x1p-53;
}

void tape_free(struct tape *t)
{
	free(t->row);
	*t = (struct tape){0};
}

struct journal *program_journal(const struct program *p)
{
	struct errbuf err;

	return journal_create(p->input, p->n_inputs, p->var, p->n_vars, &err);
}

void program_run(const struct program *p, struct journal *j, const double *in, struct tape *out)
{
	*out = (struct tape){.names = j, .random = 12345};
	for (uint32_t i = 0; i < p->n_inputs; i++)
		out->random = out->random * 31 + (uint64_t)(int64_t)in[i];
	p->run(out, in);
}

void program_journal_run(const struct program *p, struct journal *j, const double *in)
{
	struct errbuf err;
	struct tape t;

	program_run(p, j, in, &t);
	if (journal_begin(j, in, &err) < 0)
		abort();
	for (size_t i = 0; i < t.n; i++)
		if (journal_add(j, t.row[i].point, t.row[i].time_s, t.row[i].var, &err) < 0)
			abort();
	tape_free(&t);
}

struct comparing {
	const struct program *p;
	const struct tape *t;
	const struct model *m;
	size_t at;
	double rel;
	struct errbuf *err;
};

static int near(double a, double b, double rel)
{
	return fabs(a - b) <= rel * fmax(1e-300, fmax(fabs(a), fabs(b)));
}

static int compare(void *arg, uint32_t point, double time_s, const double *var)
{
	struct comparing *c = arg;
	const struct tape_row *row = &c->t->row[c->at];

	if (c->at >= c->t->n)
		return err_set(c->err, "%s: the model goes on after %zu rows, at %s", c->p->name, c->t->n, c->m->point[point]);
	if (row->point != point)
		return err_set(c->err, "%s: row %zu is %s, not %s", c->p->name, c->at, c->m->point[row->point], c->m->point[point]);
	if (!near(row->time_s, time_s, fmax(c->rel, 1e-9)))
		return err_set(c->err, "%s: row %zu is at %.17g, not %.17g s", c->p->name, c->at, row->time_s, time_s);
	for (uint32_t v = 0; v < c->p->n_vars; v++)
		if (!near(row->var[v], var[v], c->rel))
			return err_set(c->err, "%s: row %zu: %s is %.17g, not %.17g", c->p->name, c->at, c->p->var[v],
				       row->var[v], var[v]);
	c->at++;
	return 0;
}

int program_compare(const struct program *p, struct journal *j, const struct model *m, const double *in, double rel,
		    struct errbuf *err)
{
	struct tape t;
	struct comparing c = {p, &t, m, 0, rel, err};
	struct model_sink sink = {compare, &c};
	struct model_result r = {0};
	struct errbuf why;
	int rc;

	program_run(p, j, in, &t);
	rc = model_interpret(m, in, 1, NULL, &sink, &r, &why);
	if (rc < 0)
		err_set(err, "%s: %s", p->name, why.text);
	else if (r.stop == MODEL_STOPPED)
		rc = -1;
	else if (c.at != t.n)
		rc = err_set(err, "%s: the model ends after %zu of %zu rows", p->name, c.at, t.n);
	tape_free(&t);
	return rc;
}

/* ---- programs ---- */

static void nested(struct tape *t, const double *in)
{
	tape_pass(t, "start");
	for (int i = 0; i < in[0]; i++) {
		tape_after(t, 1e-6 * in[1], "outer");
		for (int k = 0; k < in[1]; k++)
			tape_after(t, 1e-7 * in[0] * in[0], "inner");
		tape_after(t, 1e-5, "after");
	}
	tape_after(t, 0.5, "end");
}
const struct program program_nested = {"nested", nested, 2, 0, {"N", "M"}, {NULL}};

static void triangle(struct tape *t, const double *in)
{
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "row");
		for (int k = 0; k <= i; k++)
			tape_after(t, 1e-6, "cell");
	}
	tape_pass(t, "end");
}
const struct program program_triangle = {"triangle", triangle, 1, 0, {"N"}, {NULL}};

static void alternate(struct tape *t, const double *in)
{
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "step");
		tape_pass(t, i % 2 ? "red" : "black");
	}
	tape_pass(t, "end");
}
const struct program program_alternate = {"alternate", alternate, 1, 0, {"N"}, {NULL}};

static void parity(struct tape *t, const double *in)
{
	tape_pass(t, "start");
	tape_pass(t, fmod(in[0], 2) == 0 ? "even" : "odd");
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "step");
		if (i % 3 == 1)
			tape_pass(t, "third");
	}
	tape_pass(t, "end");
}
const struct program program_parity = {"parity", parity, 1, 0, {"N"}, {NULL}};

static void doubling(struct tape *t, const double *in)
{
	int n = 0;

	for (double s = 1; s < in[0]; s *= 2)
		tape_pass(t, "level");
	for (int i = 1, next = 1; i <= in[1]; i++) {
		tape_pass(t, "step");
		if (i == next) {
			tape_pass(t, "save");
			next *= 2;
			n++;
		}
	}
	tape_pass(t, "end");
}
const struct program program_doubling = {"doubling", doubling, 2, 0, {"size", "steps"}, {NULL}};

static void doubling_var(struct tape *t, const double *in)
{
	t->var[0] = 1;
	tape_pass(t, "start");
	while (t->var[0] < in[0]) {
		tape_pass(t, "level");
		t->var[0] *= 2;
	}
	tape_pass(t, "end");
}
const struct program program_doubling_var = {"doubling_var", doubling_var, 1, 1, {"size"}, {"stride"}};

static void exchange(struct tape *t, const double *in)
{
	tape_pass(t, "pack");
	for (int i = 0; i < in[1]; i++)
		tape_after(t, 1e-6, "send");
	tape_pass(t, "unpack");
}
static void calls(struct tape *t, const double *in)
{
	tape_pass(t, "start");
	exchange(t, in);
	tape_pass(t, "begun");
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "predict");
		exchange(t, in);
		tape_pass(t, "correct");
		exchange(t, in);
		tape_pass(t, "check");
	}
	tape_pass(t, "end");
}
const struct program program_calls = {"calls", calls, 2, 0, {"N", "neighbours"}, {NULL}};

/* Behind the second call the caller branches, behind the third one it branches and its loop ends. */
static void calls_and_branches(struct tape *t, const double *in)
{
	tape_pass(t, "start");
	exchange(t, in);
	tape_pass(t, "begun");
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "predict");
		exchange(t, in);
		if (i % 2 == 1)
			tape_pass(t, "second");
		tape_pass(t, "correct");
		exchange(t, in);
		if (i % 4 == 3)
			tape_pass(t, "fourth");
	}
	tape_pass(t, "end");
}
const struct program program_calls_and_branches = {"calls_and_branches", calls_and_branches, 2, 0,
						    {"N", "neighbours"}, {NULL}};

static void halo(struct tape *t, const double *in)
{
	tape_pass(t, "halo");
	t->var[0] += 1;
	exchange(t, in);
	tape_pass(t, "middle");
	exchange(t, in);
	tape_pass(t, "halo_end");
}
static void calls_nested(struct tape *t, const double *in)
{
	t->var[1] = in[0];
	tape_pass(t, "start");
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "first");
		halo(t, in);
		tape_pass(t, "second");
		halo(t, in);
		tape_pass(t, "third");
	}
	tape_pass(t, "end");
}
const struct program program_calls_nested = {"calls_nested", calls_nested, 2, 2, {"N", "neighbours"}, {"halos", "size"}};

/* Returns at once, in the middle, or at its end, as its caller asks by a variable. */
static void smooth(struct tape *t, const double *in)
{
	tape_pass(t, "enter");
	if (t->var[0] == 0)
		return;
	for (int i = 0; i < in[1]; i++)
		tape_after(t, 1e-6, "sweep");
	if (t->var[0] == 1) {
		tape_after(t, 1e-5, "give_up");
		return;
	}
	tape_pass(t, "leave");
}
static void calls_return_early(struct tape *t, const double *in)
{
	tape_pass(t, "start");
	smooth(t, in);
	tape_pass(t, "begun");
	for (int i = 0; i < in[0]; i++) {
		t->var[0] = i % 3;
		tape_pass(t, "down");
		smooth(t, in);
		tape_pass(t, "between");
		smooth(t, in);
		if (i % 2 == 1)
			tape_pass(t, "second");
	}
	tape_pass(t, "end");
}
const struct program program_calls_return_early = {"calls_return_early", calls_return_early, 2, 1, {"N", "sweeps"}, {"level"}};

/* So many calls in a row, each between points of its own. */
static void many_calls(struct tape *t, const double *in)
{
	tape_pass(t, "start");
	for (int i = 0; i < in[0]; i++) {
		for (int k = 0; k < in[2]; k++) {
			char place[32];

			snprintf(place, sizeof(place), "place%d", k);
			tape_pass(t, place);
			exchange(t, in);
			if (k == 0 && i % 2 < in[3])
				tape_pass(t, "second");
		}
		tape_pass(t, "last");
	}
	tape_pass(t, "end");
}
const struct program program_many_calls = {"many_calls", many_calls, 4, 0, {"N", "neighbours", "calls", "branch"}, {NULL}};

static void every(struct tape *t, const double *in)
{
	for (int i = 1; i <= in[0]; i++) {
		tape_pass(t, "step");
		if (i % (int)in[1] == 0)
			tape_pass(t, "output");
	}
	tape_pass(t, "end");
}
const struct program program_every = {"every", every, 2, 0, {"steps", "interval"}, {NULL}};

static void halves(struct tape *t, const double *in)
{
	for (int i = 0; i < (int)in[0] / 2; i++)
		tape_pass(t, "half");
	for (int i = 0; i < in[0] * (in[0] + 1) / 2 + 3; i++)
		tape_pass(t, "pairs");
	tape_pass(t, "end");
}
const struct program program_halves = {"halves", halves, 1, 0, {"N"}, {NULL}};

/* N sweeps with a check after every fourth; the second program leaves its loop before the last check. */
static void checks(struct tape *t, const double *in)
{
	for (int i = 1; i <= in[0]; i++) {
		tape_pass(t, "sweep");
		if (i % 4 == 0)
			tape_pass(t, "check");
	}
}
const struct program program_checks = {"checks", checks, 1, 0, {"N"}, {NULL}};

static void checks_not_last(struct tape *t, const double *in)
{
	for (int i = 1; i <= in[0]; i++) {
		tape_pass(t, "sweep");
		if (i == in[0])
			break;
		if (i % 4 == 0)
			tape_pass(t, "check");
	}
}
const struct program program_checks_not_last = {"checks_not_last", checks_not_last, 1, 0, {"N"}, {NULL}};

static void shared(struct tape *t, const double *in)
{
	for (int k = 0; k < in[0]; k++) {
		for (int i = 0; i < in[1]; i++) {
			for (int x = 0; x < in[2]; x++)
				tape_pass(t, "a");
			tape_pass(t, "b");
		}
		tape_pass(t, "c");
	}
}
const struct program program_shared = {"shared", shared, 3, 0, {"K", "I", "X"}, {NULL}};

static void residue(struct tape *t, const double *in)
{
	t->var[0] = 1;
	t->var[1] = in[0];
	tape_pass(t, "start");
	while (t->var[0] > in[1]) {
		t->var[0] = 0.5 * t->var[0];
		tape_after(t, 1e-6 * in[0], "sweep");
	}
	tape_pass(t, "end");
}
const struct program program_residue = {"residue", residue, 2, 2, {"N", "tolerance"}, {"residue", "size"}};

static void ring(struct tape *t, const double *in)
{
	double rank = in[0], ranks = in[1];

	t->var[0] = fmod(rank + 1, ranks);
	t->var[1] = fmod(rank - 1 + ranks, ranks);
	t->var[2] = in[2] * in[2] / ranks;
	tape_pass(t, "start");
	for (int i = 0; i < in[2]; i++) {
		if (rank > 0)
			tape_pass(t, "send_up");
		if (rank < ranks - 1)
			tape_pass(t, "send_down");
		tape_pass(t, "compute");
	}
	tape_pass(t, rank == 0 ? "print" : "quiet");
}
const struct program program_ring = {"ring", ring, 3, 3, {"rank", "ranks", "N"}, {"next", "previous", "cells"}};

static void while_data(struct tape *t, const double *in)
{
	t->var[0] = 0;
	for (int i = 0; i < in[0]; i++) {
		t->var[0] = fmod(i, 4);
		tape_pass(t, "pick");
		tape_pass(t, t->var[0] == 2 ? "two" : "other");
	}
	tape_pass(t, "end");
}
const struct program program_while_data = {"while_data", while_data, 1, 1, {"N"}, {"kind"}};

static void coin(struct tape *t, const double *in)
{
	for (int i = 0; i < in[0]; i++) {
		tape_after(t, 0.001, "toss");
		if (tape_random(t) < 0.3)
			tape_after(t, 0.01, "heads");
		else
			tape_after(t, 0.001, "tails");
	}
	tape_pass(t, "end");
}
const struct program program_coin = {"coin", coin, 1, 0, {"N"}, {NULL}};

/* Some steps have a branch by chance beside them, the last one too: n says when the loop ends, not chance. */
static void maybe(struct tape *t, const double *in)
{
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "step");
		if (tape_random(t) < 0.3)
			tape_pass(t, "extra");
		if (tape_random(t) < 0.1)
			tape_pass(t, "more");
	}
	tape_pass(t, "sub");
}
const struct program program_maybe = {"maybe", maybe, 1, 0, {"n"}, {NULL}};

static void noise(struct tape *t, const double *in)
{
	for (int i = 0; i < in[0]; i++) {
		t->var[0] = tape_random(t);
		tape_pass(t, "step");
	}
	tape_pass(t, "end");
}
const struct program program_noise = {"noise", noise, 1, 1, {"N"}, {"noise"}};

/* First-order lag T y' + y = K u, by Euler's method. */
static void euler(struct tape *t, const double *in)
{
	const double h = 0.01, lag = 0.5, gain = 2;

	t->var[0] = in[0];
	tape_pass(t, "start");
	for (int i = 0; i < in[2]; i++) {
		tape_pass(t, "step");
		t->var[0] = t->var[0] + h * (gain * in[1] - t->var[0]) / lag;
	}
	tape_pass(t, "end");
}
const struct program program_euler = {"euler", euler, 3, 1, {"y0", "u", "n"}, {"y"}};
