/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops whose iterations differ: see irregular_loops.h. A candidate is a node that occurs often. The loops around the
 * candidate are unrolled into tokens, and every occurrence begins a segment of the stream. Each kind of segment is
 * contracted again, so that equal parts have equal trees. Then the kinds are merged. The most promising candidates
 * are built, and their exact cost is computed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "skelgen/merge/call_variants.h"
#include "skelgen/merge/irregular_work.h"

#define OCCURRENCES_MIN 8
#define TOKENS_MAX      (1u << 22)
#define TRIES_MAX       10 /* candidates that are built */
#define BUILT_MAX       (1u << 22) /* events after which no more are built: of streams up to 400,000 events, TRIES_MAX are */
#define LOOKS_MAX       48 /* candidates that are cut into segments */
#define KINDS_AT_FIRST  32 /* most kinds: these and one more for every KINDS_SHARE segments, so that segments repeat */
#define KINDS_SHARE     4
#define ITERATIONS_BONUS 20.0
#define MERGE_WORK_MAX  20e6 /* cells of the alignments of all kinds */
#define SLOTS_FACTOR    4  /* executions left out may make long loops this much longer */
/* Executions, those left out included, up to which the factor does not count. A rank of the skeleton walks the first number
 * in some 10 ms. The search walks those of all ranks: the second number takes about a second. */
#define SLOTS_OF_RANK   (1u << 21)
#define SLOTS_OF_RUN    (1u << 24)

static void cut_free(struct cut *c)
{
	free(c->token);
	free(c->at);
	free(c->start);
	free(c->kind);
	*c = (struct cut){0};
}

/* ---- price ---- */

/* Cost of a tree for this rank; UINT64_MAX when it is above max. -1 without memory. */
static int price(const struct finder *f, const struct contract_tree *t, const struct segment_notes *notes, uint64_t max,
		 uint64_t *cost)
{
	uint64_t nodes = (uint64_t)SEGMENT_NODE_COST * t->n_node, n_run = 0;
	uint32_t n_leaf, *number;
	int rv;

	*cost = UINT64_MAX;
	if (nodes > max)
		return 0;
	number = leaf_numbers(t, &n_leaf);
	if (!number)
		return err_set(f->err, "no memory");
	rv = leaf_runs_collect(f->rank, f->map, t, notes, number, n_leaf, max - nodes, NULL, NULL, &n_run, f->err);
	free(number);
	if (rv == 0)
		*cost = nodes + n_run;
	return rv < 0 ? -1 : 0;
}

/* Executions of all leaves, those left out included; saturates. */
static uint64_t count_slots(const struct contract_tree *t, uint32_t first, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = first; i < first + n; i++) {
		const struct contract_node *c = &t->node[t->child[i]];
		uint64_t inner = c->kind == CONTRACT_LEAF ? 1 : count_slots(t, c->first, c->n_children), all;

		if (__builtin_mul_overflow(inner, c->count, &all) || __builtin_add_overflow(sum, all, &sum))
			return UINT64_MAX;
	}
	return sum;
}

/* ---- candidates ---- */

static uint64_t first_call(const struct finder *f, const struct merge_node *n)
{
	while (n->kind != SKEL_LEAF)
		n = n->child[0];
	return f->map->key[n->symbol];
}

static void list_candidates(struct finder *f, const struct merge_node *n, uint64_t times)
{
	if (n->kind != SKEL_SEQ) {
		f->cand[f->n_cand++] = (struct candidate){.hash = n->hash, .times = times, .begin = first_call(f, n),
							  .weight = n->weight};
		f->size[n->origin] = 1;
		f->events[n->origin] = n->kind == SKEL_LEAF;
	}
	if (is_region(f, n)) { /* stays as it is */
		f->n_cand--;
		times = 0;
	}
	for (uint32_t i = 0; i < n->n_child; i++) {
		uint64_t inner = n->kind == SKEL_LOOP ? times * n->count : times;
		uint32_t before = f->n_cand;

		list_candidates(f, n->child[i], inner);
		if (!times)
			f->n_cand = before;
		if (n->kind != SKEL_SEQ) {
			f->size[n->origin] += f->size[n->child[i]->origin];
			f->events[n->origin] += f->events[n->child[i]->origin] * n->count;
		}
	}
	if (is_region(f, n))
		f->events[n->origin] = f->notes->region[f->notes->note[n->origin].region - 1].n_event;
}

static int compare_hashes(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	return (a->hash > b->hash) - (a->hash < b->hash);
}

static int compare_weights(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	double v = (double)a->times * a->weight, w = (double)b->times * b->weight;

	if (v != w)
		return v > w ? -1 : 1;
	return compare_hashes(x, y);
}

static int compare_times(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->times != b->times)
		return a->times > b->times ? -1 : 1;
	return compare_weights(x, y);
}

static int compare_estimates(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->estimate != b->estimate)
		return a->estimate < b->estimate ? -1 : 1;
	return compare_weights(x, y);
}

/* Sort the candidates: first the nodes with the most events, then the nodes that occur most often. */
static void sort_candidates(struct finder *f)
{
	uint32_t n = 0;

	qsort(f->cand, f->n_cand, sizeof(*f->cand), compare_hashes);
	for (uint32_t i = 0; i < f->n_cand; i++) {
		if (n && f->cand[n - 1].hash == f->cand[i].hash)
			f->cand[n - 1].times += f->cand[i].times;
		else
			f->cand[n++] = f->cand[i];
	}
	f->n_cand = 0;
	for (uint32_t i = 0; i < n; i++)
		if (f->cand[i].times >= OCCURRENCES_MIN)
			f->cand[f->n_cand++] = f->cand[i];
	qsort(f->cand, f->n_cand, sizeof(*f->cand), compare_weights);
	if (f->n_cand > LOOKS_MAX / 2) {
		n = f->n_cand - LOOKS_MAX / 2;
		qsort(f->cand + LOOKS_MAX / 2, n, sizeof(*f->cand), compare_times);
	}
}

/* ---- cutting ---- */

static bool mark_holders(struct finder *f, const struct merge_node *n, uint64_t hash)
{
	bool holds = false;

	if (n->kind != SKEL_SEQ && n->hash == hash)
		return true;
	for (uint32_t i = 0; !is_region(f, n) && i < n->n_child; i++)
		holds |= mark_holders(f, n->child[i], hash);
	if (n->kind != SKEL_SEQ)
		f->holds[n->origin] = holds;
	return holds;
}

/* Tokens of the children: loops that hold the delimiter are unrolled. */
static bool unroll(struct finder *f, struct cut *c, const struct merge_node *n, uint64_t hash)
{
	for (uint32_t i = 0; i < n->n_child; i++) {
		struct merge_node *x = n->child[i];

		if (x->kind == SKEL_LOOP && x->hash != hash && f->holds[x->origin]) {
			for (uint64_t k = 0; k < x->count; k++)
				if (!unroll(f, c, x, hash))
					return false;
			continue;
		}
		if (c->n == TOKENS_MAX)
			return false;
		c->failed = ARRAY_ROOM(c->token, c->cap, c->n + 1) != 0;
		if (c->failed)
			return false;
		c->token[c->n++] = x;
	}
	return true;
}

static bool find_kind(const struct finder *f, struct cut *c, uint32_t segment)
{
	uint64_t n = segment_length(c, segment);
	const uint32_t *s = segment_events(f, c, segment);
	uint64_t h = XXH3_64bits_withSeed(s, n * sizeof(*s), n);
	uint32_t k = 0;

	while (k < c->n_kind && (c->kind_hash[k] != h || segment_length(c, c->first[k]) != n ||
				 memcmp(segment_events(f, c, c->first[k]), s, n * sizeof(*s))))
		k++;
	if (k == SEGMENT_KINDS_MAX)
		return false;
	if (k == c->n_kind) {
		c->kind_hash[k] = h;
		c->first[c->n_kind++] = segment;
	}
	c->kind[segment] = (uint16_t)k;
	return true;
}

/* The last segment ends where another kind does, as long as that can be; the rest follows the loop. */
static void end_last_segment(const struct finder *f, struct cut *c)
{
	uint32_t last = c->n_segment - 1;
	uint64_t from = c->at[c->start[last]], left = c->at[c->n] - from, best = 0;

	for (uint32_t k = 0; k < c->n_kind; k++) {
		uint64_t n = segment_length(c, c->first[k]);

		if (n > best && n <= left &&
		    !memcmp(segment_events(f, c, c->first[k]), f->stream + from, n * sizeof(*f->stream))) {
			best = n;
			c->kind[last] = (uint16_t)k;
		}
	}
	c->end = from + best;
	c->n_segment -= best == 0;
}

static int cut_alloc(struct cut *c)
{
	c->at = malloc((c->n + 2u) * sizeof(*c->at));
	c->start = malloc((c->n + 2u) * sizeof(*c->start));
	c->kind = malloc((c->n + 1u) * sizeof(*c->kind));
	c->failed = !c->at || !c->start || !c->kind;
	return c->failed ? -1 : 0;
}

/* False when the candidate gives no loop (or without memory: c->failed). */
static bool cut_stream(struct finder *f, uint64_t hash, struct cut *c)
{
	uint64_t at = 0;

	mark_holders(f, f->root, hash);
	if (!unroll(f, c, f->root, hash) || cut_alloc(c) < 0)
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		c->at[i] = at;
		at += f->events[c->token[i]->origin];
		if (c->token[i]->hash == hash)
			c->start[c->n_segment++] = i;
	}
	c->at[c->n] = at;
	c->start[c->n_segment] = c->n;
	if (c->n_segment < OCCURRENCES_MIN)
		return false;
	for (uint32_t i = c->start[0]; i < c->n; i++)
		if (is_region(f, c->token[i]))
			return false;
	for (uint32_t i = 0; i + 1 < c->n_segment; i++)
		if (!find_kind(f, c, i) || c->n_kind > KINDS_AT_FIRST + i / KINDS_SHARE)
			return false;
	end_last_segment(f, c);
	return c->n_segment >= OCCURRENCES_MIN;
}

/* ---- estimate ---- */

static int compare_u64(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

static uint64_t sizes(const struct finder *f, const struct cut *c, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += f->size[c->token[i]->origin];
	return sum;
}

/* Number of changes of kind. A change is not counted if it has the same distance and kind as the change two before. */
static uint64_t count_changes(const struct cut *c)
{
	uint64_t n = 0;
	uint32_t at[4] = {0};

	for (uint32_t i = 1; i < c->n_segment; i++) {
		if (c->kind[i] == c->kind[i - 1])
			continue;
		n += i - at[0] != at[1] - at[2] || at[0] - at[1] != at[2] - at[3] || c->kind[i] != c->kind[at[1]];
		memmove(at + 1, at, 3 * sizeof(*at));
		at[0] = i;
	}
	return n;
}

/* Estimate the cost of the tree: the nodes outside, the nodes inside, and a few runs at every change of kind. The
 * nodes inside lie between two counts: the distinct tokens, and the tokens of all kinds. *cost is UINT64_MAX if the
 * kinds are too long to be merged. */
static int estimate_cost(const struct finder *f, struct cut *c, uint64_t *cost)
{
	uint64_t outside = sizes(f, c, 0, c->start[0]), distinct = 0, all = 0, changes;
	uint32_t n = 0;
	struct { uint64_t hash, size; } *seen;

	for (uint32_t k = 0; k < c->n_kind; k++)
		n += c->start[c->first[k] + 1] - c->start[c->first[k]];
	*cost = UINT64_MAX;
	if ((double)n * n / c->n_kind > MERGE_WORK_MAX)
		return 0;
	seen = malloc((n + 1u) * sizeof(*seen));
	if (!seen)
		return err_set(f->err, "no memory");
	n = 0;
	for (uint32_t k = 0; k < c->n_kind; k++)
		for (uint32_t i = c->start[c->first[k]]; i < c->start[c->first[k] + 1]; i++) {
			seen[n].hash = c->token[i]->hash;
			seen[n++].size = f->size[c->token[i]->origin];
		}
	qsort(seen, n, sizeof(*seen), compare_u64);
	for (uint32_t i = 0; i < n; i++) {
		distinct += i && seen[i].hash == seen[i - 1].hash ? 0 : seen[i].size;
		all += seen[i].size;
	}
	changes = count_changes(c);
	*cost = SEGMENT_NODE_COST * (outside + (distinct + all) / 2) + 3 * changes;
	free(seen);
	return 0;
}

/* ---- the search ---- */

/* The less the better. Between trees that cost about the same, one loop of many iterations is the program's own time
 * step, one of few is a group of them. */
static double score(uint64_t cost, uint32_t n_segment)
{
	return (double)cost / (1 + log2(n_segment) / ITERATIONS_BONUS);
}

/* Events that segments_build() contracts: one segment of each kind, and the stream outside of the segments. */
static uint64_t events_contracted(const struct cut *c)
{
	uint64_t n = c->at[c->start[0]] + c->at[c->n] - c->end;

	for (uint32_t k = 0; k < c->n_kind; k++)
		n += segment_length(c, c->first[k]);
	return n;
}

/* Build the candidate's tree and keep it when it is the best. */
static int try_candidate(struct finder *f, const struct candidate *cand)
{
	struct contract_tree tree = {0};
	struct segment_notes *notes = NULL;
	struct cut c = {0};
	uint64_t cost = UINT64_MAX, slots = 0;
	int rv = 0;

	if (!cut_stream(f, cand->hash, &c)) {
		rv = c.failed ? err_set(f->err, "no memory") : 0;
		goto out;
	}
	f->built += events_contracted(&c);
	rv = segments_build(f, &c, &tree, &notes);
	if (rv == 0)
		slots = count_slots(&tree, tree.top_first, tree.n_top);
	if (rv == 0 && (slots <= f->slots_free || slots / SLOTS_FACTOR <= tree.n_events))
		rv = price(f, &tree, notes, f->cost - 1, &cost);
	if (rv == 0 && cost < f->cost && score(cost, c.n_segment) < f->best_score) {
		f->best_score = score(cost, c.n_segment);
		contract_tree_free(&f->best);
		segment_notes_free(f->best_notes);
		f->best = tree;
		f->best_notes = notes;
		f->best_cost = cost;
		f->best_begin = cand->begin;
		tree = (struct contract_tree){0};
		notes = NULL;
	}
out:
	contract_tree_free(&tree);
	segment_notes_free(notes);
	cut_free(&c);
	return rv;
}

/* The best becomes the tree. */
static void take_best(struct finder *f)
{
	contract_tree_free(f->tree);
	segment_notes_free(f->notes);
	*f->tree = f->best;
	f->notes = f->best_notes;
	f->cost = f->best_cost;
	*f->preferred = f->best_begin;
	f->best = (struct contract_tree){0};
	f->best_notes = NULL;
}

/* Those at which another group's segments begin; when they bring nothing, any. */
static int try_candidates(struct finder *f, uint32_t n)
{
	for (int any = *f->preferred == 0; any < 2 && f->best_cost == f->cost; any++) {
		uint32_t tries = 0;

		for (uint32_t i = 0; i < n && tries < TRIES_MAX; i++) {
			if (f->cand[i].estimate >= f->cost || f->built >= BUILT_MAX)
				break;
			if (!any && f->cand[i].begin != *f->preferred)
				continue;
			if (try_candidate(f, &f->cand[i]) < 0)
				return -1;
			tries++;
		}
	}
	return 0;
}

/* Estimate the candidates and bring the promising ones to the front; *n of them. */
static int look_at_candidates(struct finder *f, uint32_t *n)
{
	uint32_t kept = 0, looks = f->n_cand < LOOKS_MAX ? f->n_cand : LOOKS_MAX;

	for (uint32_t i = 0; i < looks; i++) {
		struct candidate cand = f->cand[i];
		struct cut c = {0};
		bool ok = cut_stream(f, cand.hash, &c);
		int rv = c.failed ? err_set(f->err, "no memory") : 0;

		if (ok)
			rv = estimate_cost(f, &c, &cand.estimate);
		cut_free(&c);
		if (rv < 0)
			return -1;
		if (ok)
			f->cand[kept++] = cand;
	}
	qsort(f->cand, kept, sizeof(*f->cand), compare_estimates);
	*n = kept;
	return 0;
}

/* One region: the nodes of the present tree, cut at each candidate. */
static int fold_region(struct finder *f, bool *better)
{
	uint32_t n = 0, n_node = f->tree->n_node;
	int rv = -1;

	*better = false;
	f->one = (struct rank_groups){.n_group = 1};
	merge_init(&f->grown, &f->one);
	f->size = calloc(n_node + 1u, sizeof(*f->size));
	f->holds = calloc(n_node + 1u, sizeof(*f->holds));
	f->cand = calloc(n_node + 1u, sizeof(*f->cand));
	f->events = calloc(n_node + 1u, sizeof(*f->events));
	f->n_cand = 0;
	if (!f->size || !f->holds || !f->cand || !f->events) {
		err_set(f->err, "no memory");
		goto out;
	}
	f->root = merge_grow(&f->grown, f->tree, f->key, 0);
	if (!f->root) {
		err_set(f->err, "no memory");
		goto out;
	}
	list_candidates(f, f->root, 1);
	sort_candidates(f);
	if (look_at_candidates(f, &n) < 0)
		goto out;
	f->built = 0;
	f->best_cost = f->cost;
	f->best_score = (double)f->cost;
	rv = try_candidates(f, n);
out:
	merge_free(&f->grown);
	free(f->events);
	free(f->size);
	free(f->holds);
	free(f->cand);
	if (rv == 0 && f->best_cost < f->cost) {
		take_best(f);
		*better = true;
	}
	return rv;
}

/* The rank's events as shapes, and keys by which only the same shape is the same call. */
static int open_stream(struct finder *f)
{
	const struct folded *events = &f->rank->events;
	struct folded_iter it;
	uint32_t sym;

	f->stream = malloc((events->length + 1) * sizeof(*f->stream));
	f->key = malloc((f->map->n_shape + 1u) * sizeof(*f->key));
	if (!f->stream || !f->key)
		return err_set(f->err, "no memory for %llu events", (unsigned long long)events->length);
	folded_begin(&it, events);
	for (uint64_t i = 0; i < events->length && folded_next(&it, &sym); i++)
		f->stream[i] = f->map->of_sym[sym];
	for (uint32_t i = 0; i < f->map->n_shape; i++)
		f->key[i] = XXH3_64bits(&i, sizeof(i));
	return 0;
}

int segments_fold(const struct trace_rank *rank, uint32_t n_ranks, const struct shape_map *map, struct contract_tree *tree,
		  struct segment_notes **notes, uint64_t *preferred, struct errbuf *err)
{
	struct finder f = {.rank = rank, .map = map, .tree = tree, .preferred = preferred, .slots_free = SLOTS_OF_RUN / n_ranks,
			   .err = err};
	bool better = true;
	int rv;

	*notes = NULL;
	f.slots_free = f.slots_free < SLOTS_OF_RANK ? f.slots_free : SLOTS_OF_RANK;
	/* Nearly one node for every call: nothing to gain. */
	if (tree->n_node <= map->n_shape + map->n_shape / 2 + 8)
		return 0;
	rv = open_stream(&f);
	if (rv == 0)
		rv = price(&f, tree, NULL, UINT64_MAX / 2, &f.cost);
	for (int i = 0; rv == 0 && better && i < SEGMENT_REGIONS_MAX; i++)
		rv = fold_region(&f, &better);
	contract_tree_free(&f.best);
	segment_notes_free(f.best_notes);
	free(f.stream);
	free(f.key);
	*notes = f.notes;
	return rv;
}
