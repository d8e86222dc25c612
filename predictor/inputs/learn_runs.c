/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of the merged tree: see learn_runs.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/inputs/learn_runs.h"

#define SAMPLE_RANKS 36 /* that rules are compared on */

struct learning {
	struct learnt *l;
	struct runs *r;
	uint32_t without;
	struct rule_table table;
	uint32_t *point; /* scratch */
	int64_t *y;
	bool *yes;
	struct errbuf *err;
};

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
											    run->n_ranks});
		}
	}
	return l->col ? 0 : -1;
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

/* Features of grids of other dimensions than the program's go. Rows of ranks are always there. */
static void keep_dims(struct learnt *l, uint32_t dims)
{
	uint32_t k = 0, bits = dims ? 1u << dims : dims_made(l->runs);

	bits |= bits && !dims ? 1u << 1 : 0;
	for (uint32_t i = 0; i < l->n_features; i++)
		if (!bits || !l->feature[i].d || bits >> l->feature[i].d & 1)
			l->feature[k++] = l->feature[i];
	l->n_features = k;
}

/* ---- doubts ---- */

static bool same_doubt(const struct learnt_doubt *a, const struct learnt_doubt *b)
{
	for (int k = 0; k < 2; k++) {
		const struct rule *x = &a->rule[k], *y = &b->rule[k];

		if (a->guard[k].f != b->guard[k].f || a->guard[k].lo != b->guard[k].lo || a->guard[k].hi != b->guard[k].hi ||
		    x->n != y->n || x->den != y->den || memcmp(x->num, y->num, sizeof(x->num)) ||
		    memcmp(x->f, y->f, sizeof(x->f)) || memcmp(x->g, y->g, sizeof(x->g)))
			return false;
	}
	return a->is_guard == b->is_guard;
}

/* Do both sides say the same wherever they are asked? On up to SAMPLE_RANKS ranks, with variables moved a little. */
static bool never_differs(const struct learnt *l, const struct learnt_doubt *d)
{
	int64_t *value = malloc((l->n_features + 1u) * sizeof(*value));
	bool same = value != NULL;

	for (uint32_t ranks = 1; same && ranks <= SAMPLE_RANKS; ranks++) {
		double var[FEATURE_VARS_MAX];

		for (uint32_t v = 0; v < l->runs->n_vars; v++)
			var[v] = l->runs->run[0].var[v] + (double)(ranks * (v + 7) % 31);
		for (uint32_t rank = 0; same && rank < ranks; rank++) {
			for (int k = 0; k < 2; k++) {
				const struct rule *r = &d->rule[k];
				uint32_t f[5] = {r->f[0], r->f[1], r->g[0], r->g[1], d->guard[k].f};

				for (int i = 0; i < 5; i++)
					if (f[i] < l->n_features)
						value[f[i]] = feature_value(&l->feature[f[i]],
									    &(struct feature_place){var, rank, ranks});
			}
			same = learnt_doubt_agrees(d, value);
		}
	}
	free(value);
	return same;
}

static int add_doubt(struct learnt *l, const struct learnt_doubt *d)
{
	if (never_differs(l, d))
		return 0;
	for (uint32_t i = 0; i < l->n_doubts; i++)
		if (same_doubt(&l->doubt[i], d))
			return 0;
	if (l->n_doubts == LEARNT_DOUBTS_MAX)
		return -1;
	l->doubt[l->n_doubts++] = *d;
	return 0;
}

static int doubt_rules(struct learnt *l, const char *what, const char *part, const struct rule *rule, const struct rule *other,
		       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct learnt_doubt d = {.rule = {*rule, other[i]}};

		snprintf(d.what, sizeof(d.what), "%.120s: %.28s", what, part);
		if (add_doubt(l, &d) < 0)
			return -1;
	}
	return 0;
}

static int doubt_guards(struct learnt *l, const char *what, const struct rule_guard *guard, const struct rule_guard *other,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct learnt_doubt d = {.is_guard = true, .guard = {*guard, other[i]}};

		snprintf(d.what, sizeof(d.what), "%.120s: whether", what);
		if (add_doubt(l, &d) < 0)
			return -1;
	}
	return 0;
}

bool learnt_doubt_agrees(const struct learnt_doubt *d, const int64_t *value)
{
	if (d->is_guard)
		return rule_guard_holds(&d->guard[0], value) == rule_guard_holds(&d->guard[1], value);
	return rule_value(&d->rule[0], value) == rule_value(&d->rule[1], value);
}

/* ---- nodes ---- */

/* Points of the runs that are learnt from which pass the node. */
static uint32_t points_of(struct learning *g, const struct merge_node *n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < g->r->n_points; i++)
		if (g->r->point[i].run != g->without && merge_has_group(n, g->r->point[i].group))
			g->point[k++] = i;
	return k;
}

static const char *node_name(const struct learning *g, const struct merge_node *n)
{
	const struct merge_node *first = n;

	while (first->kind != SKEL_LEAF && first->n_child)
		first = first->child[0];
	return g->r->leaf[first->origin].name;
}

/* A count that is 0 where the loop is not passed says both. */
static int learn_count(struct learning *g, const struct merge_node *n, const struct merge_node *parent,
		       struct learnt_node *out)
{
	struct rule others[RULE_OTHERS];
	uint32_t n_others, k;
	int found = 0;
	char what[200];

	for (int with_zero = 1; with_zero >= 0 && !found; with_zero--) {
		k = points_of(g, with_zero ? parent : n);
		for (uint32_t i = 0; i < k; i++) {
			uint32_t group = g->r->point[g->point[i]].group;

			g->y[i] = merge_has_group(n, group) ? (int64_t)runs_count(n, group) : 0;
		}
		found = rule_fit(&g->table, g->point, k, g->y, &out->count, others, &n_others);
		if (found < 0)
			return err_set(g->err, "no memory for rules");
		if (found && with_zero)
			out->when = WHEN_COUNTED;
	}
	snprintf(what, sizeof(what), "loop at %.180s", node_name(g, n));
	out->count_known = found && doubt_rules(g->l, what, "iterations", &out->count, others, n_others) == 0;
	return 0;
}

static int learn_guard(struct learning *g, const struct merge_node *n, const struct merge_node *parent,
		       struct learnt_node *out)
{
	struct rule_guard others[RULE_OTHERS];
	uint32_t k = points_of(g, parent), n_others;
	int found;

	for (uint32_t i = 0; i < k; i++)
		g->yes[i] = merge_has_group(n, g->r->point[g->point[i]].group);
	found = rule_fit_guard(&g->table, g->point, k, g->yes, &out->guard, others, &n_others);
	out->when = !found ? WHEN_UNKNOWN : out->guard.f == RULE_NONE ? WHEN_ALWAYS : WHEN_GUARD;
	if (found && doubt_guards(g->l, node_name(g, n), &out->guard, others, n_others) < 0)
		out->when = WHEN_UNKNOWN;
	return 0;
}

static struct rule same_as(uint32_t f)
{
	return (struct rule){.n = 1, .num = {0, 1}, .den = 1, .f = {f}, .g = {RULE_NONE}};
}

static bool is_neighbour(const struct feature *f)
{
	return f->op == FEATURE_PREV || f->op == FEATURE_NEXT || f->op == FEATURE_LPREV || f->op == FEATURE_LNEXT;
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
	uint32_t k = points_of(g, parent), n_others = 0;
	bool found = false;

	for (uint32_t v = 0; v < leaf->n_value && !found; v++) {
		const char *name = leaf->value_name[v];

		if (strcmp(name, "dst") && strcmp(name, "src"))
			continue;
		for (uint32_t f = 0; f < g->l->n_features; f++) {
			if (!is_neighbour(&g->l->feature[f]) || !is_peer_rule(g, n, v, f, k))
				continue;
			if (!found) {
				out->guard = (struct rule_guard){f, 0, INT64_MAX};
				value[v] = (struct learnt_value){VALUE_RULE, same_as(f)};
			} else if (n_others < RULE_OTHERS) {
				others[n_others++] = (struct rule_guard){f, 0, INT64_MAX};
			}
			found = true;
		}
	}
	if (found)
		out->when = doubt_guards(g->l, leaf->name, &out->guard, others, n_others) < 0 ? WHEN_UNKNOWN : WHEN_GUARD;
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
		*out = (struct learnt_value){VALUE_RULE, same_as(f)};
		return true;
	}
	return false;
}

/* Does value `v` of the leaf have the feature's value at all points where it has one? */
static bool holds(const struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t f, uint32_t k)
{
	for (uint32_t i = 0; i < k; i++) {
		const struct runs_seen *s = &leaf->seen[g->point[i]];

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

		if (!dot || strcmp(dot, ".size") || (ranks != RULE_NONE && holds(g, leaf, v, ranks, k)))
			continue;
		for (uint32_t d = 2; d <= 3; d++) {
			for (uint32_t i = 0; i < d; i++) {
				uint32_t f[3];
				bool good = true;

				for (uint32_t j = 0; j < 3 && v + j < leaf->n_value; j++) {
					f[j] = grid_feature(g, op[j], d, i);
					good &= f[j] != RULE_NONE;
					if (strstr(leaf->value_name[v + j], part[j]))
						good = good && holds(g, leaf, v + j, f[j], k);
				}
				for (uint32_t j = 0; good && j < 3 && v + j < leaf->n_value; j++) {
					struct rule other = same_as(f[j]);

					if (!strstr(leaf->value_name[v + j], part[j]))
						continue;
					if (value[v + j].kind != VALUE_RULE)
						value[v + j] = (struct learnt_value){VALUE_RULE, other};
					else if (doubt_rules(g->l, leaf->name, leaf->value_name[v + j], &value[v + j].rule,
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
	uint32_t k = points_of(g, n);

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
		if (varies || learn_extent(g, leaf->value_name[i], k, &v[i]))
			continue;
		found = rule_fit(&g->table, g->point, k, g->y, &v[i].rule, others, &n_others);
		if (found < 0)
			return err_set(g->err, "no memory for rules");
		if (found && doubt_rules(g->l, leaf->name, leaf->value_name[i], &v[i].rule, others, n_others) == 0)
			v[i].kind = VALUE_RULE;
	}
	return 0;
}

static int learn_node(struct learning *g, const struct merge_node *n, const struct merge_node *parent)
{
	struct learnt_node *out = n->kind == SKEL_LEAF ? &g->l->leaf[n->origin] : &g->l->loop[n->origin];
	int joint = 0;

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
	if (out->when != WHEN_COUNTED && !joint && learn_guard(g, n, parent, out) < 0)
		return -1;
	g->l->n_unknown += out->when == WHEN_UNKNOWN || (n->kind == SKEL_LOOP && !out->count_known);
	if (n->kind == SKEL_LEAF)
		return learn_values(g, n);
	for (uint32_t i = 0; i < n->n_child; i++)
		if (learn_node(g, n->child[i], n) < 0)
			return -1;
	return 0;
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
	g->table = (struct rule_table){r->n_points, l->n_features, l->feature, l->col};
	return 0;
}

int learn_runs(struct runs *r, uint32_t without, uint32_t dims, struct learnt *out, struct errbuf *err)
{
	struct learning g = {.l = out, .r = r, .without = without, .err = err};
	int rc = -1;

	*out = (struct learnt){.runs = r};
	if (learning_open(&g, dims) < 0) {
		err_set(err, "no memory for rules");
		goto out;
	}
	rc = 0;
	for (uint32_t i = 0; rc == 0 && i < r->merge.root->n_child; i++)
		rc = learn_node(&g, r->merge.root->child[i], r->merge.root);
out:
	free(g.point);
	free(g.y);
	free(g.yes);
	if (rc < 0)
		learnt_free(out);
	return rc;
}

void learnt_free(struct learnt *l)
{
	free(l->feature);
	arena_destroy(l->arena);
	*l = (struct learnt){0};
}

/* ---- a run that was left out ---- */

static int check_node(const struct learnt *l, const struct merge_node *n, uint32_t group, const int64_t *value)
{
	const struct learnt_node *k = n->kind == SKEL_LEAF ? &l->leaf[n->origin] : &l->loop[n->origin];
	bool here = merge_has_group(n, group), said = k->when != WHEN_GUARD || rule_guard_holds(&k->guard, value);
	int rc;

	if (k->when == WHEN_UNKNOWN || (n->kind == SKEL_LOOP && !k->count_known))
		return -1;
	if (k->when == WHEN_COUNTED)
		said = rule_value(&k->count, value) > 0;
	if (said != here)
		return 0;
	if (!here || n->kind == SKEL_LEAF)
		return 1;
	if (rule_value(&k->count, value) != (int64_t)runs_count(n, group))
		return 0;
	for (uint32_t i = 0; i < n->n_child; i++)
		if ((rc = check_node(l, n->child[i], group, value)) != 1)
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
			if (!learnt_doubt_agrees(&l->doubt[i], value))
				rc = -1;
		for (uint32_t i = 0; rc == 1 && i < root->n_child; i++)
			rc = check_node(l, root->child[i], l->runs->point[r->first_point + k].group, value);
	}
	free(value);
	return rc;
}
