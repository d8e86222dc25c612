/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See counted.h. One call is chosen that every iteration makes. Loops around this call are written out, and the sequence
 * is cut at each occurrence of this call. The calls between two occurrences belong to the end of one iteration or to the
 * beginning of the next one. The fold is kept if it has fewer calls than before.
 */
#include <stdlib.h>
#include <string.h>

#include "model/inputs/counted.h"
#include "model/inputs/items.h"

#define HEADS_MOST   32		/* calls that are tried as the one of every iteration */
#define PARTS_MOST   64		/* calls and loops of a body: their order is kept in bits of a word */
#define ROUNDS_MOST  16		/* loops of one sequence that are folded */

struct folder {
	struct items items;
	struct counted_order *order;
	enum counted_way way;
	bool inner, folded;
};

/* What may stand between two heads: an item, for the k-th time. */
struct part {
	struct item *item;
	uint32_t again;
	bool before;	   /* the head of its iteration */
	bool in_front;	   /* of the first head */
	uint64_t after;	   /* parts that some iteration makes before it, as bits */
	uint64_t n, first, last, period; /* iterations that have it */
};
struct fold {
	struct folder *f;
	const struct row *row;
	uint32_t *head, n_heads; /* places of the head in the row */
	uint32_t begin, end;	 /* of the loop in the row */
	struct part part[PARTS_MOST];
	uint32_t n_parts;
};

/* ---- one loop ---- */

/* The part that the item is, `again` times before in its gap; PARTS_MOST if there is none. */
static uint32_t find_part(const struct fold *d, const struct item *item, uint32_t again)
{
	uint32_t k = 0;

	while (k < d->n_parts && (d->part[k].item->hash != item->hash || d->part[k].again != again))
		k++;
	return k < d->n_parts ? k : PARTS_MOST;
}

/* How often the item stands in [from, at) of the row. */
static uint32_t times_before(const struct fold *d, uint32_t from, uint32_t at)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < at; i++)
		n += d->row->item[i]->hash == d->row->item[at]->hash;
	return n;
}

static bool take_parts(struct fold *d)
{
	for (uint32_t j = 0; j + 1 < d->n_heads; j++)
		for (uint32_t i = d->head[j] + 1; i < d->head[j + 1]; i++) {
			uint32_t again = times_before(d, d->head[j] + 1, i);

			if (i - d->head[j] > PARTS_MOST)
				return false;
			if (find_part(d, d->row->item[i], again) < PARTS_MOST)
				continue;
			if (d->n_parts == PARTS_MOST)
				return false;
			d->part[d->n_parts++] = (struct part){.item = d->row->item[i], .again = again};
		}
	return true;
}

/* Parts in front of the first head, and behind the last one, belong to the loop. */
static void find_ends(struct fold *d)
{
	uint32_t last = d->head[d->n_heads - 1];

	d->begin = d->head[0];
	while (d->begin && find_part(d, d->row->item[d->begin - 1], 0) < PARTS_MOST) {
		struct part *p = &d->part[find_part(d, d->row->item[d->begin - 1], 0)];

		if (p->in_front)
			break;
		p->in_front = true;
		d->begin--;
	}
	d->end = last + 1;
	while (d->end < d->row->n) {
		uint32_t k = find_part(d, d->row->item[d->end], times_before(d, last + 1, d->end));

		if (k == PARTS_MOST || d->part[k].in_front)
			break;
		d->end++;
	}
	for (uint32_t k = 0; k < d->n_parts; k++) {
		struct part *p = &d->part[k];
		bool tail = false;

		for (uint32_t i = last + 1; i < d->end; i++)
			tail |= find_part(d, d->row->item[i], times_before(d, last + 1, i)) == k;
		p->before = p->in_front || (!tail && d->f->way == COUNTED_BEFORE);
	}
}

static bool note_iteration(struct part *p, uint64_t i)
{
	if (!p->n)
		p->first = i;
	else if (p->n == 1)
		p->period = i - p->first;
	else if (i - p->last != p->period)
		return false;
	p->last = i;
	p->n++;
	return true;
}

/* The parts of [from, to) of the row, which stand behind head number j (-1: in front of the first). */
static bool note_gap(struct fold *d, int64_t j, uint32_t from, uint32_t to)
{
	uint64_t seen[2] = {0};
	bool before = false;

	for (uint32_t i = from; i < to; i++) {
		uint32_t k = find_part(d, d->row->item[i], j < 0 ? 0 : times_before(d, from, i));
		struct part *p = &d->part[k];

		if (k == PARTS_MOST || (before && !p->before) || !note_iteration(p, (uint64_t)(j + p->before)))
			return false;
		before |= p->before;
		p->after |= seen[p->before];
		seen[p->before] |= UINT64_C(1) << k;
	}
	return true;
}

static bool note_iterations(struct fold *d)
{
	bool some = false;

	if (!note_gap(d, -1, d->begin, d->head[0]))
		return false;
	for (uint32_t j = 0; j < d->n_heads; j++)
		if (!note_gap(d, j, d->head[j] + 1, j + 1 < d->n_heads ? d->head[j + 1] : d->end))
			return false;
	for (uint32_t k = 0; k < d->n_parts; k++) {
		const struct part *p = &d->part[k];

		if (!p->n || (p->period && p->last + p->period < d->n_heads))
			return false;
		some |= p->n < d->n_heads;
	}
	return some;
}

static uint32_t symbol_of(const struct item *item)
{
	while (item->kind == CONTRACT_LOOP)
		item = item->child[0];
	return item->symbol;
}

/* Does part a come before part b, as far as any iteration of any tree, or else the program's code, shows? */
static bool comes_before(const struct fold *d, uint32_t a, uint32_t b)
{
	const struct counted_order *o = d->f->order;
	uint32_t x = symbol_of(d->part[a].item), y = symbol_of(d->part[b].item);
	bool xy = o->after && o->after[(size_t)y * o->n + x], yx = o->after && o->after[(size_t)x * o->n + y];

	return xy != yx ? xy : o->place[x] < o->place[y];
}

static void note_order(const struct fold *d)
{
	struct counted_order *o = d->f->order;

	for (uint32_t b = 0; o->after && b < d->n_parts; b++)
		for (uint32_t a = 0; a < d->n_parts; a++)
			if (d->part[b].after >> a & 1)
				o->after[(size_t)symbol_of(d->part[b].item) * o->n + symbol_of(d->part[a].item)] = 1;
}

/* Puts the parts on one side of the head in order; false if two of them stand in both orders. */
static bool order_side(const struct fold *d, bool before, struct item **out, uint32_t *n)
{
	uint64_t left = 0;

	for (uint32_t k = 0; k < d->n_parts; k++)
		left |= (uint64_t)(d->part[k].before == before) << k;
	while (left) {
		uint32_t best = PARTS_MOST;

		for (uint32_t k = 0; k < d->n_parts; k++)
			if (left >> k & 1 && !(d->part[k].after & left) &&
			    (best == PARTS_MOST || comes_before(d, k, best)))
				best = k;
		if (best == PARTS_MOST)
			return false;
		out[(*n)++] = d->part[best].item;
		left &= ~(UINT64_C(1) << best);
	}
	return true;
}

/* Do n items from a on equal those from b on? */
static bool same_items(const struct fold *d, uint32_t a, uint32_t b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (d->row->item[a + i]->hash != d->row->item[b + i]->hash)
			return false;
	return true;
}

/* A loop whose iterations are all the same, which contraction has begun in the middle of an iteration; or NULL. */
static struct item *turn_loop(struct fold *d)
{
	uint32_t last = d->head[d->n_heads - 1], n = d->head[1] - d->head[0] - 1, before = 0, behind = 0;
	struct item *const *gap = d->row->item + d->head[0] + 1;
	struct item **body, *loop;

	for (uint32_t j = 1; j + 1 < d->n_heads; j++)
		if (d->head[j + 1] - d->head[j] - 1 != n || !same_items(d, d->head[0] + 1, d->head[j] + 1, n))
			return NULL;
	while (behind < n && last + 1 + behind < d->row->n && same_items(d, last + 1 + behind, d->head[0] + 1 + behind, 1))
		behind++;
	while (before < n && before < d->head[0] && same_items(d, d->head[0] - before - 1, d->head[1] - before - 1, 1))
		before++;
	if (before + behind < n || !(body = malloc((n + 1u) * sizeof(struct item *))))
		return NULL;
	before = n - behind;
	memcpy(body, gap + behind, before * sizeof(*body));
	body[before] = d->row->item[last];
	memcpy(body + before + 1, gap, behind * sizeof(*body));
	d->begin = d->head[0] - before;
	d->end = last + 1 + behind;
	loop = items_loop(&d->f->items, d->n_heads, body, n + 1);
	free(body);
	return loop;
}

/* The loop that the row is around the head; NULL if it is none. */
static struct item *fold_loop(struct fold *d)
{
	struct item *body[PARTS_MOST + 1];
	uint32_t n = 0;

	if (!take_parts(d))
		return NULL;
	find_ends(d);
	if (!note_iterations(d))
		return NULL;
	note_order(d);
	if (!order_side(d, true, body, &n))
		return NULL;
	body[n++] = d->row->item[d->head[0]];
	return order_side(d, false, body, &n) ? items_loop(&d->f->items, d->n_heads, body, n) : NULL;
}

/* ---- a sequence ---- */

static bool contains(const struct item *item, uint64_t symbol)
{
	bool found = item->kind == CONTRACT_LEAF && item->symbol == symbol;

	for (uint32_t i = 0; i < item->n_child && !found; i++)
		found = contains(item->child[i], symbol);
	return found;
}

/* The row with its loop around the symbol folded, in out. */
static bool fold_around(struct folder *f, const struct row *seq, uint32_t symbol, bool turn, struct row *out)
{
	struct row row = {0};
	struct fold *d = calloc(1, sizeof(*d));
	struct item *loop = NULL;

	out->n = 0;
	items_write_out(&f->items, seq->item, seq->n, contains, symbol, &row);
	if (d && row.n < ITEMS_MOST) {
		*d = (struct fold){.f = f, .row = &row, .head = malloc((row.n + 1) * sizeof(*d->head))};
		for (uint32_t i = 0; d->head && i < row.n; i++)
			if (row.item[i]->kind == CONTRACT_LEAF && row.item[i]->symbol == symbol)
				d->head[d->n_heads++] = i;
		f->items.failed |= !d->head;
		loop = f->items.failed || d->n_heads < 2 ? NULL : turn ? turn_loop(d) : fold_loop(d);
		for (uint32_t i = 0; loop && i < d->begin; i++)
			items_push(&f->items, out, row.item[i]);
		if (loop)
			items_push(&f->items, out, loop);
		for (uint32_t i = d->end; loop && i < row.n; i++)
			items_push(&f->items, out, row.item[i]);
		free(d->head);
	}
	f->items.failed |= !d;
	free(d);
	free(row.item);
	return loop != NULL;
}

static void collect_symbols(const struct item *item, uint32_t *symbol, uint32_t *n)
{
	for (uint32_t i = 0; i < item->n_child; i++)
		collect_symbols(item->child[i], symbol, n);
	if (item->kind != CONTRACT_LEAF)
		return;
	for (uint32_t i = 0; i < *n; i++)
		if (symbol[i] == item->symbol)
			return;
	if (*n < HEADS_MOST)
		symbol[(*n)++] = item->symbol;
}

/* Folds the loop that saves most calls; turn: of equal iterations. Returns true if one was found. */
static bool fold_best(struct folder *f, struct row *seq, bool turn)
{
	uint32_t symbol[HEADS_MOST], n = 0, least = items_leaves(seq);
	struct row best = {0}, now = {0};

	for (uint32_t i = 0; i < seq->n; i++)
		collect_symbols(seq->item[i], symbol, &n);
	for (uint32_t k = 0; k < n && !f->items.failed; k++) {
		struct row t;

		if (!fold_around(f, seq, symbol[k], turn, &now) || items_leaves(&now) >= least)
			continue;
		least = items_leaves(&now);
		t = best;
		best = now;
		now = t;
	}
	free(now.item);
	if (!best.n) {
		free(best.item);
		return false;
	}
	free(seq->item);
	*seq = best;
	return true;
}

static void fold_sequence(struct folder *f, struct row *seq);

/* Folds the bodies of the loops of a sequence. */
static void fold_bodies(struct folder *f, struct row *seq)
{
	for (uint32_t i = 0; i < seq->n && !f->items.failed; i++) {
		struct item *l = seq->item[i];
		struct row body = {0};

		if (l->kind != CONTRACT_LOOP)
			continue;
		for (uint32_t k = 0; k < l->n_child; k++)
			items_push(&f->items, &body, l->child[k]);
		fold_sequence(f, &body);
		if (!f->items.failed)
			seq->item[i] = items_loop(&f->items, l->count, body.item, body.n);
		free(body.item);
	}
}

static void fold_sequence(struct folder *f, struct row *seq)
{
	for (int k = 0; k < ROUNDS_MOST && !f->items.failed && fold_best(f, seq, true); k++)
		f->folded = true;
	if (f->inner)
		fold_bodies(f, seq);
	for (int k = 0; k < ROUNDS_MOST && !f->items.failed && fold_best(f, seq, false); k++)
		f->folded = true;
	if (!f->inner)
		fold_bodies(f, seq);
}

int counted_fold(const struct contract_tree *tree, struct counted_order *order, enum counted_way way, bool inner,
		 struct contract_tree *out, struct errbuf *err)
{
	struct folder f = {.order = order, .way = way, .inner = inner};
	struct row seq = {0};

	*out = (struct contract_tree){0};
	items_begin(&f.items, tree, &seq);
	if (!f.items.failed)
		fold_sequence(&f, &seq);
	items_end(&f.items, &seq, tree, f.folded, out);
	return f.items.failed ? err_set(err, "no memory to fold loops") : f.folded;
}
