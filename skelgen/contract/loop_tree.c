/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on a contracted tree: measure it, walk its expansion, prove it lossless. The proof compares the
 * first iteration of a loop with the text, node by node, and each later iteration with the first. The proof
 * takes n comparisons at memory speed, independent of the nesting.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

#include "skelgen/contract/contract.h"

void contract_tree_free(struct contract_tree *tree)
{
	if (!tree)
		return;
	free(tree->node);
	free(tree->child);
	*tree = (struct contract_tree){0};
}

uint64_t contract_tree_length(const struct contract_tree *tree)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < tree->n_node; i++)
		length += tree->node[i].kind == CONTRACT_LEAF;
	return length;
}

int contract_expand_begin(struct contract_iter *it, const struct contract_tree *tree)
{
	it->tree = tree;
	it->depth = 1;
	it->frame[0] = (struct contract_frame){.first = tree->top_first, .n = tree->n_top};
	return 0;
}

int contract_expand_next(struct contract_iter *it, uint32_t *symbol, uint32_t *leaf_node)
{
	const struct contract_tree *tree = it->tree;

	while (it->depth > 0) {
		struct contract_frame *f = &it->frame[it->depth - 1];
		const struct contract_node *node;
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
		index = tree->child[f->first + f->at++];
		node = &tree->node[index];
		if (node->kind == CONTRACT_LEAF) {
			if (symbol)
				*symbol = node->symbol;
			if (leaf_node)
				*leaf_node = index;
			return 1;
		}
		if (it->depth > CONTRACT_MAX_DEPTH || node->n_children == 0 || node->count == 0)
			return -1;
		it->frame[it->depth++] = (struct contract_frame){
		    .first = node->first, .n = node->n_children, .left = node->count - 1};
	}
	return 0;
}

static bool sequence_in_range(const struct contract_tree *tree, uint32_t first, uint32_t n)
{
	return first <= tree->n_child && n <= tree->n_child - first;
}

/* Every member lies behind its parent and belongs to no other sequence: no cycle, no sharing. */
static int sequence_claim(const struct contract_tree *tree, uint32_t first, uint32_t n, uint32_t above,
			  uint8_t *claimed, struct errbuf *err)
{
	if (!sequence_in_range(tree, first, n))
		return err_set(err, "contracted tree: a sequence of %u at %u is out of range", n, first);
	for (uint32_t k = first; k < first + n; k++) {
		uint32_t c = tree->child[k];

		if (c >= tree->n_node || c < above || claimed[c])
			return err_set(
			    err, "contracted tree: node %u is out of range, shared or before its parent", c);
		claimed[c] = 1;
	}
	return 0;
}

static int tree_check_shape(const struct contract_tree *tree, struct errbuf *err)
{
	uint8_t *claimed = calloc((size_t)tree->n_node + 1, 1);
	int rc = -1;

	if (!claimed)
		return err_set(err, "contracted tree: out of memory");
	if (sequence_claim(tree, tree->top_first, tree->n_top, 0, claimed, err))
		goto out;
	for (uint32_t i = 0; i < tree->n_node; i++) {
		const struct contract_node *node = &tree->node[i];

		if (node->kind == CONTRACT_LEAF)
			continue;
		if (node->kind != CONTRACT_LOOP || node->count < 2 || node->n_children == 0) {
			err_set(err, "contracted tree: node %u is malformed", i);
			goto out;
		}
		if (sequence_claim(tree, node->first, node->n_children, i + 1, claimed, err))
			goto out;
	}
	rc = 0;
out:
	free(claimed);
	return rc;
}

struct proof {
	const struct contract_tree *tree;
	const uint32_t *sym;
	uint64_t n;
	struct errbuf *err;
};

static int proof_differs(const struct proof *p, uint64_t at)
{
	return err_set(p->err, "contracted tree: expansion differs from the stream at event %" PRIu64, at);
}

static bool same_text(const uint32_t *a, const uint32_t *b, uint64_t n)
{
	for (uint64_t i = 0; i < n;) {
		uint32_t step = n - i > UINT32_MAX ? UINT32_MAX : (uint32_t)(n - i);

		if (symbols_match(a + i, b + i, step) != step)
			return false;
		i += step;
	}
	return true;
}

/* The sequence must spell the text from *at on, which is moved behind it. */
static int proof_sequence(const struct proof *p, uint32_t first, uint32_t n_items, uint32_t depth,
			  uint64_t *at)
{
	if (depth > CONTRACT_MAX_DEPTH)
		return err_set(p->err, "contracted tree: loops nest more than %d deep", CONTRACT_MAX_DEPTH);
	for (uint32_t k = 0; k < n_items; k++) {
		const struct contract_node *node = &p->tree->node[p->tree->child[first + k]];
		uint64_t begin = *at, length, rest;

		if (node->kind == CONTRACT_LEAF) {
			if (begin >= p->n || p->sym[begin] != node->symbol)
				return proof_differs(p, begin);
			(*at)++;
			continue;
		}
		if (proof_sequence(p, node->first, node->n_children, depth + 1, at))
			return -1;
		length = *at - begin;
		if (node->count - 1 > (p->n - *at) / length)
			return proof_differs(p, p->n);
		rest = length * (node->count - 1);
		if (!same_text(p->sym + begin, p->sym + *at, rest))
			return proof_differs(p, *at);
		*at += rest;
	}
	return 0;
}

/* Hash of the expansion through a small buffer. */
static int expansion_hash(const struct contract_tree *tree, uint64_t *hash, struct errbuf *err)
{
	XXH3_state_t *state = XXH3_createState();
	struct contract_iter it;
	uint32_t chunk[1024], filled = 0;
	uint64_t n = 0;
	int rc;

	if (!state)
		return err_set(err, "contracted tree: out of memory");
	XXH3_64bits_reset(state);
	contract_expand_begin(&it, tree);
	while ((rc = contract_expand_next(&it, &chunk[filled], NULL)) == 1) {
		if (++n > tree->n_events)
			break;
		if (++filled == sizeof(chunk) / sizeof(*chunk)) {
			XXH3_64bits_update(state, chunk, sizeof(chunk));
			filled = 0;
		}
	}
	XXH3_64bits_update(state, chunk, filled * sizeof(*chunk));
	*hash = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	if (rc < 0)
		return err_set(err, "contracted tree: loops nest more than %d deep", CONTRACT_MAX_DEPTH);
	if (n != tree->n_events)
		return err_set(err, "contracted tree: expands to %s than the %" PRIu64 " events it states",
			       n > tree->n_events ? "more" : "fewer", tree->n_events);
	return 0;
}

int contract_tree_check(const struct contract_tree *tree, const uint32_t *sym, uint64_t n, struct errbuf *err)
{
	struct proof p = {.tree = tree, .sym = sym, .n = n, .err = err};
	uint64_t at = 0, hash;

	if (tree_check_shape(tree, err))
		return -1;
	if (sym) {
		if (proof_sequence(&p, tree->top_first, tree->n_top, 0, &at))
			return -1;
		if (at != n || tree->n_events != n)
			return err_set(err,
				       "contracted tree: expands to %" PRIu64 " events, states %" PRIu64
				       ", the stream has %" PRIu64,
				       at, tree->n_events, n);
		hash = XXH3_64bits(sym, n * sizeof(*sym));
	} else if (expansion_hash(tree, &hash, err)) {
		return -1;
	}
	if (hash != tree->hash)
		return err_set(err,
			       "contracted tree: hash of the expansion is %016" PRIx64 ", stated %016" PRIx64,
			       hash, tree->hash);
	return 0;
}
