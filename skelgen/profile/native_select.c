/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops of the program as kernels: see mix_own.h. */
#include "skelgen/profile/native_select.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/profile/branch_frequency.h"
#include "skelgen/profile/stream_areas.h"
#include "skelgen/profile/native_rewrite.h"

#define UNIT     500 /* instructions, so that its begin and end are little */
#define DETOURS  4   /* times as many instructions as the body has, of one iteration */

bool mix_own_is_core(int c)
{
	return c == CLASS_INTEGER || c == CLASS_SCALAR || c == CLASS_SCALAR_SHORT || c == CLASS_SCALAR_CHAIN || c == CLASS_VECTOR ||
	       c == CLASS_DIVIDE || c == CLASS_LIBM;
}

bool mix_own_is_part(const struct skel_own *own, int c)
{
	return mix_own_is_core(c) || (own->n_through && (c == CLASS_STREAM_L2 || c == CLASS_STREAM_L3));
}

/* ---- the way through a body ---- */

/* Where execution goes on after instruction i; 0: a new iteration. */
static uint32_t next_of(const struct mix_body *b, uint32_t i, double share, double *owed)
{
	uint32_t t;

	if (b->op[i].kind == MIX_RETURN)
		return 0;
	if (mix_flow_is_due(share, owed)) {
		t = mix_body_at(b, b->op[i].target);
		return t == UINT32_MAX ? 0 : t;
	}
	return i + 1 < b->n ? i + 1 : 0;
}

uint32_t mix_own_path(const struct mix_body *b, const double *often, uint16_t *path)
{
	double share[MIX_OPS_MAX], owed[MIX_OPS_MAX];
	uint32_t n = 0, steps = 0, i = 0;

	for (uint32_t k = 0; k < b->n; k++) {
		share[k] = b->is_loop ? mix_flow_taken(b, often, k) : 0;
		owed[k] = share[k] / 2;
	}
	while (n < MIX_OWN_PATH) {
		path[n++] = (uint16_t)i;
		i = next_of(b, i, share[i], &owed[i]);
		if (i == 0 || ++steps > DETOURS * b->n) {
			if (n >= UNIT)
				break;
			i = steps = 0;
		}
	}
	return n;
}

/* ---- the loops of a program ---- */

uint32_t mix_own_find(const struct skel_mixes *m, const char *module, uint64_t first, uint64_t last, bool is_loop)
{
	for (uint32_t i = 0; i < m->n_own; i++) {
		const struct skel_own *o = &m->own[i];

		if (o->is_loop == is_loop && !strcmp(o->module, module) &&
		    (is_loop ? o->first == first && o->last == last : o->first <= last && first <= o->last))
			return i;
		if (o->callee && !is_loop && !strcmp(o->callee, module) && o->callee_first <= last && first <= o->callee_last)
			return i;
	}
	return MIX_OWN_NONE;
}

/* How the operand in memory moves with the loop; without one, and outside of loops, it is still. */
static enum mix_order order_of(const struct mix_body *b, const struct mix_op *op)
{
	return b->is_loop && op->bytes && !op->relative ? (enum mix_order)mix_motion_of(b, op, NULL).order : MIX_STILL;
}

/* The register of an address that goes by what was loaded or computed in the loop. */
static uint8_t follows_of(const struct mix_body *b, const struct mix_op *op)
{
	const uint8_t reg[] = {op->index, op->base};

	for (int i = 0; i < 2; i++) {
		struct mix_op use = {.base = reg[i], .index = MIX_NO_REG, .bytes = 8};

		if (reg[i] < MIX_REG_VECTOR && mix_motion_of(b, &use, NULL).order == MIX_WILD)
			return reg[i];
	}
	return OWN_FOLLOWS_NONE;
}

/* ---- the areas that it goes through ---- */

struct areas {
	struct mix_walk walk[MIX_OPS_MAX];
	struct mix_area area[OWN_WALKS];
	uint32_t n;
};

static void keep_walks(const struct areas *a, const struct own_steps *steps, struct skel_own *own)
{
	for (uint32_t k = 0; k < a->n; k++)
		own->walk[k] = (struct own_walk){(uint64_t)fmin(a->area[k].bytes, 0x1p50), a->area[k].span + steps->step[k]};
	own->n_walk = own->n_through = a->n;
}

/* None where nobody knows, or an access is too far ahead of where a unit begins. */
static void find_areas(const struct mix_body *b, const struct mix_course *course, struct areas *a)
{
	bool fit = true;

	memset(a->walk, OWN_NO_WALK, sizeof(a->walk));
	a->n = course && course->spots ? mix_walk_find(b, course->spots, a->walk, a->area) : 0;
	for (uint32_t k = 0; k < a->n; k++)
		fit &= a->area[k].span + (double)a->area[k].step * MIX_OWN_PATH < (double)OWN_WALKS_MOST / OWN_WALKS;
	if (fit)
		return;
	memset(a->walk, OWN_NO_WALK, sizeof(a->walk));
	a->n = 0;
}

/* A function from its begin to where it returns. Returns the instructions so far. */
static uint32_t put_callee(const struct mix_body *b, struct own_instruction *in, uint32_t n)
{
	for (uint32_t i = 0; i < b->n && n < MIX_OWN_PATH && b->op[i].kind != MIX_RETURN; i++)
		in[n++] = (struct own_instruction){.bytes = b->op[i].raw, .len = b->op[i].len, .follows = OWN_FOLLOWS_NONE, .walk = OWN_NO_WALK};
	return n;
}

/* The instructions of a unit, with those of what is called. Returns how many. */
static uint32_t put_path(const struct mix_body *b, const double *often, bool is_function, const struct mix_own_callee *callee,
			 const struct areas *a, uint16_t *path, struct own_instruction *in, uint32_t *iterations)
{
	uint32_t steps = mix_own_path(b, often, path), n = 0;
	uint8_t follows[MIX_OPS_MAX];
	bool moves[MIX_OPS_MAX];

	*iterations = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		enum mix_order order = order_of(b, &b->op[i]);

		follows[i] = order == MIX_WILD ? follows_of(b, &b->op[i]) : OWN_FOLLOWS_NONE;
		moves[i] = order != MIX_STILL;
	}
	for (uint32_t i = 0; i < steps && n < MIX_OWN_PATH; i++) {
		const struct mix_op *op = &b->op[path[i]];
		const struct mix_walk *w = &a->walk[path[i]];

		*iterations += path[i] == 0;
		in[n++] = (struct own_instruction){.bytes = op->raw, .len = op->len, .follows = follows[path[i]], .walk = w->area,
						   .ahead = w->area < a->n ? w->at + (*iterations - 1) * a->area[w->area].step : 0,
						   .turn = moves[path[i]] ? *iterations : 0, .begins = is_function && path[i] == 0};
		if (callee && path[i] == callee->call)
			n = put_callee(callee->b, in, n);
	}
	return n;
}

/* How many instructions each iteration executes, where these are the first ones in their order (arms behind them are not gone); else 0. */
static uint32_t straight(const struct mix_body *b, const struct own_instruction *in, uint32_t n, uint32_t iterations)
{
	uint32_t length = iterations ? n / iterations : 0;

	if (!b->is_loop || length > b->n || length * iterations != n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (in[i].bytes != b->op[i % length].raw)
			return 0;
	return length;
}

/* The first n instructions of a body as the loop that they are. 1: they cannot stay so. */
static int make_loop(const struct mix_body *b, uint32_t n, const struct mix_course *course, const struct areas *areas,
		     const struct own_instruction *in, struct buf *code, struct own_made *made, struct skel_own *own)
{
	const size_t size = offsetof(struct mix_body, op) + n * sizeof(b->op[0]); /* a body has room for no more than it needs */
	struct mix_body *plain = malloc(size);
	struct own_loop loop;
	int rv = plain ? 1 : -1;

	if (plain) {
		memcpy(plain, b, size);
		plain->n = n;
	}
	if (plain && own_loop_plan(plain, areas->walk, areas->area, areas->n, course->reg, course->row, &loop))
		rv = own_code_loop(in, n, &loop, code, made);
	if (rv == 0) {
		memcpy(own->walk, loop.walk, sizeof(own->walk));
		own->n_walk = loop.n_area;
		own->n_through = areas->n;
	}
	free(plain);
	return rv;
}

/* 0, 1: no kernel can be made of it, -1: no memory. */
static int make(const struct mix_body *b, const struct mix_course *course, bool is_function, const struct mix_own_callee *callee, struct skel_own *own)
{
	uint16_t *path = malloc(MIX_OWN_PATH * sizeof(*path));
	struct own_instruction *in = malloc(MIX_OWN_PATH * sizeof(*in));
	struct areas *areas = malloc(sizeof(*areas));
	struct own_steps steps = {0};
	struct buf code = {0};
	struct own_made made;
	uint32_t n, iterations, length;
	int rv = -1;

	if (path && in && areas) {
		find_areas(b, course, areas);
		n = put_path(b, course ? course->often : NULL, is_function, callee, areas, path, in, &iterations);
		steps.n = areas->n;
		for (uint32_t k = 0; k < steps.n; k++)
			steps.step[k] = areas->area[k].step * iterations;
		length = course && !callee ? straight(b, in, n, iterations) : 0;
		rv = length ? make_loop(b, length, course, areas, in, &code, &made, own) : 1;
		if (rv == 1) {
			rv = own_code_make(in, n, &steps, &code, &made);
			keep_walks(areas, &steps, own);
		}
	}
	if (rv == 0) {
		own->code = code.data;
		own->len = (uint32_t)code.len;
		own->needs = made.needs;
		own->n = made.n;
	} else {
		buf_free(&code);
	}
	free(areas);
	free(path);
	free(in);
	return rv;
}

int mix_own_add(struct skel_mixes *m, const char *module, const struct mix_body *b, const struct mix_course *course, bool is_function,
		const struct mix_own_callee *callee, uint32_t *number)
{
	struct skel_own own = {.first = b->op[0].offset, .last = b->op[b->n - 1].offset, .is_loop = b->is_loop};
	int rv;

	*number = MIX_OWN_NONE;
	if (m->n_own == OWN_MOST)
		return 0;
	rv = make(b, course, is_function, callee, &own);
	if (rv != 0)
		return rv < 0 ? -1 : 0;
	own.module = strdup(module);
	if (callee) {
		own.callee = strdup(callee->module);
		own.callee_first = callee->b->op[0].offset;
		own.callee_last = callee->b->op[callee->b->n - 1].offset;
	}
	if (!own.module || (callee && !own.callee)) {
		free(own.code);
		free(own.module);
		free(own.callee);
		return -1;
	}
	*number = m->n_own;
	m->own[m->n_own++] = own;
	return 0;
}

void mix_own_free(struct skel_mixes *m)
{
	for (uint32_t i = 0; i < m->n_own; i++) {
		free(m->own[i].code);
		free(m->own[i].module);
		free(m->own[i].callee);
	}
	m->n_own = 0;
}

void mix_own_as_classes(const struct skel_mixes *m, const double *share, double *out)
{
	for (int c = 0; c < CLASS_N; c++)
		out[c] = c < CLASS_OWN_0 || c > CLASS_OWN_7 ? share[c] : 0;
	for (uint32_t i = 0; i < m->n_own; i++) {
		double all = 0, moved = share[CLASS_OWN_0 + i];

		for (int c = 0; c < CLASS_N; c++)
			all += m->own[i].as[c];
		for (int c = 0; all > 0 && c < CLASS_N; c++)
			out[c] += moved * m->own[i].as[c] / all;
	}
}
