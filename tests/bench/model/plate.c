/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plate: see plate.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/model/lab.h"
#include "tests/bench/model/plate.h"

#define K1_DT	0.01 /* k1 dt / (k2 dx^4): below 1/32, where the method is stable */
#define DT	1e-3
#define SLICES	2    /* steps of the integral in the height of a wedge over one cell */
#define BORDER	2
#define CELL_S	2e-6
#define SLICE_S 1e-6
#define N_MOST	4096

const char *const plate_input[PLATE_INPUTS] = {"N", "steps", "length", "width", "speed"};
static const char *const points[PLATE_POINTS] = {"start", "step", "enters", "leaves", "under", "load", "bend", "end"};

struct plate {
	size_t n, stride;
	double *w, *next; /* by column; borders of zeros */
	double *load;	  /* of every cell */
	double *block;
	struct plate_log *log;
	double begin, counted_s, var[PLATE_VARS];
	bool full;
};

static void pass(struct plate *p, enum plate_point point)
{
	struct plate_log *l = p->log;

	if (!l)
		return;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 4096;
		struct plate_row *row = realloc(l->row, cap * sizeof(*row));

		p->full |= !row;
		if (!row)
			return;
		l->row = row;
		l->cap = cap;
	}
	l->row[l->n].point = point;
	memcpy(l->row[l->n].var, p->var, sizeof(p->var));
	l->row[l->n++].time_s = l->counted ? p->counted_s : lab_now_s() - p->begin;
}

void plate_log_free(struct plate_log *log)
{
	free(log->row);
	*log = (struct plate_log){.counted = log->counted};
}

/* Integral of the linear density over the height, by trapezoids of the same step everywhere. */
static double weight(double y, uint32_t slices)
{
	const double dz = 0.5 / SLICES;
	double sum = 0, z = 0;

	for (uint32_t s = 0; s < slices; s++, z += dz) {
		double a = 1 + z * (0.3 - 0.02 * y + 0.001 * z), b = 1 + (z + dz) * (0.3 - 0.02 * y + 0.001 * (z + dz));

		sum += 0.5 * dz * (a + b);
	}
	return sum;
}

static void load_column(struct plate *p, const double *in, size_t column)
{
	size_t width = (size_t)in[PLATE_WIDTH], first = (p->n - width) / 2;
	uint32_t slices = (uint32_t)p->var[PLATE_SLICES];

	for (size_t k = 0; k < width; k++)
		p->load[column * p->n + first + k] = weight((double)k / (double)width, slices);
	p->counted_s += SLICE_S * (double)(width * slices);
}

static void bend(struct plate *p)
{
	size_t s = p->stride;
	double *w = p->w;

	for (size_t i = 0; i < p->n; i++) {
		const double *load = p->load + i * p->n;
		double *out = p->next + (i + BORDER) * s + BORDER;

		for (size_t k = 0; k < p->n; k++) {
			const double *c = w + (i + BORDER) * s + BORDER + k;
			double near = c[-1] + c[1] + *(c - s) + c[s];
			double across = *(c - s - 1) + *(c - s + 1) + c[s - 1] + c[s + 1];
			double far = c[-2] + c[2] + *(c - 2 * s) + c[2 * s];

			out[k] = c[0] + DT * load[k] - K1_DT * (20 * c[0] - 8 * near + 2 * across + far);
		}
	}
	p->w = p->next;
	p->next = w;
	p->counted_s += CELL_S * (double)p->n * (double)p->n;
}

static void step(struct plate *p, const double *in)
{
	double *v = p->var;

	v[PLATE_FRONT] += in[PLATE_SPEED];
	v[PLATE_FIRST] = v[PLATE_FRONT] - in[PLATE_LENGTH];
	v[PLATE_LAST] = v[PLATE_FRONT];
	pass(p, PLATE_STEP);
	if (v[PLATE_FIRST] < 0) {
		v[PLATE_FIRST] = 0;
		pass(p, PLATE_ENTERS);
	}
	if (v[PLATE_LAST] > in[PLATE_N]) {
		v[PLATE_LAST] = in[PLATE_N];
		pass(p, PLATE_LEAVES);
	}
	memset(p->load, 0, p->n * p->n * sizeof(*p->load));
	v[PLATE_SLICES] = SLICES * (v[PLATE_FRONT] - v[PLATE_FIRST]);
	pass(p, PLATE_UNDER);
	for (double i = v[PLATE_FIRST]; i < v[PLATE_LAST]; i++) {
		load_column(p, in, (size_t)i);
		v[PLATE_SLICES] -= SLICES;
		pass(p, PLATE_LOAD);
	}
	bend(p);
	pass(p, PLATE_BEND);
}

int plate_run(const double *in, struct plate_log *log, struct plate_result *out, struct errbuf *err)
{
	struct plate p = {.n = (size_t)in[PLATE_N], .log = log};
	size_t cells;

	for (int i = 0; i < PLATE_INPUTS; i++)
		if (!(in[i] >= 1) || in[i] > N_MOST || in[i] != floor(in[i]))
			return err_set(err, "%s of the plate is %g", plate_input[i], in[i]);
	if (in[PLATE_WIDTH] > in[PLATE_N])
		return err_set(err, "the body is wider than the plate");
	p.stride = p.n + 2 * BORDER;
	cells = p.stride * p.stride;
	p.block = malloc((2 * cells + p.n * p.n) * sizeof(*p.block));
	if (!p.block)
		return err_set(err, "no memory for a plate");
	memset(p.block, 0, (2 * cells + p.n * p.n) * sizeof(*p.block));
	p.w = p.block;
	p.next = p.block + cells;
	p.load = p.block + 2 * cells;
	if (log)
		log->n = 0;
	out->cpu_s = -lab_cpu_s();
	p.begin = lab_now_s();
	pass(&p, PLATE_START);
	for (double t = 0; t < in[PLATE_STEPS]; t++)
		step(&p, in);
	pass(&p, PLATE_END);
	out->cpu_s += lab_cpu_s();
	out->most = 0;
	for (size_t i = 0; i < cells; i++)
		out->most = fmax(out->most, fabs(p.w[i]));
	free(p.block);
	return p.full ? err_set(err, "no memory for the control points of a plate") : 0;
}

struct journal *plate_journal(struct errbuf *err)
{
	static const char *const vars[] = {"front", "first", "last", "slices"};
	struct journal *j = journal_create(plate_input, PLATE_INPUTS, vars, PLATE_VARS, err);

	for (int i = 0; j && i < PLATE_POINTS; i++)
		if (journal_point(j, points[i], err) != i) {
			journal_destroy(j);
			return NULL;
		}
	return j;
}

int plate_journal_add(struct journal *j, const double *in, const struct plate_log *log, struct errbuf *err)
{
	if (journal_begin(j, in, err) < 0)
		return -1;
	for (size_t i = 0; i < log->n; i++)
		if (journal_add(j, log->row[i].point, log->row[i].time_s, log->row[i].var, err) < 0)
			return -1;
	return 0;
}

static double between(uint64_t *seed, double lo, double hi)
{
	return floor(lo + (hi - lo + 1) * lab_random(seed));
}

void plate_inputs(uint64_t seed, uint32_t n, double (*in)[PLATE_INPUTS])
{
	for (uint32_t i = 0; i < n; i++) {
		in[i][PLATE_N] = between(&seed, 64, 160);
		in[i][PLATE_STEPS] = between(&seed, 60, 250);
		in[i][PLATE_LENGTH] = between(&seed, 16, 64);
		in[i][PLATE_WIDTH] = between(&seed, 16, 64);
		in[i][PLATE_SPEED] = between(&seed, 1, 3);
	}
}
