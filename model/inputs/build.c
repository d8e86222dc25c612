/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models from rules learnt from runs: see build.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/build_impl.h"

#define SPARE_VARS 8 /* at least, for values that go with counters */
#define TOLD_VARS  (MODEL_MAX_NAMES - 64) /* with more variables no more times are told */

/* ---- names ---- */

/* "MPI_Send heat+0x12 MPI_DOUBLE world (count,dest,tag)" */
static uint32_t point_of(struct build *b, const struct runs_leaf *leaf)
{
	char name[BUILD_POINT_NAME];
	size_t n;

	snprintf(name, sizeof(name), "%s (", leaf->name);
	for (uint32_t i = 0; i < leaf->n_value; i++) {
		n = strlen(name);
		snprintf(name + n, sizeof(name) - n, "%s%s", i ? "," : "", leaf->value_name[i]);
	}
	n = strlen(name);
	snprintf(name + n, sizeof(name) - n, ")");
	for (uint32_t i = 0; i < b->m->n_points; i++)
		if (!strcmp(b->m->point[i], name))
			return i;
	b->m->point[b->m->n_points] = model_strdup(b->m, name);
	b->failed |= !b->m->point[b->m->n_points];
	return b->m->n_points++;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names variables for the computation before a call, for calls where the arc does not determine the computation. */
static int name_told(struct build *b)
{
	const struct runs *r = b->l->runs;
	bool *told = arena_alloc(b->l->arena, r->n_leaf + 1u, sizeof(*told));
	char name[32];

	b->told = arena_alloc(b->l->arena, r->n_leaf + 1u, sizeof(*b->told));
	if (!told || !b->told || build_find_told(b, told) < 0)
		return -1;
	for (uint32_t i = 0; i < r->n_leaf; i++) {
		b->told[i] = MODEL_NONE;
		if (!told[i] || b->m->n_vars + b->l->n_doubts >= TOLD_VARS)
			continue;
		snprintf(name, sizeof(name), "%s_%u", INPUTS_COMPUTE, i + 1);
		b->told[i] = b->m->n_vars;
		b->m->var[b->m->n_vars] = (struct model_var){model_strdup(b->m, name), true, NULL};
		if (!b->m->var[b->m->n_vars++].name)
			return -1;
	}
	return 0;
}

static int name_vars(struct build *b)
{
	const struct runs *r = b->l->runs;
	uint32_t n = 0, k = 0;
	const char **all;

	for (uint32_t i = 0; i < r->n_leaf; i++)
		n += r->leaf[i].n_value;
	all = arena_alloc(b->l->arena, n, sizeof(*all));
	if (!all)
		return -1;
	n = 0;
	for (uint32_t i = 0; i < r->n_leaf; i++)
		for (uint32_t v = 0; v < r->leaf[i].n_value; v++)
			all[n++] = r->leaf[i].value_name[v];
	qsort(all, n, sizeof(*all), compare_names);
	for (uint32_t i = 0; i < n; i++)
		if (!k || strcmp(all[k - 1], all[i]))
			all[k++] = all[i];
	if (k + b->l->n_doubts > MODEL_MAX_NAMES - SPARE_VARS)
		return err_set(b->err, "calls have %u kinds of values and %u doubts: too many", k, b->l->n_doubts);
	b->m->var = model_alloc(b->m, MODEL_MAX_NAMES, sizeof(*b->m->var));
	if (!b->m->var)
		return -1;
	for (uint32_t i = 0; i < k; i++) {
		b->m->var[i] = (struct model_var){model_strdup(b->m, all[i]), true, NULL};
		if (!b->m->var[i].name)
			return -1;
	}
	if (b->times) {
		b->compute = k;
		b->m->var[k] = (struct model_var){model_strdup(b->m, INPUTS_COMPUTE), true, NULL};
		if (!b->m->var[k++].name)
			return -1;
	}
	b->m->n_vars = k;
	if (b->times && name_told(b) < 0)
		return -1;
	return build_steps_name(b);
}

static uint32_t var_of(const struct build *b, const char *name)
{
	uint32_t v = 0;

	while (v < b->m->n_vars && strcmp(b->m->var[v].name, name))
		v++;
	return v;
}

/* Input of a feature, which is added where it is new. */
static uint32_t input_of(struct build *b, uint32_t feature)
{
	const struct learnt *l = b->l;
	struct model_input *in;

	if (b->input_of[feature] != MODEL_NONE)
		return b->input_of[feature];
	if (b->m->n_inputs == MODEL_MAX_NAMES) {
		b->failed = true;
		return 0;
	}
	in = &b->m->input[b->m->n_inputs];
	*in = (struct model_input){.name = model_strdup(b->m, l->feature[feature].name), .kind = MODEL_INPUT_VARIED,
				   .lo = INFINITY, .hi = -INFINITY};
	b->failed |= !in->name;
	for (uint32_t i = 0; i < l->runs->n_points; i++) {
		const struct runs_point *p = &l->runs->point[i];
		const struct runs_run *run = &l->runs->run[p->run];
		/* Those of times are in no column. */
		double x = (double)feature_value(&l->feature[feature], &(struct feature_place){run->var, p->rank, run->n_ranks,
											       fmax(run->place.crowd, 1)});

		in->lo = fmin(in->lo, x);
		in->hi = fmax(in->hi, x);
	}
	return b->input_of[feature] = b->m->n_inputs++;
}

uint32_t build_pair(struct build *b, struct build_graph *g, uint8_t op, uint32_t x, uint32_t y)
{
	for (uint32_t i = 0; i < g->n_features; i++)
		if (g->feature[i].op == op && g->feature[i].a == x && g->feature[i].b == y)
			return i;
	if (g->n_features == BUILD_FEATURES) {
		b->failed = true;
		return 0;
	}
	g->feature[g->n_features] = (struct model_feature){op, x, y};
	return g->n_features++;
}

uint32_t build_feature(struct build *b, struct build_graph *g, uint8_t op, uint32_t a)
{
	return build_pair(b, g, op, a, 0);
}

uint32_t build_input(struct build *b, struct build_graph *g, uint32_t feature)
{
	return build_feature(b, g, MODEL_INPUT, input_of(b, feature));
}

/* ---- inputs ---- */

static double run_value(const struct build *b, uint32_t v, uint32_t run)
{
	const struct runs *r = b->l->runs;

	return v < r->n_vars ? r->run[run].var[v] : r->run[run].n_ranks;
}

static void judge_tie(struct build *b, uint32_t v, uint32_t w)
{
	const struct runs *r = b->l->runs;
	struct model_input *in = &b->m->input[v];
	uint32_t other = 0;
	double scale, shift;

	if (b->m->input[w].kind != MODEL_INPUT_VARIED)
		return;
	for (uint32_t i = 1; i < r->n_runs; i++)
		if (run_value(b, w, i) != run_value(b, w, 0))
			other = i;
	scale = (run_value(b, v, other) - run_value(b, v, 0)) / (run_value(b, w, other) - run_value(b, w, 0));
	shift = run_value(b, v, 0) - scale * run_value(b, w, 0);
	if (!isfinite(scale) || !isfinite(shift) || scale == 0)
		return;
	for (uint32_t i = 0; i < r->n_runs; i++) {
		double x = run_value(b, w, i) * scale + shift;

		if (fabs(x - run_value(b, v, i)) > 1e-9 * fmax(fabs(x), fabs(run_value(b, v, i))))
			return;
	}
	in->kind = MODEL_INPUT_TIED;
	in->tied_to = w;
	in->scale = scale;
	in->shift = shift;
}

/* Variables that did not vary, or went with another one. */
static void judge_vars(struct build *b, uint32_t n)
{
	for (uint32_t v = 0; v < n; v++) {
		struct model_input *in = &b->m->input[v];

		if (in->lo == in->hi)
			in->kind = MODEL_INPUT_CONSTANT;
		for (uint32_t w = 0; w < v && in->kind == MODEL_INPUT_VARIED; w++)
			judge_tie(b, v, w);
	}
}

/* The variables, ranks and rank come first, whether they are used or not. */
static int name_inputs(struct build *b)
{
	const struct runs *r = b->l->runs;
	uint32_t n = r->n_vars + 1;

	b->m->input = model_alloc(b->m, MODEL_MAX_NAMES, sizeof(*b->m->input));
	b->input_of = arena_alloc(b->l->arena, b->l->n_features, sizeof(*b->input_of));
	if (!b->m->input || !b->input_of)
		return -1;
	for (uint32_t f = 0; f < b->l->n_features; f++)
		b->input_of[f] = MODEL_NONE;
	for (uint32_t v = 0; v < n; v++) {
		const char *name = v < r->n_vars ? r->var_name[v] : "ranks";
		struct model_input *in = &b->m->input[v];

		*in = (struct model_input){.name = model_strdup(b->m, name), .kind = MODEL_INPUT_VARIED, .lo = INFINITY,
					   .hi = -INFINITY};
		if (!in->name)
			return -1;
		for (uint32_t i = 0; i < r->n_runs; i++) {
			in->lo = fmin(in->lo, run_value(b, v, i));
			in->hi = fmax(in->hi, run_value(b, v, i));
		}
		for (uint32_t f = 0; f < b->l->n_features; f++)
			if (!strcmp(b->l->feature[f].name, name))
				b->input_of[f] = v;
	}
	b->m->n_inputs = n;
	judge_vars(b, n);
	for (uint32_t f = 0; f < b->l->n_features; f++)
		if (b->l->feature[f].op == FEATURE_RANK)
			input_of(b, f);
	return 0;
}

/* ---- doubts ---- */

static const char *write_side(const struct build *b, const struct learnt_doubt *d, int k, char *buf, size_t size)
{
	size_t n = 0;

	if (d->kind == DOUBT_ORDER)
		n = (size_t)snprintf(buf, size, "%c ", d->counted[k] ? 'V' : 'G');
	if (d->kind == DOUBT_RULES || d->counted[k])
		rule_write(&d->rule[k], b->l->feature, buf + n, size - n);
	else
		rule_guard_write(&d->guard[k], b->l->feature, buf + n, size - n);
	return buf;
}

static int write_doubts(struct build *b)
{
	for (uint32_t i = 0; i < b->l->n_doubts; i++) {
		const struct learnt_doubt *d = &b->l->doubt[i];
		char name[200], reason[INPUTS_REASON_MAX], x[280], y[280], where[280];
		size_t n;

		snprintf(name, sizeof(name), INPUTS_DOUBT "%u, %s", i + 1, d->what);
		snprintf(reason, sizeof(reason), "%c %s | %s | %s", "VGOA"[d->kind], write_side(b, d, 0, x, sizeof(x)),
			 write_side(b, d, 1, y, sizeof(y)), rule_guard_write(&d->where, b->l->feature, where, sizeof(where)));
		n = strlen(reason);
		snprintf(reason + n, sizeof(reason) - n, MODEL_FOR_PEOPLE "%.120s, or %.120s: %s",
			 learnt_side_format(d, 0, b->l->feature, x, sizeof(x)), learnt_side_format(d, 1, b->l->feature, y, sizeof(y)),
			 d->kind == DOUBT_ORDER			    ? "which comes first is refused where both hold"
			 : d->kind == DOUBT_ABOUT		    ? "refused, or by --anyway the first one"
			 : learnt_doubt_simpler(d, b->l->feature) ? "the first one is taken, as it is simpler"
								    : "refused where they differ");
		b->m->var[b->m->n_vars] = (struct model_var){model_strdup(b->m, name), false, model_strdup(b->m, reason)};
		if (!b->m->var[b->m->n_vars].name || !b->m->var[b->m->n_vars].reason)
			return -1;
		b->m->n_vars++;
	}
	return 0;
}

/* Where the runs ran, when all of them say it. */
static struct model_place runs_place(const struct runs *r)
{
	struct model_place place = {.known = true, .processors = r->run[0].place.processors};

	for (uint32_t i = 0; i < r->n_runs; i++) {
		const struct run_place *p = &r->run[i].place;

		if (!p->processors)
			return (struct model_place){0};
		place.crowd = fmax(place.crowd, p->crowd);
		place.processors = place.processors == p->processors ? p->processors : 0;
	}
	return place;
}

static int build_all(struct build *b)
{
	const struct runs *r = b->l->runs;

	b->m->point = model_alloc(b->m, r->n_leaf + 1u, sizeof(*b->m->point));
	b->m->graph = model_alloc(b->m, r->n_loop + 1u, sizeof(*b->m->graph));
	b->point_of = arena_alloc(b->l->arena, r->n_leaf, sizeof(*b->point_of));
	b->var_of = arena_alloc(b->l->arena, r->n_leaf, sizeof(*b->var_of));
	if (!b->m->point || !b->m->graph || !b->point_of || !b->var_of || name_vars(b) < 0 || name_inputs(b) < 0)
		return -1;
	for (uint32_t i = 0; i < r->n_leaf; i++) {
		const struct runs_leaf *leaf = &r->leaf[i];

		b->point_of[i] = point_of(b, leaf);
		b->var_of[i] = arena_alloc(b->l->arena, leaf->n_value, sizeof(**b->var_of));
		if (!b->var_of[i])
			return -1;
		for (uint32_t v = 0; v < leaf->n_value; v++)
			b->var_of[i][v] = var_of(b, leaf->value_name[v]);
	}
	if (build_graph(b, r->merge.root, NULL) == MODEL_NONE || write_doubts(b) < 0)
		return -1;
	b->m->n_runs = r->n_runs;
	b->m->n_rows = r->events;
	if (b->times) {
		b->m->confidence.time_error = b->times->worst_error;
		b->m->confidence.n_reach = r->n_vars + 1;
		memcpy(b->m->confidence.reach, b->times->reach, (r->n_vars + 1) * sizeof(*b->times->reach));
		b->m->confidence.n_runs = b->times->n_errors;
		b->m->place = runs_place(r);
	}
	return b->failed ? -1 : 0;
}

struct model *inputs_build(const struct learnt *l, const struct run_times *times, struct errbuf *err)
{
	struct build b = {.l = l, .times = times, .m = model_create(), .err = err};

	err->text[0] = '\0';
	if (!b.m || build_all(&b) < 0) {
		if (!err->text[0])
			err_set(err, "no memory for the model, or it has more inputs than a model can have");
	} else if (model_check(b.m, err) == 0) {
		return b.m;
	}
	model_destroy(b.m);
	return NULL;
}
