/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Count vectors and shape trees: describing, measuring, walking, proving. The folding itself is in
 * shape_fold.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "skelgen/contract/shape.h"

/* Smallest p <= n/2 with value[k] == value[k+p] throughout, else n. */
static int smallest_period(const uint32_t *value, uint64_t n, uint64_t *period, struct errbuf *err)
{
	uint32_t *fail = malloc((n + 1) * sizeof(*fail)), border = 0;

	if (!fail)
		return err_set(err, "shape: out of memory for %" PRIu64 " loop counts", n);
	fail[0] = 0;
	for (uint64_t k = 1; k < n; k++) {
		while (border && value[k] != value[border])
			border = fail[border - 1];
		border += value[k] == value[border];
		fail[k] = border;
	}
	*period = n - border <= n / 2 ? n - border : n;
	free(fail);
	return 0;
}

/* Cut value[0..n) into affine runs; with segment == NULL only count them. */
static uint64_t cut_segments(const uint32_t *value, uint64_t n, struct count_segment *segment)
{
	uint64_t count = 0, next;

	for (uint64_t k = 0; k < n; k = next, count++) {
		int64_t step = k + 1 < n ? (int64_t)value[k + 1] - value[k] : 0;

		/* Two values lie on any line: a step needs a third, unless they are the last. */
		if (step && k + 2 < n && (int64_t)value[k + 2] - value[k + 1] != step)
			step = 0;
		for (next = k + 1; next < n && (int64_t)value[next] - value[next - 1] == step; next++)
			;
		if (segment)
			segment[count] = (struct count_segment){k, value[k], step};
	}
	return count;
}

int count_vec_build(const uint32_t *value, uint64_t n, struct count_vec *out, struct errbuf *err)
{
	uint64_t n_segment;

	*out = (struct count_vec){.n = n, .period = n};
	if (n == 0 || n > UINT32_MAX)
		return err_set(err, "shape: a loop with %" PRIu64 " executions", n);
	if (smallest_period(value, n, &out->period, err))
		return -1;
	n_segment = cut_segments(value, out->period, NULL);
	if (n_segment > 1 && 3 * n_segment > out->period) {
		out->raw = malloc(out->period * sizeof(*out->raw));
		if (!out->raw)
			return err_set(err, "shape: out of memory for %" PRIu64 " loop counts", n);
		memcpy(out->raw, value, out->period * sizeof(*out->raw));
		return 0;
	}
	out->segment = malloc(n_segment * sizeof(*out->segment));
	if (!out->segment)
		return err_set(err, "shape: out of memory for %" PRIu64 " loop counts", n);
	out->n_segment = (uint32_t)cut_segments(value, out->period, out->segment);
	return 0;
}

uint64_t count_vec_at(const struct count_vec *v, uint64_t k)
{
	uint32_t lo = 0, hi = v->n_segment;

	k %= v->period;
	if (!v->n_segment)
		return v->raw[k];
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (v->segment[mid].start <= k)
			lo = mid;
		else
			hi = mid;
	}
	/* Unsigned arithmetic wraps as wanted for negative steps. */
	return v->segment[lo].value + (uint64_t)v->segment[lo].step * (k - v->segment[lo].start);
}

enum count_form count_vec_form(const struct count_vec *v)
{
	if (v->n_segment == 1 && (v->segment[0].step == 0 || v->period == 1))
		return COUNT_CONSTANT;
	if (v->period < v->n)
		return COUNT_PERIODIC;
	if (v->n_segment == 0)
		return COUNT_RAW;
	return v->n_segment == 1 ? COUNT_AFFINE : COUNT_RUNS;
}

uint64_t count_vec_cost(const struct count_vec *v)
{
	if (count_vec_form(v) == COUNT_CONSTANT)
		return 0;
	return v->n_segment ? 3 * (uint64_t)v->n_segment - 1 : v->period;
}

void count_vec_free(struct count_vec *v)
{
	if (!v)
		return;
	free(v->segment);
	free(v->raw);
	*v = (struct count_vec){0};
}

void shape_tree_free(struct shape_tree *tree)
{
	if (!tree)
		return;
	for (uint32_t i = 0; i < tree->n_vec; i++)
		count_vec_free(&tree->vec[i]);
	free(tree->vec);
	free(tree->node);
	free(tree->child);
	*tree = (struct shape_tree){0};
}

uint64_t shape_tree_length(const struct shape_tree *tree)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < tree->n_node; i++)
		length += tree->node[i].kind == CONTRACT_LEAF;
	return length;
}

uint64_t shape_tree_cost(const struct shape_tree *tree)
{
	uint64_t cost = shape_tree_length(tree);

	for (uint32_t i = 0; i < tree->n_vec; i++)
		cost += count_vec_cost(&tree->vec[i]);
	return cost;
}

int shape_expand_begin(struct shape_iter *it, const struct shape_tree *tree, struct errbuf *err)
{
	it->tree = tree;
	it->depth = 1;
	it->frame[0] = (struct shape_frame){.first = tree->top_first, .n = tree->n_top};
	it->executed = calloc((size_t)tree->n_vec + 1, sizeof(*it->executed));
	return it->executed ? 0 : err_set(err, "shape: out of memory to expand %u loops", tree->n_vec);
}

/* Enter a loop: take the count of this execution. */
static int iter_enter(struct shape_iter *it, const struct shape_node *node)
{
	const struct count_vec *vec = &it->tree->vec[node->vec];
	uint64_t *executed = &it->executed[node->vec], count;

	if (it->depth > CONTRACT_MAX_DEPTH || node->n_children == 0 || *executed >= vec->n)
		return -1;
	count = count_vec_at(vec, (*executed)++);
	if (count == 0)
		return -1;
	it->frame[it->depth++] =
	    (struct shape_frame){.first = node->first, .n = node->n_children, .left = count - 1};
	return 0;
}

int shape_expand_next(struct shape_iter *it, uint32_t *symbol, uint32_t *leaf_node)
{
	while (it->depth > 0) {
		struct shape_frame *f = &it->frame[it->depth - 1];
		const struct shape_node *node;
		uint32_t index;

		if (f->at == f->n) {
			if (f->left == 0) {
				it->depth--;
			} else {
				f->left--;
				f->at = 0;
			}
			continue;
		}
		index = it->tree->child[f->first + f->at++];
		node = &it->tree->node[index];
		if (node->kind == CONTRACT_LEAF) {
			if (symbol)
				*symbol = node->symbol;
			if (leaf_node)
				*leaf_node = index;
			return 1;
		}
		if (iter_enter(it, node))
			return -1;
	}
	return 0;
}

void shape_expand_end(struct shape_iter *it)
{
	free(it->executed);
	it->executed = NULL;
}

static int vec_check(const struct count_vec *v, struct errbuf *err)
{
	if (v->n == 0 || v->period == 0 || v->period > v->n || (!v->n_segment && !v->raw))
		return err_set(err, "shape tree: a count vector is malformed");
	for (uint32_t i = 0; i < v->n_segment; i++)
		if (v->segment[i].start != 0 ? i == 0 || v->segment[i].start <= v->segment[i - 1].start
					     : i != 0)
			return err_set(err, "shape tree: a count vector is out of order");
	return 0;
}

/* Sequences in range; every member behind its parent and in no other sequence; every vector in range and used
 * once. */
static int claim(const struct shape_tree *tree, uint32_t first, uint32_t n, uint32_t above, uint8_t *claimed,
		 struct errbuf *err)
{
	if (first > tree->n_child || n > tree->n_child - first)
		return err_set(err, "shape tree: a sequence of %u at %u is out of range", n, first);
	for (uint32_t k = first; k < first + n; k++) {
		uint32_t c = tree->child[k];

		if (c >= tree->n_node || c < above || claimed[c])
			return err_set(err,
				       "shape tree: node %u is out of range, shared or before its parent", c);
		claimed[c] = 1;
	}
	return 0;
}

static int check_shape(const struct shape_tree *tree, struct errbuf *err)
{
	uint8_t *claimed = calloc((size_t)tree->n_node + 1, 1), *used = calloc((size_t)tree->n_vec + 1, 1);
	int rc = -1;

	if (!claimed || !used) {
		err_set(err, "shape tree: out of memory");
		goto out;
	}
	if (claim(tree, tree->top_first, tree->n_top, 0, claimed, err))
		goto out;
	for (uint32_t i = 0; i < tree->n_node; i++) {
		const struct shape_node *node = &tree->node[i];

		if (node->kind == CONTRACT_LEAF)
			continue;
		if (node->kind != CONTRACT_LOOP || node->n_children == 0 || node->vec >= tree->n_vec ||
		    used[node->vec]) {
			err_set(err, "shape tree: node %u is malformed", i);
			goto out;
		}
		used[node->vec] = 1;
		if (vec_check(&tree->vec[node->vec], err) ||
		    claim(tree, node->first, node->n_children, i + 1, claimed, err))
			goto out;
	}
	rc = 0;
out:
	free(claimed);
	free(used);
	return rc;
}

int shape_tree_check(const struct shape_tree *tree, const uint32_t *sym, uint64_t n, struct errbuf *err)
{
	struct shape_iter it;
	uint64_t at = 0;
	uint32_t symbol;
	int rc;

	if (check_shape(tree, err) || shape_expand_begin(&it, tree, err))
		return -1;
	while ((rc = shape_expand_next(&it, &symbol, NULL)) == 1 && at < n && sym[at] == symbol)
		at++;
	if (rc == 0 && at == n) {
		for (uint32_t i = 0; i < tree->n_vec; i++)
			if (it.executed[i] != tree->vec[i].n)
				rc = err_set(err,
					     "shape tree: loop %u has %" PRIu64 " counts for %" PRIu64
					     " executions",
					     i, tree->vec[i].n, it.executed[i]);
	} else {
		rc = err_set(err, "shape tree: expansion differs from the stream at event %" PRIu64, at);
	}
	shape_expand_end(&it);
	if (rc == 0 && (tree->n_events != n || tree->hash != XXH3_64bits(sym, n * sizeof(*sym))))
		rc = err_set(err, "shape tree: states another stream than it expands to");
	return rc;
}
