/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that models are learnt from in tests: plain C with loops and branches, that passes control points. What such a
 * program does at other inputs is the oracle of what the model says.
 */
#ifndef PRECEDENT_TESTS_UNIT_MODEL_PROGRAMS_H
#define PRECEDENT_TESTS_UNIT_MODEL_PROGRAMS_H

#include "model/induce/interpret.h"
#include "model/induce/journal.h"

#define TAPE_VARS 8

struct tape_row {
	uint32_t point;
	double time_s, var[TAPE_VARS];
};
/* What a program did: its rows in order. */
struct tape {
	struct journal *names; /* of points */
	struct tape_row *row;
	size_t n, cap;
	double time_s;
	double var[TAPE_VARS];
	uint64_t random;
};

typedef void (*model_program)(struct tape *t, const double *in);
struct program {
	const char *name;
	model_program run;
	uint32_t n_inputs, n_vars;
	const char *input[4], *var[TAPE_VARS];
};

void tape_pass(struct tape *t, const char *point);
/* The same after dt seconds. */
void tape_after(struct tape *t, double dt_s, const char *point);
double tape_random(struct tape *t);

struct journal *program_journal(const struct program *p);
/* Run the program and put what it did into the journal. */
void program_journal_run(const struct program *p, struct journal *j, const double *in);
void program_run(const struct program *p, struct journal *j, const double *in, struct tape *out);
void tape_free(struct tape *t);

/* Interprets the model and compares: points exactly, times and variables within rel. 0, or -1 with what differs. */
int program_compare(const struct program *p, struct journal *j, const struct model *m, const double *in, double rel,
		    struct errbuf *err);

extern const struct program
    program_nested, program_triangle, program_alternate, program_parity, program_doubling, program_doubling_var,
    program_calls, program_calls_and_branches, program_calls_nested, program_calls_return_early, program_many_calls, program_every,
    program_halves, program_shared, program_residue, program_ring, program_while_data, program_coin,
    program_maybe, program_noise, program_euler, program_checks, program_checks_not_last;

#endif
