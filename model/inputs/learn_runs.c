/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of the merged tree: see learn_runs.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/learn_runs_impl.h"

#define COLUMNS_MOST (UINT64_C(1) << 25)
#define PROBE_SIZES  3 /* of each number of ranks that is probed */
#define PROBE_RANKS  64 /* of a number of ranks, spread evenly: each has a column of all features */

static int fill_columns(struct learnt *l)
{
	const struct runs *r = l->runs;

	l->col = arena_alloc(l->arena, l->n_features, sizeof(*l->col));
	for (uint32_t f = 0; l->col && f < l->n_features; f++) {
		l->col[f] = arena_alloc(l->arena, r->n_points, sizeof(**l->col));
		if (!l->col[f])
			return -1;
		for (uint32_t i = 0; i < r->n_points; i++) {
			const struct runs_run *run = &r->run[r->point[i].run];

			l->col[f][i] = feature_value(&l->feature[f], &(struct feature_place){run->var, r->point[i].rank,
											    run->n_ranks, 0});
		}
	}
	return l->col ? 0 : -1;
}

static void fill_probe(const struct learnt *l, uint32_t ranks, uint32_t rank, uint32_t size, int64_t *value)
{
	struct feature_place p = {.rank = rank, .ranks = ranks};
	double var[FEATURE_VARS_MAX];

	for (uint32_t v = 0; v < l->runs->n_vars; v++) {
		double first = l->runs->run[0].var[v], last = l->runs->run[l->runs->n_runs - 1].var[v];

		var[v] = size == 0 ? first + 7 * (v + 1) : size == 1 ? 2 * last + 3 * ranks + v : (double)(UINT64_C(512) << v);
	}
	p.var = var;
	for (uint32_t f = 0; f < l->n_features; f++)
		value[f] = feature_value(&l->feature[f], &p);
}

/* Is the number of ranks the same in all runs? No other number is predicted then (model.h: MODEL_INPUT_CONSTANT). */
static bool has_one_number(const struct runs *r)
{
	for (uint32_t i = 1; i < r->n_runs; i++)
		if (r->run[i].n_ranks != r->run[0].n_ranks)
			return false;
	return true;
}

/* Places that are in no run. */
static int fill_probes(struct learning *g)
{
	static const uint32_t several[] = {1, 2, 3, 4, 6, 8, 9, 12, 16};
	bool one = has_one_number(g->r);
	const uint32_t *ranks = one ? &g->r->run[0].n_ranks : several;
	size_t n_ranks = one ? 1 : sizeof(several) / sizeof(*several);
	uint32_t n = 0;

	for (size_t k = 0; k < n_ranks; k++)
		n += ranks[k] * PROBE_SIZES;
	g->table.probe = arena_alloc(g->l->arena, n, sizeof(*g->table.probe));
	if (!g->table.probe)
		return -1;
	for (size_t k = 0; k < n_ranks; k++)
		for (uint32_t i = 0; i < ranks[k] * PROBE_SIZES; i++) {
			/* PROBE_RANKS of many ranks */
			if (i / PROBE_SIZES % ((ranks[k] + PROBE_RANKS - 1) / PROBE_RANKS))
				continue;

			int64_t *value = arena_alloc(g->l->arena, g->l->n_features, sizeof(*value));

			if (!value)
				return -1;
			fill_probe(g->l, ranks[k], i / PROBE_SIZES, i % PROBE_SIZES, value);
			g->table.probe[g->table.n_probes++] = value;
		}
	return 0;
}

/* Dimensions of the grids that the program makes by MPI_Cart_create, as bits; 0: it makes none, or of more than three. */
static uint32_t dims_made(const struct runs *r)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < r->n_leaf; i++) {
		const struct runs_leaf *l = &r->leaf[i];
		uint32_t n = 0, at = 0;

		if (strncmp(l->name, "MPI_Cart_create ", 16))
			continue;
		while (at + 1 < r->n_points && !l->seen[at].value)
			at++;
		for (uint32_t v = 0; l->seen[at].value && v < l->n_value; v++)
			n += !strncmp(l->value_name[v], "dims[", 5) && l->seen[at].value[v] != CALL_MISSING;
		bits |= 1u << n;
	}
	return bits;
}

/* Removes features of grids whose number of dimensions is not the program's. Removes features of portions if there are
 * very many ranks. Features of rows of ranks always stay. */
static void keep_dims(struct learnt *l, uint32_t dims)
{
	uint32_t k = 0, bits = dims ? 1u << dims : dims_made(l->runs);
	bool portions = (uint64_t)l->n_features * l->runs->n_points < COLUMNS_MOST;

	bits |= bits && !dims ? 1u << 1 : 0;
	for (uint32_t i = 0; i < l->n_features; i++)
		if ((!bits || !l->feature[i].d || bits >> l->feature[i].d & 1) &&
		    (portions || !feature_is_portion(&l->feature[i])))
			l->feature[k++] = l->feature[i];
	l->n_features = k;
}

/* ---- nodes ---- */

/* Points of the runs that are learnt from which pass the node. */
uint32_t learning_points(struct learning *g, const struct merge_node *n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < g->r->n_points; i++)
		if (!runs_left_out(g->r, g->r->point[i].run, g->without) && merge_has_group(n, g->r->point[i].group))
			g->point[k++] = i;
	return k;
}

const char *learning_name(const struct learning *g, const struct merge_node *n)
{
	const struct merge_node *first = n;

	while (first->kind != SKEL_LEAF && first->n_child)
		first = first->child[0];
	return g->r->leaf[first->origin].name;
}


/* Fits the count of a loop on the points that pass `of`. Points that do not pass the loop count as 0. */
static int fit_count(struct learning *g, const struct merge_node *n, const struct merge_node *of, const struct learnt_node *node,
		     struct rule *out, bool *zero)
{
	uint32_t k = n == of ? learning_points(g, of) : learning_telling(g, of, node);

	*zero = false;
	for (uint32_t i = 0; i < k; i++) {
		uint32_t group = g->r->point[g->point[i]].group;

		g->y[i] = merge_has_group(n, group) ? (int64_t)runs_count(n, group) : 0;
		*zero |= !g->y[i];
	}
	return rule_fit(&g->table, g->point, k, g->y, out, g->others, &g->n_others);
}

/* A count that is 0 where the loop is not passed says both; but not as a product, where a count and a guard say it. */
static int learn_count(struct learning *g, const struct merge_node *n, const struct merge_node *parent,
		       struct learnt_node *out)
{
	bool zero, none;
	int found;

	if (runs_trips(g->r, n)) /* a mean is no exact rule */
		return 0;
	found = fit_count(g, n, parent, out, &out->count, &zero);
	if (found == 1 && (!zero || !out->count.n || out->count.g[0] == RULE_NONE)) {
		out->when = WHEN_COUNTED;
	} else if (found >= 0) {
		int whole = found;

		found = fit_count(g, n, n, out, &out->count, &none);
		if (found == 0 && whole == 1) {
			found = fit_count(g, n, parent, out, &out->count, &zero);
			out->when = WHEN_COUNTED;
		}
	}
	out->count_known = found == 1;
	return found < 0 ? err_set(g->err, "no memory for rules") : 0;
}

/* What else the count may be matters where the loop is passed. */
static void doubt_count(struct learning *g, const struct merge_node *n, struct learnt_node *out)
{
	char what[200];

	snprintf(what, sizeof(what), "loop at %.180s", learning_name(g, n));
	out->count_known =
	    out->count_known && learnt_doubt_rules(g, what, "iterations", &out->count, g->others, g->n_others) == 0;
}

static int learn_guard(struct learning *g, const struct merge_node *n, const struct merge_node *parent,
		       struct learnt_node *out)
{
	struct rule_guard others[RULE_OTHERS];
	uint32_t k = learning_telling(g, parent, out), n_others;
	int found;

	for (uint32_t i = 0; i < k; i++)
		g->yes[i] = merge_has_group(n, g->r->point[g->point[i]].group);
	found = rule_fit_guard(&g->table, g->point, k, g->yes, &out->guard, others, &n_others);
	if (found < 0)
		return err_set(g->err, "no memory for rules");
	out->when = !found ? WHEN_UNKNOWN : out->guard.f == RULE_NONE ? WHEN_ALWAYS : WHEN_GUARD;
	if (found && learnt_doubt_guards(g, learning_name(g, n), &out->guard, others, n_others) < 0)
		out->when = WHEN_UNKNOWN;
	return 0;
}

static struct rule same_as(uint32_t f)
{
	return (struct rule){.n = 1, .num = {0, 1}, .den = 1, .f = {f, RULE_NONE}, .g = {RULE_NONE, RULE_NONE},
			     .h = {RULE_NONE, RULE_NONE}};
}

static bool is_neighbour(const struct feature *f)
{
	return f->op == FEATURE_PREV || f->op == FEATURE_NEXT || f->op == FEATURE_LPREV || f->op == FEATURE_LNEXT ||
	       feature_is_partner(f);
}

/* Does the call have this neighbour as its peer in value `v` where there is one, and is it made nowhere else? */
static bool is_peer_rule(const struct learning *g, const struct merge_node *n, uint32_t v, uint32_t f, uint32_t n_points)
{
	const struct runs_leaf *leaf = &g->r->leaf[n->origin];
	bool somewhere_not = false;

	for (uint32_t i = 0; i < n_points; i++) {
		uint32_t p = g->point[i];
		const struct runs_seen *s = &leaf->seen[p];
		int64_t peer = g->l->col[f][p];

		if ((peer >= 0) != (s->value != NULL) || (s->value && (s->value[v] != peer || s->varies >> v & 1)))
			return false;
		somewhere_not |= peer < 0;
	}
	return somewhere_not;
}

/*
 * A call with a neighbour that is made where there is one: one rule for both, whichever else holds of either alone. 1 when
 * there is such a rule.
 */
static int learn_peer(struct learning *g, const struct merge_node *n, const struct merge_node *parent,
		      struct learnt_node *out, struct learnt_value *value)
{
	const struct runs_leaf *leaf = &g->r->leaf[n->origin];
	struct rule_guard others[RULE_OTHERS];
	uint32_t k = learning_telling(g, parent, out), n_others = 0;
	bool found = false;

	for (uint32_t v = 0; v < leaf->n_value && !found; v++) {
		const char *name = leaf->value_name[v];

		if (strcmp(name, "dst") && strcmp(name, "src"))
			continue;
		for (uint32_t f = 0; f < g->l->n_features; f++) {
			if (!is_neighbour(&g->l->feature[f]) || !is_peer_rule(g, n, v, f, k))
				continue;
			if (!found) {
				out->guard = (struct rule_guard){.f = f, .lo = 0, .hi = INT64_MAX};
				value[v] = (struct learnt_value){.kind = VALUE_RULE, .rule = same_as(f)};
			} else if (n_others < RULE_OTHERS) {
				others[n_others++] = (struct rule_guard){.f = f, .lo = 0, .hi = INT64_MAX};
			}
			found = true;
		}
	}
	if (found)
		out->when = learnt_doubt_guards(g, leaf->name, &out->guard, others, n_others) < 0 ? WHEN_UNKNOWN : WHEN_GUARD;
	return found;
}

/* Extents of a grid that the program makes are what they are called. */
static bool learn_extent(struct learning *g, const char *name, uint32_t k, struct learnt_value *out)
{
	for (uint32_t f = 0; !strncmp(name, "dims[", 5) && f < g->l->n_features; f++) {
		uint32_t i = 0;

		if (g->l->feature[f].op != FEATURE_DIMS || g->l->feature[f].i != (uint32_t)(name[5] - '0'))
			continue;
		while (i < k && g->l->col[f][g->point[i]] == g->y[i])
			i++;
		if (i < k)
			continue;
		*out = (struct learnt_value){.kind = VALUE_RULE, .rule = same_as(f)};
		return true;
	}
	return false;
}

/* Does value `v` of the leaf have the feature's value at all points where it has one? */
static bool feature_holds(const struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t f, uint32_t k)
{
	for (uint32_t i = 0; i < k; i++) {
		const struct runs_seen *s = &leaf->seen[g->point[i]];

		if (!s->value) /* the call was never made here */
			continue;
		if (s->varies >> v & 1 || (s->value[v] != CALL_MISSING && s->value[v] != g->l->col[f][g->point[i]]))
			return false;
	}
	return true;
}

/* Feature of that kind in dimension i of d, or RULE_NONE. */
static uint32_t grid_feature(const struct learning *g, uint8_t op, uint32_t d, uint32_t i)
{
	for (uint32_t f = 0; f < g->l->n_features; f++)
		if (g->l->feature[f].op == op && g->l->feature[f].d == d && g->l->feature[f].i == i)
			return f;
	return RULE_NONE;
}

/*
 * Communicators of a line of the grid of ranks: size, first member and stride together, whichever else holds of one of
 * them alone (an extent that was always 2). One of all ranks is none.
 */
static int learn_line(struct learning *g, const struct runs_leaf *leaf, struct learnt_value *value, uint32_t k)
{
	static const uint8_t op[] = {FEATURE_DIMS, FEATURE_LINE, FEATURE_STRIDE};
	static const char *const part[] = {".size", ".first", ".stride"};
	uint32_t ranks = grid_feature(g, FEATURE_RANKS, 0, 0);

	for (uint32_t v = 0; v < leaf->n_value; v++) {
		const char *dot = strrchr(leaf->value_name[v], '.');

		if (!dot || strcmp(dot, ".size") || (ranks != RULE_NONE && feature_holds(g, leaf, v, ranks, k)))
			continue;
		for (uint32_t d = 2; d <= 3; d++) {
			for (uint32_t i = 0; i < d; i++) {
				uint32_t f[3];
				bool good = true;

				for (uint32_t j = 0; j < 3 && v + j < leaf->n_value; j++) {
					f[j] = grid_feature(g, op[j], d, i);
					good &= f[j] != RULE_NONE;
					if (strstr(leaf->value_name[v + j], part[j]))
						good = good && feature_holds(g, leaf, v + j, f[j], k);
				}
				for (uint32_t j = 0; good && j < 3 && v + j < leaf->n_value; j++) {
					struct rule other = same_as(f[j]);

					if (!strstr(leaf->value_name[v + j], part[j]))
						continue;
					if (value[v + j].kind != VALUE_RULE)
						value[v + j] = (struct learnt_value){.kind = VALUE_RULE, .rule = other};
					else if (learnt_doubt_rules(g, leaf->name, leaf->value_name[v + j], &value[v + j].rule,
							     &other, 1) < 0)
						return -1;
				}
			}
		}
	}
	return 0;
}

static int learn_values(struct learning *g, const struct merge_node *n)
{
	const struct runs_leaf *leaf = &g->r->leaf[n->origin];
	struct learnt_value *v = g->l->value[n->origin];
	uint32_t k = learning_points(g, n);

	if (learn_line(g, leaf, v, k) < 0)
		return err_set(g->err, "too many rules hold: trace runs on other numbers of ranks");
	for (uint32_t i = 0; i < leaf->n_value; i++) {
		struct rule others[RULE_OTHERS];
		uint32_t n_others;
		bool varies = false;
		int found;

		if (v[i].kind == VALUE_RULE)
			continue;
		for (uint32_t j = 0; j < k; j++) {
			const struct runs_seen *s = &leaf->seen[g->point[j]];

			g->y[j] = s->value ? s->value[i] : CALL_MISSING;
			varies |= s->varies >> i & 1;
		}
		v[i].kind = varies ? VALUE_VARIES : VALUE_UNKNOWN;
		if (varies && learn_steps(g, leaf, i, k, &v[i]) < 0)
			return err_set(g->err, "no memory for rules");
		if (varies || learn_extent(g, leaf->value_name[i], k, &v[i]))
			continue;
		found = rule_fit(&g->table, g->point, k, g->y, &v[i].rule, others, &n_others);
		if (found < 0)
			return err_set(g->err, "no memory for rules");
		if (found && learnt_doubt_rules(g, leaf->name, leaf->value_name[i], &v[i].rule, others, n_others) == 0)
			v[i].kind = VALUE_RULE;
	}
	return 0;
}

static int learn_node(struct learning *g, const struct merge_node *n, const struct merge_node *parent);

static int learn_body(struct learning *g, const struct merge_node *n)
{
	if (n->kind == SKEL_LOOP) {
		if (g->depth < RUNS_DEPTH)
			g->path[g->depth] = n;
		g->depth++;
	}
	for (uint32_t i = 0; i < n->n_child; i++)
		if (learn_node(g, n->child[i], n) < 0)
			return -1;
	g->depth -= n->kind == SKEL_LOOP;
	return learn_order(g, n);
}

static int learn_node(struct learning *g, const struct merge_node *n, const struct merge_node *parent)
{
	struct learnt_node *out = n->kind == SKEL_LEAF ? &g->l->leaf[n->origin] : &g->l->loop[n->origin];
	const struct rule_guard where = g->where;
	int joint = 0, rc;

	if (learn_due(g, n, parent, out) < 0)
		return err_set(g->err, "no memory for rules");
	if (n->kind == SKEL_LOOP && learn_count(g, n, parent, out) < 0)
		return -1;
	if (n->kind == SKEL_LEAF) {
		uint32_t n_value = g->r->leaf[n->origin].n_value;
		struct learnt_value *v = arena_alloc(g->l->arena, n_value, sizeof(*v));

		if (!v)
			return err_set(g->err, "no memory for rules");
		for (uint32_t i = 0; i < n_value; i++)
			v[i].kind = VALUE_UNKNOWN;
		g->l->value[n->origin] = v;
		joint = learn_peer(g, n, parent, out, v);
	}
	if (out->when == WHEN_ALWAYS && !joint && learn_guard(g, n, parent, out) < 0)
		return -1;
	if (out->when == WHEN_GUARD)
		g->where = out->guard;
	if (n->kind == SKEL_LOOP)
		doubt_count(g, n, out);
	if (n->kind == SKEL_LOOP && !out->count_known && out->when != WHEN_COUNTED)
		learn_about(g, n, out);
	g->l->n_unknown += out->when == WHEN_UNKNOWN || (n->kind == SKEL_LOOP && !out->count_known);
	rc = n->kind == SKEL_LEAF ? learn_values(g, n) : learn_body(g, n);
	g->where = where;
	return rc;
}

static int learning_open(struct learning *g, uint32_t dims)
{
	struct learnt *l = g->l;
	struct runs *r = g->r;
	const char *name[FEATURE_VARS_MAX];

	for (uint32_t v = 0; v < r->n_vars; v++)
		name[v] = r->var_name[v];
	l->arena = arena_create();
	l->feature = feature_list(name, r->n_vars, &l->n_features);
	if (!l->arena || !l->feature)
		return -1;
	keep_dims(l, dims);
	l->leaf = arena_alloc(l->arena, r->n_leaf, sizeof(*l->leaf));
	l->loop = arena_alloc(l->arena, r->n_loop, sizeof(*l->loop));
	l->value = arena_alloc(l->arena, r->n_leaf, sizeof(struct learnt_value *));
	l->doubt = arena_alloc(l->arena, LEARNT_DOUBTS_MAX, sizeof(*l->doubt));
	g->point = malloc((r->n_points + 1u) * sizeof(*g->point));
	g->y = malloc((r->n_points + 1u) * sizeof(*g->y));
	g->yes = malloc((r->n_points + 1u) * sizeof(*g->yes));
	if (!l->leaf || !l->loop || !l->value || !l->doubt || !g->point || !g->y || !g->yes || fill_columns(l) < 0)
		return -1;
	g->table = (struct rule_table){.n_points = r->n_points, .n_features = l->n_features, .feature = l->feature, .col = l->col};
	return fill_probes(g);
}

static int learn_shape(struct runs *r, uint32_t without, uint32_t dims, struct learnt *out, struct errbuf *err)
{
	struct learning g = {.l = out, .r = r, .without = without, .err = err};
	int rc = -1;

	*out = (struct learnt){.runs = r};
	if (learning_open(&g, dims) < 0) {
		err_set(err, "no memory for rules");
		goto out;
	}
	g.where.f = RULE_NONE;
	rc = learn_body(&g, r->merge.root);
out:
	free(g.point);
	free(g.y);
	free(g.yes);
	if (rc < 0)
		learnt_free(out);
	return rc;
}

static uint32_t n_unknown_values(const struct learnt *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->runs->n_leaf; i++)
		for (uint32_t v = 0; v < l->runs->leaf[i].n_value; v++)
			n += !learnt_value_known(&l->value[i][v]);
	return n;
}

/* How much a shape leaves open: less is better. Doubts count where a shape has other loops. */
struct open {
	uint32_t nodes, values, doubts;
	uint32_t about; /* nodes: loops whose trip counts a line tells */
	uint32_t calls; /* of the shape */
};

static struct open open_of(const struct learnt *l)
{
	struct open o = {.nodes = l->n_unknown, .values = n_unknown_values(l), .calls = l->runs->n_leaf};

	for (uint32_t i = 0; i < l->n_doubts; i++)
		o.doubts += !learnt_doubt_simpler(&l->doubt[i], l->feature);
	for (uint32_t i = 0; i < l->runs->n_loop; i++)
		o.about += l->loop[i].about;
	return o;
}

static bool less_open(const struct open *a, const struct open *b, bool doubts)
{
	if (a->nodes != b->nodes)
		return a->nodes < b->nodes;
	if (a->values != b->values)
		return a->values < b->values;
	return doubts && a->doubts < b->doubts;
}

static int learn_reshaped(struct runs *r, struct runs_shape shape, uint32_t dims, struct learnt *out, struct errbuf *err)
{
	int rc = runs_reshape(r, shape, err);

	return rc == 1 && learn_shape(r, UINT32_MAX, dims, out, err) < 0 ? -1 : rc;
}

/* Uneven loops are kept only if lines tell all that they leave open. If an exact shape leaves as much open, its rules
 * for parts of such a loop hold by chance. */
static bool is_better(const struct open *a, const struct open *b, struct runs_shape shape)
{
	if (!shape.uneven)
		return less_open(a, b, shape.counted != COUNTED_NOT);
	return a->nodes == a->about &&
	       (less_open(a, b, false) || (a->nodes == b->nodes && a->values == b->values && a->calls < b->calls));
}

/* Other shapes, if this one leaves something open. The one that leaves least is kept. */
static int try_shapes(struct runs *r, uint32_t dims, struct learnt *out, struct errbuf *err)
{
	static const struct runs_shape shape[] = {{true, COUNTED_NOT, false}, {false, COUNTED_BEHIND, false},
						  {false, COUNTED_BEFORE, false}, {true, COUNTED_BEHIND, false},
						  {true, COUNTED_BEFORE, false}, {false, COUNTED_NOT, true},
						  {true, COUNTED_NOT, true}};
	struct runs_shape best = r->shape, now = best;
	struct open least = open_of(out);

	r->chosen = true;
	for (size_t i = 0; i < sizeof(shape) / sizeof(*shape); i++) {
		bool counted = shape[i].counted != COUNTED_NOT, uneven = shape[i].uneven;
		struct open here;
		int rc;

		if (!least.nodes && (uneven || (!least.values && !(counted && least.doubts))))
			continue;
		learnt_free(out);
		now = shape[i];
		rc = learn_reshaped(r, now, dims, out, err);
		if (rc < 0 && !counted && !uneven)
			return -1;
		if (rc == 1)
			here = open_of(out);
		if (rc != 1 || !is_better(&here, &least, shape[i]))
			continue;
		least = here;
		best = now;
	}
	if (now.by_tag == best.by_tag && now.counted == best.counted && now.uneven == best.uneven)
		return 0;
	learnt_free(out);
	return learn_reshaped(r, best, dims, out, err) == 1 ? 0 : -1;
}

int learn_runs(struct runs *r, uint32_t without, uint32_t dims, struct learnt *out, struct errbuf *err)
{
	if (learn_shape(r, without, dims, out, err) < 0)
		return -1;
	return without == UINT32_MAX && !r->chosen ? try_shapes(r, dims, out, err) : 0;
}

void learnt_free(struct learnt *l)
{
	free(l->feature);
	arena_destroy(l->arena);
	*l = (struct learnt){0};
}

/* ---- a run that was left out ---- */

/* Do the iterations of the loop around pass the node as its rules say? `passed`: some did. */
static bool check_due(const struct learnt *l, const struct merge_node *n, uint32_t point, uint64_t count, bool passed,
		      const int64_t *value)
{
	bool leaf = n->kind == SKEL_LEAF;
	const struct learnt_value *due = leaf ? &l->leaf[n->origin].due : &l->loop[n->origin].due;
	const struct runs_due *seen = &(leaf ? l->runs->leaf_due : l->runs->loop_due)[n->origin][point];
	int64_t first = rule_value(&due->rule, value);
	int64_t period = due->step == STEP_ONCE ? INT64_MAX : rule_value(&due->second, value);

	if (first < 0 || period < 1)
		return false;
	if (!passed)
		return (uint64_t)first >= count;
	if (seen->first != (uint64_t)first)
		return false;
	return seen->period ? seen->period == (uint64_t)period : (uint64_t)period >= count - seen->first;
}

static int check_node(const struct learnt *l, const struct merge_node *n, uint32_t point, uint64_t count,
		      const int64_t *value)
{
	const struct learnt_node *k = n->kind == SKEL_LEAF ? &l->leaf[n->origin] : &l->loop[n->origin];
	uint32_t group = l->runs->point[point].group;
	bool here = merge_has_group(n, group), said = k->when != WHEN_GUARD || rule_guard_holds(&k->guard, value);
	int rc;

	if (k->when == WHEN_UNKNOWN || (n->kind == SKEL_LOOP && !k->count_known))
		return -1;
	if (k->when == WHEN_COUNTED)
		said = rule_value(&k->count, value) > 0;
	if (k->due.loop && said && !check_due(l, n, point, count, here, value))
		return 0;
	if (said != here && (here || !k->due.loop))
		return 0;
	if (!here || n->kind == SKEL_LEAF)
		return 1;
	if (rule_value(&k->count, value) != (int64_t)runs_count(n, group))
		return 0;
	for (uint32_t i = 0; i < n->n_child; i++)
		if ((rc = check_node(l, n->child[i], point, runs_count(n, group), value)) != 1)
			return rc;
	return 1;
}

int learnt_check_run(const struct learnt *l, uint32_t run)
{
	const struct runs_run *r = &l->runs->run[run];
	const struct merge_node *root = l->runs->merge.root;
	int64_t *value = malloc((l->n_features + 1u) * sizeof(*value));
	int rc = value ? 1 : -1;

	for (uint32_t k = 0; rc == 1 && k < r->n_ranks; k++) {
		for (uint32_t f = 0; f < l->n_features; f++)
			value[f] = l->col[f][r->first_point + k];
		for (uint32_t i = 0; rc == 1 && i < l->n_doubts; i++)
			if (!learnt_doubt_agrees(&l->doubt[i], value) && !learnt_doubt_simpler(&l->doubt[i], l->feature))
				rc = -1;
		for (uint32_t i = 0; rc == 1 && i < root->n_child; i++)
			rc = check_node(l, root->child[i], r->first_point + k, 1, value);
	}
	free(value);
	return rc;
}
