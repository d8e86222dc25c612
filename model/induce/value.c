/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of features, functions and atoms: see value.h. Make every change in compile_text.h as well. */
#include <math.h>

#include "model/induce/value.h"

double model_mod(double x, double k)
{
	double r;

	if (!(k >= 1))
		return NAN;
	r = fmod(x, k);
	return r < 0 ? r + k : r;
}

double model_divide(double x, double k)
{
	if (!(k >= 1))
		return NAN;
	return floor(x / k);
}

double model_log2(double x)
{
	int e;
	double m;

	if (!(x >= 1) || !isfinite(x))
		return 0;
	m = frexp(x, &e);
	return m == 0.5 ? e - 1 : e;
}

double model_inverse(double x)
{
	return x == 0 ? 0 : 1 / x;
}

double model_sign(double x)
{
	return x > 0 ? 1 : 0;
}

double model_ring(double x, double n)
{
	return x + 1 >= n ? 0 : x + 1;
}

double model_ring_back(double x, double n)
{
	return x < 1 ? n - 1 : x - 1;
}

bool model_arith(double x, double a, double b, uint64_t n)
{
	double i = (x - a) / b;

	return i >= 0 && i == floor(i) && (!n || i < (double)n);
}

bool model_geom(double x, double a, double b, uint64_t n)
{
	double v = a;

	for (uint64_t i = 0; i < 2048 && (!n || i < n); i++) {
		if (!(v < x))
			return v == x;
		v = v * b;
	}
	return false;
}

double model_feature_value(const struct model_graph *g, uint32_t x, const struct model_state *s)
{
	const struct model_feature *f = &g->feature[x];

	switch (f->op) {
	case MODEL_INPUT:
		return s->input[f->a];
	case MODEL_VAR:
		return s->var[f->a];
	case MODEL_COUNT:
		return (double)s->count[f->a];
	case MODEL_FROM:
		return s->from;
	case MODEL_CALLER:
		return s->caller;
	case MODEL_MOD:
		return model_mod(model_feature_value(g, f->a, s), f->b);
	case MODEL_LOG2:
		return model_log2(model_feature_value(g, f->a, s));
	case MODEL_INVERSE:
		return model_inverse(model_feature_value(g, f->a, s));
	case MODEL_SIGN:
		return model_sign(model_feature_value(g, f->a, s));
	case MODEL_IS:
		return model_feature_value(g, f->a, s) == f->b;
	case MODEL_MODF:
		return model_mod(model_feature_value(g, f->a, s), model_feature_value(g, f->b, s));
	case MODEL_DIVF:
		return model_divide(model_feature_value(g, f->a, s), model_feature_value(g, f->b, s));
	case MODEL_RING:
		return model_ring(model_feature_value(g, f->a, s), model_feature_value(g, f->b, s));
	case MODEL_RING_BACK:
		return model_ring_back(model_feature_value(g, f->a, s), model_feature_value(g, f->b, s));
	}
	return NAN;
}

double model_fn_value(const struct model_graph *g, const struct model_fn *fn, const struct model_state *s)
{
	double done[MODEL_MAX_STAGES]; /* stages look back only */
	double sum = 0;

	for (uint32_t i = 0; i < fn->n_stages; i++) {
		const struct model_stage *stage = &fn->stage[i];

		sum = 0;
		for (uint32_t t = 0; t < stage->n_terms; t++) {
			const struct model_term *term = &stage->term[t];
			double product = term->coef;

			for (uint32_t k = 0; k < term->n_x; k++) {
				uint32_t x = term->x[k];

				product = product * (x & MODEL_STAGE ? done[x & ~MODEL_STAGE] : model_feature_value(g, x, s));
			}
			sum = sum + product;
		}
		done[i] = sum;
	}
	return sum;
}

bool model_atom_holds(const struct model_graph *g, const struct model_atom *a, const struct model_state *s)
{
	double x = model_feature_value(g, a->x, s);

	switch (a->kind) {
	case MODEL_ATOM_RANGE:
		return x >= a->a && x <= a->b;
	case MODEL_ATOM_ARITH:
		return model_arith(x, a->a, a->b, a->n);
	case MODEL_ATOM_GEOM:
		return model_geom(x, a->a, a->b, a->n);
	case MODEL_ATOM_ABOVE:
		return x >= model_fn_value(g, &a->fn, s);
	case MODEL_ATOM_BELOW:
		return x < model_fn_value(g, &a->fn, s);
	}
	return false;
}

/* splitmix64, the upper 53 bits. */
double model_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z = z ^ (z >> 31);
	return (double)(z >> 11) * 0x1p-53;
}
