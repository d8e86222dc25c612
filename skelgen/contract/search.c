/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From parked bodies to their shortest contraction: weights, search, and the loops that the search has
 * chosen. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/search.h"

#define BUDGET_BASE	 (UINT64_C(1) << 26) /* steps; some hundred million make a second */
#define BUDGET_PER_EVENT 32u
#define BUDGET_PER_BODY	 (UINT64_C(1) << 23)

int search_create(struct search *x, uint64_t n, bool off, struct errbuf *err)
{
	*x = (struct search){.off = off, .budget = BUDGET_BASE + BUDGET_PER_EVENT * n};
	/* A contracted sequence on the way nests within what it replaces. */
	x->out = malloc(OPTIMUM_MAX * sizeof(*x->out));
	if (!x->out)
		return err_set(err, "contraction: out of memory for the search of short bodies");
	return 0;
}

void search_destroy(struct search *x)
{
	optimum_destroy(&x->optimum);
	free(x->out);
	*x = (struct search){0};
}

bool search_wants(const struct search *x, uint32_t length)
{
	return !x->off && length <= OPTIMUM_MAX && (uint64_t)length * length <= x->budget;
}

/* Append the shortest contraction of [i, j) to x->out. */
static int search_write(struct search *x, struct grammar *g, uint32_t i, uint32_t j, struct errbuf *err)
{
	while (i < j) {
		uint32_t p = 0, count = optimum_first(&x->optimum, i, j, &p), mark = x->n_out;
		uint32_t symbol = x->optimum.s[i], fresh = GRAMMAR_NONE;

		if (count) {
			const uint32_t *text = x->out + mark;

			if (search_write(x, g, i, i + p, err) ||
			    grammar_loop(g, text, x->n_out - mark, count, &symbol, &fresh, err))
				return -1;
			if (fresh != GRAMMAR_NONE &&
			    grammar_settle(g, fresh, text, x->n_out - mark, GRAMMAR_DONE, err))
				return -1;
			x->n_out = mark;
			p *= count;
		} else {
			p = 1;
		}
		x->out[x->n_out++] = symbol;
		i += p;
	}
	return 0;
}

/* Write a body's text to out[] and unroll as many of its loops as fit, the shortest first. Unrolling joins
 * repetitions again that the greedy rounds cut at their edges. Returns the length. */
static uint32_t search_unroll(struct grammar *g, const struct grammar_body *b, uint32_t *out)
{
	const uint32_t *text = g->text.item + b->text_first;
	uint32_t limit = OPTIMUM_MAX, n = 0;

	for (; limit > 1; limit /= 2) {
		uint64_t total = 0;

		for (uint32_t k = 0; k < b->text_length && total <= OPTIMUM_MAX; k++) {
			uint32_t events = grammar_events(g, text[k]);

			total += events <= limit ? events : 1;
		}
		if (total <= OPTIMUM_MAX)
			break;
	}
	for (uint32_t k = 0; k < b->text_length; k++) {
		if (grammar_events(g, text[k]) <= limit)
			grammar_expand(g, text[k], out, &n);
		else
			out[n++] = text[k];
	}
	return n;
}

/* Search one text. Returns 1 if the shortest contraction is known, 0 if the search is too expensive, -1 on error. */
static int search_text(struct search *x, struct grammar *g, const uint32_t *text, uint32_t n,
		       struct errbuf *err)
{
	uint64_t limit = x->budget < BUDGET_PER_BODY ? x->budget : BUDGET_PER_BODY, before = x->optimum.work;
	uint32_t weight[OPTIMUM_MAX];
	int found;

	for (uint32_t k = 0; k < n; k++)
		weight[k] = grammar_weight(g, text[k]);
	found = optimum_search(&x->optimum, text, weight, n, limit, err);
	before = x->optimum.work - before;
	x->budget -= before < x->budget ? before : x->budget;
	return found;
}

/* All that the body stands on must be done. */
static int search_parked(struct search *x, struct grammar *g, uint32_t body, struct errbuf *err)
{
	uint32_t text[OPTIMUM_MAX], n = search_unroll(g, &g->body[body], text),
				    length = g->body[body].text_length;
	int found = search_text(x, g, text, n, err);

	if (!found && n > length)
		found = search_text(x, g, g->text.item + g->body[body].text_first, length, err);
	if (found < 0)
		return -1;
	if (!found) {
		g->body[body].state = GRAMMAR_REFUSED;
		return 0;
	}
	x->n_out = 0;
	if (search_write(x, g, 0, x->optimum.n, err))
		return -1;
	return grammar_settle(g, body, x->out, x->n_out, GRAMMAR_DONE, err);
}

int search_body(struct search *x, struct grammar *g, uint32_t body, struct errbuf *err)
{
	for (uint32_t k = 0; k < g->body[body].text_length; k++) {
		uint32_t symbol = g->text.item[g->body[body].text_first + k], inner;

		if (symbol < g->n_leaf)
			continue;
		inner = g->loop[symbol - g->n_leaf].body;
		if (g->body[inner].state == GRAMMAR_PARKED && search_body(x, g, inner, err))
			return -1;
		if (g->body[inner].state != GRAMMAR_DONE)
			return 0;
	}
	return search_parked(x, g, body, err);
}
