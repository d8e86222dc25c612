/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bending of a plate under a load that moves over it, on a grid: k2 dw/dt = f(x, y, t) - k1 laplacian(laplacian(w)),
 * where f is the integral over the height h of a body of its linear density, by a numerical method of fixed step, for
 * the cells that the body is over: how many these are, and how long it takes, depends on where the body is, as it
 * enters the plate at one edge and leaves it at the other. It is a wedge of `length` cells, highest at its rear,
 * `width` cells wide.
 * Source: Pekunov (cited in model/induce/model.h), investigation of variants (a plate under a load that is not linear
 * in space). The formula is not in the text that we have, so that the equation is ours after what it says of it.
 */
#ifndef PRECEDENT_TESTS_BENCH_MODEL_PLATE_H
#define PRECEDENT_TESTS_BENCH_MODEL_PLATE_H

#include <stdbool.h>

#include "model/induce/journal.h"
#include "model/induce/model.h"

/* Grid, time steps, length and width of the body, cells that it moves in a step. All whole. */
enum { PLATE_N, PLATE_STEPS, PLATE_LENGTH, PLATE_WIDTH, PLATE_SPEED, PLATE_INPUTS };
extern const char *const plate_input[PLATE_INPUTS];

enum plate_point { PLATE_START, PLATE_STEP, PLATE_ENTERS, PLATE_LEAVES, PLATE_UNDER, PLATE_LOAD, PLATE_BEND, PLATE_END, PLATE_POINTS };

/* Variables: how far the body has come, in cells; the columns that it is over, from first to before last; and how many
 * steps the integral over the next of them has. */
enum { PLATE_FRONT, PLATE_FIRST, PLATE_LAST, PLATE_SLICES, PLATE_VARS };
struct plate_row {
	enum plate_point point;
	double time_s, var[PLATE_VARS];
};
/* Control points as they are passed. */
struct plate_log {
	size_t n, cap;
	struct plate_row *row;
	bool counted; /* a virtual clock: 2 us for a cell that bends, 1 us for a step of an integral */
};

struct plate_result {
	double most;  /* deflection */
	double cpu_s; /* processor time from the first control point to the last one */
};
/* log: NULL for none; is begun anew. */
int plate_run(const double *in, struct plate_log *log, struct plate_result *out, struct errbuf *err);
void plate_log_free(struct plate_log *log);

struct journal *plate_journal(struct errbuf *err);
/* The log as a run of the journal. */
int plate_journal_add(struct journal *j, const double *in, const struct plate_log *log, struct errbuf *err);
/* Inputs drawn from the seed. */
void plate_inputs(uint64_t seed, uint32_t n, double (*in)[PLATE_INPUTS]);

/* Relative errors of the time. */
struct plate_errors {
	double median, worst;
};
struct plate_report {
	uint32_t n_runs, n_totals, n_asked; /* of the model, of fits of totals, that were asked for */
	uint64_t n_rows;
	double learn_s, least_s, most_s;
	bool sequence; /* every control point in its place in all that were asked for */
	struct plate_errors model, totals, form, form_few, noise; /* form_few: of the runs of the model only */
	char form_text[512];
};
int plate_experiment(struct plate_report *out, struct errbuf *err);

#endif
