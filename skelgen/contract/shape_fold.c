/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folding from the inside out. Repetitions of the smallest period become one item, "loop over this body", for
 * any count. A single occurrence of the body becomes the same item with count 1. Counts of neighbouring items
 * with the same body are added. Rounds repeat until nothing folds.
 *
 * The trip counts are kept beside the items, by the loop's place in the stream. At the end they are assigned
 * to the nodes of the final tree in execution order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "skelgen/contract/grammar.h"
#include "skelgen/contract/repeats.h"
#include "skelgen/contract/shape.h"
#include "skelgen/contract/shape_build.h"

#define MAX_ROUNDS 256u
#define MAX_TRIES  8u			    /* bodies tried at one place, the newest first */
#define MAX_DEPTH  (CONTRACT_MAX_DEPTH - 4) /* the stream bounds nesting only by a square root */
#define NONE	   UINT32_MAX

struct folder {
	struct grammar g;	      /* a shape is a loop of count 1 over its body */
	uint32_t *item, *event, *occ; /* [n]: symbol, first event, execution if the symbol is a loop */
	uint32_t n;
	struct shape_occ *exec;
	uint32_t n_exec, cap_exec;
	uint32_t *first_body; /* [n_first] newest shape whose body begins with this symbol */
	uint32_t n_first;
	uint32_t *next_body; /* [n_next] by shape, the next older one */
	uint32_t n_next;
	uint32_t *depth; /* [n_depth] loops nested in a shape, itself included */
	uint32_t n_depth;
	struct repeat_list runs;
	uint64_t *taken;  /* bits of the items in marked runs */
	uint32_t *run_at; /* 1 + marked run that starts here */
	bool changed;
};

static int folder_exec(struct folder *f, uint32_t symbol, uint32_t start, uint32_t count, uint32_t *number,
		       struct errbuf *err)
{
	if (ARRAY_ROOM(f->exec, f->cap_exec, f->n_exec + 1) != 0)
		return err_set(err, "shape: out of memory for %u loop executions", f->n_exec);
	*number = f->n_exec;
	f->exec[f->n_exec++] = (struct shape_occ){symbol, start, count};
	return 0;
}

/* Grow an array of per-symbol entries to hold index, filling with NONE. */
static int table_reserve(uint32_t **table, uint32_t *n, uint32_t index, struct errbuf *err)
{
	uint32_t before = *n;

	if (ARRAY_ROOM(*table, *n, index + 1) != 0)
		return err_set(err, "shape: out of memory for %u loops", index + 1);
	memset(*table + before, 0xff, (size_t)(*n - before) * sizeof(**table));
	return 0;
}

static const uint32_t *shape_body(const struct folder *f, uint32_t symbol, uint32_t *length)
{
	return grammar_raw(&f->g, f->g.loop[symbol - f->g.n_leaf].body, length);
}

static uint32_t body_depth(const struct folder *f, const uint32_t *body, uint32_t length)
{
	uint32_t deepest = 0;

	for (uint32_t k = 0; k < length; k++) {
		uint32_t depth = body[k] < f->g.n_leaf ? 0 : f->depth[body[k] - f->g.n_leaf];

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* The symbol of the loop over these items; a new one is listed by the first symbol of its body. */
static int folder_shape(struct folder *f, const uint32_t *body, uint32_t length, uint32_t *symbol,
			struct errbuf *err)
{
	uint32_t fresh = GRAMMAR_NONE, shape;

	if (grammar_loop(&f->g, body, length, 1, symbol, &fresh, err))
		return -1;
	if (fresh == GRAMMAR_NONE)
		return 0;
	shape = *symbol - f->g.n_leaf;
	if (table_reserve(&f->first_body, &f->n_first, body[0], err) ||
	    table_reserve(&f->next_body, &f->n_next, shape, err) ||
	    table_reserve(&f->depth, &f->n_depth, shape, err))
		return -1;
	f->depth[shape] = 1 + body_depth(f, body, length);
	f->next_body[shape] = f->first_body[body[0]];
	f->first_body[body[0]] = *symbol;
	f->changed = true;
	return 0;
}

/* The longest known body at item i, or NONE; none may reach into a marked run or beyond end. */
static uint32_t folder_known(const struct folder *f, uint32_t i, uint32_t end, uint32_t *length)
{
	uint32_t symbol = f->item[i] < f->n_first ? f->first_body[f->item[i]] : NONE, best = NONE;

	*length = 0;
	for (uint32_t tries = 0; symbol != NONE && tries < MAX_TRIES; tries++) {
		uint32_t n;
		const uint32_t *body = shape_body(f, symbol, &n);

		if (n > *length && n <= end - i && symbols_match(body, f->item + i, n) == n) {
			*length = n;
			best = symbol;
		}
		symbol = f->next_body[symbol - f->g.n_leaf];
	}
	return best;
}

/* ---- one round ---- */

static int by_period(const void *a, const void *b)
{
	const struct repeat *x = a, *y = b;

	if (x->period != y->period)
		return x->period < y->period ? -1 : 1;
	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static bool range_taken(const uint64_t *bits, uint32_t first, uint32_t last)
{
	uint32_t a = first >> 6, b = last >> 6;
	uint64_t head = UINT64_MAX << (first & 63), tail = UINT64_MAX >> (63 - (last & 63));

	if (a == b)
		return bits[a] & head & tail;
	if ((bits[a] & head) || (bits[b] & tail))
		return true;
	for (uint32_t k = a + 1; k < b; k++)
		if (bits[k])
			return true;
	return false;
}

static int folder_mark(struct folder *f, struct errbuf *err)
{
	f->taken = calloc((size_t)f->n / 64 + 1, sizeof(*f->taken));
	f->run_at = calloc((size_t)f->n + 1, sizeof(*f->run_at));
	if (!f->taken || !f->run_at)
		return err_set(err, "shape: out of memory for %u items", f->n);
	if (repeats_find(f->item, f->n, REPEATS_DEFAULT, &f->runs, err))
		return -1;
	if (f->runs.n)
		qsort(f->runs.item, f->runs.n, sizeof(*f->runs.item), by_period);
	for (uint32_t i = 0; i < f->runs.n; i++) {
		const struct repeat *r = &f->runs.item[i];
		uint32_t last = r->start + r->length - 1;

		if (range_taken(f->taken, r->start, last) || !repeat_holds(f->item, r) ||
		    body_depth(f, f->item + r->start, r->period) >= MAX_DEPTH)
			continue;
		for (uint32_t k = r->start; k <= last; k++)
			f->taken[k >> 6] |= UINT64_C(1) << (k & 63);
		f->run_at[r->start] = i + 1;
	}
	return 0;
}

/* Where in the first iteration the loop begins: so that its body is a known one, if what is left over allows
 * it. */
static uint32_t run_offset(const struct folder *f, const struct repeat *r)
{
	uint32_t spare = r->length % r->period;

	for (uint32_t k = 0; k <= spare; k++) {
		uint32_t symbol =
		    f->item[r->start + k] < f->n_first ? f->first_body[f->item[r->start + k]] : NONE;

		for (uint32_t tries = 0; symbol != NONE && tries < MAX_TRIES; tries++) {
			uint32_t n;
			const uint32_t *body = shape_body(f, symbol, &n);

			if (n == r->period && symbols_match(body, f->item + r->start + k, n) == n)
				return k;
			symbol = f->next_body[symbol - f->g.n_leaf];
		}
	}
	return 0;
}

static void folder_put(struct folder *f, uint32_t *to, uint32_t from)
{
	f->item[*to] = f->item[from];
	f->event[*to] = f->event[from];
	f->occ[*to] = f->occ[from];
	(*to)++;
}

/* One item for count iterations of the body at item i. */
static int folder_put_loop(struct folder *f, uint32_t *to, uint32_t i, uint32_t length, uint32_t count,
			   struct errbuf *err)
{
	uint32_t symbol, number = NONE, event = f->event[i];

	if (length == 1 && f->item[i] >= f->g.n_leaf) { /* loops over one body, side by side */
		symbol = f->item[i];
		number = f->occ[i];
		for (uint32_t k = 1; k < count; k++) {
			f->exec[number].count += f->exec[f->occ[i + k]].count;
			f->exec[f->occ[i + k]].count = 0;
		}
	} else if (folder_shape(f, f->item + i, length, &symbol, err) ||
		   folder_exec(f, symbol, event, count, &number, err)) {
		return -1;
	}
	f->item[*to] = symbol;
	f->event[*to] = event;
	f->occ[*to] = number;
	(*to)++;
	return 0;
}

static int folder_put_run(struct folder *f, uint32_t *to, const struct repeat *r, struct errbuf *err)
{
	uint32_t offset = run_offset(f, r), count = r->length / r->period, i = r->start,
		 end = r->start + r->length;

	for (uint32_t k = 0; k < offset; k++)
		folder_put(f, to, i++);
	if (folder_put_loop(f, to, i, r->period, count, err))
		return -1;
	for (i += count * r->period; i < end;)
		folder_put(f, to, i++);
	return 0;
}

static int folder_rewrite(struct folder *f, struct errbuf *err)
{
	uint32_t to = 0, free_end = 0;

	for (uint32_t i = 0; i < f->n;) {
		uint32_t length, known;

		if (f->run_at[i]) {
			const struct repeat *r = &f->runs.item[f->run_at[i] - 1];

			if (folder_put_run(f, &to, r, err))
				return -1;
			i += r->length;
			f->changed = true;
			continue;
		}
		for (free_end = free_end > i ? free_end : i; free_end < f->n && !f->run_at[free_end];)
			free_end++;
		known = folder_known(f, i, free_end, &length);
		if (known == NONE) {
			folder_put(f, &to, i++);
			continue;
		}
		if (folder_put_loop(f, &to, i, length, 1, err))
			return -1;
		i += length;
		f->changed = true;
	}
	f->n = to;
	return 0;
}

static int folder_round(struct folder *f, struct errbuf *err)
{
	int rc;

	f->changed = false;
	rc = folder_mark(f, err) || folder_rewrite(f, err) ? -1 : 0;
	free(f->taken);
	free(f->run_at);
	f->taken = NULL;
	f->run_at = NULL;
	repeat_list_free(&f->runs);
	return rc;
}

static void folder_destroy(struct folder *f)
{
	grammar_destroy(&f->g);
	free(f->item);
	free(f->event);
	free(f->occ);
	free(f->exec);
	free(f->first_body);
	free(f->next_body);
	free(f->depth);
}

static int folder_create(struct folder *f, const uint32_t *sym, uint32_t n, struct errbuf *err)
{
	*f = (struct folder){.n = n};
	f->item = malloc(((size_t)n + 1) * sizeof(*f->item));
	f->event = malloc(((size_t)n + 1) * sizeof(*f->event));
	f->occ = malloc(((size_t)n + 1) * sizeof(*f->occ));
	if (!f->item || !f->event || !f->occ)
		return err_set(err, "shape: out of memory for %u events", n);
	if (grammar_create(&f->g, sym, n, f->item, err))
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		f->event[i] = i;
		f->occ[i] = NONE;
	}
	return 0;
}

/* The folded tree of the stream, or an empty one when it is sure to cost more than `limit`. */
static int fold_inside_out(const uint32_t *sym, uint32_t n, uint64_t limit, struct shape_tree *out,
			   struct errbuf *err)
{
	struct folder f;
	int rc = -1;

	if (folder_create(&f, sym, n, err))
		goto out;
	for (uint32_t round = 0; round < MAX_ROUNDS && f.n > 1; round++) {
		if (folder_round(&f, err))
			goto out;
		if (!f.changed)
			break;
	}
	/* Every item has a leaf. */
	rc = f.n < limit ? shape_build(&f.g, f.item, f.n, f.exec, f.n_exec, out, err) : 0;
out:
	folder_destroy(&f);
	return rc;
}

int shape_fold(const uint32_t *sym, uint64_t n, const struct contract_tree *exact, struct shape_tree *out,
	       struct errbuf *err)
{
	struct contract_tree own = {0};
	struct shape_tree folded = {0};
	int rc = -1;

	*out = (struct shape_tree){0};
	if (!exact) {
		if (contract_symbols(sym, n, NULL, &own, err))
			return -1;
		exact = &own;
	}
	if (n != exact->n_events) {
		err_set(err, "shape: the contraction is of %" PRIu64 " events, the stream has %" PRIu64,
			exact->n_events, n);
		goto out;
	}
	if (shape_from_exact(exact, out, err))
		goto out;
	if (contract_tree_length(exact) > 2) {
		if (fold_inside_out(sym, (uint32_t)n, shape_tree_cost(out), &folded, err))
			goto out;
		folded.n_events = n;
		folded.hash = exact->hash;
		if (folded.n_top && shape_tree_cost(&folded) < shape_tree_cost(out)) {
			struct shape_tree t = *out;

			*out = folded;
			folded = t;
		}
	}
	rc = shape_tree_check(out, sym, n, err);
out:
	contract_tree_free(&own);
	shape_tree_free(&folded);
	if (rc)
		shape_tree_free(out);
	return rc;
}
